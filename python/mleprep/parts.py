"""Parts of results, such as steps and reasons: frozen records with the fields of the program's JSON.

Names and types of fields are those of docs/reference/json.schema.json, unless `member` names another member of the
schema. Paths of files and directories are absolute. Paths below the directory of a competition are texts.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, dataclass_transform

from mleprep import _words

Json = dict[str, Any]
#: Seconds since 1970. Tables and `repr` show the time in UTC.
Time = int
#: Fields that tables omit.
NOT_SHOWN = ("json", "origin")
Medal = Literal["gold", "silver", "bronze"]
Verdict = Literal["equal", "same_content", "content_differs", "answers_differ"]
#: How serious a hint at the answers is.
Level = Literal["leak", "risk", "note"]
#: The kind of the reason why a submission is invalid.
InvalidKind = Literal[
    "no_submission", "unreadable", "missing_column", "surplus_column", "row_count", "ids", "type", "missing", "range",
    "undefined", "answers", "metric",
]
#: The kind of the reason why a step runs.
StepKind = Literal[
    "first_run", "changed", "failed", "result_missing", "output_missing", "unstored", "input_pending", "not_current",
    "unread", "missing",
]


def member(source: str | Callable[[Json], Any], keys: tuple[str, ...] = (), **default: Any) -> Any:
    """Declares a field that comes from another member (`a.b` is `b` in `a`), or from a function of the JSON object.

    `keys` are the keys of a dictionary, if they are fixed. Frames have a column for each of them.
    """
    return field(metadata={"source": source, "keys": keys}, **default)


@dataclass_transform(frozen_default=True, field_specifiers=(field, member))
def record(kind: type[Any]) -> Any:
    """Makes a class a frozen dataclass that keeps the `repr` of its base class. Describes the fields in its docstring."""
    made = dataclass(frozen=True, repr=False)(kind)
    texts = {name: text for base in reversed(made.__mro__) for name, text in _comments(base.__module__, base.__name__)}
    lines = "".join(f"    {one.name}: {texts[one.name]}\n" for one in fields(made) if one.name in texts)
    made.__doc__ = f"{made.__doc__}\n\nFields:\n{lines}" if lines else made.__doc__
    return made


@functools.cache
def _comments(module: str, kind: str) -> list[tuple[str, str]]:
    """Returns the comments `#:` of the fields of a class, for `help`. Returns no comments if there is no source file."""
    try:
        source = inspect.getsource(sys.modules[module]) if module.startswith(__package__) else ""
    except OSError:
        return []
    [body] = re.findall(rf"^class {kind}\b.*\n((?: .*\n|\n)*)", source, re.MULTILINE) or [""]
    found = re.findall(r"((?:^    #: .*\n)+)    (\w+):", body, re.MULTILINE)
    return [(name, " ".join(re.findall("#: (.*)", text))) for text, name in found]


class Part:
    """The base class of records and of their parts, such as a step of a plan."""

    def __repr__(self) -> str:
        """Returns one line. Omits a field without a value, unless the field is in `_ALWAYS_SHOWN`."""
        shown = (one for one in fields(self) if one.repr)  # type: ignore[arg-type]
        values = [(one.name, _with_times(str(one.type), getattr(self, one.name))) for one in shown]
        values += ((name, getattr(self, name)) for name in self._PROPERTIES)
        has_value = ((name, value) for name, value in values if name in self._ALWAYS_SHOWN or value not in (None, (), {}))
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in has_value)})"

    _ALWAYS_SHOWN: ClassVar[tuple[str, ...]] = ()
    #: Properties that `repr` and frames show after the fields.
    _PROPERTIES: ClassVar[tuple[str, ...]] = ()

    def _row(self) -> dict[str, object]:
        """Returns the columns of a table in a notebook."""
        shown = (one for one in fields(self) if one.name not in NOT_SHOWN)  # type: ignore[arg-type]
        return {one.name: _with_times(str(one.type), getattr(self, one.name)) for one in shown}


def _with_times(kind: str, value: Any) -> Any:
    """Returns the value of a field of the type `kind`, with texts in place of times."""
    if "Time" not in re.findall(r"\w+", kind) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(_with_times(kind, one) for one in value)
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _short(value: object) -> str:
    """Returns a short `repr` of a value: of a long part its type, of a large collection its length."""
    if isinstance(value, Part) and not isinstance(value, Reason | Publication):
        text = repr(value)
        return text if len(text) <= 80 else f"{type(value).__name__}(...)"
    elements = [*(value.values() if isinstance(value, dict) else value)] if isinstance(value, (dict, tuple)) else []
    if any(isinstance(one, Part | dict | tuple) for one in elements) or len(elements) > 4:
        return f"<{len(elements)} {type(elements[0]).__name__}>"
    text = repr(str(value) if isinstance(value, Path | Reason | Publication) else value)
    return text if len(text) <= 100 else f"{text[:97]}..."


@record
class Reason(Part):
    """Why something is in its state, why it failed, or why it differs. `str` returns the message."""

    #: A short name of the reason.
    kind: str
    message: str = member(lambda one: _words.translated(one["message"]))

    def __str__(self) -> str:
        return self.message


@record
class Change(Part):
    """A field of a step that differs from the last publication: the old and the new value."""

    field: str
    old: Any
    new: Any


@record
class StepReason(Reason):
    """Why a step runs, in the words of `prep plan`."""

    kind: StepKind
    #: The fields that differ, for the kind `changed`.
    changes: Sequence[Change] = ()
    #: The missing object, for the kinds `output_missing` and `unstored`.
    object: str | None = None
    #: The step that runs first, for the kind `input_pending`.
    waits_for: str | None = None
    #: How the data directory differs, for the kind `not_current`.
    difference: str | None = None
    #: Size of the source, for the kind `unread`.
    bytes: int | None = None


@record
class InvalidReason(Reason):
    """Why a submission is invalid."""

    kind: InvalidKind
    #: The column with the mistake.
    column: str | None = None
    #: The row with the mistake, from 1.
    row: int | None = None


@record
class KeyRecord(Part):
    """The fields from which the key of a step is computed."""

    #: Kind of the step, and version of its implementation.
    step: str
    version: int
    params: Json
    #: Digests of the inputs by name.
    inputs: dict[str, str]


@record
class LastRun(Part):
    """A step in the last publication."""

    #: None for a source.
    key: str | None
    record: KeyRecord
    #: Why the step ran, or how its cached result differed. None if its result was in the cache or the remote.
    reason: StepReason | None
    #: The error, if the step failed.
    failure: Reason | None


@record
class Step(Part):
    """A step of a plan."""

    name: str = member("step")
    kind: str = ""
    #: `yes`, `no`, or `maybe`: only if the result of an earlier step changes.
    runs: Literal["yes", "no", "maybe"] = "no"
    #: Why the step runs. None if it does not run.
    reason: StepReason | None = None

    def _row(self) -> dict[str, object]:
        return {"step": self.name, "kind": self.kind, "runs": self.runs, "reason": line(self.reason)}


@record
class ExplainedStep(Step):
    """A step, and its last run."""

    last: LastRun | None = None

    def _row(self) -> dict[str, object]:
        return {**super()._row(), "last": line(self.last.reason if self.last else None)}


@record
class ChangedStep(Part):
    """A step whose own settings changed, or a source whose content changed."""

    step: str
    changes: Sequence[Change]


@record
class Publication(Part):
    """A publication, and the changes since the publication before."""

    at: Time
    before: Time | None
    reason: StepReason | None
    causes: Sequence[ChangedStep]

    def __str__(self) -> str:
        """Returns the time and the reason."""
        return ": ".join(filter(None, [_with_times("Time", self.at), line(self.reason)]))


def line(reason: Reason | None) -> str | None:
    """Returns the first line of a message."""
    return reason.message.split("\n", 1)[0] if reason else None


def _place(record: Json) -> str | None:
    """Returns `FILE:LINE:COLUMN`, the step, or the competition."""
    place, names = record.get("place"), (record.get("id"), record.get("step"))
    if isinstance(place, dict):
        return ":".join(str(place[key]) for key in ("file", "line", "column") if key in place)
    return "/".join(name for name in names if name and f"`{name}`" not in record["message"]) or None


def _message(record: Json) -> str:
    """Returns the message of a failure, without its place, and without level, code and help of a pipeline's mistakes."""
    mistakes = re.findall(r"^(.+:\d+:\d+: )error: (.*) \[[a-z-]+\]$", record["message"], re.MULTILINE)
    text = "\n".join(place + message for place, message in mistakes).removeprefix(mistakes[0][0] if mistakes else "")
    return _words.translated((text or record["message"]).removeprefix(f"{_place(record)}: "))


