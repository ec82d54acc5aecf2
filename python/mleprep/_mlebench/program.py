"""Calls the program `prep` for the package `mlebench`. Only this module knows verbs, options and JSON of the program.

Never writes the program's output to stdout, where callers of `mlebench` expect only their own output.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from mleprep import _progress, _program
from mleprep._mlebench import advice
from mleprep._program import VARIABLE, ProgramNotFound, program

__all__ = [
    "VARIABLE",
    "ProgramError",
    "ProgramNotFound",
    "bundle",
    "definitions",
    "fetch",
    "permission",
    "program",
    "run",
    "run_alone",
    "score",
    "validate",
]

# Exit codes of the program that are not errors: 1 is a result, such as that a submission is invalid.
_ANSWERS = (0, 1)
# Exit code of the program: an option or a file of the caller is invalid.
_INPUT = 4


class ProgramError(RuntimeError):
    """The program failed. The text is its message."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def is_about_input(self) -> bool:
        """Whether a file or an option of the caller caused the error."""
        return self.code == _INPUT


def score(competition_id: str, table: Path, answers: Path) -> dict[str, Any]:
    """Grades a table against answers. Returns `score`, `rounded`, `reason` and `is_answers`.

    `score` and `rounded` are None for an invalid table. `is_answers` states whether the table equals the answers.

    Files `*.frame` are typed frames. All other files are CSVs.
    """
    found = _ask("grade", "--answers", answers, "--", competition_id, table)
    reason = found["reason"]
    return {
        "score": found["unrounded_score"] if found["score"] is not None else None,
        "rounded": found["score"],
        "is_answers": found["submission_is_answers"],
        "reason": None if reason is None else one_line(reason["message"]),
    }


def one_line(message: object) -> str:
    """Returns a message as one line without braces. Callers split logs into lines, and find reports by braces."""
    message = re.sub(r"[.;]?\n\s*help: ", "; help: ", str(message))
    return " ".join(message.split()).translate(str.maketrans("{}", "()"))


def validate(competition_id: str, submission: Path, answers: Path) -> tuple[bool, str]:
    """Returns whether a submission is valid, and a message with upstream's wording."""
    found = _ask("validate", "--answers", answers, "--", competition_id, submission)
    return found["valid"], found["message"]


def definitions(directory: Path) -> dict[str, Any]:
    """Returns the definitions of all competitions."""
    options = ("--json", "--quiet", "--data-dir", directory, "--cache-dir", directory)
    found: dict[str, Any] = json.loads(_call("pipeline", "show", *options))
    return found


def run(data_dir: Path, ids: Sequence[str], *options: str) -> dict[str, Any]:
    """Prepares competitions. Returns the results by id. Raises an error if the program failed before preparing."""
    # With `--keep-going`, the other competitions are prepared even if a bundle is missing and cannot be downloaded.
    finished = _program_call("run", *ids, "--keep-going", "--data-dir", data_dir, "--json", *options, shown=True)
    try:
        return {one["id"]: one for one in json.loads(finished.stdout)["competitions"]}
    except (ValueError, KeyError):
        raise _error(finished) from None


def bundle(data_dir: Path, competition_id: str) -> Path | None:
    """Returns the bundle of a prepared competition. Also searches the directory that the last run used."""
    text = _call("plan", competition_id, "--data-dir", data_dir, "--no-download", "--json", "--quiet")
    [found] = json.loads(text)["competitions"]
    return Path(found["bundle"]) if found.get("bundle") else None


def run_alone(competition_id: str, source: Path, data_dir: Path) -> None:
    """Prepares a competition from a bundle in `source`, without comparing checksums."""
    options = ("--source", source, "--data-dir", data_dir, "--skip-verification", "--quiet")
    _call("run", competition_id, *options)


def fetch(competition_id: str, data_dir: Path, quiet: bool = False) -> None:
    """Downloads a bundle into the data directory."""
    options = ["--quiet"] if quiet else []
    _call("fetch", competition_id, "--data-dir", data_dir, "--skip-bundle-verification", *options, shown=True)


def permission(competition_id: str) -> dict[str, Any]:
    """Returns whether Kaggle allows the user to download a bundle: `state`, `url` of the rules, `error`."""
    with tempfile.TemporaryDirectory(prefix="mlebench-") as nowhere:
        options = ("--check-rules", "--data-dir", nowhere, "--json", "--quiet")
        text = _call("fetch", *options, competition_id, fine=tuple(range(256)))
    try:
        [found] = json.loads(text)["competitions"]
    except (ValueError, KeyError):
        raise ProgramError("could not ask Kaggle: there are no credentials, or Kaggle cannot be reached", _INPUT) from None
    result: dict[str, Any] = found
    return result


def _call(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,), shown: bool = False) -> str:
    """Calls the program and returns its stdout. Raises an error if the exit code is not in `fine`.

    With `shown`, prints the program's messages on stderr while it runs.
    """
    finished = _program_call(*arguments, shown=shown)
    if finished.code not in fine:
        raise _error(finished)
    return finished.stdout


def _program_call(*arguments: str | os.PathLike[str], shown: bool) -> _program.Finished:
    """Calls the program. Does not print its errors, because they become exceptions."""
    with _progress.listener(_show if shown else False, hidden={"error"}, translate=advice.translate) as on_message:
        return _program.call(arguments, on_message)


def _show(line: str) -> None:
    print(line, file=sys.stderr)


def _error(finished: _program.Finished) -> ProgramError:
    message = advice.translate_all(finished.stderr).strip().removeprefix("error: ")
    return ProgramError(message or f"`prep` ended with code {finished.code}", finished.code)


def _ask(*arguments: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the program's JSON for one competition, without using a data directory or a cache.

    Passes new and empty directories, because the program would read a `prep.toml` in the user's data directory.
    """
    with tempfile.TemporaryDirectory(prefix="mlebench-") as nowhere:
        directories = ("--data-dir", nowhere, "--cache-dir", nowhere)
        text = _call("--json", "--quiet", *directories, *arguments, fine=_ANSWERS)
    (found,) = json.loads(text)["competitions"]
    return dict(found)
