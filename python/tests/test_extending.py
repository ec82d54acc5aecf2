"""Tests that competitions, graders and functions can be added and changed as in upstream's package."""

from __future__ import annotations

import dataclasses
import importlib
import os
import shutil
import subprocess
import sys
import textwrap
import typing
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pandas as pd
import pytest

import mlebench.data
import mlebench.grade
import mlebench.metrics
import mlebench.registry
import mlebench.utils
from mlebench.competitions import utils as competition_utils
from mlebench.grade_helpers import CompetitionReport, Grader, InvalidSubmissionError
from mlebench.registry import Competition, Registry

from conftest import ID, ROOT, SAMPLES

CONFIG = """\
id: mine
name: Mine
competition_type: simple
description: {description}
dataset:
  answers: mine/prepared/private/answers.csv
  sample_submission: mine/prepared/public/sample.csv
grader:
  name: hits
  grade_fn: my_rules:grade
preparer: my_rules:prepare
"""
RULES = """\
from pathlib import Path

def grade(submission, answers):
    return float((submission["y"] == answers["y"]).mean())

def prepare(raw: Path, public: Path, private: Path):
    (public / "sample.csv").write_text("id,y\\n1,0\\n")
    (private / "answers.csv").write_text((raw / "all.csv").read_text())
"""


def add_competition(directory: Path, modules: Path) -> None:
    (directory / "mine").mkdir(parents=True)
    (directory / "mine" / "description.md").write_text("Predict y.")
    (directory / "mine" / "config.yaml").write_text(CONFIG.format(description="mlebench/competitions/mine/description.md"))
    (directory / "mine" / "leaderboard.csv").write_text("teamId,score\n1,1.0\n2,0.5\n3,0.1\n")
    (modules / "my_rules.py").write_text(RULES)


class OwnRegistry(Registry):
    directory: Path

    def get_competitions_dir(self) -> Path:
        return self.directory


def test_registry_subclass_uses_its_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_competition(tmp_path / "competitions", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    OwnRegistry.directory = tmp_path / "competitions"
    own = OwnRegistry(tmp_path / "data")
    assert own.list_competition_ids() == ["mine"]
    mine = own.get_competition("mine")
    assert (mine.description, mine.grader.name) == ("Predict y.", "hits")
    mine.raw_dir.mkdir(parents=True)
    (mine.raw_dir / "all.csv").write_text("id,y\n1,1\n")
    mlebench.data.download_and_prepare_dataset(mine, skip_verification=True)
    assert (mine.public_dir / "description.md").read_text() == "Predict y."
    report = mlebench.grade.grade_csv(mine.answers, mine)
    assert (report.score, report.gold_medal, report.gold_threshold) == (1.0, True, 1.0)
    assert mlebench.grade.validate_submission(mine.sample_submission, mine) == (True, "Submission is valid.")
    with pytest.raises(AssertionError):
        own.get_competition(ID)


@pytest.fixture
def in_copy(tmp_path: Path) -> Callable[[str], None]:
    """Returns a function that runs code with a copy of the package, because other tests use the package at the same time."""
    package = tmp_path / "package"
    for name in ("mleprep", "mlebench"):
        shutil.copytree(ROOT / "python" / name, package / name, ignore=shutil.ignore_patterns("competitions", "__pycache__"))
    (package / "mlebench" / "competitions").mkdir()
    for module in (ROOT / "python" / "mlebench" / "competitions").glob("*.py"):
        shutil.copy(module, package / "mlebench" / "competitions")

    def run(code: str) -> None:
        around = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), str(tmp_path)])}
        head = f"from mlebench.registry import registry\nID = {ID!r}\nassert 'package' in registry.get_competitions_dir().parts\n"
        code = head + textwrap.dedent(code)
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=around, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


def test_directory_added_to_the_package_is_a_competition(tmp_path: Path, in_copy: Callable[[str], None]) -> None:
    in_copy("assert len(registry.list_competition_ids()) == 82")
    add_competition(tmp_path / "package" / "mlebench" / "competitions", tmp_path)
    in_copy(
        """
        assert "mine" in registry.list_competition_ids() and len(registry.list_competition_ids()) == 83
        assert registry.get_competition("mine").description == "Predict y."
        """
    )


def test_modules_of_competitions_can_be_imported(data_dir: Path) -> None:
    module = importlib.import_module(f"mlebench.competitions.{ID}.grade")
    competition = Registry(data_dir).get_competition(ID)
    assert module.grade is competition.grader.grade_fn
    answers = mlebench.utils.load_answers(competition.answers)
    assert module.grade(answers, answers) == 1.0