@record
class Failure(Reason):
    """The reason why a competition failed."""

    kind: Literal[
        "usage", "no", "several", "input", "check", "pipeline", "machine", "away", "cancelled", "internal"
    ]
    message: str = member(_message)
    #: The step that failed. None if the competition could not be planned.
    step: str | None = None
    #: One action that may solve the problem.
    help: str | None = member(lambda record: _words.translated(record.get("help")), default=None)
    #: The exit code.
    code: int = 1
    #: File, line and column, or the competition and the step.
    place: str | None = member(_place, default=None)
    #: The competition.
    id: str | None = None

    def _row(self) -> dict[str, object]:
        return {"id": self.id, "failure": self.message, "help": self.help}


@record
class Space(Part):
    """The number of files, their bytes, and the bytes that removing them would free. The cache may share the rest."""

    files: int
    bytes: int
    freed_bytes: int


@record
class DiskUse(Part):
    """The disk space of a competition in the data directory: the prepared data of all variants, and the bundle."""

    prepared: Space
    bundle: Space


@record
class DiskNeed(Part):
    """The disk space that a run needs at its peak, and the free space, in bytes."""

    bundles: int
    prepared: int
    #: None if unknown.
    free: int | None


@record
class BundleFile(Part):
    """A file in a bundle, and whether the pipeline uses it."""

    path: str
    bytes: int
    compressed_bytes: int
    used: bool


