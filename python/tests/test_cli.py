"""Tests of the command as callers use it: streams, exit codes, messages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Callable

import pytest

from conftest import ID, ROOT, SAMPLES

from mleprep._mlebench import advice, program

KEYS = (
    "competition_id score gold_threshold silver_threshold bronze_threshold median_threshold any_medal gold_medal "
    "silver_medal bronze_medal above_median submission_exists valid_submission is_lower_better created_at "
    "submission_path"
).split()

Call = Callable[..., Any]


def report_in(text: str) -> dict[str, Any]:
    """Returns the report like callers find it: from the first brace to the last one."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    assert match, text
    found: dict[str, Any] = json.loads(match[0])
    return found


def test_report_is_only_on_stderr(mlebench: Call, data_dir: Path) -> None:
    sample = data_dir / ID / "prepared/public/sample_submission.csv"
    done = mlebench("grade-sample", sample, ID, "--data-dir", data_dir)
    assert (done.returncode, done.stdout) == (0, "")
    report = report_in(done.stderr)
    assert list(report) == KEYS
    assert report["score"] == 0.5 and report["valid_submission"] is True
    assert done.stderr.count("{") == done.stderr.count("}") == 1
    assert re.search(r"\[.*\] \[cli.py:\d+\] Competition report:\n\[.*\] \[cli.py:\d+\] \{\n", done.stderr)


