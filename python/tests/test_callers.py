"""Repeats the calls of each project that uses the package, and parses the results as it does. See docs/mlebench.md."""

from __future__ import annotations

import contextlib
import http.server
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any, Callable

import pandas as pd
import pytest

import mlebench as package
from mlebench.data import download_and_prepare_dataset, get_leaderboard, is_dataset_prepared
from mlebench.grade import aggregate_reports, grade_csv, grade_jsonl, validate_submission
from mlebench.grade_helpers import CompetitionReport, Grader, InvalidSubmissionError
from mlebench.registry import Competition, registry
from mlebench.utils import import_fn, load_answers, load_yaml, read_csv

from conftest import ID, ROOT, SAMPLES

Call = Callable[..., Any]
PICTURES = "aerial-cactus-identification"


@pytest.fixture
def competition(data_dir: Path) -> Competition:
    return registry.set_data_dir(data_dir).get_competition(ID)


def bundle(directory: Path, name: str) -> None:
    (directory / name).mkdir(parents=True)
    shutil.copy(SAMPLES / f"{name}.zip", directory / name)


def balanced(text: str) -> Any:
    """Returns the first JSON object in a text. It ends where the braces are balanced."""
    start = text.index("{")
    depth = 0
    for place, letter in enumerate(text[start:], start):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return json.loads(text[start : place + 1])
    raise AssertionError(text)


def script(code: str, **around: str) -> str:
    """Runs a script in a separate process, and returns its stdout."""
    around = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **around}
    return subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, check=True).stdout


def test_calls_of_rd_agent(mlebench: Call, data_dir: Path, tmp_path: Path, competition: Competition) -> None:
    bundle(tmp_path / "zip_files", PICTURES)
    done = mlebench("prepare", "-c", PICTURES, "--data-dir", "./zip_files", "--skip-verification")
    assert done.returncode == 0, done.stderr
    public = tmp_path / "zip_files" / PICTURES / "prepared/public"
    copy = tmp_path / "copy"
    shutil.copytree(public, copy)
    archives = sorted(copy.rglob("*.zip"))
    assert archives
    for archive in archives:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(archive.with_suffix(""))
    for path, code in ((competition.sample_submission, True), (Path("None"), False)):
        done = mlebench("grade-sample", path, ID, "--data-dir", data_dir)
        match = re.search(r"\{.*\}", done.stdout + done.stderr, re.DOTALL)
        assert done.returncode == 0 and match
        report = json.loads(match[0])
        assert report["submission_exists"] is code and report["bronze_threshold"] == 0.80967
    assert validate_submission(competition.sample_submission, competition) == (True, "Submission is valid.")


def test_calls_of_aira_dojo(competition: Competition, tmp_path: Path) -> None:
    answers = load_answers(competition.answers)
    submission = read_csv(competition.sample_submission)
    score = competition.grader(submission, answers)
    leaderboard = get_leaderboard(competition)
    ranks = competition.grader.rank_score(score, leaderboard)
    report = CompetitionReport(
        competition_id=competition.id,
        score=score,
        any_medal=ranks["gold_medal"] or ranks["silver_medal"] or ranks["bronze_medal"],
        submission_exists=True,
        valid_submission=score is not None,
        is_lower_better=competition.grader.is_lower_better(leaderboard),
        created_at=datetime.now(),
        submission_path=str(competition.sample_submission),
        **ranks,
    )
    assert json.loads(json.dumps(report.to_dict()))["score"] == score == 0.5
    scores = pd.read_csv(competition.leaderboard)["score"]
    assert len(scores) == len(leaderboard) and scores.is_monotonic_decreasing
    # The installer of AIRA-dojo edits line 29 of data.py; see test_api.py.
    assert inspect.getsourcefile(package)
    bundle(tmp_path, PICTURES)
    own = registry.set_data_dir(tmp_path).get_competition(PICTURES)
    assert not is_dataset_prepared(own, grading_only=True)
    wanted = {"keep_raw": False, "overwrite_checksums": False, "overwrite_leaderboard": False, "skip_verification": True}
    download_and_prepare_dataset(competition=own, **wanted)
    archives = sorted(own.public_dir.rglob("*.zip"))
    for archive in archives:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(archive.parent)
        archive.unlink()
    download_and_prepare_dataset(competition=own, **wanted)
    assert is_dataset_prepared(own, grading_only=True)
    (own.public_dir / "description.md").write_text("its own")


