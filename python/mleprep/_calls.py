"""The functions of the package. Each builds a command line, calls the program, and converts its output to records.

The parameters of a function are those of its table in `_options`.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shlex
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast

from mleprep import _envelope, _options, _program, _progress, _words
from mleprep._options import Graded, Path_, Reports, verb
from mleprep._tables import Tables
from mleprep.errors import InputError, PrepError, PrepWarning, UsageError
from mleprep.results import (
    Audits, BundleListings, Bundles, Competition, Competitions, Difference, Digests, Experiments, Export, Grade,
    Grades, LeakSearches, Plans, Prepared, Ranking, Record, ReportPage, Results, RulesChecks, Runs, Validation, Why,
    prepared_path,
)


if TYPE_CHECKING:
    import pandas
    import polars

    # Not `os.PathLike`: for a type checker, a series of pandas has every method, so it would be accepted as a path.
    Submission = pandas.DataFrame | polars.DataFrame | polars.LazyFrame | str | Path
else:
    # Users need not install pandas and polars.
    Submission = Any
#: Competitions: ids, records, or the results of another function. A record implies its data directory and variant.
Ids = str | Record | Iterable[str | Record]
_Kind = TypeVar("_Kind")


@verb
def list(ids: Ids = (), **options: Unpack[_options.Listing]) -> Competitions:
    """Lists competitions and the state of their data. Without ids and sets, lists all competitions."""
    return _call("list", Competitions, _ids(ids), options)


@verb
def plan(ids: Ids = (), **options: Unpack[_options.Preparation]) -> Plans:
    """Returns the steps that `run` would execute, the reasons, and the disk space. Writes nothing."""
    return _call("plan", Plans, _ids(ids), options)


@verb
def why(id: Ids, step: str | None = None, **options: Unpack[_options.Why]) -> Why:
    """Returns why steps would run now, and why the data last changed.

    `published` has the changes of the last publication, `causes` the changes since then. Each step has `reason` and
    `last`. With `step`, returns only this step, with its inputs. Writes nothing.
    """
    return _call("why", Why, [_id(id), *([] if step is None else [step])], options)


@verb
def run(ids: Ids = (), **options: Unpack[_options.Run]) -> Runs:
    """Prepares competitions: runs the steps that are not up to date and publishes the results.

    Without `source`, the program downloads bundles from Kaggle.

    Options such as `skip_verification` keep the values of the last run in the data directory, unless you give them.

    With `check=False`, a failed competition raises no exception: check `state` and `failures` of the records. Invalid
    arguments, such as an unknown id, always raise an exception.
    """
    return _call("run", Runs, _ids(ids), options)


@verb
def fetch(ids: Ids = (), **options: Unpack[_options.Fetch]) -> Bundles:
    """Downloads bundles and returns their paths."""
    return _call("fetch", Bundles, _ids(ids), options)


@verb
def fetch_list(ids: Ids = (), **options: Unpack[_options.FetchList]) -> BundleListings:
    """Lists the files of bundles without downloading them."""
    return _call("fetch_list", BundleListings, _ids(ids), options)


@verb
def fetch_check_rules(ids: Ids = (), **options: Unpack[_options.FetchCheckRules]) -> RulesChecks:
    """Checks whether you accepted the rules of competitions on Kaggle. Check `state` of the records."""
    return _call("fetch_check_rules", RulesChecks, _ids(ids), options, answers=(0, 4, 7))


@verb
def report(ids: Ids = (), *, output: Path_, **options: Unpack[_options.Report]) -> ReportPage:
    """Writes an HTML page about prepared and graded data to the file `output`. Creates its directory.

    Without ids, the page shows all prepared and graded competitions.

    Do not give the page to agents, because it shows the distribution of test labels.
    """
    grading = _experiments(options.pop("grading", None) or (), "grading")
    extra = [f"--output={_in_directory(output, 'output')}", *(f"--grading={one}" for one in grading)]
    return _call("report", ReportPage, _ids(ids), options, extra=extra)


@verb
def leaks(ids: Ids = (), **options: Unpack[_options.Leaks]) -> LeakSearches:
    """Searches prepared data for hints at the answers. Findings raise no exception."""
    return _call("leaks", LeakSearches, _ids(ids), options, answers=(0, 1, 5))


@verb
def audit(ids: Ids = (), **options: Unpack[_options.Audit]) -> Audits:
    """Explains why prepared files differ from the published ones. Differences raise no exception."""
    return _call("audit", Audits, _ids(ids), options, answers=(0, 5))


@verb
def digest(ids: Ids = (), **options: Unpack[_options.Digest]) -> Digests:
    """Returns digests of the data that scores depend on. Without ids, includes all prepared competitions."""
    return _call("digest", Digests, _ids(ids), options)


@verb
def diff(
    what: Ids | Path_, old: Path_, new: Path_ | None = None, **options: Unpack[_options.Diff]
) -> Difference:
    """Compares two variants, data directories or publications of a competition, or two pipelines.

    Examples: `diff(id, "v1", "fixed")`, `diff(id, Path("old"), Path("new"))`, `diff(id, "@1", "@0")`, and
    `diff("old/pipeline.yaml", "pipeline.yaml")`.
    """
    first = _side(cast(Path_, what), "what") if new is None else _id(cast(Ids, what), "what")
    sides = [_side(side, name) for side, name in ((old, "old"), (new, "new")) if side is not None]
    return _call("diff", Difference, [first, *sides], options, answers=(0, 1))


@verb
def export(id: Ids, output: Path_, **options: Unpack[_options.Export]) -> Export:
    """Copies a prepared competition to the directory or the .tar file `output`, which must not exist."""
    place = _options.text(output)
    try:
        return _call("export", Export, [_id(id)], options, extra=[f"--output={place}"], members={"_path": place})
    except UsageError as error:
        with suppress(PrepError):
            list(place, pipelines=options.get("pipelines"), progress=False)
            raise TypeError("the competition is the first argument, and the output is the second one") from error
        raise


@verb
def summarize(
    reports: Reports | Mapping[str, Reports] = (), **options: Unpack[_options.Summarize]
) -> Experiments:
    """Computes leaderboard figures of an experiment from grading reports.

    The reports are files, directories, or results of `grade` and `grade_all` with `output`. The keys of a mapping are
    names of experiments. Figures are computed for entire reports only, so passing some of the grades of a report is an
    error.

    If `ids_from` is a list of ids, the set has the name `ids`.
    """
    if isinstance(reports, Mapping) and options.get("name") is not None:
        raise TypeError("`name` cannot be used with a mapping, whose keys are the names")
    given = _experiments(reports, "reports")
    if not given and options.get("groups") is None:
        help = "name reports or directories of reports, or a table of run groups with `groups`"
        raise UsageError("no reports are given", code=2, help=help)
    ids = options.get("ids_from")
    if ids is None or isinstance(ids, (str, os.PathLike)):
        return _call("summarize", Experiments, given, options)
    with tempfile.TemporaryDirectory(prefix="mleprep-") as directory:
        path = Path(directory) / "ids.txt"
        path.write_text("".join(f"{one}\n" for one in _ids(ids, "ids_from")), encoding="utf-8")
        return _call("summarize", Experiments, given, {**options, "ids_from": path})


@verb
def grade(
    submission: Submission, id: Ids, *, log: bool = True, **options: Unpack[_options.Grading]
) -> Grade:
    """Grades a submission against the prepared answers. A submission is a file, or a frame of pandas or polars.

    An invalid submission raises no exception: its `score` is None, and `reason` explains why.

    With `log`, the program appends the grading to `grades.jsonl` in the data directory.

    Raises `FileNotFoundError` if the file does not exist.
    """
    extra = () if log else ("--no-log",)
    if options.get("reward") is not None:
        _in_directory(cast(Path_, options["reward"]), "reward")
    is_file = isinstance(submission, (str, os.PathLike))
    with _as_file(submission, id) as path:
        names = {} if is_file else {str(path): "the data frame"}
        found = _call("grade", Grade, [_id(id), str(path)], options, answers=(0, 1), extra=extra, names=names)
    return found if is_file else replace(_about_frame(found, submission), submission_path=None)


@verb
def grade_all(
    submissions: Path_ | Iterable[Path_ | tuple[str, Path_]] | Mapping[str, Path_], *, output: Path_, log: bool = True,
    **options: Unpack[_options.GradingList],
) -> Grades:
    """Grades the submissions of a list or of runs, and writes one report to `output`.

    `submissions` is a list of pairs of an id and a file, a mapping from ids to files, the file of one list (JSON Lines),
    or one or several directories of runs, each with the runs of one run group.

    With `check`, an entry that cannot be graded raises an exception. Otherwise the entry is in `failed` of the results.

    An entry whose file does not exist is a run without a submission, so its grade is invalid. If no file of the entries
    exists, this is an error.
    """
    _options.check_directory(output, "output")
    extra = [f"--output={_options.text(output)}", *([] if log else ["--no-log"])]
    if isinstance(submissions, (str, os.PathLike)):
        submissions = [submissions]
    elements = [*(submissions.items() if isinstance(submissions, Mapping) else submissions)]
    with _as_list(elements, options.get("check", True)) as places:
        paths = _paths(places, "submissions")
        if len(paths) > 1 and (files := [path for path in paths if os.path.isfile(path)]):
            message = f"`submissions` must be one list or directories of runs, but {files[0]!r} is one of {len(paths)} paths"
            raise UsageError(message, code=2, help="call `grade_all` for each list, or join the lists to one file")
        if not paths:
            help = "name lists of submissions, or directories of runs"
            raise UsageError("no submissions are given", code=2, help=help)
        # A message about an entry names its list by path. For a temporary list, it must name the parameter instead.
        names = {} if places is elements else {paths[0]: "submissions"}
        return _call("grade_all", Grades, paths, options, extra=extra, names=names)


@verb
def grade_score(score: float | None, id: Ids, **options: Unpack[_options.Ranking]) -> Ranking:
    """Returns the thresholds of a competition, and the medal of a score. The competition need not be prepared."""
    extra = [] if score is None else [f"--score={score}"]
    return _call("grade_score", Ranking, [_id(id)], options, extra=extra)


@verb
def validate(submission: Submission, id: Ids, **options: Unpack[_options.Submission]) -> Validation:
    """Checks whether a submission is valid, by the rules of `grade`. Returns no score.

    Raises `FileNotFoundError` if the file does not exist.
    """
    with _as_file(submission, id) as path:
        found = _call("validate", Validation, [_id(id), str(path)], options, answers=(0, 1))
    return found if isinstance(submission, (str, os.PathLike)) else _about_frame(found, submission)


@verb
def path(id: Ids, **options: Unpack[_options.Location]) -> Path:
    """Returns the directory of a prepared competition. It contains the directories `public` and `private`.

    If `id` is a result of `run`, returns the directory into which that run published. If you pass options, they determine
    the directory instead.

    Raises `InputError` if the variant is not prepared, and `FileNotFoundError` if `data_dir` does not exist.
    """
    match id if isinstance(id, Results) else [id]:
        case [Prepared(path=own, origin=origin)] if own.is_dir() and options == origin:
            return own
    id = _id(id)
    given = [*_options.command_line("path", options)]
    variant = options.get("variant") or "v1"
    places: _options.Places = {"data_dir": options.get("data_dir"), "pipelines": options.get("pipelines")}
    try:
        [found] = list(id, **places)
    except UsageError as error:
        error.help = re.sub("select it with .*", "name one of its competitions", error.help or "") or None
        raise
    name = _prepared_variant(found, variant)
    if name is not None:
        return prepared_path(_data_dir(options), id, name)
    # Raises `UsageError` if the competition does not have the variant.
    plan(id, variant=variant, no_download=True, progress=False, check=False, **places)
    data_dir = _data_dir(options)
    problem = f"is not prepared in {data_dir}"
    if found.state.startswith("changed") and prepared_path(data_dir, id, variant).is_dir():
        files = "; ".join(one.message for one in found.reasons if one.kind == "files_differ")
        files = files.replace("changed or missing: ", "")
        problem = f"was changed since it was prepared in {data_dir}: {files}"
    message = f"variant `{variant}` of competition `{id}` {problem}"
    raise InputError(message, code=4, help=_words.translated(f"run `{shlex.join(['prep', 'run', id, *given])}`"))


@verb
def load(
    id: Ids, *, library: Literal["pandas", "polars"] | None = None, **options: Unpack[_options.Location]
) -> Tables:
    """Returns the public tables of a prepared competition by name, such as `train` for train.csv.

    Without `library`, uses pandas if it is installed, otherwise polars. NumPy files become arrays.

    Reads a table at the first access to it. Includes tables in zip archives.
    """
    return Tables(path(id, **options) / "public", library)


def _prepared_variant(competition: Competition, variant: str | None) -> str | None:
    """Returns the name of the prepared variant with the corrections of `variant`, in any order, or None."""
    corrections = sorted(re.split("[:,]", variant or "v1"))
    return next((one for one in competition.variants if sorted(re.split("[:,]", one)) == corrections), None)


def _ids(ids: Ids, name: str = "ids") -> Sequence[str]:
    # A frame is iterable, too, but yields the names of its columns.
    is_several = isinstance(ids, Iterable) and not isinstance(ids, str) and not hasattr(type(ids), "columns")
    all_ids = [*cast(Iterable[str | Record], ids)] if is_several else [ids]
    for one in all_ids:
        if not isinstance(one, (str, Record)):
            shown = type(one).__name__ if hasattr(type(one), "columns") else repr(one)
            kinds = "an id" if name == "id" else "an id, several ids"
            raise TypeError(f"`{name}` must be {kinds} or the result of a function, not {shown}")
        if isinstance(one, str) and len(words := re.split(r"[\s,;]+", one.strip(" ,;"))) > 1:
            help = f"pass a list: {words}" if name == "ids" else "pass one id"
            raise UsageError(f"`{name}` contains {one!r}, which is not an id", code=2, help=help)
    return [one.id if isinstance(one, Record) else cast(str, one) for one in all_ids]


def _id(ids: Ids, name: str = "id") -> str:
    """Returns the only id. Raises an exception for several competitions."""
    found = _ids(ids, name)
    if len(found) != 1:
        raise TypeError(f"this function needs one competition, not {len(found)}")
    return found[0]


def _side(side: Path_, name: str) -> str:
    """Returns one side of a comparison. Without a slash, a text may be the name of a variant or the number of a publication."""
    return side if isinstance(side, str) and "/" not in side else str(_options.existing(side, name))


def _paths(paths: Path_ | Iterable[Path_], name: str) -> Sequence[str]:
    all_paths = [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]
    for path in all_paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"`{name}` must be paths, or pairs of an id and a file, but contains a {type(path).__name__}")
    return [os.fspath(_options.existing(path, name)) for path in all_paths]


@contextmanager
def _as_list(submissions: Sequence[Any], check: bool) -> Iterator[Sequence[Path_]]:
    """Writes pairs of an id and a file to a temporary JSON Lines file, and yields its path. Yields paths unchanged.

    A file that does not exist is a run without a submission. With `check`, raises an exception if none of the files exists.
    """
    if not submissions or not all(isinstance(one, tuple) and len(one) == 2 for one in submissions):
        yield submissions
        return
    for pair in submissions:
        if not isinstance(pair[0], Sequence | Record) or not isinstance(pair[1], (str, os.PathLike)):
            kinds = " and a ".join(type(one).__name__ for one in pair)
            raise TypeError(f"`submissions` must be pairs of an id and a file, but contains a pair of a {kinds}")
    entries = [{"competition_id": _id(id), "submission_path": _options.text(file)} for id, file in submissions]
    if check and not any(os.path.exists(entry["submission_path"]) for entry in entries):
        raise _options.os_error(errno.ENOENT, "submissions", submissions[0][1])
    with tempfile.TemporaryDirectory(prefix="mleprep-") as directory:
        path = Path(directory) / "submissions.jsonl"
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
        yield [path]


def _reports(reports: Reports, name: str, has_names: bool = True) -> Sequence[str]:
    """Returns the paths of reports. Replaces grades with the paths of their reports, each path once.

    With `has_names`, a text may also be `NAME=PATH`. The program checks the path.
    """
    paths: Sequence[Path_] = []
    named: Sequence[str] = []
    counts: Counter[Path] = Counter()
    for one in [reports] if isinstance(reports, (str, os.PathLike, Graded)) else reports:
        if has_names and isinstance(one, str) and "=" in one and not os.path.exists(one):
            named = [*named, one]
            continue
        if isinstance(one, (str, os.PathLike)):
            paths = [*paths, one]
            continue
        for grade in [one] if isinstance(one, Graded) or not isinstance(one, Iterable) else one:
            if not isinstance(grade, Graded):
                kinds = "paths, or results of `grade` and `grade_all`"
                raise TypeError(f"`{name}` must be {kinds}, but contains a {type(grade).__name__}")
            if grade.path is None:
                raise TypeError(f"`{name}` contains a grade without a report; pass `output` to the function that grades")
            counts[grade.path] += 1
    found = _paths([*paths, *counts], name)
    for path, count in counts.items():
        total = len(json.loads(path.read_text(encoding="utf-8"))["competition_reports"])
        # The program warns about repeated reports.
        found = [*found, *[str(path)] * (count // total - 1)]
        if count < total:
            message = f"`{name}` contains {count} of the {total} grades in {path}, but the figures are those of entire reports"
            raise UsageError(message, code=2, help="pass all grades of the report, or grade the selected submissions again")
    return [*found, *named]


def _experiments(reports: Reports | Mapping[str, Reports], name: str) -> Sequence[str]:
    """Returns `PATH` or `NAME=PATH` for each report. Raises `UsageError` for a name without reports."""
    if not isinstance(reports, Mapping):
        return _reports(reports, name)
    found = {experiment: _reports(one, name, has_names=False) for experiment, one in reports.items()}
    if empty := [experiment for experiment, paths in found.items() if not paths]:
        raise UsageError(f"the experiment `{empty[0]}` has no reports", code=2)
    return [f"{experiment}={path}" for experiment, paths in found.items() for path in paths]


def _in_directory(file: Path_, name: str) -> str:
    """Creates the directory of a file to write, and returns the path of the file."""
    path = _options.text(file)
    if os.path.isdir(path):
        raise _options.os_error(errno.EISDIR, name, path)
    directory = os.path.dirname(path) or "."
    _options.check_directory(directory, name)
    os.makedirs(directory, exist_ok=True)
    return path


def _data_dir(options: Mapping[str, Any]) -> Path:
    """Returns the data directory of a call, by default the one in the program's settings."""
    directory = options.get("data_dir")
    if directory is None:
        given = _options.command_line("run", {"cache_dir": options.get("cache_dir")})
        finished, found = _answer(["--json", "config", *given])
        if finished.code != 0:
            raise _envelope.error(finished.code, found, finished.stderr)
        directory = next(one["value"] for one in found["settings"] if one["name"] == "data_dir")
    return Path(os.path.abspath(os.path.expanduser(directory)))


