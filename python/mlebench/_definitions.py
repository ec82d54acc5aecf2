"""The benchmark's competitions as files, as its own package keeps them: config, leaderboard, checksums, description.

The program writes them when they are first needed: into the package, or where that is not possible into the user's
folder for caches. They are written anew when the program is another one.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from mlebench import _files, _program

STAMP = "program"


def user_cache_dir() -> Path:
    """The user's folder for caches; a temporary one where there is no home."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named and os.path.isabs(named):
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())
    return home / ("Library/Caches" if os.uname().sysname == "Darwin" else ".cache")


def _stamp() -> str:
    """Tells programs apart; and pipelines of the user, which add competitions."""
    path = _program.program()
    found = os.stat(path)
    own = os.environ.get("PREP_PIPELINES", "")
    return f"{path} {found.st_size} {found.st_mtime_ns} {own}\n"


def _is_current(folder: Path, stamp: str) -> bool:
    try:
        return (folder / STAMP).read_text() == stamp and (folder / "index.json").is_file()
    except OSError:
        return False


def _write(folder: Path, stamp: str) -> bool:
    if _is_current(folder, stamp):
        return True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return False
        text = _program.call("pipeline", "show", "--json", "--quiet", "--data-dir", folder, "--cache-dir", folder)
        _files.write(folder, json.loads(text))
        _files.replace(folder / STAMP, stamp)
    except OSError:
        return False
    return True


@cache
def _folder(stamp: str) -> Path:
    package = Path(__file__).resolve().parent / "competitions"
    places = [package, user_cache_dir() / "mle-bench" / "competitions"]
    for place in places:
        if _write(place, stamp):
            return place
    place = Path(tempfile.mkdtemp(prefix="mlebench-"))
    _write(place, stamp)
    return place


def folder() -> Path:
    """Folder with a folder per competition."""
    return _folder(_stamp())


@cache
def _index(path: Path, stamp: str) -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads((path / "index.json").read_text(encoding="utf-8"))
    return index


def index() -> dict[str, dict[str, Any]]:
    """What is known of each competition, by id."""
    return _index(folder(), _stamp())
