"""The version of the installed distribution, or of the surrounding workspace if the package is not installed."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

def _find() -> str:
    try:
        return metadata.version("mleprep")
    except metadata.PackageNotFoundError:
        pass
    try:
        manifest = (Path(__file__).parents[2] / "Cargo.toml").read_text(encoding="utf-8")
    except (OSError, IndexError):
        # These sources are a copy outside of the repository.
        return "0+unknown"
    found = re.search(r'^version = "(.+)"', manifest, re.MULTILINE)
    return found[1] if found else "0+unknown"


def replacement(version: str) -> str:
    """Returns the version of the distribution `mlebench`: upstream's, with the version of this package in its last part.

    The version satisfies requirements such as `mlebench>=1`, and no release of upstream has it. 0.1.0 becomes
    1.0.0.post100.
    """
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    major, minor, patch = map(int, numbers.groups()) if numbers else (0, 0, 0)
    return f"1.0.0.post{10000 * major + 100 * minor + patch}"


__version__ = _find()
