"""Directories that no other user can write."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def is_private(directory: Path) -> bool:
    """Returns whether only the current user and root can write or replace a directory and its parents.

    The package reads modules and settings only from private directories.
    """
    user = os.geteuid()
    path = Path(directory).resolve()
    for place in (path, *path.parents):
        try:
            found = os.stat(place)
        except OSError:
            return False
        # In a sticky directory, other users cannot replace files, but can add files.
        is_shared_safely = place != path and bool(found.st_mode & stat.S_ISVTX)
        if found.st_uid not in (user, 0) or (found.st_mode & 0o022 and not is_shared_safely):
            return False
    return True


def temporary_home() -> Path:
    """Returns the user's directory below the directory of temporary files, for users without a home directory."""
    path = Path(tempfile.gettempdir()) / f"mle-bench-{os.geteuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        pass
    if path.is_symlink() or not is_private(path):
        return Path(tempfile.mkdtemp(prefix="mle-bench-"))
    return path
