"""Results of calls: frozen records with the fields of the program's JSON, and lists that notebooks show as tables.

Names and types of fields are those of docs/reference/json.schema.json, unless `member` names another member of the
schema. Tests compare all types with the schema.
"""

from __future__ import annotations

import difflib
import re
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, SupportsIndex, TypeVar, overload

from mleprep import _html, _tables
from mleprep.errors import UsageError
from mleprep.parts import (
    BundleAudit, BundleFile, CellDifference, ChangedStep, CompetitionFigures, ExplainedStep, ExportedFile, Failure,
    FileDifference, FilesDigest, Finding, Cause, DiskNeed, DiskUse, InvalidReason, Json, Level, Medal, MetricFigures, OutputsAudit, Part,
    Publication, Reason, RepeatedRun, RepeatedRuns, SetFigures, SettingDifference, Step, StepTiming, Time, TreeAudit,
    UngradedRun, Verdict, cells, columns, is_part, member, named_path, record, required,
)


def program_members(record: Json) -> Json:
    """Returns a JSON object without the members that this package added. Their names begin with an underscore."""
    return {name: value for name, value in record.items() if not name.startswith("_")}


@record
class Record(Part):
    """The base class of all results. Notebooks show them as tables."""

    #: The competition.
    id: str
    #: All members of the program's JSON object.
    json: Json = field(
        default_factory=dict, repr=False, compare=False, kw_only=True, metadata={"source": program_members}
    )
    #: `data_dir` and `variant` of the call. Functions that take the record use these values. A function that is for all
    #: variants, such as `list`, leaves out `variant`.
    origin: Json = field(
        default_factory=dict, repr=False, compare=False, kw_only=True,
        metadata={"source": lambda record: record.get("_origin")},
    )  # fmt: skip

    def _row(self) -> dict[str, object]:
        shown = super()._row()
        return {name: shown[name] for name in self._COLUMNS.split()} or shown

    _COLUMNS = ""

    def _rows(self) -> Sequence[Json]:
        """Returns the rows of this record in a table. Most records have one row."""
        return [self._row()]

    def _details(self) -> Sequence[Json]:
        """Returns the rows of a second table, for example the steps of a plan."""
        return ()

    def _repr_html_(self) -> str:
        return _html.tables(self._rows(), self._details())

    def to_frame(self, library: Literal["pandas", "polars"] | None = None, *, of: str | None = None) -> Any:
        """Same as `Results.to_frame`, for this record alone."""
        return Results([self]).to_frame(library, of=of)


@record
class Competition(Record):
    """A competition and the state of its data."""

    #: The title.
    name: str | None = None
    #: Sets that contain the competition, such as `low`, `scored` or `PACK/NAME`.
    sets: Sequence[str] = ()
    #: The kind of data, such as `Tabular`.
    category: str | None = None
    #: Size of the bundle in bytes, if it is published.
    bytes: int | None = None
    #: The state in words, such as `prepared v1 (not verified)`. `is_prepared` and `variants` state it for programs.
    state: str = ""
    #: Which prepared files have changed, which files of other programs exist, and how the last run failed.
    reasons: Sequence[Reason] = ()
    #: The variant whose data have changed or, if there is none, the first prepared variant.
    variant: str | None = None
    #: Prepared variants whose files are unchanged.
    variants: Sequence[str] = ()
    #: First and last day on Kaggle, such as `2025-12-31`, if the pack of the competition states them.
    launched: str | None = None
    #: See `launched`.
    closed: str | None = None
    #: Whether scores on the prepared data are comparable with published scores. None without prepared data.
    comparable_with_v1: bool | None = None
    #: The reasons why scores are not comparable.
    not_comparable_because: Sequence[str] = ()
    #: The disk space in the data directory. Only with `long`.
    disk: DiskUse | None = None

    _PROPERTIES: ClassVar = ("is_prepared",)

    @property
    def is_prepared(self) -> bool:
        """Whether a variant is prepared, and its files are unchanged. `variants` contains all such variants."""
        return bool(self.variants)

    def _row(self) -> dict[str, object]:
        reasons = "; ".join(map(str, self.reasons))
        row = {"id": self.id, "state": self.state, "reasons": reasons, "bytes": self.bytes}
        if self.disk is not None:
            row |= {f"{name}_freed_bytes": getattr(self.disk, name).freed_bytes for name in ("prepared", "bundle")}
        return {**row, "category": self.category, "sets": self.sets}


