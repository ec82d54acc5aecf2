"""Tests of names, signatures, results and exceptions that callers of the package rely on."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import mlebench
from mlebench.data import (
    download_and_prepare_dataset,
    download_dataset,
    ensure_leaderboard_exists,
    generate_checksums,
    get_leaderboard,
    is_dataset_prepared,
    is_valid_prepare_fn,
)
from mlebench.grade import aggregate_reports, grade_csv, validate_submission
from mlebench.grade_helpers import CompetitionReport, Grader, InvalidSubmissionError
from mlebench.registry import Competition, Registry, registry
from mlebench.utils import load_answers, load_yaml, read_csv, read_jsonl

from conftest import CASES, ID, ROOT, SAMPLES


@pytest.fixture
def competition(data_dir: Path) -> Competition:
    return Registry(data_dir).get_competition(ID)


def test_import_writes_no_files(tmp_path: Path) -> None:
    modules = "registry data grade grade_helpers utils metrics cli competitions".split()
    code = "import logging\n" + "".join(f"import mlebench.{name}\n" for name in modules)
    code += "import sys; sys.stderr.write(logging.getLogger().handlers[0].formatter._fmt)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "python"), "PATH": "", "PREP_BINARY": str(tmp_path / "not-there")},
    )
    assert done.stdout == "" and list(tmp_path.iterdir()) == []
    assert done.stderr == "[%(asctime)s] [%(filename)s:%(lineno)d] %(message)s"


def test_replacing_line_29_of_data_has_no_effect() -> None:
    """A known harness replaces line 29 of `data.py`. Upstream's line sets up a cache; here it is documentation."""
    source = inspect.getsourcefile(mlebench)
    assert source
    lines = (Path(source).parent / "data.py").read_text().splitlines()
    lines[28] = 'cache = dc.Cache("cache", size_limit=2**26)'
    names: dict[str, object] = {"__name__": "mlebench.data"}
    exec("\n".join(lines), names)
    assert "get_leaderboard" in names


def test_registry_lists_82_competitions(tmp_path: Path) -> None:
    ids = registry.list_competition_ids()
    assert len(ids) == 82 and ids[:3] == ["3d-object-detection-for-autonomous-vehicles", "AI4Code", "aerial-cactus-identification"]
    assert len(registry.get_lite_competition_ids()) == 22
    names = sorted(path.name for path in registry.get_splits_dir().iterdir())
    assert names == [f"{n}.txt" for n in "dev high low medium spaceship-titanic split75 systemcard".split()]
    other = registry.set_data_dir(tmp_path)
    assert other.get_data_dir() == tmp_path.resolve() and registry.get_data_dir() != tmp_path.resolve()
    with pytest.raises(AssertionError, match="does not exist.$"):
        registry.get_competition("no-such")
    with pytest.raises(AssertionError, match="did you mean `leaf-classification`"):
        registry.get_competition("leaf-classificatio")
    for one in ids:
        found = other.get_competition(one)
        directory = other.get_competitions_dir() / one
        assert get_leaderboard(found)["score"].dtype.kind in "fi" and len(get_leaderboard(found)) > 1
        config = load_yaml(directory / "config.yaml")
        assert config["id"] == one and config["name"] == found.name
        assert found.answers == tmp_path.resolve() / config["dataset"]["answers"]
        sums = load_yaml(found.checksums)
        assert {"zip", "public", "private"} <= set(sums)
        assert found.prepare_fn.__name__ == "prepare" and is_valid_prepare_fn(found.prepare_fn)
        copy = pickle.loads(pickle.dumps(found))
        assert copy == dataclasses.replace(found)


def test_competitions_match_the_benchmark(tmp_path: Path) -> None:
    recorded = json.loads((Path(__file__).parent / "data" / "competitions.json").read_text())
    own = Registry(tmp_path)
    assert own.list_competition_ids() == list(recorded)
    for name, facts in recorded.items():
        one = own.get_competition(name)
        found = {key: getattr(one, key) for key in facts} | {"grader": one.grader.name}
        paths = {key: value.relative_to(tmp_path.resolve()).as_posix() for key, value in found.items() if isinstance(value, Path)}
        assert found | paths == facts