def _warn(text: str) -> None:
    """Issues a warning about the caller of the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(f"{__package__}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, PrepWarning, stacklevel=level)


#: Verbs of the functions whose names are neither a verb nor `VERB_OPTION`.
_VERBS = {"grade_all": ["grade"], "grade_score": ["grade"]}


_UNPREPARED = re.compile("(?P<competition>competition `[^`]+` is not prepared)$|nor prepared data$")


def _call(
    name: str, kind: type[_Kind], positional: Sequence[str], options: Mapping[str, Any], *,
    answers: Sequence[int] = (0,), extra: Sequence[str] = (), members: Mapping[str, Any] = MappingProxyType({}),
    names: Mapping[str, str] = MappingProxyType({}),
) -> _Kind:
    """Calls a verb and converts its output to `kind`. With `check`, exit codes that are not in `answers` are errors.

    Adds `members` to each competition's JSON object. The program's warnings become warnings of Python. In the program's
    output, replaces each key of `names` by its value.
    """
    word, *mode = _VERBS.get(name) or name.split("_", 1)
    switches = [f"--{one.replace('_', '-')}" for one in mode]
    given = [*switches, *_options.command_line(name, options), *extra]
    check = options.get("check", True)
    if not check and name in ("run", "fetch") and not options.get("fail_fast"):
        given.append("--keep-going")
    # Grading is quick, so its functions show no progress.
    progress = options.get("progress", "progress" in _options.VERBS[name])
    variant: str = options.get("variant") or "v1"

    def located(message: str) -> str:
        """Adds the variant and the data directory to a message that a competition is not prepared."""
        if "data_dir" not in _options.VERBS[name] or not (found := _UNPREPARED.search(message)):
            return message
        which = f"variant `{variant}` of " if "variant" in _options.VERBS[name] and found["competition"] else ""
        return f"{message[:found.start()]}{which}{message[found.start():]} in {_data_dir(options)}"

    def shown(line: str) -> str:
        return _words.translated(located(_renamed(line, names)))

    # Raises the exception inside this block, so that the listener does not print the error as well.
    with _progress.listener(progress, {"warning", "error"} if check else {"warning"}, shown) as on_message:
        command = ["--json", word, *given, "--", *positional]
        finished, found = _answer(command, on_message, _progress.environment(progress), names)
        has_results = "competitions" in found or "experiments" in found
        for failure in filter(None, (entry.get("error") for entry in (found, *found.get("competitions", ())))):
            message = located(failure["message"])
            if message != failure["message"] and options.get("data_dir") is None:
                hint = "name the directory of the prepared data with `data_dir`"
                failure["help"] = ", or ".join(filter(None, (failure["help"], hint)))
            failure["message"] = message
        if word == "grade" and (written := re.search(r"^report: (.+)$", finished.stderr, re.MULTILINE)):
            members = {"_path": written[1]}
        for text in _envelope.warnings(finished.stderr):
            _warn(text)
        results = None
        if has_results:
            # The program's results do not contain the data directory.
            origin: dict[str, Any] = {"data_dir": _data_dir(options)}
            if "variant" in _options.VERBS[name]:
                origin["variant"] = variant
            results = _envelope.results(kind, found, {**members, "_origin": origin})
        failed, ids = getattr(results, "failed", ()), getattr(results, "ids", ())
        # An unknown id makes the entire call invalid, although some verbs return it as a failure.
        is_misuse = any(one.code == 2 and one.id in positional and one.id not in ids for one in failed)
        if results is None or is_misuse or (check and (finished.code not in answers or failed)):
            error = _envelope.error(finished.code, found, finished.stderr)
            error.results = results if isinstance(results, Results) else None
            raise error
    return cast(_Kind, results)


def _answer(
    arguments: Sequence[str], on_message: _progress.Show | None = None,
    environment: Mapping[str, str] = MappingProxyType({}), names: Mapping[str, str] = MappingProxyType({}),
) -> tuple[_program.Finished, dict[str, Any]]:
    """Calls the program. Raises `ProgramNotFound` for another program, which prints neither JSON nor errors of `prep`."""
    finished = _program.call(arguments, on_message, environment)
    finished = replace(finished, stdout=_renamed(finished.stdout, names), stderr=_renamed(finished.stderr, names))
    found = _envelope.document(finished.stdout)
    if not found and finished.code in range(100) and not re.search("^error: ", finished.stderr, re.MULTILINE):
        raise _program.ProgramNotFound(_program.program(), "the program `prep`")
    return finished, found


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Replaces each key of `names` by its value."""
    for before, after in names.items():
        text = text.replace(before, after)
    return text