def _failures(record: Json) -> Sequence[Json]:
    """Returns the failures of a competition, each with the id of the competition."""
    return [{"id": record["id"], **one} for one in record.get("failures", ())]


@record
class Plan(Record):
    """The steps that preparing a competition would execute."""

    steps: Sequence[Step] = ()
    #: Bytes to download, if known.
    download_bytes: int | None = member("download.bytes", default=None)

    _PROPERTIES: ClassVar = ("steps_to_run", "is_up_to_date")

    @property
    def steps_to_run(self) -> int:
        """Number of steps that would run, or that may run."""
        return sum(step.runs != "no" for step in self.steps)

    @property
    def is_up_to_date(self) -> bool:
        """Whether no step would run."""
        return self.steps_to_run == 0

    def _row(self) -> dict[str, object]:
        return {**super()._row(), "steps to run": self.steps_to_run}

    def _details(self) -> Sequence[Json]:
        return [step._row() for step in self.steps if step.runs != "no"]


@record
class Why(Record):
    """Why steps would run, and why the data last changed."""

    variant: str
    steps: Sequence[ExplainedStep]
    #: The last publication. None if there is none.
    published: Publication | None = None
    #: Settings and sources that changed since then.
    causes: Sequence[ChangedStep] = ()
    #: Options that have the values of the last run.
    as_last_time: Sequence[str] = ()

    def _details(self) -> Sequence[Json]:
        return [step._row() for step in self.steps]


@record
class Prepared(Record):
    """The result of preparing a competition."""

    variant: str = "v1"
    state: Literal["prepared", "up_to_date", "failed", "stopped"] = "failed"
    #: Number of published files, and their size in bytes.
    files: int | None = None
    bytes: int | None = None
    seconds: float = 0.0
    steps_run: int = 0
    steps_reused: int = 0
    checksums: Literal["ok", "depends_on_writer", "differ", "not_published", "not_checked"] = "not_checked"
    failures: Sequence[Failure] = member(_failures, default=())
    #: Directory of the published files, which exists if the competition is prepared.
    path: Path = member(lambda one: prepared_path(one["_origin"]["data_dir"], one["id"], one["variant"]), default=Path())
    #: Files and checksums that the program cannot verify after a partial download.
    unverified: Sequence[str] = ()

    _COLUMNS = "id state checksums files bytes seconds path"

    @property
    def is_complete(self) -> bool:
        """Whether the competition is prepared completely."""
        return self.state in ("prepared", "up_to_date")

    def __bool__(self) -> bool:
        return self.is_complete

    @property
    def public(self) -> Path:
        """Directory of the files that participants see."""
        return self.path / "public"

    @property
    def private(self) -> Path:
        """Directory of the answers."""
        return self.path / "private"

    def _row(self) -> dict[str, object]:
        return {**super()._row(), "failure": "\n".join(one.message for one in self.failures)}


def prepared_path(data_dir: Path, id: str, variant: str) -> Path:
    """Returns the directory of a prepared variant: `fixed:30,63` is in `DATA/fixed-30-63/ID/prepared`."""
    parent = data_dir if variant == "v1" else data_dir / re.sub("[:,]", "-", variant)
    return parent / id / "prepared"


@record
class Validation(Record):
    """Whether a submission is valid."""

    valid: bool
    #: The message that upstream's validation server would return.
    message: str
    #: Why the submission is invalid, as in a `Grade`.
    reason: InvalidReason | None = None

    _COLUMNS = "id valid reason"

    def __bool__(self) -> bool:
        return self.valid


def _medal(report: Json) -> str | None:
    return next((name for name in ("gold", "silver", "bronze") if report.get(f"{name}_medal")), None)


_THRESHOLDS = ("gold", "silver", "bronze", "median")


def _thresholds(report: Json) -> dict[str, float]:
    values = {name: report.get(f"{name}_threshold") for name in _THRESHOLDS}
    return {name: value for name, value in values.items() if value is not None}


