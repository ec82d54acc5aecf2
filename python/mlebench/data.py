"""Downloads and prepares data.

download_and_prepare_dataset  prepares a competition; downloads the bundle if it is missing
download_dataset              downloads a bundle
is_dataset_prepared           checks whether the files of a prepared competition exist
create_prepared_dir           creates the directories `public` and `private`
ensure_leaderboard_exists     returns the path of a leaderboard
get_leaderboard               returns a leaderboard as a frame
is_valid_prepare_fn           checks the parameters of a prepare function
generate_checksums            returns the MD5s of files in a directory
get_checksum                  returns the MD5 of a file
get_last_modified             returns the modification time of a file
file_cache                    caches the results of a function with a path as its argument
is_api_exception              recognises errors of Kaggle's client

The program `prep` prepares the built-in competitions. Callers' functions prepare other competitions: `prepare_fn` of a
`Competition` can be any function with the parameters `raw`, `public` and `private`. It reads the unpacked bundle in
`raw` and writes into `public` and `private`. It runs only if these two are empty. Afterwards the files are compared
with the checksums of the competition.

Callers can replace functions of this module. As in upstream, `download_and_prepare_dataset` looks up the other functions
in this module when it calls them. For example, your own `download_dataset` can copy bundles from a mirror instead of
downloading them from Kaggle.

Files that `prep` prepared are read-only, because they may share their bytes with its cache. Copy a file before you write
to it. `description.md` is an exception: it is never shared, so it can be overwritten. If a competition is prepared again,
files that others added to the prepared directories stay.

A known harness replaces line 29 of this file, which sets up a cache in upstream's file. The replacement would not work
in this file. So line 29 is part of this text, where the replacement has no effect.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from mleprep._mlebench.download import download
from mleprep._mlebench.lazy import LazyModule
from mleprep._mlebench.program import ProgramError

from mlebench.registry import Competition
from mlebench.utils import authenticate_kaggle_api as authenticate_kaggle_api
from mlebench.utils import extract as extract
from mlebench.utils import get_diff as get_diff
from mlebench.utils import get_logger
from mlebench.utils import get_path_to_callable as get_path_to_callable
from mlebench.utils import is_empty
from mlebench.utils import load_yaml as load_yaml

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")

logger = get_logger(__name__)

_HASHED = ["csv", "json", "jsonl", "parquet", "bson"]


def create_prepared_dir(competition: Competition) -> None:
    for directory in (competition.public_dir, competition.private_dir):
        directory.mkdir(parents=True, exist_ok=True)


def download_and_prepare_dataset(
    competition: Competition,
    keep_raw: bool = True,
    overwrite_checksums: bool = False,
    overwrite_leaderboard: bool = False,
    skip_verification: bool = False,
) -> None:
    """Prepares a competition if it is not up to date. Downloads the bundle if it is missing."""
    from mleprep._mlebench.prepare import prepare_all

    failures = prepare_all([competition], keep_raw, overwrite_checksums, overwrite_leaderboard, skip_verification)
    for error in failures.values():
        raise error


def is_dataset_prepared(competition: Competition, grading_only: bool = False) -> bool:
    """Whether `private` has the answers. Without `grading_only`, `public` must also have the sample submission."""
    assert isinstance(competition, Competition), f"Expected a Competition, got {type(competition).__name__}."
    directories = [("Private", competition.private_dir)]
    files = [("Answers", competition.answers)]
    if not grading_only:
        directories.insert(0, ("Public", competition.public_dir))
        files.append(("Sample submission", competition.sample_submission))
    for name, directory in directories:
        if not directory.is_dir():
            logger.warning(f"{name} directory does not exist.")
            return False
        if is_empty(directory):
            logger.warning(f"{name} directory is empty.")
            return False
    for name, file in files:
        if not file.is_file():
            logger.warning(f"{name} file does not exist.")
            return False
    return True


def is_api_exception(exception: Exception) -> bool:
    return any(kind.__name__ == "ApiException" for kind in type(exception).__mro__)


def download_dataset(
    competition_id: str,
    download_dir: Path,
    quiet: bool = False,
    force: bool = False,
) -> Path:
    """Downloads a bundle if it does not exist. Returns its path.

    As in upstream, missing or rejected credentials are a `PermissionError`.
    """
    try:
        return download(competition_id, download_dir, quiet, force)
    except ProgramError as error:
        try:
            authenticate_kaggle_api()
        except PermissionError:
            # Uses the program's message, because it also states where to put a bundle that the user already has.
            raise PermissionError(str(error)) from None
        raise


# The original function, for comparison with `download_dataset`, which a caller may have replaced.
_DOWNLOAD_DATASET = download_dataset


def is_valid_prepare_fn(preparer_fn: Any) -> bool:
    """Whether a function has the parameters `raw`, `public` and `private`, in this order."""
    try:
        parameters = inspect.signature(preparer_fn).parameters
    except (TypeError, ValueError):
        return False
    return list(parameters) == ["raw", "public", "private"]


def generate_checksums(
    target_dir: Path,
    exts: Optional[list[str]] = None,
    exclude: Optional[list[Path]] = None,
) -> dict[str, str]:
    """Returns the MD5s of the files in `target_dir` that have an extension in `exts` and are not in `exclude`."""
    left_out = exclude or []
    found = {}
    for ext in _HASHED if exts is None else exts:
        for path in target_dir.glob(f"*.{ext}"):
            if path.is_file() and path not in left_out:
                found[path.name] = get_checksum(path)
    return found


def get_last_modified(fpath: Path) -> datetime:
    return datetime.fromtimestamp(fpath.stat().st_mtime)


def file_cache(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the results of `fn` in memory, until the file changes. `fn` must have a single `Path` argument."""
    hints = inspect.get_annotations(fn, eval_str=True)
    parameters = list(inspect.signature(fn).parameters)
    if len(parameters) != 1 or hints.get(parameters[0]) is not Path:
        raise NotImplementedError("Only functions with a single `Path` argument are supported.")
    results: dict[tuple[str, datetime, int], Any] = {}

    @functools.wraps(fn)
    def wrapper(fpath: Path) -> Any:
        key = (str(fpath), get_last_modified(fpath), fpath.stat().st_size)
        if key not in results:
            results[key] = fn(fpath)
        return results[key]

    return wrapper


@file_cache
def get_checksum(fpath: Path) -> str:
    assert fpath.is_file(), f"Expected a file at `{fpath}`, but it does not exist."
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def ensure_leaderboard_exists(competition: Competition, force: bool = False) -> Path:
    """Returns the path of the leaderboard, which is part of the program and is never downloaded."""
    if force:
        raise NotImplementedError(
            "Leaderboards are pinned: Kaggle changes theirs, and scores would not be comparable any more. "
            "Without --force and --overwrite-leaderboard the pinned one is used."
        )
    if not competition.leaderboard.exists():
        raise FileNotFoundError(f"Leaderboard {competition.leaderboard} does not exist.")
    return competition.leaderboard


def get_leaderboard(competition: Competition) -> pd.DataFrame:
    assert competition.leaderboard.exists(), f"Leaderboard {competition.leaderboard} does not exist."
    return pd.read_csv(competition.leaderboard)
