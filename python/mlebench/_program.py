"""Calls the program `prep` for this package. `mleprep` finds and runs it.

Everything that this package answers is decided by the program. Nothing that it writes reaches stdout, where callers expect
their own output only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

from mleprep import _program
from mleprep._program import VARIABLE, program

__all__ = ["VARIABLE", "ProgramError", "ask", "call", "program"]


class ProgramError(RuntimeError):
    """The program could not do what it was called for. The text is its message."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def call(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,), shown: bool = False) -> str:
    """Returns what the program writes to its stdout. With `shown`, its messages go to stderr as it works."""
    finished = _program.call(arguments, _show if shown else None)
    if finished.code not in fine:
        message = finished.stderr.strip().removeprefix("error: ")
        raise ProgramError(message or f"`prep` ended with code {finished.code}", finished.code)
    return finished.stdout


def _show(line: str) -> None:
    print(line, file=sys.stderr)


def ask(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,)) -> Any:
    """Returns the program's answer as JSON. It is called for nothing that needs a data directory or a cache."""
    nowhere = tempfile.gettempdir()
    directories = ("--data-dir", nowhere, "--cache-dir", nowhere)
    return json.loads(call("--json", "--quiet", *directories, *arguments, fine=fine))


def ask_one(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Returns the only competition of an answer."""
    (found,) = ask(*arguments, fine=fine)["competitions"]
    return dict(found)
