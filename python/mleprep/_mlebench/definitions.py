"""Provides upstream's files of each competition: config, leaderboard, checksums, description.

A wheel contains these files. In a checkout, the program writes them at the first use, and again if the program changes.
Their place is the package, or the user's cache directory if the package is not writable.

With the user's own pipelines (`PREP_PIPELINES`), the files are in a separate directory, because other processes use the
package without these pipelines.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mleprep import _private
from mleprep._mlebench import files, program

# The file that identifies the program which wrote the files. In a wheel, its content is `SHIPPED`.
STAMP = "program"
SHIPPED = "shipped\n"
INDEX = "index.json"


def user_cache_dir() -> Path:
    """Returns the user's cache directory, or the user's own temporary directory if there is no home directory."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named and os.path.isabs(named):
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return _private.temporary_home()
    return home / ("Library/Caches" if os.uname().sysname == "Darwin" else ".cache")


def _package() -> Path:
    import mlebench

    assert mlebench.__file__
    return Path(mlebench.__file__).resolve().parent / "competitions"


def _stamp() -> str:
    """Returns a text that identifies the program and the user's own pipelines."""
    path = program.program()
    found = os.stat(path)
    own = os.environ.get("PREP_PIPELINES", "")
    return f"{path} {found.st_size} {found.st_mtime_ns} {own}\n"


def _holds(directory: Path, stamp: str) -> bool:
    try:
        return (directory / STAMP).read_text() == stamp and (directory / INDEX).is_file()
    except OSError:
        return False


def _is_trusted(directory: Path) -> bool:
    # The package's own directory is as trustworthy as the package's code.
    return not directory.exists() or directory == _package() or _private.is_private(directory)


def _write(directory: Path, stamp: str) -> bool:
    """Writes the current files into a directory, unless it contains them. Returns whether the directory contains them.

    Python imports modules from this directory, so it must be private.
    """
    if not _is_trusted(directory):
        return False
    if _holds(directory, stamp):
        return True
    if _holds(directory, SHIPPED):
        return False
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK) or not _is_trusted(directory):
            return False
        files.write(directory, program.definitions(directory))
        files.replace(directory / STAMP, stamp)
    except OSError:
        return False
    return True


@cache
def _definitions_directory(stamp: str) -> Path:
    caches = user_cache_dir() / "mle-bench"
    own = os.environ.get("PREP_PIPELINES")
    if own:
        places = [caches / f"competitions-{hashlib.sha256(own.encode()).hexdigest()[:16]}"]
    else:
        places = [_package(), caches / "competitions"]
    for place in places:
        if _write(place, stamp):
            return place
    place = Path(tempfile.mkdtemp(prefix="mlebench-"))
    _write(place, stamp)
    return place


def directory() -> Path:
    """Returns the directory that contains a directory per competition."""
    if not os.environ.get("PREP_PIPELINES") and _holds(_package(), SHIPPED):
        return _package()
    return _definitions_directory(_stamp())


@cache
def _index(path: Path, stamp: str) -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads((path / INDEX).read_text(encoding="utf-8"))
    return index


def is_built_in(competition_id: str) -> bool:
    """Whether the program contains the competition."""
    place = directory()
    return competition_id in _index(place, (place / STAMP).read_text())
