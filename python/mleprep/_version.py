"""The version: that of the installed distribution, else of the workspace that this package lies in."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path


def _find() -> str:
    try:
        return metadata.version("mleprep")
    except metadata.PackageNotFoundError:
        manifest = Path(__file__).parents[2] / "Cargo.toml"
        found = re.search(r'^version = "(.+)"', manifest.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else "unknown"


__version__ = _find()
