"""Prepare and grade the competitions of MLE-bench from Python.

Each function calls the program `prep` and returns typed records:

    import mleprep

    mleprep.run("spaceship-titanic", source="bundles")
    mleprep.grade("submission.csv", "spaceship-titanic").score

docs/python.md has examples.
"""

from mleprep._calls import grade, list, plan, run, validate
from mleprep._program import ProgramNotFound
from mleprep._version import __version__
from mleprep.errors import (
    CheckError,
    InputError,
    InternalError,
    Interrupted,
    PipelineError,
    PrepError,
    ServerError,
    SystemFailure,
    UsageError,
)
from mleprep.results import Competition, Failure, Grade, Plan, Prepared, Results, Step, Validation

__all__ = [
    "CheckError",
    "Competition",
    "Failure",
    "Grade",
    "InputError",
    "InternalError",
    "Interrupted",
    "PipelineError",
    "Plan",
    "PrepError",
    "Prepared",
    "ProgramNotFound",
    "Results",
    "ServerError",
    "Step",
    "SystemFailure",
    "UsageError",
    "Validation",
    "__version__",
    "grade",
    "list",
    "plan",
    "run",
    "validate",
]