@pytest.mark.parametrize("content", [None, b"", b"PassengerId\n{1}\n", b"\xff\xfe", b"a,b\n1,2,3\n"])
def test_invalid_submission_ends_with_exit_code_0(
    mlebench: Call, data_dir: Path, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "submission.csv"
    if content is not None:
        path.write_bytes(content)
    done = mlebench("grade-sample", path, ID, "--data-dir", data_dir)
    assert done.returncode == 0
    report = report_in(done.stdout + "\n" + done.stderr)
    assert report["score"] is None and report["gold_threshold"] == 0.82066
    assert report["submission_exists"] is (content is not None)
    wanted = "Invalid submission file: " if content is None else "Invalid submission: "
    assert wanted in done.stderr


def test_failures_print_a_reason_on_stderr_only(mlebench: Call, tmp_path: Path) -> None:
    for arguments, code, words in [
        (("grade-sample", "None", ID, "--data-dir", tmp_path), 1, f"Please run `mlebench prepare -c {ID}`"),
        (("grade-sample", "None", "no-such", "--data-dir", tmp_path), 1, "no-such"),
        (("prepare", "-c", "no-such", "--data-dir", tmp_path), 1, "no-such"),
        (("prepare",), 2, "usage"),
        (("grade",), 2, "usage"),
        (("dev", "download-leaderboard"), 2, "usage"),
        (("nothing",), 2, "usage"),
    ]:
        done = mlebench(*arguments)
        assert (done.returncode, done.stdout) == (code, ""), arguments
        assert words in done.stderr, done.stderr


def test_help_lists_ids(mlebench: Call) -> None:
    for arguments in [("prepare", "-h"), ("grade-sample", "--help"), ("dev", "download-leaderboard", "-h")]:
        done = mlebench(*arguments)
        assert done.returncode == 0
        assert "Valid options:" in done.stdout and "vinbigdata" in done.stdout
    for bare in [(), ("dev",), ("-h",)]:
        assert mlebench(*bare).returncode == 0


def test_prepare_creates_the_files_that_callers_expect(mlebench: Call, tmp_path: Path) -> None:
    home = tmp_path / "zip_files" / ID
    home.mkdir(parents=True)
    shutil.copy(SAMPLES / f"{ID}.zip", home)
    shutil.copy(SAMPLES / f"{ID}.zip", home / "another.zip")
    done = mlebench("prepare", "-c", ID, "--data-dir", "./zip_files", "--skip-verification")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    description = home / "prepared/public/description.md"
    description.write_text("my own")
    assert (home / f"{ID}.zip").exists() and not (home / "raw").exists()
    again = mlebench("prepare", "-c", ID, "--data-dir", "./zip_files", "--skip-verification", "--keep-raw")
    assert again.returncode == 0
    assert [path.name for path in (home / "raw").iterdir()] == ["train.csv"]
    assert description.stat().st_mode & 0o644 == 0o644


def test_differing_checksum_is_a_failure(mlebench: Call, tmp_path: Path) -> None:
    (tmp_path / "d" / ID).mkdir(parents=True)
    shutil.copy(SAMPLES / f"{ID}.zip", tmp_path / "d" / ID)
    done = mlebench("prepare", "-c", ID, "--data-dir", "d")
    assert done.returncode == 1 and "MD5" in done.stderr and done.stdout == ""
    assert not (tmp_path / "d" / ID / "prepared").exists()


def test_one_failure_does_not_stop_other_competitions(mlebench: Call, tmp_path: Path) -> None:
    home = tmp_path / "d"
    home.mkdir()
    shutil.copy(SAMPLES / f"{ID}.zip", home)
    (tmp_path / "ids.txt").write_text(f"dog-breed-identification\n\n{ID}\n")
    done = mlebench("prepare", "--list", "ids.txt", "--data-dir", "d", "--skip-verification")
    assert done.returncode == 1
    assert "1 of 2 were not prepared: dog-breed-identification" in done.stderr
    assert (home / ID / "prepared/public/train.csv").exists()


@pytest.fixture
def prepared_from_a_source(tmp_path: Path) -> Path:
    """Returns a data directory without bundles, which the program prepared from bundles in another directory."""
    command = [os.environ["PREP_BINARY"], "run", ID, "--source", SAMPLES, "--data-dir", tmp_path / "d", "--skip-verification"]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path / "d"


@pytest.mark.parametrize("id", [ID, "leaf-classification"])
def test_messages_are_shown_once_and_name_no_option_of_the_program(
    mlebench: Call, prepared_from_a_source: Path, id: str
) -> None:
    done = mlebench("prepare", "-c", id, "--data-dir", prepared_from_a_source)
    assert done.returncode == 1 and done.stdout == ""
    assert {*advice.options_in(done.stderr)} <= {"--skip-verification"}
    [error] = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert error.startswith(f"error: `{id}` was not prepared: ") and "; help: " in error
    words = "MD5" if id == ID else "no Kaggle credentials"
    assert len([line for line in done.stderr.splitlines() if words in line]) == 1, done.stderr


def test_help_is_separated_from_the_error() -> None:
    assert program.one_line("{a}\nb.\n  help: c\n d\nhelp: e") == "(a) b; help: c d; help: e"


def test_bundle_of_the_last_run_is_unpacked(mlebench: Call, prepared_from_a_source: Path) -> None:
    home = prepared_from_a_source / ID
    done = mlebench("prepare", "-c", ID, "--data-dir", prepared_from_a_source, "--skip-verification", "--keep-raw")
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    assert [path.name for path in (home / "raw").iterdir()] == ["train.csv"] and not (home / f"{ID}.zip").exists()


def test_grade_writes_one_report(mlebench: Call, data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared/public/sample_submission.csv"
    lines = [
        "# comment",
        "",
        json.dumps({"competition_id": ID, "submission_path": str(sample), "logs_path": None}),
        json.dumps({"competition_id": ID, "submission_path": None}),
        "// comment",
    ]
    (tmp_path / "list.jsonl").write_text("\n".join(lines))
    done = mlebench("grade", "--submission", "list.jsonl", "--output-dir", "a/b", "--data-dir", data_dir)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (path,) = (tmp_path / "a/b").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-GMT_grading_report\.json", path.name)
    assert "\033[1;35mSaved summary report to a/b/" in done.stderr
    report = json.loads(path.read_text())
    assert list(report)[:3] == ["total_runs", "total_runs_with_submissions", "total_valid_submissions"]
    assert [report[key] for key in list(report)[:8]] == [2, 1, 1, 0, 0, 0, 0, 0]
    assert [one["submission_path"] for one in report["competition_reports"]] == [str(sample), "None"]


def test_container_script_calls_the_validation_server(data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared/public/sample_submission.csv"
    server = subprocess.Popen(
        [os.environ["PREP_BINARY"], "serve", ID, "--port", "0", "--data-dir", str(data_dir)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr
        address = server.stderr.readline().split()[-1]
        script = (ROOT / "python/environment/validate_submission.sh").read_text()
        (tmp_path / "v.sh").write_text(script.replace("http://localhost:5000", address))

        def call(*arguments: str) -> tuple[int, str]:
            done = subprocess.run(["bash", "v.sh", *arguments], cwd=tmp_path, capture_output=True, text=True)
            return done.returncode, done.stdout

        assert call(str(sample)) == (0, '{"result":"Submission is valid."}\n')
        (tmp_path / "bad.csv").write_text("a\n")
        code, text = call("bad.csv")
        assert code == 0 and json.loads(text)["result"].startswith("Submission invalid! ")
        assert call("absent.csv") == (1, "File absent.csv does not exist.\n")
        assert call()[0] == 1
    finally:
        server.kill()
        server.wait()


OWN = """\
name: Own
category: Tabular
bundle: { kaggle: own }
tables:
  all: { read: all.csv, columns: { id: integer, y: integer } }
  train, test: { split: all, method: shuffle, test_size: 0.5, seed: 0 }
public:
  train.csv: SELECT * FROM train
  sample_submission.csv: SELECT id, 0 AS y FROM test
private:
  test.csv: SELECT * FROM test
grade:
  answers: private/test.csv
  sample: public/sample_submission.csv
  rules: [same_rows, { align: id }]
  metric: { accuracy: y }
"""


def test_custom_competition_is_graded_without_a_leaderboard(
    mlebench: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines, data = tmp_path / "pipelines", tmp_path / "data"
    (pipelines / "own").mkdir(parents=True)
    (pipelines / "own" / "pipeline.yaml").write_text(OWN)
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        archive.writestr("all.csv", "id,y\n" + "".join(f"{n},{n % 2}\n" for n in range(8)))
    monkeypatch.setenv("PREP_PIPELINES", str(pipelines))
    # With this variable, the program and the package look for data in the same directory.
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(data))
    command = [os.environ["PREP_BINARY"], "run", "own", "--source", str(tmp_path), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done = mlebench("grade-sample", data / "own/prepared/private/test.csv", "own")
    assert done.returncode == 0, done.stderr
    assert "own has no leaderboard" in done.stderr
    report = report_in(done.stderr)
    assert report["score"] == 1.0 and report["valid_submission"] is True
    assert report["any_medal"] is report["above_median"] is False
    assert report["gold_threshold"] is None
    assert report["is_lower_better"] is None


def test_help_and_version_need_no_program(mlebench: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREP_BINARY", str(tmp_path / "not-there"))
    for argument in ("--help", "--version"):
        done = mlebench(argument)
        assert (done.returncode, done.stderr) == (0, "") and "mlebench" in done.stdout
