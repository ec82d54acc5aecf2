"""Tests that the program gets the types of a frame's columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlebench.grade_helpers import InvalidSubmissionError
from mlebench.registry import Competition, Registry
from mlebench.utils import load_answers, read_csv
from mleprep._mlebench.frames import write_frame
from mleprep._mlebench.program import ProgramNotFound

from conftest import ID


@pytest.fixture
def competition(data_dir: Path) -> Competition:
    return Registry(data_dir).get_competition(ID)


def test_text_in_a_boolean_column_is_invalid(competition: Competition) -> None:
    submission, answers = read_csv(competition.sample_submission), load_answers(competition.answers)
    assert competition.grader(submission, answers) == 0.5
    text = submission.astype(str)
    # The text "True" is not the boolean True, because scikit-learn does not compare text with booleans.
    assert competition.grader(text, answers) is None
    with pytest.raises(InvalidSubmissionError):
        competition.grader.grade_fn(text, answers)


def test_text_in_a_numeric_column_is_invalid(data_dir: Path) -> None:
    pizza = Registry(data_dir).get_competition("random-acts-of-pizza")
    answers = load_answers(pizza.answers)
    assert pizza.grader(read_csv(pizza.sample_submission), answers) is not None
    assert pizza.grader(pd.read_csv(pizza.sample_submission, dtype=str), answers) is None


def test_index_and_row_order_of_frames_do_not_matter(competition: Competition) -> None:
    submission, answers = read_csv(competition.answers), load_answers(competition.answers)
    assert competition.grader(submission.sample(frac=1, random_state=3), answers.iloc[::-1]) == 1.0


@pytest.mark.parametrize(
    ("values", "dtype", "kind", "cells"),
    [
        ([1, 2], "int8", "int64", None),
        ([1, 2], "Int64", "int64", None),
        ([1, None], "Int64", "object", [1, None]),
        ([0.5, np.nan], "float32", "float64", None),
        ([True, False], "bool", "bool", None),
        (["a", "NA", "", None], object, "object", ["a", "NA", "", None]),
        (["x", "y"], "category", "object", ["x", "y"]),
        ([1, 2], "category", "int64", None),
        ([1, "1", 1.5, True, float("inf"), 2**70], object, "object", [1, "1", 1.5, True, {"float": "inf"}, 2.0**70]),
        (["\ud800"], object, "object", ["?"]),
    ],
)
def test_column_types_are_preserved(tmp_path: Path, values: list[Any], dtype: Any, kind: str, cells: list[Any] | None) -> None:
    path = tmp_path / "a.frame"
    write_frame(pd.DataFrame({"a": pd.Series(values, dtype=dtype)}), path)
    line, _, content = path.read_bytes().partition(b"\n")
    header = json.loads(line)
    assert (header["rows"], header["columns"][0]["type"]) == (len(values), kind)
    if cells is None:
        assert len(content) == len(values) * (1 if kind == "bool" else 8)
    else:
        assert json.loads(content) == cells


def test_repeated_column_names_are_numbered(tmp_path: Path) -> None:
    write_frame(pd.DataFrame([[1, 2, 3]], columns=["a", "a", "a"]), tmp_path / "a.frame")
    header = json.loads((tmp_path / "a.frame").read_bytes().partition(b"\n")[0])
    assert [column["name"] for column in header["columns"]] == ["a", "a.1", "a.2"]


def test_missing_program_raises_an_error(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise ProgramNotFound

    monkeypatch.setattr("mleprep._mlebench.program._program.call", missing)
    answers = load_answers(competition.answers)
    with pytest.raises(FileNotFoundError):
        competition.grader(answers, answers)