@record
class Finding(Part):
    """A property of public files that reveals answers."""

    level: Level
    detector: str
    what: str
    evidence: Sequence[str] = ()
    #: The probability of this finding in data without a leak, if the detector tests it.
    p_value: float | None = None
    advice: str | None = None
    #: The reason why the pipeline accepts the finding, if it does.
    accepted: str | None = None


@record
class Cause(Reason):
    """The cause of a difference from the published files, as in docs/audit.md, and the files that have it."""

    #: The most important data that the difference affects.
    harm: Literal["none", "form", "content", "answers"]
    advice: str
    paths: Sequence[str]
    rows: int
    cells: int
    proof: Sequence[str]
    examples: Sequence[str]

    def _row(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("paths", "harm", "kind", "message", "advice")}


@record
class Comparison(Part):
    """The result of comparing files with the published or the prepared ones."""

    verdict: Verdict = member("report.verdict")
    #: The causes of differences, the most harmful first.
    causes: Sequence[Cause] = member("report.blocks")


@record
class BundleAudit(Comparison):
    """The comparison of a bundle with its published MD5."""

    path: Path
    bytes: int
    md5: str
    published: str | None


@record
class OutputsAudit(Comparison):
    """The comparison of prepared files with their published checksums."""

    variant: str
    #: Whether the files are only in the cache, because the last run published nothing.
    is_unpublished: bool
    #: Files whose published checksum matches.
    equal: Sequence[str]
    #: Number of files that have a published checksum.
    published: int


@record
class TreeAudit(Comparison):
    """The comparison of a tree of another program with the prepared files."""

    path: Path
    #: Number of files that have the same bytes in both trees, and of files that exist in both.
    equal: int
    common: int


@record
class FilesDigest(Part):
    """The digest of several files."""

    sha256: str
    files: int
    bytes: int


@record
class ExportedFile(Part):
    """A file of an exported copy. `path` is relative to the directory of the competition."""

    path: str
    bytes: int
    md5: str


