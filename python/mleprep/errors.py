"""Exceptions for errors of the program. The exit code determines the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mleprep.results import Results


class PrepWarning(UserWarning):
    """A warning of the program, for example that a submission is a copy of the answers."""


class PrepError(Exception):
    """The program failed. The base class of all errors."""

    def __init__(self, message: str, *, code: int = 1, help: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        #: Exit code of the program, see docs/reference/exit-codes.md.
        self.code = code
        #: One action that may solve the problem.
        self.help = help
        #: File, line and column, or the competition and the step, if known. None if the message lists several failures.
        self.place = place
        #: The results that the function would have returned with `check=False`, if there are any. The results of `run`
        #: have records of failed competitions, too. Other results list failures in the field `failed`.
        self.results: Results[Any] | None = None

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        help = f"\nhelp: {self.help}" if self.help else ""
        return f"{place}{self.message}{help}"


class UsageError(PrepError):
    """Invalid arguments, for example an unknown competition."""


class PipelineError(PrepError):
    """A pipeline has mistakes."""


class InputError(PrepError):
    """A bundle or another input is missing, damaged or not as declared."""


class CheckError(PrepError):
    """A check failed, or a published checksum does not match."""


class SystemFailure(PrepError):
    """A problem of the system: disk full, permission denied, a damaged cache."""


class ServerError(PrepError):
    """A server cannot be reached, or asks clients to wait. The same call may succeed later."""


class Interrupted(PrepError):
    """The program was stopped. It kept the results of finished steps."""


class InternalError(PrepError):
    """A defect of the program."""


_CLASSES: dict[int, type[PrepError]] = {
    2: UsageError, 3: PipelineError, 4: InputError, 5: CheckError, 6: SystemFailure, 7: ServerError,
    101: InternalError, 130: Interrupted,
}


def error_of(code: int, message: str, help: str | None = None, place: str | None = None) -> PrepError:
    """Returns the exception for an exit code."""
    return _CLASSES.get(code, PrepError)(message, code=code, help=help, place=place)
