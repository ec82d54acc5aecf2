"""Upstream's files of each competition: config, leaderboard, checksums, description.

A wheel has them in the package. In a checkout the program writes them when they are first needed: into the package, or
into the user's cache directory if the package cannot be written. It writes them again if it changes. With pipelines of the
user (`PREP_PIPELINES`), they are in a directory of their own, because other processes use the package without them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mleprep._mlebench import files, program

# Names the program that wrote the files. A wheel has `SHIPPED` in it instead.
STAMP = "program"
SHIPPED = "shipped\n"
INDEX = "index.json"


def user_cache_dir() -> Path:
    """The user's cache directory; a temporary one where there is no home."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named and os.path.isabs(named):
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())
    return home / ("Library/Caches" if os.uname().sysname == "Darwin" else ".cache")


def _package() -> Path:
    import mlebench

    assert mlebench.__file__
    return Path(mlebench.__file__).resolve().parent / "competitions"


def _stamp() -> str:
    """Identifies the program, and pipelines of the user."""
    path = program.program()
    found = os.stat(path)
    own = os.environ.get("PREP_PIPELINES", "")
    return f"{path} {found.st_size} {found.st_mtime_ns} {own}\n"


def _holds(directory: Path, stamp: str) -> bool:
    try:
        return (directory / STAMP).read_text() == stamp and (directory / INDEX).is_file()
    except OSError:
        return False


def _write(directory: Path, stamp: str) -> bool:
    if _holds(directory, stamp):
        return True
    if _holds(directory, SHIPPED):
        return False
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK):
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
    """The directory with a directory per competition."""
    if not os.environ.get("PREP_PIPELINES") and _holds(_package(), SHIPPED):
        return _package()
    return _definitions_directory(_stamp())


@cache
def _index(path: Path, stamp: str) -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads((path / INDEX).read_text(encoding="utf-8"))
    return index


def is_built_in(competition_id: str) -> bool:
    """Whether the program knows a competition."""
    place = directory()
    return competition_id in _index(place, (place / STAMP).read_text())
