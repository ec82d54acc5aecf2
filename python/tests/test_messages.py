"""Tests of messages about arguments and changed data: they name the parameter, the variant, the file or the frame."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mleprep
import numpy as np
import pandas as pd
import pytest
from conftest import ID, ROOT


@pytest.fixture
def copied(data_dir: Path, tmp_path: Path) -> Path:
    shutil.copytree(data_dir, tmp_path / "data")
    return tmp_path / "data"


def append(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("x")


@pytest.mark.parametrize("change", [append, Path.unlink])
def test_changed_data_are_not_called_unprepared(copied: Path, change: Callable[[Path], object]) -> None:
    change(copied / ID / "prepared" / "public" / "train.csv")
    expected = f"variant `v1` of competition `{ID}` was changed since it was prepared in {copied}: public/train.csv"
    for call in (mleprep.path, mleprep.load):
        with pytest.raises(mleprep.InputError) as raised:
            call(ID, data_dir=copied)
        assert raised.value.message == expected and "mleprep.run" in str(raised.value)
        with pytest.raises(mleprep.InputError, match=f"variant `fixed` of .* is not prepared in {copied}"):
            call(ID, data_dir=copied, variant="fixed")


def test_warnings_name_the_frame(data_dir: Path) -> None:
    answers = pd.read_csv(data_dir / ID / "prepared" / "private" / "test.csv")
    with pytest.warns(mleprep.PrepWarning, match=f"^the data frame is identical to the answers of `{ID}`"):
        assert mleprep.grade(answers, ID, data_dir=data_dir, log=False).is_answers


def test_unusable_output_paths_are_named(data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    (file := tmp_path / "file.csv").touch()
    given: Any = {"data_dir": data_dir}
    for call in (
        lambda: mleprep.grade(sample, ID, output=file, **given),
        lambda: mleprep.grade_all(sample, output=str(file), **given),
        lambda: mleprep.grade(sample, ID, reward=file / "reward.json", **given),
        lambda: mleprep.report(ID, output=file / "page.html", **given),
    ):
        with pytest.raises(NotADirectoryError, match="file.csv"):
            call()
    for call in (
        lambda: mleprep.grade(sample, ID, reward=tmp_path, **given),
        lambda: mleprep.report(ID, output=tmp_path, **given),
    ):
        with pytest.raises(IsADirectoryError, match=str(tmp_path)):
            call()


def test_type_errors_name_the_parameter(tmp_path: Path) -> None:
    results: Any = mleprep.Results([mleprep.Record(ID)])
    frames: Any = [pd.DataFrame()]
    with pytest.raises(TypeError, match="`reports` must be paths, or results of `grade` and `grade_all`, but contains a Record"):
        mleprep.summarize(results)
    with pytest.raises(TypeError, match="`submissions` must be paths, or pairs of an id and a file, but contains a DataFrame"):
        mleprep.grade_all(frames, output=tmp_path)
    pairs: Any
    for pairs, kinds in (([(ID, pd.DataFrame())], "str and a DataFrame"), ({ID: ["a.csv"]}, "str and a list"), ([(tmp_path, ID)], "PosixPath and a str")):
        with pytest.raises(TypeError, match=f"`submissions` must be pairs of an id and a file, but contains a pair of a {kinds}"):
            mleprep.grade_all(pairs, output=tmp_path)


def test_results_are_indexed_by_position() -> None:
    results: Any = mleprep.Results([mleprep.Record("a"), mleprep.Record("b")])
    assert results[np.int64(1)].id == results[-1].id == "b" and results[-2].id == "a"
    for key in (99, -3):
        with pytest.raises(IndexError, match=f"there is no record {key}; the number of records is 2"):
            results[key]
    for wrong in (1.5, None):
        with pytest.raises(TypeError, match=f"records are indexed by position or id, not by {wrong}"):
            results[wrong]


def test_relative_path_of_the_program_is_found_after_chdir(tmp_path: Path) -> None:
    (tmp_path / "prep").symlink_to(os.path.abspath(os.environ["PREP_BINARY"]))
    around = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PREP_BINARY": "./prep"}
    code = "import os, mleprep\nos.chdir('/')\nprint(len(mleprep.list(set='lite')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("22\n", "")