@record
class Grade(Record):
    """A graded submission: the fields of upstream's report."""

    #: The score. None for an invalid submission.
    score: float | None
    #: Whether the submission has a score.
    valid: bool = member("valid_submission", default=False)
    #: Why the submission is invalid.
    reason: InvalidReason | None = None
    #: The medal that the score earns on the leaderboard.
    medal: Medal | None = member(_medal, default=None)
    #: Whether the score is better than the median of the leaderboard.
    above_median: bool = False
    #: Whether lower scores are better. None if unknown.
    is_lower_better: bool | None = None
    #: The thresholds for gold, silver and bronze, and the median of the leaderboard.
    thresholds: dict[str, float] = member(_thresholds, keys=_THRESHOLDS, default_factory=dict)
    #: The variant of the answers. For `v1`, also whether the data are those of the benchmark, for example `v1-differs`.
    variant: str = "v1"
    #: Whether the score is comparable with scores of MLE-bench.
    comparable_with_v1: bool = False
    #: Whether the submission is identical to the answers.
    is_answers: bool = member("submission_is_answers", default=False)
    #: Whether a query in the competition's pipeline computes the score, instead of a metric of the program.
    own_metric: bool = False
    #: The file of the submission. None for a frame, and for a run without a submission.
    submission_path: Path | None = member(named_path, default=None)
    #: The directory of a run without a submission. None if it is unknown.
    run: Path | None = None
    #: The report's file. None without `output`.
    path: Path | None = member(lambda one: one.get("_path"), default=None)

    _COLUMNS = "id submission_path score medal above_median valid is_answers comparable_with_v1 reason"

    @property
    def report(self) -> Json:
        """All fields of the program's report, with upstream's names."""
        return self.json

    def __bool__(self) -> bool:
        return self.valid

    def _row(self) -> dict[str, object]:
        path = _html.last_parts(self.submission_path or self.run)
        better = {None: None, True: "lower", False: "higher"}[self.is_lower_better]
        return {**super()._row(), "submission_path": path, "better_if": better, **self.thresholds}


@record
class Ranking(Record):
    """The thresholds of a competition, and the medal of a given score."""

    id: str = member(lambda one: one["id"] or "")
    score: float | None = None
    medal: Medal | None = member(_medal, default=None)
    above_median: bool = False
    is_lower_better: bool = False
    #: The thresholds for gold, silver and bronze, and the median of the leaderboard.
    thresholds: dict[str, float] = member(_thresholds, keys=_THRESHOLDS, default_factory=dict)


@record
class Bundle(Record):
    """A bundle on this machine, and whether the mirror has the bundle."""

    path: Path | None = None
    mirrored: bool | None = None


@record
class BundleListing(Record):
    """The files of a bundle."""

    #: Path of the bundle. None if the bundle is not on this machine, so that Kaggle listed its files.
    bundle: Path | None
    bytes: int
    files: Sequence[BundleFile]
    #: Bytes that a partial download needs.
    used_bytes: int | None
    md5: str | None = None


@record
class Rules(Record):
    """Whether you accepted the rules of a competition on Kaggle."""

    state: Literal["accepted", "not_accepted", "failed", "not_asked"]
    url: str
    error: Failure | None = member(lambda one: one.get("error") and {"id": one["id"], **one["error"]}, default=None)


@record
class Leaks(Record):
    """The result of the search for hints at the answers."""

    #: The highest level of a finding that is not accepted.
    worst: Level | None
    #: Number of test items.
    items: int
    has_few_items: bool
    #: Whether the bundle was available for comparison.
    bundle: bool
    findings: Sequence[Finding]

    _ALWAYS_SHOWN: ClassVar = ("worst", "findings")

    def _details(self) -> Sequence[Json]:
        return [{name: value for name, value in vars(one).items() if name != "p_value"} for one in self.findings]


@record
class Audit(Record):
    """Why files differ from the published ones."""

    verdict: Verdict
    #: The verdict in words.
    conclusion: str | None = None
    #: Comparisons: the bundle and the outputs with published checksums, and the given tree with the outputs.
    bundle: BundleAudit | None = None
    outputs: OutputsAudit | None = None
    tree: TreeAudit | None = None
    #: The causes of all differences.
    causes: Sequence[Cause] = member(lambda audit: _causes(audit), default=())

    _COLUMNS = "id verdict conclusion"

    def _details(self) -> Sequence[Json]:
        return [cause._row() for cause in self.causes]


def _causes(audit: Json) -> Sequence[Json]:
    reports = (audit[part]["report"] for part in ("bundle", "outputs", "tree") if audit.get(part))
    return [block for report in reports for block in report["blocks"]]