@record
class SettingDifference(Part):
    """A setting that differs between two pipelines. A value is None if the setting does not exist."""

    path: str
    old: str | None
    new: str | None


@record
class CountsDifference(Part):
    """Changed counts of the values of a column: the number of old and of new rows for each value."""

    column: str
    values: dict[str, Sequence[int]]


@record
class TableDifference(Part):
    """The differences between two tables."""

    #: The column that identifies rows. None if there is no such column.
    key: str | None
    #: Number of old and of new rows.
    rows: Sequence[int]
    columns_removed: Sequence[str]
    columns_added: Sequence[str]
    #: Old and new names.
    columns_renamed: Sequence[Sequence[str]]
    rows_removed: int
    rows_added: int
    #: Ids of the first removed and added rows.
    ids_removed: Sequence[str]
    ids_added: Sequence[str]
    #: Whether common rows have a different order.
    reordered: bool
    cells_changed: int
    counts: Sequence[CountsDifference]


@record
class FileDifference(Part):
    """A file that differs."""

    path: str
    #: Size of the old and of the new file. None if the file does not exist.
    bytes: Sequence[int | None]
    renamed_to: str | None = None
    #: The differences of the rows, if both files are tables.
    table: TableDifference | None = None


@record
class CellDifference(Part):
    """A cell that differs. `key` identifies the row."""

    path: str
    key: str
    column: str
    old: str
    new: str


@record
class Estimate(Part):
    """A mean over seeds, in percent."""

    mean: float
    #: Bounds of the 95 % confidence interval.
    ci_lower: float
    ci_upper: float
    standard_error: float


@record
class SetFigures(Part):
    """The figures of a set of competitions, or the reason why there are none."""

    set: str
    error: Reason | None = None
    num_competitions_per_seed: int | None = None
    num_seeds_averaged: int | None = None
    #: Number of missing runs that are treated as failed.
    padded_runs: int | None = None
    #: Means over seeds by metric, such as `any_medal_percentage`.
    metrics: dict[str, Estimate] = field(default_factory=dict)
    #: The metrics of each seed.
    seeds: Sequence[dict[str, float]] = ()


@record
class MetricFigures(Part):
    """The mean of a metric over a set of competitions, with the fields of an `Estimate`."""

    set: str
    metric: str
    mean: float
    ci_lower: float
    ci_upper: float
    standard_error: float


@record
class CompetitionFigures(Part):
    """The figures of a competition over all its runs or, with `seeds=N`, over its first N runs."""

    #: The id of the competition.
    competition: str
    #: Number of runs, with and without a submission.
    runs: int
    #: Number of runs with a submission.
    submissions: int
    #: Number of valid submissions.
    valid: int
    #: Number of scores that are better than the median of the leaderboard.
    above_median: int
    #: Number of gold medals.
    gold: int
    #: Number of silver medals.
    silver: int
    #: Number of bronze medals.
    bronze: int
    #: Number of medals of all kinds.
    any_medal: int
    #: Number of submissions that are identical to the answers.
    copies: int
    #: Number of scores that are not comparable with scores of MLE-bench.
    not_comparable: int
    #: Number of gradings in the logs, up to the last run. None if a run was not logged.
    looks: int | None
    #: Mean of all scores. None if there are no scores.
    mean_score: float | None
    #: Standard error of the mean. None for a single score.
    score_standard_error: float | None
    #: `low`, `medium`, `high` or `dev`. None for other competitions.
    complexity: str | None = None

    def _row(self) -> dict[str, object]:
        """Returns the columns of `prep summarize --per-competition`."""
        numbers = (self.mean_score, self.score_standard_error)
        score = " ± ".join(f"{number:.5f}" for number in numbers if number is not None)
        names = "runs looks copies valid above_median gold silver bronze".split()
        counts = {"logged_gradings" if name == "looks" else name: getattr(self, name) for name in names}
        return {"competition": self.competition, "set": self.complexity, **counts, "score": score}


@record
class RepeatedRun(Part):
    """A run that was graded several times. Each grading is treated as a run."""

    competition: str
    submission_path: str
    gradings: int


