"""Implements the functions in `mlebench/competitions/ID/{grade,prepare}.py` with calls of the program."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from mleprep._mlebench import definitions, program
from mleprep._mlebench.frames import write_frame

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("mlebench.grade")

_Function = TypeVar("_Function", bound=Callable[..., Any])
_BUILT_IN = re.compile(r"mlebench\.competitions\.(?P<id>[^.:]+)\.(?P<name>grade|prepare):(?P=name)")


def by_program(competition_id: str) -> Callable[[_Function], _Function]:
    """Marks a function whose work the program can do."""

    def mark(function: _Function) -> _Function:
        function.competition_id = competition_id  # type: ignore[attr-defined]
        return function

    return mark


def id_of(function: Callable[..., Any]) -> str | None:
    """Returns the competition of a function whose work the program does. None for a caller's function."""
    found: str | None = getattr(function, "__dict__", {}).get("competition_id")
    return found


def import_function(text: str) -> Any:
    """Returns the function with the name `module:name`.

    A harness may have replaced this package's module with upstream's. If upstream's module needs a library that is not
    installed, the returned function calls the program instead.
    """
    module, name = text.split(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        found = _BUILT_IN.fullmatch(text)
        if found is None or not definitions.is_built_in(found["id"]):
            raise
        return _function(found["id"], name)


def _function(competition_id: str, name: str) -> Callable[..., Any]:
    if name == "grade":

        @by_program(competition_id)
        def grade_by_program(submission: Any, answers: Any) -> float:
            return grade(competition_id, submission, answers)

        return grade_by_program

    @by_program(competition_id)
    def prepare_by_program(raw: Path, public: Path, private: Path) -> Path:
        return prepare(competition_id, raw, public, private)

    return prepare_by_program


def grade(competition_id: str, submission: pd.DataFrame, answers: pd.DataFrame | list[dict[str, Any]]) -> float:
    """Grades a frame by the rules of a competition. Returns the score without rounding."""
    from mlebench.grade_helpers import InvalidSubmissionError

    with tempfile.TemporaryDirectory(prefix="mlebench-") as name:
        directory = Path(name)
        table = directory / "submission.frame"
        write_frame(submission, table)
        found = program.score(competition_id, table, _write_answers(directory, answers))
    if found["score"] is None:
        raise InvalidSubmissionError(found["reason"])
    return float(found["score"])


def _write_answers(directory: Path, answers: pd.DataFrame | list[dict[str, Any]]) -> Path:
    if isinstance(answers, list):
        path = directory / "answers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    else:
        path = directory / "answers.frame"
        write_frame(answers, path)
    return path


def score_file(competition_id: str, submission: Path, answers: Path) -> tuple[float | None, str | None]:
    """Grades a file. Returns the rounded score, or the reason why the submission has no score."""
    found = program.score(competition_id, submission, answers)
    if found["is_answers"]:
        logger.warning(f"The submission {submission} is identical to the answers, so its score is not a result.")
    rounded = found["rounded"]
    return (None if rounded is None else float(rounded)), found["reason"]


def prepare(competition_id: str, raw: Path, public: Path, private: Path) -> Path:
    """Prepares a competition from the extracted bundle in `raw` into the directories `public` and `private`."""
    raw, public, private = Path(raw), Path(public), Path(private)
    # A directory next to the target lets the function move files instead of copying them.
    with tempfile.TemporaryDirectory(prefix=".prepare-", dir=public.resolve().parent) as name:
        directory = Path(name)
        pack(raw, directory / f"{competition_id}.zip")
        program.run_alone(competition_id, directory, directory / "data")
        prepared = directory / "data" / competition_id / "prepared"
        (prepared / "public" / "description.md").unlink(missing_ok=True)
        for found, target in ((prepared / "public", public), (prepared / "private", private)):
            target.mkdir(parents=True, exist_ok=True)
            for entry in sorted(found.iterdir()):
                _replace(entry, target / entry.name)
    return public


def pack(raw: Path, archive: Path) -> None:
    """Writes the files below `raw` into a zip without compression. Follows symbolic links that form no cycle."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED, allowZip64=True, strict_timestamps=False) as out:
        _pack(Path(raw), Path(), out, ())


def _pack(directory: Path, inner: Path, out: zipfile.ZipFile, above: tuple[tuple[int, int], ...]) -> None:
    found = os.stat(directory)
    here = (found.st_dev, found.st_ino)
    if here in above:
        return
    for entry in sorted(directory.iterdir()):
        if entry.is_dir():
            _pack(entry, inner / entry.name, out, (*above, here))
        elif entry.is_file():
            out.write(entry, (inner / entry.name).as_posix())


def _replace(entry: Path, target: Path) -> None:
    """Moves an entry of the prepared data. An existing directory keeps files that others added."""
    if entry.is_dir() and target.is_dir():
        for inner in sorted(entry.iterdir()):
            _replace(inner, target / inner.name)
        return
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif target.exists() or target.is_symlink():
        target.unlink()
    shutil.move(entry, target)
