"""Fixtures: the samples of the repository, prepared once. They need neither a network nor credentials."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
CASES = ROOT / "tests" / "cases"
ID = "spaceship-titanic"

os.environ.setdefault("PREP_BINARY", str(ROOT / "target" / "release" / "prep"))


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Ensures that tests neither read nor write files of the user."""
    os.environ["PREP_CACHE_DIR"] = str(tmp_path_factory.mktemp("store"))
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))
    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_API_TOKEN", "MLE_BENCH_DATA_DIR", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a data directory with two competitions, prepared from the samples."""
    directory = tmp_path_factory.mktemp("data")
    for name in (ID, "random-acts-of-pizza"):
        command = ["run", "-c", name, "--source", str(SAMPLES), "--data-dir", str(directory), "--skip-verification"]
        subprocess.run([os.environ["PREP_BINARY"], *command, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return directory


@pytest.fixture
def mlebench(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs the command `mlebench` in a separate directory, with an empty stdin."""

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mlebench.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
            timeout=300,
        )

    return call
