"""The version of the installed distribution, or of the surrounding workspace if the package is not installed."""

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
