"""The functions of the package. Each builds a command line, calls the program, and converts its output to records."""

from __future__ import annotations

import csv
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mleprep import _envelope, _program
from mleprep.results import Competition, Grade, Plan, Prepared, Results, Validation

if TYPE_CHECKING:
    import pandas as pd

Ids = str | Iterable[str]
Path_ = str | os.PathLike[str]
Progress = bool | Callable[[str], None]
Set = Literal["lite", "scored", "systemcard", "all", "low", "medium", "high", "dev"]


def list(  # noqa: A001 - the verb of the program
    ids: Ids = (), *, set: Set | None = None, data_dir: Path_ | None = None, pipelines: Path_ | None = None
) -> Results[Competition]:
    """Lists competitions and the state of their data. Without ids and without a set, lists all competitions."""
    records = _ask(["list", *_selection(ids, set), *_common(data_dir, None, pipelines)])
    return Results(map(_envelope.competition, records))


def plan(
    ids: Ids = (),
    *,
    set: Set | None = None,
    variant: str | None = None,
    source: Path_ | None = None,
    data_dir: Path_ | None = None,
    cache_dir: Path_ | None = None,
    pipelines: Path_ | None = None,
) -> Results[Plan]:
    """Returns the steps that `run` would execute, and the reasons. Writes nothing."""
    given = [*_selection(ids, set), *_input(variant, source), *_common(data_dir, cache_dir, pipelines)]
    return Results(map(_envelope.plan, _ask(["plan", *given])))


def run(
    ids: Ids = (),
    *,
    set: Set | None = None,
    variant: str | None = None,
    source: Path_ | None = None,
    skip_verification: bool | None = None,
    skip_bundle_verification: bool | None = None,
    available: bool = False,
    discard_bundle: bool = False,
    memory: str | None = None,
    data_dir: Path_ | None = None,
    cache_dir: Path_ | None = None,
    pipelines: Path_ | None = None,
    check: bool = True,
    progress: Progress = True,
) -> Results[Prepared]:
    """Prepares competitions: runs the steps that are not up to date and publishes the results.

    `source` is a directory with bundles. Without it, bundles are downloaded from Kaggle. `skip_verification` and
    `skip_bundle_verification` are True or False. Without them, checksums are compared unless the last run in the data
    directory skipped that. `available` skips competitions without a bundle, and `discard_bundle` deletes each bundle
    after its competition is prepared. `memory` limits the memory of all steps, for example `8GB`. With `check`, raises
    the first failure after all competitions ended. Without it, check `state` and `failures` of the records. `progress`
    prints the program's messages on stderr. If `progress` is a function, it receives each line instead.
    """
    given = [*_selection(ids, set), *_input(variant, source), *_common(data_dir, cache_dir, pipelines)]
    switches = {
        "--skip-verification": skip_verification,
        "--skip-bundle-verification": skip_bundle_verification,
    }
    given += (f"{name}={'yes' if is_on else 'no'}" for name, is_on in switches.items() if is_on is not None)
    flags = {"--available": available, "--discard-bundle": discard_bundle}
    given += [*(name for name, is_set in flags.items() if is_set), *_option("--memory", memory)]
    finished = _call(["run", *given], _listener(progress))
    try:
        results = Results(map(_envelope.prepared, _envelope.records(finished.stdout)))
    except (ValueError, KeyError):
        raise _envelope.error(finished.code, finished.stdout, finished.stderr) from None
    if check and finished.code != 0:
        raise _envelope.error(finished.code, finished.stdout, finished.stderr)
    return results


def grade(
    submission: pd.DataFrame | Path_,
    id: str,  # noqa: A002 - the word of the glossary
    *,
    variant: str | None = None,
    data_dir: Path_ | None = None,
    pipelines: Path_ | None = None,
    log: bool = True,
) -> Grade:
    """Grades a submission against the prepared answers.

    An invalid submission raises no exception: its `score` is None, and `reason` explains why. With `log`, the program
    appends the grading to `grades.jsonl` in the data directory. Raises `FileNotFoundError` if there is no such file.
    """
    with _as_file(submission, id) as path:
        given = [*_input(variant, None), *_common(data_dir, None, pipelines), *([] if log else ["--no-log"])]
        [record] = _ask(["grade", *given, "--", id, path], answers=(0, 1))
    return _envelope.grade(record)


def validate(
    submission: pd.DataFrame | Path_,
    id: str,  # noqa: A002 - the word of the glossary
    *,
    variant: str | None = None,
    data_dir: Path_ | None = None,
    pipelines: Path_ | None = None,
) -> Validation:
    """Checks whether a submission is valid, with the code that grades. Returns no score.

    Raises `FileNotFoundError` if there is no such file.
    """
    with _as_file(submission, id) as path:
        given = [*_input(variant, None), *_common(data_dir, None, pipelines)]
        [record] = _ask(["validate", *given, "--", id, path], answers=(0, 1))
    return _envelope.validation(record)


def _selection(ids: Ids, set: str | None) -> Sequence[str]:
    named = [ids] if isinstance(ids, str) else [*ids]
    return [*(("--set", set) if set else ()), *named]


def _input(variant: str | None, source: Path_ | None) -> Sequence[str]:
    return [*_option("--variant", variant), *_option("--source", source)]


def _common(data_dir: Path_ | None, cache_dir: Path_ | None, pipelines: Path_ | None) -> Sequence[str]:
    return [
        *_option("--data-dir", data_dir),
        *_option("--cache-dir", cache_dir),
        *_option("--pipelines", pipelines),
    ]


def _option(name: str, value: Path_ | None) -> Sequence[str]:
    return [] if value is None else [name, os.fspath(value)]


def _call(arguments: Sequence[_program.Argument], on_message: Callable[[str], None] | None = None) -> _program.Finished:
    return _program.call(["--json", *arguments], on_message)


def _ask(arguments: Sequence[_program.Argument], answers: Sequence[int] = (0,)) -> Sequence[_envelope.Record]:
    """Calls the program and returns the records of its output. Exit codes that are not in `answers` are errors."""
    finished = _call(arguments)
    if finished.code not in answers:
        raise _envelope.error(finished.code, finished.stdout, finished.stderr)
    try:
        return _envelope.records(finished.stdout)
    except (ValueError, KeyError):
        raise _envelope.error(finished.code, finished.stdout, finished.stderr) from None


def _listener(progress: Progress) -> Callable[[str], None] | None:
    if callable(progress):
        return progress
    # Look up `sys.stderr` for each line, because notebooks replace it.
    return (lambda line: print(line, file=sys.stderr)) if progress else None


@contextmanager
def _as_file(submission: pd.DataFrame | Path_, id: str) -> Iterator[Path]:
    """Provides a submission as a file. Writes a frame so that the program reads the same values and types."""
    if not isinstance(id, str):
        raise TypeError("the submission is the first argument, and the id of the competition is the second one")
    if isinstance(submission, (str, os.PathLike)):
        path = Path(submission)
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(submission))
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mleprep-") as directory:
        path = Path(directory) / "submission.csv"
        submission.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
        yield path
