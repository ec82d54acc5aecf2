"""Builds the distribution `mleprep` without the program, from the sources in `../mleprep`.

Uses the functions of the backend of `mlebench`, which is in `../dropin`.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGES = Path(__file__).resolve().parent.parent
NAME = "mleprep"

_spec = spec_from_file_location("dropin", PACKAGES / "dropin" / "backend.py")
dropin = module_from_spec(_spec)
_spec.loader.exec_module(dropin)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    sources = dropin.files(PACKAGES / NAME, lambda path: path.suffix in (".py", ".typed"))
    return _write(wheel_directory, {f"{NAME}/{path}": content for path, content in sources.items()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds a wheel with the path of the sources instead of the package, for `pip install -e`."""
    return _write(wheel_directory, {f"__editable__.{NAME}.pth": f"{PACKAGES}\n".encode()})


def _write(wheel_directory, files):
    version = dropin.mleprep_version()
    lines = ["Metadata-Version: 2.4", f"Name: {NAME}", f"Version: {version}", "Requires-Python: >=3.11"]
    return dropin.write_wheel(wheel_directory, NAME, version, files, ("\n".join(lines) + "\n").encode())
