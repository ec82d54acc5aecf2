"""The calls of the program `prep` that the package `mlebench` makes. This module alone knows verbs, options and JSON.

Nothing that the program writes reaches stdout, where callers of `mlebench` expect their own output only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from mleprep import _program
from mleprep._program import VARIABLE, ProgramNotFound, program

__all__ = [
    "VARIABLE",
    "ProgramError",
    "ProgramNotFound",
    "definitions",
    "fetch",
    "permission",
    "program",
    "run",
    "run_alone",
    "score",
    "validate",
]

# Exit codes: success; "the answer is no"; a file or an option of the caller is wrong.
_ANSWERS = (0, 1)
_INPUT = 4


class ProgramError(RuntimeError):
    """The program could not do what it was called for. The text is its message."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def is_about_input(self) -> bool:
        """Whether a file of the caller cannot be used."""
        return self.code == _INPUT


def score(competition_id: str, table: Path, answers: Path) -> dict[str, Any]:
    """Scores a table against answers: `score` and `rounded`, or None and the `reason`.

    A file `*.frame` is a typed frame, every other table a CSV.
    """
    found = _ask("grade", "--answers", answers, "--", competition_id, table)
    reason = found["reason"]
    return {
        "score": found["unrounded_score"] if found["score"] is not None else None,
        "rounded": found["score"],
        "reason": None if reason is None else one_line(reason["message"]),
    }


def one_line(message: object) -> str:
    """A message as one line without braces: readers take logs apart by lines, and find reports by their braces."""
    return " ".join(str(message).split()).translate(str.maketrans("{}", "()"))


def validate(competition_id: str, submission: Path, answers: Path) -> tuple[bool, str]:
    """Whether a submission is valid against answers, in upstream's words."""
    found = _ask("validate", "--answers", answers, "--", competition_id, submission)
    return found["valid"], found["message"]


def definitions(directory: Path) -> dict[str, Any]:
    """The definitions of all competitions."""
    options = ("--json", "--quiet", "--data-dir", directory, "--cache-dir", directory)
    found: dict[str, Any] = json.loads(_call("pipeline", "show", *options))
    return found


def run(data_dir: Path, ids: Sequence[str], *options: str) -> dict[str, Any]:
    """Prepares competitions. Returns the result of each by id; nothing if the program did not start to prepare."""
    every_code = tuple(range(256))
    text = _call("run", *ids, "--data-dir", data_dir, "--json", *options, fine=every_code, shown=True)
    try:
        return {one["id"]: one for one in json.loads(text)["competitions"]}
    except (ValueError, KeyError):
        return {}


def run_alone(competition_id: str, source: Path, data_dir: Path) -> None:
    """Prepares a competition from a bundle in `source`, without comparing checksums."""
    options = ("--source", source, "--data-dir", data_dir, "--skip-verification", "--quiet")
    _call("run", competition_id, *options)


def fetch(competition_id: str, data_dir: Path, quiet: bool = False) -> None:
    """Downloads a bundle into the data directory."""
    options = ["--quiet"] if quiet else []
    _call("fetch", competition_id, "--data-dir", data_dir, "--skip-bundle-verification", *options, shown=True)


def permission(competition_id: str) -> dict[str, Any]:
    """Whether Kaggle lets the user download a bundle: `state`, `url` of the rules, `error`."""
    nowhere = tempfile.gettempdir()
    options = ("--check-rules", "--data-dir", nowhere, "--json", "--quiet")
    text = _call("fetch", *options, competition_id, fine=tuple(range(256)))
    try:
        [found] = json.loads(text)["competitions"]
    except (ValueError, KeyError):
        raise ProgramError("Kaggle's answer is unknown: there are no credentials, or it cannot be reached", _INPUT) from None
    result: dict[str, Any] = found
    return result


def _call(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,), shown: bool = False) -> str:
    """Returns what the program writes to its stdout. With `shown`, its messages go to stderr as it works."""
    finished = _program.call(arguments, _show if shown else None)
    if finished.code not in fine:
        message = finished.stderr.strip().removeprefix("error: ")
        raise ProgramError(message or f"`prep` ended with code {finished.code}", finished.code)
    return finished.stdout


def _show(line: str) -> None:
    print(line, file=sys.stderr)


def _ask(*arguments: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns what the program answers for one competition. It needs neither a data directory nor a cache."""
    nowhere = tempfile.gettempdir()
    directories = ("--data-dir", nowhere, "--cache-dir", nowhere)
    (found,) = json.loads(_call("--json", "--quiet", *directories, *arguments, fine=_ANSWERS))["competitions"]
    return dict(found)