def named_path(one: Json) -> str | None:
    """Returns the path of a submission. The program writes `None` for a run without a submission, like upstream."""
    path = one["submission_path"]
    return None if path in ("", "None") else path


@record
class UngradedRun(Part):
    """A run that was not graded, and is not part of the figures."""

    competition: str
    #: The file of the submission. None for a run without a submission.
    submission_path: str | None = member(named_path)
    #: Why the run was not graded.
    message: str


@record
class Waits(Part):
    """The time between becoming ready and starting, in milliseconds."""

    #: For a free place among the running steps, for other processes, and for free memory.
    turn: int
    lock: int
    memory: int


@record
class StepTiming(Part):
    """The resources that a step used. Times are in milliseconds."""

    competition: str
    step: str
    kind: str
    #: Time from the start of the run to the start of the step.
    began: int
    wall: int
    cpu: int
    #: Bytes read and written, and the maximum of the claimed memory in bytes.
    read: int
    written: int
    memory: int
    waited: Waits


@record
class RepeatedRuns(Part):
    """The runs of an experiment that were graded several times."""

    experiment: str
    runs: Sequence[RepeatedRun]


def required(kind: Any) -> Any:
    """Returns a type without None."""
    return next((one for one in typing.get_args(kind) if type(None) in typing.get_args(kind)), kind)


@functools.cache
def _types(kind: type[Any]) -> dict[str, Any]:
    """Returns the types of the fields and properties that frames show. Removes None from each type."""
    hints = typing.get_type_hints(kind)
    found = {one.name: hints[one.name] for one in fields(kind) if one.name not in NOT_SHOWN}
    found |= {name: typing.get_type_hints(getattr(kind, name).fget)["return"] for name in kind._PROPERTIES}
    return {name: required(of) for name, of in found.items()}


def is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Part)


def __dir__() -> list[str]:
    """Returns the names of the types, for completion."""
    return [name for name, one in globals().items() if is_part(one) or typing.get_origin(one) is Literal]


def columns(kind: type[Part]) -> dict[str, Any]:
    """Returns the columns of a frame of parts: the names and the declared types of the values in `cells`."""
    found: dict[str, Any] = {}
    for name, of in _types(kind).items():  # type: ignore[arg-type, unused-ignore]
        if is_part(of) and issubclass(of, Reason):
            found |= {name: str, f"{name}_kind": str}
        elif is_part(of):
            found |= {f"{name}.{inner}": one for inner, one in columns(of).items()}
        elif keys := _keys(kind, name):
            found |= {f"{name}.{key}": typing.get_args(of)[1] for key in keys}
        else:
            found[name] = of
    return found


def cells(part: Part) -> dict[str, Any]:
    """Returns a row of a frame. A reason becomes two columns: its message and its kind.

    A part, and a dictionary with fixed keys, becomes a column for each field or key. Any other dictionary becomes a JSON
    text.
    """
    row: dict[str, Any] = {}
    for name, of in _types(type(part)).items():  # type: ignore[arg-type, unused-ignore]
        value = getattr(part, name)
        if is_part(of) and issubclass(of, Reason):
            row |= {name: value and value.message, f"{name}_kind": value and value.kind}
        elif is_part(of):
            inner = {} if value is None else cells(value)
            row |= {f"{name}.{column}": inner.get(column) for column in columns(of)}
        elif keys := _keys(type(part), name):
            row |= {f"{name}.{key}": value.get(key) for key in keys}
        elif of is Any and not isinstance(value, str | None):
            # The values in a column of a frame have one type.
            row[name] = json.dumps(value)
        else:
            row[name] = _plain(value)
    return row


def _keys(kind: type[Part], name: str) -> tuple[str, ...]:
    """Returns the keys of a dictionary, if they are fixed."""
    return next((one.metadata.get("keys", ()) for one in fields(kind) if one.name == name), ())  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Returns a value for a cell of a frame: records as dictionaries, tuples as lists, other values as texts."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return json.dumps({name: _plain(one) for name, one in value.items()})
    if isinstance(value, Part):
        return cells(value)
    return str(value) if isinstance(value, Path) else value
