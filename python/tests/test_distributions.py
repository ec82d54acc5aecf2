"""Tests of the two distributions: their versions, and that `mlebench` is not installed over upstream's package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import ROOT

DROPIN = ROOT / "python" / "dropin"
PURE = ROOT / "python" / "pure"


def version() -> str:
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert found
    return found[1]


def replacement() -> str:
    """Returns the version of the distribution `mlebench`."""
    major, minor, patch = map(int, version().split("."))
    return f"1.0.0.post{10000 * major + 100 * minor + patch}"


def build(target: Path, hook: str, python: str = sys.executable, source: Path = DROPIN) -> subprocess.CompletedProcess[str]:
    """Calls a hook of the build backend as installers do: in the source directory, with the interpreter `python`."""
    return subprocess.run(
        [python, "-c", f"import sys; sys.path.insert(0, '.'); import backend; print(backend.{hook}(sys.argv[1]))", target],
        cwd=source,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )


def test_versions_of_all_distributions_match(tmp_path: Path) -> None:
    import mlebench
    import mleprep

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version()}\n" in citation
    assert version() in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (mleprep.__version__, mlebench.__version__) == (version(), replacement())
    program = subprocess.run([os.environ["PREP_BINARY"], "--version"], capture_output=True, text=True, check=True)
    assert program.stdout.split() == ["prep", version()]
    assert build(tmp_path, "build_wheel").stdout.strip() == f"mlebench-{replacement()}-py3-none-any.whl"


def test_wheel_contains_only_the_package_and_the_command(tmp_path: Path) -> None:
    name = build(tmp_path, "build_wheel").stdout.strip()
    with zipfile.ZipFile(tmp_path / name) as wheel:
        names = set(wheel.namelist())
        metadata = Parser().parsestr(wheel.read(f"mlebench-{replacement()}.dist-info/METADATA").decode())
        commands = wheel.read(f"mlebench-{replacement()}.dist-info/entry_points.txt").decode()
    assert {"mlebench/cli.py", "mlebench/py.typed", "mlebench/competitions/__init__.py"} <= names
    assert {"mlebench/competitions/AI4Code/config.yaml", "mlebench/competitions/splits/low.txt"} <= names
    assert not [name for name in names if not name.startswith(("mlebench/", f"mlebench-{replacement()}.dist-info/"))]
    assert f"mleprep=={version()}" in metadata.get_all("Requires-Dist", [])
    assert "mlebench = mlebench.cli:main" in commands


def test_package_is_installed_without_the_program(tmp_path: Path) -> None:
    name = build(tmp_path, "build_wheel", source=PURE).stdout.strip()
    assert name == f"mleprep-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path / "site")
    assert {"mleprep/__init__.py", "mleprep/_mlebench/program.py", "mleprep/py.typed"} <= names
    assert not [name for name in names if not name.startswith(("mleprep/", f"mleprep-{version()}.dist-info/"))]
    code = "import mleprep; print(mleprep.__version__, len(mleprep.list()), mleprep.__file__)"
    around = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], env=around, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [version(), "82", str(tmp_path / "site" / "mleprep" / "__init__.py")]


def test_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    (tmp_path / "direct").mkdir()
    (tmp_path / "again").mkdir()
    name = build(tmp_path, "build_sdist").stdout.strip()
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path, filter="data")
    build(tmp_path / "direct", "build_wheel")
    again = build(tmp_path / "again", "build_wheel", source=tmp_path / name.removesuffix(".tar.gz"))
    assert again.returncode == 0, again.stderr
    [one], [two] = (tmp_path / "direct").iterdir(), (tmp_path / "again").iterdir()
    assert one.read_bytes() == two.read_bytes()


def test_editable_installation_imports_the_sources(tmp_path: Path) -> None:
    name = build(tmp_path, "build_editable").stdout.strip()
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        wheel.extractall(site)
    assert not (site / "mlebench").exists()
    code = f"import site; site.addsitedir({str(site)!r}); import mlebench, importlib.metadata as m; " \
        "print(mlebench.__file__, m.version('mlebench'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(ROOT / "python/mlebench/__init__.py"), replacement()]


def test_copied_sources_can_be_imported(tmp_path: Path) -> None:
    for name in ("mleprep", "mlebench"):
        shutil.copytree(ROOT / "python" / name, tmp_path / "a" / "b" / name, ignore=shutil.ignore_patterns("competitions"))
    code = "import mleprep, mlebench; print(mleprep.__version__, mlebench.__version__)"
    around = {"PYTHONPATH": str(tmp_path / "a" / "b"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True)
    # The version is unknown, unless the distribution is installed as well.
    assert done.stdout.strip() in ("0+unknown 1.0.0.post0", f"{version()} {replacement()}"), done.stderr


@pytest.mark.parametrize("replace", [False, True])
def test_build_fails_if_upstreams_package_is_installed(tmp_path: Path, replace: bool) -> None:
    """With `replace`, the summary shows that the installed package is this project's, which a build may replace."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    metadata = Path(packages) / "mlebench-1.0.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: mlebench\nVersion: 1.0.0\n", encoding="utf-8")
    if replace:
        metadata.write_text(metadata.read_text() + "Summary: MLE-bench's command and package, on top of prep\n")
    built = build(tmp_path, "build_wheel", python=str(python))
    assert (built.returncode == 0) == replace
    if not replace:
        assert str(metadata.parent) in built.stderr and "pip uninstall mlebench" in built.stderr


# Fields that are not in definitions.json, because `pipelines` contains them as separate files.
TEXTS = ("pipeline", "leaderboard", "description", "checksums")


def test_recorded_definitions_match_the_program(tmp_path: Path) -> None:
    """`UPDATE=1` records the definitions again."""
    arguments = ["pipeline", "show", "--json", "--quiet", "--data-dir", str(tmp_path), "--cache-dir", str(tmp_path)]
    shown = subprocess.run([os.environ["PREP_BINARY"], *arguments], capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    competitions = [
        {name: value for name, value in one.items() if name not in TEXTS} for one in found["competitions"] if "answers" in one
    ]
    definitions = {"competitions": competitions, "lists": found["lists"]}
    path = DROPIN / "definitions.json"
    if os.environ.get("UPDATE") == "1":
        path.write_text(json.dumps(definitions, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == definitions


def test_competitions_of_a_wheel_need_no_program(tmp_path: Path) -> None:
    name = build(tmp_path, "build_wheel").stdout.strip()
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / name) as wheel:
        wheel.extractall(site)
    code = """
import mlebench, pathlib
from mlebench.registry import registry
home = pathlib.Path(mlebench.__file__).parent
assert registry.get_competitions_dir() == home / "competitions"
assert len(registry.list_competition_ids()) == 82
for one in registry.list_competition_ids():
    found = registry.get_competition(one)
    assert found.leaderboard.is_file() and found.checksums.is_file()
    assert (home.parent / "mlebench" / "competitions" / one / "description.md").read_text() == found.description
print(len(registry.get_lite_competition_ids()))
"""
    # Install the distribution `mleprep` as an installer would, but without the program.
    shutil.copytree(ROOT / "python" / "mleprep", site / "mleprep")
    (site / "mleprep-1.dist-info").mkdir()
    (site / "mleprep-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mleprep\nVersion: 1\n")
    around = {"PYTHONPATH": str(site), "PATH": "", "PREP_BINARY": str(tmp_path / "none"), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True)
    assert done.stdout == "22\n", done.stderr