def test_inspect_evals_parses_all_of_stdout(data_dir: Path, competition: Competition) -> None:
    assert is_dataset_prepared(competition)
    code = (
        "import json\nfrom pathlib import Path\nfrom mlebench.grade import grade_csv\nfrom mlebench.registry import registry\n"
        f"competition = registry.set_data_dir(Path({str(data_dir)!r})).get_competition({ID!r})\n"
        f"print(json.dumps(grade_csv(Path({str(competition.sample_submission)!r}), competition).to_dict()))"
    )
    assert json.loads(script(code))["score"] == 0.5


def test_terminal_bench_has_only_the_private_directory(tmp_path: Path, competition: Competition) -> None:
    private = tmp_path / "private/data" / ID / "prepared/private"
    shutil.copytree(competition.private_dir, private)
    there = registry.set_data_dir(tmp_path / "private/data").get_competition(ID)
    assert grade_csv(competition.sample_submission, there).to_dict()["valid_submission"] is True


def test_ml_master_runs_its_own_validation_server(data_dir: Path, competition: Competition) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            path = data_dir / "upload.csv"
            path.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            chosen = registry.set_data_dir(data_dir).get_competition(self.headers["exp-id"])
            is_valid, result = validate_submission(path, chosen)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"is_valid": is_valid, "result": result}).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        request = urllib.request.Request(
            f"http://127.0.0.1:{server.server_port}/validate", competition.sample_submission.read_bytes(), {"exp-id": ID}
        )
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer) == {"is_valid": True, "result": "Submission is valid."}
        server.shutdown()


def test_calls_of_loongflow(mlebench: Call, tmp_path: Path) -> None:
    bundle(tmp_path, ID)
    done = mlebench("prepare", "--competition-id", ID, "--data-dir", tmp_path, "--skip-verification")
    assert done.returncode == 0, done.stderr
    own = registry.set_data_dir(tmp_path).get_competition(ID)
    assert (own.public_dir / "description.md").read_text() == own.description
    answers = read_csv(own.answers)
    score = own.grader(answers, answers)
    assert score == 1.0 and own.grader.rank_score(score, get_leaderboard(own))["gold_medal"]


def test_calls_of_kapso(competition: Competition, tmp_path: Path) -> None:
    report = grade_csv(Path("dummy.csv"), competition)
    assert report.is_lower_better is False and "gold_threshold=" in str(report)
    assert len(registry.get_lite_competition_ids()) == 22
    shutil.copytree(competition.public_dir, tmp_path / "public")
    (tmp_path / "public" / "description.md").write_text("copied with its mode")


def test_benchflow_reads_files_of_the_package() -> None:
    directory = registry.get_competitions_dir()
    config = load_yaml(directory / ID / "config.yaml")
    assert config["dataset"]["answers"] == f"{ID}/prepared/private/test.csv"
    assert (directory.parent.parent / config["description"]).is_file()
    assert (registry.get_splits_dir() / "low.txt").read_text().count("\n") == 21


def test_calls_of_prime_envs(competition: Competition, tmp_path: Path) -> None:
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    for directory in (raw, public, private):
        directory.mkdir()
    with zipfile.ZipFile(SAMPLES / f"{ID}.zip") as archive:
        archive.extractall(raw)
    competition.prepare_fn(raw=raw, public=public, private=private)
    gold = pd.read_csv(private / "test.csv")
    score = competition.grader(gold, gold)
    assert competition.grader.rank_score(score, get_leaderboard(competition))["gold_medal"]
    for name in ("id", "name", "description", "competition_type"):
        assert isinstance(getattr(competition, name), str) and getattr(competition, name)


