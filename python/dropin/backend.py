"""Builds the distribution `mlebench`: the package in `../mlebench` (in a source distribution: `./mlebench`), the command
`mlebench`, and a dependency on the same version of `mleprep`.

Upstream's package has the same name, and installers silently replace one with the other. So this backend stops if
upstream's package is installed in the environment. MLEBENCH_REPLACE=1 turns this check off.

A release has no wheel of `mlebench`, because an installer would not call this backend for a wheel.

The backend implements PEP 517 without dependencies. Equal sources give distributions with equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "mlebench"
# Identifies this distribution: only its metadata contain this line.
MARK = "Summary: MLE-bench's command and package, on top of prep"
EPOCH = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"{NAME}/{name}": content for name, content in _package().items()})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds a wheel with the path of the sources instead of the package, for `pip install -e`.

    Python then also finds the other packages next to `mlebench`, after all installed ones.
    """
    sources = HERE if (HERE / NAME).is_dir() else HERE.parent
    return _write_wheel(wheel_directory, {f"__editable__.{NAME}.pth": f"{sources}\n".encode()})


def _write_wheel(wheel_directory, files):
    _require_no_upstream()
    version = _version()
    files[f"{NAME}-{version}.dist-info/entry_points.txt"] = b"[console_scripts]\nmlebench = mlebench.cli:main\n"
    return write_wheel(wheel_directory, NAME, version, files, _metadata(version))


def write_wheel(directory, name, version, files, metadata):
    """Writes a wheel of these files (path -> content) with these metadata, and returns its name."""
    info = f"{name}-{version}.dist-info"
    files[f"{info}/METADATA"] = metadata
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: prep\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    name = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    version = _version()
    top = f"{NAME}-{version}"
    files = {f"{NAME}/{name}": content for name, content in _package().items()}
    for name in ("backend.py", "pyproject.toml"):
        files[name] = (HERE / name).read_bytes()
    files["PKG-INFO"] = _metadata(version)
    with tarfile.open(Path(sdist_directory) / f"{top}.tar.gz", "w:gz") as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{top}.tar.gz"


def _package():
    """Returns the files of the package: path -> content."""
    if (HERE / NAME).is_dir():
        return files(HERE / NAME, lambda path: True)
    directory = HERE.parent / NAME
    # Leaves out competitions in the checkout, because another version of the program may have written them.
    modules = files(directory, lambda path: path.suffix in (".py", ".typed") and len(path.relative_to(directory).parts) < 3)
    return modules | {f"competitions/{name}": text.encode() for name, text in _competitions().items()}


def files(directory, wanted):
    paths = (path for path in sorted(directory.rglob("*")) if path.is_file() and wanted(path))
    paths = (path for path in paths if path.parent.name != "__pycache__")
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def _competitions():
    """Returns the files of the competitions, as the program writes them into a checkout."""
    spec = spec_from_file_location("rendering", HERE.parent / "mleprep" / "_mlebench" / "files.py")
    rendering = module_from_spec(spec)
    spec.loader.exec_module(rendering)
    definitions = json.loads((HERE / "definitions.json").read_text(encoding="utf-8"))
    for facts in definitions["competitions"]:
        directory = HERE.parents[1] / "pipelines" / facts["id"]
        facts["leaderboard"] = (directory / "leaderboard.csv").read_text(encoding="utf-8")
        facts["description"] = (directory / "description.md").read_text(encoding="utf-8")
        facts["checksums"] = json.loads((directory / "checksums.json").read_text(encoding="utf-8"))
    # Because of the file `program`, the package does not call the program to write these files.
    return rendering.rendered(definitions) | {"program": "shipped\n"}


def _version():
    """Returns the version of this distribution: upstream's, with the version of `mleprep` in its last part.

    The version satisfies requirements such as `mlebench>=1`, and no release of upstream has it. 0.1.0 becomes
    1.0.0.post100.
    """
    major, minor, patch = map(int, re.match(r"(\d+)\.(\d+)\.(\d+)", mleprep_version()).groups())
    return f"1.0.0.post{10000 * major + 100 * minor + patch}"


def mleprep_version():
    """Returns the version of the workspace, or the version recorded in a source distribution."""
    places = (
        (HERE / "PKG-INFO", r"^Requires-Dist: mleprep==(.+)$"),
        (HERE / "../../Cargo.toml", r'^version = "(.+)"$'),
    )
    for path, pattern in places:
        if path.is_file():
            return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)[1]
    raise FileNotFoundError("the version is unknown, because neither PKG-INFO nor the workspace's Cargo.toml exists")


def _metadata(version):
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version}",
        MARK,
        "License-Expression: MIT OR Apache-2.0",
        "Requires-Python: >=3.11",
        f"Requires-Dist: mleprep=={mleprep_version()}",
        "Requires-Dist: pandas>=2.2",
        "Requires-Dist: pyyaml",
    ]
    return ("\n".join(lines) + "\n").encode()


def _record(files, own):
    lines = []
    for path, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return ("".join(lines) + f"{own},,\n").encode()


def _require_no_upstream():
    """Exits if the target environment has a different package `mlebench`.

    Installers run backends with the environment's interpreter, but hide the environment's packages. So this function
    reads the directory of packages.
    """
    if os.environ.get("MLEBENCH_REPLACE") == "1":
        return
    for directory in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for metadata in Path(directory).glob(f"{NAME}-*.dist-info/METADATA"):
            if MARK not in metadata.read_text(encoding="utf-8", errors="replace").splitlines():
                sys.exit(
                    f"error: MLE-bench's own package is installed here ({metadata.parent}), and this distribution would "
                    "replace it\nhelp: install this package into another environment, or run `pip uninstall mlebench` first"
                )
