"""Unpacks archives."""

from __future__ import annotations

import zipfile
from pathlib import Path


def unpack(archive: Path, target: Path) -> None:
    """Unpacks a zip or a 7z."""
    match archive.suffix:
        case ".zip":
            with zipfile.ZipFile(archive) as members:
                members.extractall(target)
        case ".7z":
            import py7zr

            with py7zr.SevenZipFile(archive, mode="r") as members:
                members.extractall(path=target)
        case suffix:
            raise NotImplementedError(f"Archives of the kind `{suffix}` are not unpacked.")