@record
class Digest(Record):
    """SHA-256 digests of the data that scores depend on."""

    variant: str
    #: The first 12 digits of `digest`.
    short: str
    digest: str
    public: FilesDigest
    answers: FilesDigest
    description: str | None
    leaderboard: str | None
    rules: str | None
    #: Published files that are missing or changed, so that the digest is not that of the published data.
    difference: str | None

    _COLUMNS = "id variant short digest"


@record
class Export(Record):
    """An exported copy of a competition."""

    private: bool
    files: Sequence[ExportedFile]
    bytes: int
    variant: str | None = None
    #: The directory or the .tar file.
    path: Path = member(lambda one: one["_path"], default=Path())


@record
class Difference(Record):
    """The differences between two variants, data directories, publications or pipelines."""

    #: The competition. Empty for two files.
    id: str = member(lambda one: one["id"] or "")
    #: Times of the two publications. None if the call did not compare publications.
    published: Sequence[Time] | None = None
    #: Settings of the pipelines that differ.
    pipeline: Sequence[SettingDifference] = ()
    #: Files that differ. None unless both sides are prepared.
    outputs: Sequence[FileDifference] | None = None
    #: Cells of tables that differ.
    cells: Sequence[CellDifference] = ()

    _PROPERTIES: ClassVar = ("is_equal",)
    _ALWAYS_SHOWN: ClassVar = ("is_equal",)

    @property
    def is_equal(self) -> bool | None:
        """Whether nothing differs. None if the pipelines are equal, but the files were not compared."""
        if self.pipeline or self.outputs or self.cells:
            return False
        return None if self.outputs is None and self.id else True

    def _repr_html_(self) -> str:
        files = [{"path": one.path, "bytes": _html.shown(one.bytes)} for one in self.outputs or ()]
        settings, cells = ([vars(one) for one in parts] for parts in (self.pipeline, self.cells))
        row = [{"id": self.id, "published": self._row()["published"]}] if self.published else []
        shown = _html.tables(row, settings, files, cells) or "<em>no differences</em>"
        not_compared = _html.note("files not compared, because not both sides are prepared")
        return shown + (not_compared if self.outputs is None and self.id else "")


@record
class Experiment(Record):
    """The leaderboard figures of an experiment."""

    #: The name of the experiment.
    id: str = member("experiment")
    sets: Sequence[SetFigures] = ()
    competitions: Sequence[CompetitionFigures] = ()
    repeated_runs: Sequence[RepeatedRun] = ()
    ungraded_runs: Sequence[UngradedRun] = ()
    #: Fields of the budget, such as `hours`.
    budget: dict[str, str] = field(default_factory=dict)
    #: The metrics of all sets.
    metrics: Sequence[MetricFigures] = member(lambda experiment: _metrics(experiment), default=())

    def _rows(self) -> Sequence[Json]:
        figures = [one for one in self.sets if one.metrics]
        return [{"experiment": self.id, "set": one.set, "seeds": one.num_seeds_averaged, **_means(one)} for one in figures]

    def _details(self) -> Sequence[Json]:
        return [one._row() for one in self.competitions]

    def _repr_html_(self) -> str:
        return _figures([self])


def _figures(experiments: Sequence[Experiment]) -> str:
    """Returns a table of the sets with figures, a line about the other sets, and a table of competitions."""
    rows = [cells for one in experiments for cells in one._rows()]
    details = [{"experiment": one.id, **cells} for one in experiments for cells in one._details()]
    notes: dict[str, list[str]] = {}
    for one in experiments:
        if names := ", ".join(figures.set for figures in one.sets if not figures.metrics):
            text = f"no figures for {names}, because competitions of these sets lack graded runs"
            notes.setdefault(text, []).append(one.id)
    shown = [_html.note(f"{', '.join(ids)}: {text}") for text, ids in notes.items()]
    return "".join([_html.tables(rows), *shown, _html.tables(details)])


def _metrics(experiment: Json) -> Sequence[Json]:
    """Returns an object for each set and metric."""
    pairs = ((one["set"], *pair) for one in experiment.get("sets", ()) for pair in one.get("metrics", {}).items())
    return [{"set": name, "metric": metric, **estimate} for name, metric, estimate in pairs]