def test_mlebench_medals_parses_the_first_object(mlebench: Call, data_dir: Path, competition: Competition) -> None:
    done = mlebench("grade-sample", competition.sample_submission, ID, "--data-dir", data_dir)
    assert balanced(done.stdout + "\n" + done.stderr)["above_median"] is False
    text = pd.read_csv(competition.answers, dtype=str)
    assert competition.grader(text, text) == 1.0


def test_calls_of_mle_agent(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, competition: Competition) -> None:
    before = registry.get_data_dir()
    registry.set_data_dir(data_dir)
    assert registry.get_data_dir() == before
    lines = tmp_path / "submissions.jsonl"
    lines.write_text(json.dumps({"competition_id": ID, "submission_path": str(competition.sample_submission)}) + "\n")
    grade_jsonl(lines, tmp_path / "out", registry.set_data_dir(data_dir))
    [path] = (tmp_path / "out").iterdir()
    assert json.loads(path.read_text())["total_valid_submissions"] == 1
    first = (registry.get_competitions_dir() / ID / "leaderboard.csv").read_text()[:40]
    assert not first.startswith("version https://git-lfs")


def test_shinka_grades_its_own_split(competition: Competition) -> None:
    answers = read_csv(competition.answers)
    half = answers.iloc[::2]
    assert competition.grader.grade_fn(half, half) == 1.0
    with pytest.raises(InvalidSubmissionError):
        competition.grader.grade_fn(answers, half)


def test_calls_of_dslighting(competition: Competition) -> None:
    report = grade_csv(competition.sample_submission, competition)
    assert CompetitionReport.from_dict(report.to_dict()) == report
    assert aggregate_reports([report])["total_valid_submissions"] == 1
    own = Grader(name="distance", grade_fn="math:dist")
    assert import_fn("math:dist") is own.grade_fn and own.grade_fn([0], [2]) == 2.0


def test_aide_reads_the_newest_report(mlebench: Call, data_dir: Path, tmp_path: Path, competition: Competition) -> None:
    lines = tmp_path / "submissions.jsonl"
    lines.write_text(json.dumps({"competition_id": ID, "submission_path": str(competition.sample_submission)}) + "\n")
    done = mlebench("grade", "--submission", lines, "--output-dir", tmp_path / "out", "--data-dir", data_dir)
    assert done.returncode == 0, done.stderr
    newest = max((tmp_path / "out").glob("*_grading_report.json"), key=os.path.getmtime)
    # `jq '.competition_reports[0].score'` prints this value.
    assert json.loads(newest.read_text())["competition_reports"][0]["score"] == 0.5


def test_calls_of_personal_scripts(mlebench: Call, data_dir: Path, tmp_path: Path, competition: Competition) -> None:
    short = tmp_path / "short.csv"
    short.write_text("PassengerId,Transported\n1,True\n")
    done = mlebench("grade-sample", short, ID, "--data-dir", data_dir)
    reason = re.search(r"Invalid submission: (.*)", done.stderr)
    assert reason and "row" in reason[1]
    last = re.findall(r"\{[^{}]*\}", done.stdout + done.stderr)[-1]
    assert json.loads(last)["score"] is None
    # Some scripts write `n` to stdin, the answer to a question that this command does not ask.
    bundle(tmp_path / "data", ID)
    around = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "mlebench.cli", "prepare", "-c", ID, "--skip-verification", "--data-dir", "data"]
    ended = subprocess.run(command, input="n\n", env=around, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "data" / ID / "prepared/public").is_dir()
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "data" / ID / f"{ID}.zip").unlink()
    assert grade_csv(competition.sample_submission, competition).to_dict()["competition_id"] == ID
