"""Finds the program `prep` and calls it.

The program's output is never written to stdout of this process, because callers expect only their own output there.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VARIABLE = "PREP_BINARY"

Argument = str | os.PathLike[str]


class ProgramNotFound(FileNotFoundError):
    """The program `prep` was not found."""

    def __init__(self) -> None:
        super().__init__(
            f"The program `prep` is neither in {VARIABLE}, nor next to this Python, nor on the path. "
            "`pip install mleprep` installs it."
        )


@cache
def _find(named: str | None, path: str | None) -> str:
    if named:
        return named
    for directory in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        candidate = Path(directory) / "prep"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("prep", path=path)
    if found is None:
        raise ProgramNotFound
    return found


def program() -> str:
    """Returns the path of the program: from `PREP_BINARY`, or next to this Python, or on the path, in this order."""
    return _find(os.environ.get(VARIABLE) or None, os.environ.get("PATH"))


@dataclass(frozen=True)
class Finished:
    """The result of a call of the program."""

    code: int
    stdout: str
    stderr: str


def call(arguments: Sequence[Argument], on_message: Callable[[str], None] | None = None) -> Finished:
    """Calls the program and waits until it ends. `on_message` receives each line of stderr immediately."""
    command = [program(), *(os.fspath(argument) for argument in arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None and process.stderr is not None
    messages = io.StringIO()
    stderr = process.stderr

    def read_messages() -> None:
        for line in stderr:
            messages.write(line)
            if on_message is not None:
                on_message(line.rstrip("\n"))

    reader = threading.Thread(target=read_messages, daemon=True)
    reader.start()
    try:
        stdout = process.stdout.read()
        code = process.wait()
    except BaseException:
        # The program keeps the results of finished steps, so the next run continues from there.
        process.terminate()
        process.wait()
        raise
    finally:
        reader.join()
        process.stdout.close()
        stderr.close()
    return Finished(code, stdout, messages.getvalue())
