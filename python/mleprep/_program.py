"""Finds the program `prep` and calls it.

Never writes the program's output to stdout of this process, where callers expect only their own output.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import IO

VARIABLE = "PREP_BINARY"

# Seconds that the program gets to end after SIGTERM.
_TERMINATION_SECONDS = 10.0
# Seconds to read the rest of the output of a program that failed.
_STREAM_SECONDS = 5.0

Argument = str | os.PathLike[str]


class ProgramNotFound(FileNotFoundError):
    """`prep` does not exist, or is another program. `named` is its path, usually from the variable `PREP_BINARY`."""

    def __init__(self, named: str | None = None, expected: str = "a program") -> None:
        if named is not None:
            place = f"{VARIABLE} names {named}, which" if os.environ.get(VARIABLE) else named
            super().__init__(f"{place} is not {expected}.")
            return
        super().__init__(
            f"The program `prep` is neither in {VARIABLE}, nor next to this Python, nor on the path. "
            f"`pip install mleprep` installs it. If you have it elsewhere, set {VARIABLE} to its path."
        )


@cache
def _find(named: str | None, path: str | None) -> str:
    if named:
        if shutil.which(named) is None:
            raise ProgramNotFound(named)
        return os.path.abspath(named) if os.path.dirname(named) else named
    for directory in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        candidate = Path(directory) / "prep"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("prep", path=path)
    if found is None:
        raise ProgramNotFound
    return found


def program() -> str:
    """Returns the path of the program. Searches `PREP_BINARY`, next to this Python, and the path, in this order."""
    return _find(os.environ.get(VARIABLE) or None, os.environ.get("PATH"))


# Resolves a relative path now, so that it remains valid if the process changes its current directory later.
with suppress(OSError):
    program()


@dataclass(frozen=True)
class Finished:
    """The result of a call of the program."""

    code: int
    stdout: str
    stderr: str


def call(
    arguments: Sequence[Argument], on_message: Callable[[str], object] | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Finished:
    """Calls the program and waits until it ends. `on_message` receives each line of stderr immediately.

    Adds `environment` to the environment variables.

    An exception of `on_message` does not stop the program. This function raises the exception after the program's end.
    """
    path = program()
    command = [path, *(os.fspath(argument) for argument in arguments)]
    # Notebooks set `CLICOLOR_FORCE` to get colours from pipes, but messages must not contain escape sequences.
    around = {name: value for name, value in os.environ.items() if name != "CLICOLOR_FORCE"} | {**environment}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
            errors="replace", env=around,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise ProgramNotFound(path) from error
    assert process.stdout is not None and process.stderr is not None
    # Reads both streams until their end, because the program would otherwise wait for a reader.
    stdout, stderr = _Reader(process.stdout), _Reader(process.stderr, on_message)
    try:
        code = process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        for reader in (stdout, stderr):
            # A child process may hold the stream open after the program is killed.
            reader.join(None if process.returncode == 0 else _STREAM_SECONDS)
    if stderr.error is not None:
        raise stderr.error
    return Finished(code, stdout.text(), stderr.text())


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the program. The next run uses the results of finished steps."""
    process.terminate()
    try:
        process.wait(_TERMINATION_SECONDS)
    except BaseException:
        # The program does not end, or the user interrupts again.
        process.kill()
        process.wait()


class _Reader(threading.Thread):
    """Reads a stream until its end, and passes each line on."""

    def __init__(self, stream: IO[str], on_line: Callable[[str], object] | None = None) -> None:
        super().__init__(daemon=True)
        #: The first exception of `on_line`. Afterwards, `on_line` receives no further lines.
        self.error: BaseException | None = None
        self._stream = stream
        self._on_line = on_line
        self._lines: list[str] = []
        self.start()

    def run(self) -> None:
        with self._stream:
            for line in self._stream:
                self._lines.append(line)
                if self._on_line is None or self.error is not None:
                    continue
                try:
                    self._on_line(line.rstrip("\n"))
                except BaseException as error:
                    self.error = error

    def text(self) -> str:
        return "".join(self._lines)