def test_competition_checks_its_fields(competition: Competition) -> None:
    fields = {name: getattr(competition, name) for name in Competition.__dataclass_fields__}
    fields["grader"] = {"name": "mine", "grade_fn": "math:dist"}
    assert Competition.from_dict(fields).id == ID
    del fields["answers"]
    with pytest.raises(ValueError, match="Missing key 'answers' in competition config!"):
        Competition.from_dict(fields)
    for bad in ({"id": ""}, {"answers": "x"}, {"name": 1}):
        with pytest.raises(AssertionError):
            dataclasses.replace(competition, **bad)  # type: ignore[arg-type]


def test_grading_needs_only_the_answers(
    competition: Competition, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    private = tmp_path / ID / "prepared" / "private"
    private.mkdir(parents=True)
    alone = Registry(tmp_path).get_competition(ID)
    for make, words in [
        (lambda: None, "Private directory is empty."),
        (lambda: (private / "x").touch(), "Answers file does not exist."),
    ]:
        make()
        caplog.clear()
        assert not is_dataset_prepared(alone, grading_only=True) and words in caplog.text
        with pytest.raises(ValueError, match=f"`{ID}` is not prepared! Please run `mlebench prepare -c {ID}` to"):
            grade_csv(competition.sample_submission, alone)
    # Answers that differ from the published ones are graded, too.
    answers = read_csv(competition.answers)
    answers["Transported"] = True
    answers.to_csv(alone.answers, index=False)
    perfect = tmp_path / "perfect.CSV"
    answers.to_csv(perfect, index=False)
    report = grade_csv(perfect, alone)
    assert (report.score, report.gold_medal, report.submission_path) == (1.0, True, str(perfect))
    assert validate_submission(perfect, alone) == (True, "Submission is valid.")
    moved = dataclasses.replace(alone, answers=competition.answers)
    score = grade_csv(perfect, moved).score
    assert score is not None and score < 1.0
    assert capfd.readouterr().out == ""


def test_reports_round_trip_through_json(competition: Competition) -> None:
    report = grade_csv(Path("dummy.csv"), competition)
    assert report.score is None and not report.submission_exists and report.is_lower_better is False
    data = json.loads(json.dumps(report.to_dict()))
    assert CompetitionReport.from_dict(data | {"more": 1}) == report
    assert str(report).startswith("CompetitionReport(competition_id=")
    with pytest.raises(KeyError):
        CompetitionReport.from_dict({})
    assert aggregate_reports([])["total_runs"] == 0
    assert aggregate_reports([report, report])["total_runs"] == 2


def test_validation_messages_match_the_benchmark(competition: Competition, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.touch()
    short = tmp_path / "short.csv"
    short.write_text("PassengerId,Transported\n1,True\n")
    start = "Submission invalid! "
    attempt = start + "The attempt to grade the submission has resulted in the following error message:\n"
    assert validate_submission(Path("None"), competition) == (False, start + "Submission file None does not exist.")
    assert validate_submission(text, competition) == (False, start + "Submission file must be a CSV file.")
    valid, message = validate_submission(short, competition)
    assert not valid and message.startswith(attempt) and "1 row" in message


def test_frames_are_graded_with_their_types(competition: Competition, caplog: pytest.LogCaptureFixture) -> None:
    answers = load_answers(competition.answers)
    assert isinstance(answers, pd.DataFrame)
    shuffled = answers.sample(frac=1, random_state=1)
    before = shuffled.copy()
    assert competition.grader(shuffled, answers) == 1.0
    assert shuffled.equals(before)
    # A caller may grade with a validation split of its own.
    half = answers.iloc[::2]
    wrong = half.assign(Transported=~half["Transported"])
    assert competition.grader(wrong, half) == 0.0
    # Text is not a boolean.
    assert competition.grader(pd.read_csv(competition.answers, dtype=str), answers) is None
    caplog.clear()
    assert competition.grader(answers.drop(columns="Transported"), answers) is None
    assert caplog.records[0].levelno == logging.WARNING
    assert caplog.records[0].getMessage().startswith("Invalid submission: ")
    with pytest.raises(InvalidSubmissionError):
        competition.grader.grade_fn(half, answers)


def test_texts_in_frames_are_unchanged(data_dir: Path) -> None:
    own = Registry(data_dir).get_competition(ID)
    ids = pd.Series(["a\rb", 'c"d', "e\nf", "g,h", "é"])
    frame = pd.DataFrame({"PassengerId": ids, "Transported": [True, False, True, False, True]})
    assert own.grader(frame, frame) == 1.0


def test_custom_grade_functions_are_used(competition: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "def grade(submission, answers):\n    if len(submission) < 2: raise KeyError('{a}\\nb')\n    return 1 / 3\n"
    (tmp_path / "others.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    own = dataclasses.replace(competition, grader=Grader(name="mine", grade_fn="others:grade"))
    assert grade_csv(own.sample_submission, own).score == 0.33333
    assert validate_submission(own.sample_submission, own)[0]
    short = tmp_path / "short.csv"
    short.write_text("a\n")
    valid, message = validate_submission(short, own)
    assert not valid and "{" not in message
    assert grade_csv(short, own).score is None
    with pytest.raises(AssertionError):
        Grader(name="", grade_fn="others:grade")


@pytest.mark.parametrize("teams", [1, 2, 5, 9, 10, 99, 100, 249, 250, 999, 1000, 5432])
@pytest.mark.parametrize("lower", [True, False])
def test_medals_depend_on_the_number_of_teams(competition: Competition, teams: int, lower: bool) -> None:
    scores = [float(n) for n in range(teams)]
    frame = pd.DataFrame({"team": "x", "score": scores if lower else scores[::-1]}, index=range(7, teams + 7))
    if teams < 100:
        ranks = [max(1, int(teams * share)) for share in (0.1, 0.2, 0.4)]
    elif teams < 250:
        ranks = [10, int(teams * 0.2), int(teams * 0.4)]
    elif teams < 1000:
        ranks = [10 + int(teams * 0.002), 50, 100]
    else:
        ranks = [10 + int(teams * 0.002), int(teams * 0.05), int(teams * 0.1)]
    grader = competition.grader
    found = grader.rank_score(None, frame)
    assert list(found) == (
        "gold_medal silver_medal bronze_medal above_median gold_threshold silver_threshold bronze_threshold "
        "median_threshold"
    ).split()
    thresholds = [found[f"{medal}_threshold"] for medal in ("gold", "silver", "bronze")]
    assert thresholds == [frame["score"].iloc[rank - 1] for rank in ranks]
    assert found["median_threshold"] == frame["score"].median()
    assert not any(found[f"{medal}_medal"] for medal in ("gold", "silver", "bronze"))
    assert grader.is_lower_better(frame) is (lower and teams > 1)
    assert grader.rank_score(thresholds[0], frame)["gold_medal"] is True


def test_invalid_leaderboards_and_scores_raise_errors(competition: Competition) -> None:
    frame = pd.DataFrame({"score": [1.0]})
    for score, board in [(0.5, frame.rename(columns={"score": "s"})), ("0.5", frame)]:
        with pytest.raises(AssertionError):
            competition.grader.rank_score(score, board)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        competition.grader.rank_score(0.5, frame.iloc[:0])
    assert competition.grader.rank_score(float("nan"), frame)["above_median"] is False


def test_prepare_fn_works_on_an_unpacked_bundle(data_dir: Path, competition: Competition, tmp_path: Path) -> None:
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    for directory in (raw, public, private):
        directory.mkdir()
    with zipfile.ZipFile(SAMPLES / f"{ID}.zip") as archive:
        archive.extractall(raw)
    competition.prepare_fn(raw, public, private)
    for made, known in ((public, competition.public_dir), (private, competition.private_dir)):
        sums = {path.name: path.read_bytes() for path in known.iterdir() if path.name != "description.md"}
        assert {path.name: path.read_bytes() for path in made.iterdir()} == sums
    competition.prepare_fn(raw=raw, public=public, private=private)


def test_custom_prepare_fn_is_called(tmp_path: Path) -> None:
    home = tmp_path / ID
    home.mkdir()
    shutil.copy(SAMPLES / f"{ID}.zip", home)
    calls = []

    def prepare(raw: Path, public: Path, private: Path) -> None:
        calls.append(sorted(path.name for path in raw.iterdir()))
        (public / "sample_submission.csv").write_text("x\n")
        (private / "test.csv").write_text("x\n")

    own = dataclasses.replace(Registry(tmp_path).get_competition(ID), prepare_fn=prepare)
    with pytest.raises(ValueError, match="MD5"):
        download_and_prepare_dataset(own)
    for _ in range(2):
        download_and_prepare_dataset(own, keep_raw=False, skip_verification=True)
    assert calls == [["train.csv"]]
    assert own.public_dir.joinpath("description.md").read_text() == own.description
    assert not own.raw_dir.exists()
    with pytest.raises(AssertionError):
        download_and_prepare_dataset(dataclasses.replace(own, prepare_fn=lambda a, b, c: None))


def test_missing_credentials_have_the_class_of_upstream(tmp_path: Path) -> None:
    with pytest.raises(PermissionError):
        download_dataset("dog-breed-identification", tmp_path / "dl")
    with pytest.raises(PermissionError, match="no Kaggle credentials"):
        download_and_prepare_dataset(Registry(tmp_path).get_competition("dog-breed-identification"))
    # The error of a bundle that exists is not about credentials.
    (tmp_path / "leaf-classification.zip").write_bytes(b"<html>")
    with pytest.raises(ValueError, match="MD5|archive"):
        download_and_prepare_dataset(Registry(tmp_path).get_competition("leaf-classification"))


def test_second_prepare_changes_nothing_and_keeps_other_files(tmp_path: Path) -> None:
    home = tmp_path / ID
    home.mkdir()
    shutil.copy(SAMPLES / f"{ID}.zip", home)
    own = Registry(tmp_path).get_competition(ID)
    download_and_prepare_dataset(own, skip_verification=True)
    assert sorted(path.name for path in own.raw_dir.iterdir()) == ["train.csv"]
    before = {path: path.stat().st_mtime_ns for path in own.public_dir.iterdir()}
    download_and_prepare_dataset(own, skip_verification=True)
    assert before == {path: path.stat().st_mtime_ns for path in own.public_dir.iterdir()}
    sums = generate_checksums(own.private_dir)
    assert list(sums) == ["test.csv"]
    # Without the records of `prep`, the directory looks as if another program prepared it.
    for record in home.glob("prepared.*"):
        record.unlink()
    (home / f"{ID}.zip").unlink()
    download_and_prepare_dataset(own)
    assert ensure_leaderboard_exists(own) == own.leaderboard


def test_read_csv_and_read_jsonl_return_expected_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    empty = tmp_path / "e.csv"
    empty.touch()
    assert read_csv(empty).empty and f"CSV file empty! {empty}" in caplog.text
    lines = tmp_path / "l.jsonl"
    lines.write_text('{"a": 1}\n\n# x\n{"a": 2}\n')
    assert [one["a"] for one in read_jsonl(lines, skip_commented_out_lines=True)] == [1, 2]
    with pytest.raises(json.JSONDecodeError):
        read_jsonl(lines)
    with pytest.raises(ValueError):
        load_answers(tmp_path / "a.txt")


def cases() -> list[Path]:
    return sorted(path.parent for path in CASES.glob("*/*/expected.json"))


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.parent.name}/{case.name}")
def test_recorded_cases_have_the_scores_of_the_benchmark(case: Path, tmp_path: Path) -> None:
    recorded = json.loads((case / "expected.json").read_text())["grades"]
    if "\nsources:" in (ROOT / "pipelines" / case.parent.name / "pipeline.yaml").read_text():
        pytest.skip("it needs more than the bundle")
    own = Registry(tmp_path).get_competition(case.parent.name)
    home = tmp_path / own.id
    home.mkdir()
    shutil.copy(case / "raw.zip", home / f"{own.id}.zip")
    download_and_prepare_dataset(own, keep_raw=False, skip_verification=True)
    answers = load_answers(own.answers)
    wrong = {}
    for one in recorded:
        path = case / "submissions" / one["submission"]
        if not path.exists():
            continue
        wanted = None if one["score"] is None else round(float(one["score"]), 5)
        found = {"file": grade_csv(path, own).score}
        if one.get("kind") != "unreadable":
            found["frame"] = own.grader(read_csv(path), answers)
        valid, message = validate_submission(path, own)
        found["valid"] = wanted if valid == (wanted is not None) else message  # type: ignore[assignment]
        differing = {key: value for key, value in found.items() if not same(value, wanted)}
        if differing:
            wrong[path.name] = (wanted, differing)
    assert not wrong


def same(found: float | None, wanted: float | None) -> bool:
    return found == wanted or (found is not None and wanted is not None and found != found and wanted != wanted)
