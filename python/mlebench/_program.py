"""The program `prep`: where it is, and calling it.

Everything that this package answers is decided there. Nothing that it writes reaches stdout, where callers expect their
own output only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "PREP_BINARY"


class ProgramError(RuntimeError):
    """The program could not do what it was asked for. The text is what it said."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@cache
def _find(named: str | None, path: str | None) -> str:
    if named:
        return named
    beside = Path(sysconfig.get_path("scripts")) / "prep"
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which("prep", path=path)
    if found is None:
        raise FileNotFoundError(
            f"The program `prep` is neither in {VARIABLE}, nor beside this Python, nor on the path."
        )
    return found


def program() -> str:
    """Path of the program."""
    return _find(os.environ.get(VARIABLE) or None, os.environ.get("PATH"))


def call(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,), shown: bool = False) -> str:
    """What the program writes to its stdout. With `shown`, its messages go to stderr as it works."""
    command = [program(), *(os.fspath(argument) for argument in arguments)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode not in fine:
        message = (done.stderr or "").strip().removeprefix("error: ")
        raise ProgramError(message or f"`prep` ended with code {done.returncode}", done.returncode)
    return done.stdout


def ask(*arguments: str | os.PathLike[str], fine: tuple[int, ...] = (0,)) -> Any:
    """The program's answer as JSON. It is asked for nothing that needs a data folder or a store."""
    nowhere = tempfile.gettempdir()
    folders = ("--data-dir", nowhere, "--cache-dir", nowhere)
    return json.loads(call("--json", "--quiet", *folders, *arguments, fine=fine))