def _means(figures: SetFigures) -> Json:
    """Returns the mean of each metric in the order of the program's table, with its standard error if there are several seeds."""
    has_errors = (figures.num_seeds_averaged or 0) > 1
    means = {
        name: f"{one.mean:.2f}" + (f" ± {one.standard_error:.2f}" if has_errors else "")
        for name, one in figures.metrics.items()
    }
    return {heading: means[name] for heading, name in _HEADINGS.items() if name in means}


#: The metrics of a set, by the heading of their column.
_HEADINGS = {
    "any medal %": "any_medal_percentage",
    "gold %": "gold_medal_percentage",
    "silver %": "silver_medal_percentage",
    "bronze %": "bronze_medal_percentage",
    "above median %": "above_median_percentage",
    "valid %": "valid_submissions_percentage",
    "submitted %": "submission_exists_percentage",
}


Row = TypeVar("Row", bound=Record)


class Results(Sequence[Row], Generic[Row]):
    """An immutable list of records, which can be indexed by position or id. Notebooks show it as a table."""

    #: Failures of competitions. With `check`, which is the default, a failure raises an exception instead. Only `run`
    #: also returns a record of each failed competition.
    failed: Sequence[Failure] = ()
    #: The program's entire JSON document. A slice has only the JSON of its records.
    json: Json

    def __init__(self, rows: Iterable[Row], kind: type[Record] | None = None) -> None:
        """Makes a list of records. `kind` is the class of the records. It determines the columns of an empty table."""
        self._rows: tuple[Row, ...] = tuple(rows)
        self._kind: type[Record] = kind or (type(self._rows[0]) if self._rows else Record)
        self.json = {"competitions": [row.json for row in self._rows]}

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Results[Row]: ...
    def __getitem__(self, key: SupportsIndex | str | slice) -> Row | Results[Row]:
        if isinstance(key, slice):
            # Some subclasses have attributes that concern all records, such as `timings`, so their slices are `Results`.
            part = (Results if type(self).__annotations__ else type(self))(self._rows[key], self._kind)
            part.failed = tuple(one for one in self.failed if one.id in part.ids)
            return part
        if isinstance(key, SupportsIndex):
            if not -len(self) <= int(key) < len(self):
                raise IndexError(f"there is no record {int(key)}; the number of records is {len(self)}")
            return self._rows[key]
        if not isinstance(key, str):
            raise TypeError(f"records are indexed by position or id, not by {key!r}")
        found = [row for row in self._rows if row.id == key]
        if len(found) > 1:
            raise KeyError(f"{len(found)} results have the id `{key}`; index them by position")
        if found:
            return found[0]
        near = difflib.get_close_matches(key, self.ids, 1) or [one for one in self.ids if key in one][:1]
        raise KeyError(f"there is no `{key}` in the results" + (f"; did you mean `{near[0]}`?" if near else ""))

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self.ids or key in self._rows

    def __eq__(self, other: object) -> bool:
        ignored = {"json": None, "_kind": None}
        return type(self) is type(other) and vars(self) | ignored == vars(other) | ignored

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        kind = f" {self._kind.__name__}" if type(self) is Results else ""
        failed = f"{len(self.failed)} failed" if self.failed else ""
        ids = ", ".join([*self.ids[:3], *(["..."] if len(self) > 3 else [])])
        shown = "; ".join(filter(None, [self._summary() if self._rows else "", ids, failed]))
        return f"{type(self).__name__}({len(self)}{kind}{shown and ': '}{shown})"

    def _summary(self) -> str:
        """Returns numbers for `repr`."""
        return ""

    def _ipython_key_completions_(self) -> Sequence[str]:
        return self.ids

    @property
    def ids(self) -> list[str]:
        """Returns the ids in order."""
        return [row.id for row in self._rows]

    def to_frame(self, library: Literal["pandas", "polars"] | None = None, *, of: str | None = None) -> Any:
        """Returns a frame with a row for each record and a column for each field, except `json` and `origin`.

        `of` names a field with several parts, such as `steps`. The frame then has a row for each part of each record.
        Its column `id` contains the id of the record.

        Without `library`, uses pandas if it is installed, otherwise polars.

        Paths become texts. A reason becomes two columns: its message and its kind. Any other part becomes a column for
        each of its fields, such as `disk.prepared.bytes`. Several parts become objects. A dictionary with fixed keys
        becomes a column for each key, such as `thresholds.gold`. Any other dictionary becomes a JSON text. The columns
        have the names of the fields, and in polars also their types, even if there are no rows.
        """
        if of is None:
            return _tables.frame([cells(row) for row in self._rows], columns(self._kind), library)
        own, inner = _kinds_of_parts(type(self)), _kinds_of_parts(self._kind)
        if of not in own | inner:
            names = " or ".join(map(repr, inner | own))
            raise UsageError(f"invalid value {of!r} for `of`", code=2, help=f"write {names}")
        kind = own[of] if of in own else inner[of]
        declared = columns(kind) if is_part(kind) else {of: kind}
        if of in own:
            return _tables.frame([_part_row(of, part) for part in getattr(self, of, ())], declared, library)
        # The value None means that there are no parts.
        rows = [{"id": row.id, **_part_row(of, part)} for row in self._rows for part in getattr(row, of) or ()]
        return _tables.frame(rows, {"id": str, **declared}, library)

    def _repr_html_(self) -> str:
        left_out = [{"left_out": one} for one in getattr(self, "left_out", ())]
        if len(self._rows) == 1 and not self.failed:
            return self._rows[0]._repr_html_() + _html.tables(left_out)
        rows = [cells for row in self._rows for cells in row._rows()]
        details = [{"id": row.id, **cells} for row in self._rows for cells in row._details()]
        # The row of a record contains the failures of its competition.
        failures = [failure._row() for failure in self.failed if failure.id not in self.ids]
        return _html.tables(rows, failures, details, left_out) or "<em>no competitions</em>"