def test_upstream_module_without_its_libraries_calls_the_program(in_copy: Callable[[str], None]) -> None:
    in_copy(
        """
        import pandas as pd

        path = registry.get_competitions_dir() / ID / "grade.py"
        path.write_text("import no_such_library\\n\\ndef grade(submission, answers):\\n    return 0.0\\n")
        frame = pd.DataFrame({"PassengerId": ["1_01"], "Transported": [True]})
        assert registry.get_competition(ID).grader.grade_fn(frame, frame) == 1.0
        """
    )
    # If its libraries are installed, the module is used.
    in_copy(
        """
        path = registry.get_competitions_dir() / ID / "grade.py"
        path.write_text("def grade(submission, answers):\\n    return 0.25\\n")
        assert registry.get_competition(ID).grader(None, None) == 0.25
        """
    )


class Lenient(Grader):
    def __call__(self, submission: pd.DataFrame, answers: Any) -> float:
        return 0.75

    def rank_score(self, score: float | None, leaderboard: pd.DataFrame) -> dict[str, Any]:
        return super().rank_score(score, leaderboard) | {"bronze_medal": True}


def test_overridden_methods_are_called(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    competition = Registry(data_dir).get_competition(ID)
    grader = Lenient("mine", f"mlebench.competitions.{ID}.grade:grade")
    own = dataclasses.replace(competition, grader=grader)
    report = mlebench.grade.grade_csv(competition.sample_submission, own)
    assert (report.score, report.bronze_medal, report.any_medal) == (0.75, True, True)
    monkeypatch.setattr(Grader, "is_lower_better", lambda self, leaderboard: True)
    assert mlebench.grade.grade_csv(competition.sample_submission, competition).is_lower_better is True
    monkeypatch.setattr(Grader, "__call__", lambda self, submission, answers: 0.125)
    assert mlebench.grade.grade_csv(competition.sample_submission, competition).score == 0.125
    monkeypatch.undo()
    board = pd.DataFrame({"score": [0.5, 0.4]})
    monkeypatch.setattr(mlebench.grade, "get_leaderboard", lambda competition: board)
    assert mlebench.grade.grade_csv(competition.sample_submission, competition).gold_threshold == 0.5
    monkeypatch.undo()
    monkeypatch.setattr(mlebench.grade, "read_csv", lambda path: pd.DataFrame())
    assert mlebench.grade.grade_csv(competition.sample_submission, competition).score is None


def test_replaced_download_function_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mirror(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:
        return Path(shutil.copy(SAMPLES / f"{competition_id}.zip", download_dir))

    competition = Registry(tmp_path).get_competition(ID)
    competition.raw_dir.parent.mkdir(parents=True)
    monkeypatch.setattr(mlebench.data, "download_dataset", mirror)
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    assert mlebench.data.is_dataset_prepared(competition)
    assert sorted(path.name for path in competition.raw_dir.iterdir()) == ["train.csv"]


@pytest.mark.parametrize("module", [mlebench.data, mlebench.grade, mlebench.registry, mlebench.utils, mlebench.metrics])
def test_type_hints_can_be_resolved(module: Any) -> None:
    for name, found in vars(module).items():
        if callable(found) and getattr(found, "__module__", "") == module.__name__:
            typing.get_type_hints(found)
            assert found.__module__ == module.__name__, name
    for method in (Grader.__call__, Grader.rank_score, Registry.get_competition, Competition, CompetitionReport):
        typing.get_type_hints(method)


def test_leaderboards_with_missing_infinite_and_quoted_numbers(data_dir: Path, tmp_path: Path) -> None:
    competition = Registry(data_dir).get_competition(ID)
    for text, thresholds, lower in [
        ('score\n"0.9"\n"0.5"\n', (0.9, 0.7), False),
        ("score\n0.9\n\n0.5\nnan\n", (0.9, 0.7), False),
        ("score\ninf\n0.5\n0.25\n", (float("inf"), 0.5), False),
        ("team,score\na,1\nb,2\nc,4\n", (1.0, 2.0), True),
        ("score\n0.1234567890123456789\n0.5\n", (0.12345678901234568, 0.31172839450617287), True),
    ]:
        board = tmp_path / "leaderboard.csv"
        board.write_text(text)
        own = dataclasses.replace(competition, leaderboard=board)
        report = mlebench.grade.grade_csv(Path("None"), own)
        frame = competition.grader.rank_score(None, mlebench.data.get_leaderboard(own))
        assert (report.gold_threshold, report.median_threshold) == (frame["gold_threshold"], frame["median_threshold"])
        assert (report.gold_threshold, report.median_threshold) == pytest.approx(thresholds)
        assert report.is_lower_better is lower


def test_reports_from_dictionaries_have_python_types(data_dir: Path) -> None:
    competition = Registry(data_dir).get_competition(ID)
    data = mlebench.grade.grade_csv(competition.sample_submission, competition).to_dict()
    data |= {"score": "0.5", "gold_medal": np.bool_(True), "silver_threshold": np.float32(0.5), "more": 1}
    report = CompetitionReport.from_dict(data)
    assert (report.score, report.gold_medal, report.silver_threshold) == (0.5, True, 0.5)
    assert type(report.gold_medal) is bool and type(report.silver_threshold) is float
    with pytest.raises(KeyError):
        CompetitionReport.from_dict({})


def test_helper_functions_for_custom_graders() -> None:
    labels = pd.DataFrame({"id": [3, 1], "y": ["b", "a"]})
    one_hot = competition_utils.df_to_one_hot(labels, "id", "y", ["a", "b"])
    assert one_hot.to_dict("list") == {"id": [3, 1], "a": [0, 1], "b": [1, 0]}
    inputs = competition_utils.one_hot_dfs_to_log_loss_inputs(one_hot * 1.0, one_hot)
    assert inputs["y_true"].tolist() == [[1, 0], [0, 1]] and inputs["y_pred"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(InvalidSubmissionError):
        competition_utils.one_hot_dfs_to_log_loss_inputs(one_hot.drop(columns="a"), one_hot)
    mask = np.array([[0, 1, 1], [1, 1, 0]])
    encoded = competition_utils.rle_encode(mask)
    assert encoded == [2, 4] and (competition_utils.rle_decode("2 4", 2, 3) == mask).all()
    assert competition_utils.rles_to_masks([" "], [2], [3])[0].sum() == 0
    for wrong in ("2 4 1 1", "1 2 2 1", "0 1", "1 x"):
        with pytest.raises((AssertionError, ValueError)):
            competition_utils.rle_decode(wrong, 2, 3)
    answers = pd.DataFrame({"id": [1, 2], "y": [0, 1]})
    swapped = answers.iloc[::-1]
    assert competition_utils.prepare_for_accuracy_metric(swapped, answers, "y", "id")["y_pred"].tolist() == [0, 1]
    assert competition_utils.prepare_for_auroc_metric(swapped, answers, "id", "y")["y_score"].tolist() == [0, 1]
    with pytest.raises(InvalidSubmissionError):
        competition_utils.prepare_for_auroc_metric(answers.assign(y=2.0), answers, "id", "y")


def test_helpers_behave_like_upstreams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    mlebench.utils.compress(tmp_path / "in", tmp_path / "inner.zip")
    with pytest.raises(AssertionError):
        mlebench.utils.compress(tmp_path / "in", tmp_path / "inner.zip")
    with pytest.raises(NotImplementedError):
        mlebench.utils.compress(tmp_path / "in", tmp_path / "a.rar")
    (tmp_path / "pack").mkdir()
    (tmp_path / "inner.zip").rename(tmp_path / "pack" / "inner.zip")
    mlebench.utils.compress(tmp_path / "pack", tmp_path / "outer.zip")
    for _ in range(2):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        mlebench.utils.extract(tmp_path / "outer.zip", tmp_path / "out", recursive=True)
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.txt", "inner.zip"]
    with pytest.raises(AssertionError):
        mlebench.utils.extract(tmp_path / "in" / "a.txt", tmp_path / "out")
    assert mlebench.utils.get_diff({"a": 1}, {"a": 2}) == "--- d\n+++ other_d\n@@ -1 +1 @@\n-a: 1\n+a: 2"
    assert mlebench.utils.purple(str="x") == "\033[1;35mx\033[0m"
    monkeypatch.chdir(tmp_path)
    assert not mlebench.utils.get_path_to_callable(callable=shutil.copy).is_absolute()
    with pytest.raises(AssertionError):
        mlebench.utils.load_yaml(tmp_path / "in" / "a.txt")
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert mlebench.utils.in_ci() is False
    calls = []

    @mlebench.data.file_cache
    def read(path: Path) -> str:
        calls.append(path)
        return path.read_text()

    assert [read(tmp_path / "in" / "a.txt") for _ in range(2)] == ["a", "a"] and len(calls) == 1
    with pytest.raises(NotImplementedError):
        mlebench.data.file_cache(lambda path: None)
    assert np.isnan(mlebench.metrics.dice_coefficient(predicted_mask=np.zeros(2), true_mask=np.zeros(2)))
    assert mlebench.metrics.average_precision_at_k({1, 2}, [3, 1, 1, 2], 3) == 0.25