_Judged = TypeVar("_Judged", Grade, Validation)
#: Phrases about the file of a submission, and the phrases for a frame.
_ABOUT_FRAMES = {"the file is empty": "the frame has no columns", "its first line has ": "the frame has "}


def _about_frame(found: _Judged, submission: Submission) -> _Judged:
    """Replaces phrases about the file that the package wrote. Adds a hint if the index has the missing column."""
    if found.reason is None:
        return found
    message = found.reason.message
    for phrase, replacement in _ABOUT_FRAMES.items():
        message = message.replace(phrase, replacement)
    for name in getattr(getattr(submission, "index", None), "names", ()):
        if f"column `{name}`: " in message:
            message += f"; `{name}` is the index of the frame: call `reset_index()`"
    return replace(found, reason=replace(found.reason, message=message))


_ORDER = "the submission is the first argument, and the id of the competition is the second one"


@contextmanager
def _as_file(submission: Submission, id: Ids) -> Iterator[Path]:
    """Provides a submission as a file. Writes a frame with its types, so that the program reads the same values."""
    if not isinstance(id, str | Record | Sequence):
        raise TypeError(_ORDER)
    if isinstance(submission, (str, os.PathLike)):
        if isinstance(id, str) and id.endswith(".csv") and not os.path.exists(submission):
            raise TypeError(_ORDER)
        path = _options.existing(submission, "submission")
        if path.is_dir():
            raise _options.os_error(errno.EISDIR, "submission", submission)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mleprep-") as directory:
        path = Path(directory) / "submission.csv"
        frame = cast(Any, submission)
        if hasattr(type(frame), "collect"):
            # A lazy frame of polars.
            frame = frame.collect()
        if not hasattr(frame, "columns"):
            raise TypeError(f"a submission is a file or a frame of pandas or polars, not {type(frame).__name__}")
        if hasattr(frame, "write_csv"):
            frame.write_csv(path, quote_style="non_numeric")
        else:
            frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
        yield path
