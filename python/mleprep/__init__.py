"""Prepare and grade the competitions of MLE-bench from Python.

Each function calls the program `prep` and returns typed records:

    import mleprep

    mleprep.run("spaceship-titanic", source="bundles")
    train = mleprep.load("spaceship-titanic")["train"]
    mleprep.grade("submission.csv", "spaceship-titanic").score

docs/python.md has examples.
"""

from mleprep._calls import (
    audit, diff, digest, export, fetch, fetch_check_rules, fetch_list, grade, grade_all, grade_score, leaks,
    list as list, load, path, plan, report, run, summarize, validate, why,
)
from mleprep._options import VERBS as _VERBS
from mleprep._program import ProgramNotFound
from mleprep._tables import Tables
from mleprep._version import __version__
from mleprep.errors import (
    CheckError, InputError, InternalError, Interrupted, PipelineError, PrepError, PrepWarning, ServerError,
    SystemFailure, UsageError,
)
from mleprep.parts import BundleFile, Failure, FilesDigest, Finding, InvalidReason, Part, Reason, Step, StepReason
from mleprep.results import (
    Audit, Audits, Bundle, BundleListing, BundleListings, Bundles, Competition, Competitions, Difference, Digest, Digests,
    Experiment, Experiments, Export, Grade, Grades, LeakSearches, Leaks, Plan, Plans, Prepared, Ranking, Record, ReportPage,
    Results, Rules, RulesChecks, Runs, Validation, Why,
)

# Without `list`, because `from mleprep import *` must not replace the builtin.
__all__ = [
    "Audit", "Audits", "Bundle", "BundleFile", "BundleListing", "BundleListings", "Bundles", "CheckError",
    "Competition", "Competitions", "Difference", "Digest", "Digests", "Experiment", "Experiments", "Export",
    "Failure", "FilesDigest", "Finding", "Grade", "Grades", "InputError", "InternalError", "Interrupted",
    "InvalidReason", "LeakSearches", "Leaks", "Part", "PipelineError", "Plan", "Plans", "PrepError", "PrepWarning",
    "Prepared", "ProgramNotFound", "Ranking", "Reason", "Record", "ReportPage", "Results", "Rules", "RulesChecks",
    "Runs", "ServerError", "Step", "StepReason", "SystemFailure", "Tables", "UsageError", "Validation", "Why",
    "__version__", "audit", "diff", "digest", "export", "fetch", "fetch_check_rules", "fetch_list", "grade",
    "grade_all", "grade_score", "leaks", "load", "path", "plan", "report", "run", "summarize", "validate", "why",
]

_INDEX = "\n".join(f"    {name}: {(globals()[name].__doc__ or '').splitlines()[0]}" for name in _VERBS)
__doc__ = f"{__doc__}\nFunctions:\n{_INDEX}\n"
