"""Grading and preparing by the program, behind the functions that `competitions/ID/{grade,prepare}.py` define."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from mlebench import _program
from mlebench.utils import one_line

if TYPE_CHECKING:
    import pandas as pd

_MODULES = "mlebench.competitions."


def id_of(function: Callable[..., Any]) -> str | None:
    """The competition whose grading or preparing this function is; None if it is somebody else's function."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    if not module.startswith(_MODULES) or not module.endswith(f".{name}"):
        return None
    return module.removeprefix(_MODULES).removesuffix(f".{name}")


def grade(competition_id: str, submission: pd.DataFrame, answers: pd.DataFrame | list[dict[str, Any]]) -> float:
    """The score of a table against another by the rules of a competition, not rounded."""
    from mlebench.grade_helpers import InvalidSubmissionError

    with tempfile.TemporaryDirectory(prefix="mlebench-") as name:
        folder = Path(name)
        table = folder / "submission.csv"
        _write(submission, table)
        found = _grade(competition_id, table, _write_answers(folder, answers))
    if found["score"] is None:
        raise InvalidSubmissionError(_reason(found))
    return float(found["unrounded_score"])


def _grade(competition_id: str, submission: Path, answers: Path) -> dict[str, Any]:
    return _program.ask_one("grade", "--answers", answers, "--", competition_id, submission, fine=(0, 1))


def _reason(found: dict[str, Any]) -> str | None:
    """Why there is no score, in one line."""
    reason = found["reason"]
    return None if reason is None else one_line(reason["message"])


def _write_answers(folder: Path, answers: pd.DataFrame | list[dict[str, Any]]) -> Path:
    if isinstance(answers, list):
        import json

        path = folder / "answers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    else:
        path = folder / "answers.csv"
        _write(answers, path)
    return path


def _write(frame: pd.DataFrame, path: Path) -> None:
    """Writes a frame so that it is read back as it is: Python leaves texts with a lone carriage return unquoted."""
    frame.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)


def score_file(competition_id: str, submission: Path, answers: Path) -> tuple[float | None, str | None]:
    """Score of a file against a file, rounded; or the reason why there is none."""
    found = _grade(competition_id, submission, answers)
    score = found["score"]
    return (None if score is None else float(score)), _reason(found)


def prepare(competition_id: str, raw: Path, public: Path, private: Path) -> Path:
    """Prepares from the extracted bundle in `raw` into the folders `public` and `private`."""
    raw, public, private = Path(raw), Path(public), Path(private)
    # Beside the target, so that files are moved and not copied.
    with tempfile.TemporaryDirectory(prefix=".prepare-", dir=public.resolve().parent) as name:
        folder = Path(name)
        pack(raw, folder / f"{competition_id}.zip")
        _program.call(
            "run",
            "--competition",
            competition_id,
            "--source",
            folder,
            "--data-dir",
            folder / "data",
            "--skip-verification",
            "--quiet",
        )
        prepared = folder / "data" / competition_id / "prepared"
        (prepared / "public" / "description.md").unlink(missing_ok=True)
        for found, target in ((prepared / "public", public), (prepared / "private", private)):
            target.mkdir(parents=True, exist_ok=True)
            for entry in sorted(found.iterdir()):
                _replace(entry, target / entry.name)
    return public


def pack(raw: Path, archive: Path) -> None:
    """The files below `raw` as a zip whose members are stored as they are."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED, allowZip64=True, strict_timestamps=False) as out:
        for folder, folders, files in os.walk(raw):
            folders.sort()
            for file in sorted(files):
                path = Path(folder) / file
                out.write(path, path.relative_to(raw).as_posix())


def _replace(entry: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif target.exists() or target.is_symlink():
        target.unlink()
    shutil.move(entry, target)