def _kinds_of_parts(kind: type) -> dict[str, Any]:
    """Returns the fields of a class that have several parts, and the type of the parts."""
    hints = {name: required(of) for name, of in typing.get_type_hints(kind).items()}
    return {name: typing.get_args(of)[0] for name, of in hints.items() if typing.get_origin(of) is Sequence}


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _part_row(of: str, part: Any) -> dict[str, Any]:
    return cells(part) if isinstance(part, Part) else {of: part}


# A class for each function, because completion in notebooks knows the type of a list's records only from its class.
class Competitions(Results[Competition]):
    """The results of `list`."""


class Bundles(Results[Bundle]):
    """The results of `fetch`."""


class BundleListings(Results[BundleListing]):
    """The results of `fetch_list`."""


class RulesChecks(Results[Rules]):
    """The results of `fetch_check_rules`."""


class LeakSearches(Results[Leaks]):
    """The results of `leaks`."""


class Audits(Results[Audit]):
    """The results of `audit`."""


class Experiments(Results[Experiment]):
    """The results of `summarize`."""

    def _repr_html_(self) -> str:
        return _figures(self._rows)


class Grades(Results[Grade]):
    """The results of `grade_all`."""

    def _summary(self) -> str:
        valid, medals = sum(map(bool, self)), sum(one.medal is not None for one in self)
        return f"{valid} valid, {_counted(medals, 'medal')}"


class Runs(Results[Prepared]):
    """The results of a run."""

    #: Competitions that `available` left out.
    left_out: Sequence[str] = ()
    #: Times, memory and bytes of each step that ran, the slowest first.
    timings: Sequence[StepTiming]

    def __repr__(self) -> str:
        states = Counter(run.state.replace("_", " ") for run in self._rows)
        states["left out"] = len(self.left_out)
        shown = ", ".join(f"{count} {state}" for state, count in states.items() if count)
        return f"Runs({len(self)}{shown and ': '}{shown})"


class Plans(Results[Plan]):
    """Plans of several competitions."""

    #: Competitions that `available` leaves out.
    left_out: Sequence[str]
    #: None if a run downloads nothing.
    disk: DiskNeed | None

    def _summary(self) -> str:
        return f"{_counted(sum(plan.steps_to_run for plan in self), 'step')} to run"


class Digests(Results[Digest]):
    """Digests of several competitions, and the digest of all of them."""

    digest: str
    short: str
    #: The version of the program.
    program: str


class ReportPage(Results[Record]):
    """A report page, and the competitions on it."""

    path: Path
    bytes: int
    #: Runs that were graded several times, per experiment. Each grading is treated as a run.
    repeated_runs: Sequence[RepeatedRuns]

    def __repr__(self) -> str:
        return f"ReportPage(path={str(self.path)!r}, bytes={self.bytes}, ids={self.ids})"

    def _repr_html_(self) -> str:
        return _html.table([{"path": self.path, "bytes": self.bytes, "competitions": self.ids}])

