"""Tests of handing over submissions to both packages, with all kinds of paths, and of ending the program early."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import mleprep
import pandas as pd
import pytest
from conftest import ID, ROOT
from mleprep import _private, _program

import mlebench.grade
from mlebench.registry import Registry
from mleprep._mlebench import definitions

SECRET = "hunter2"

# Kinds of paths, and how both packages treat them: `valid`, `invalid`, `missing` (not a CSV file, so treated like
# a missing submission), `none` (no such file).
KINDS = {
    "good.csv": "valid",
    "link.csv": "valid",
    "linked/good.csv": "valid",
    "out.csv": "invalid",
    "hard.csv": "invalid",
    "pipe.csv": "missing",
    "zero.csv": "missing",
    "directory.csv": "missing",
    "none.csv": "none",
    "good.txt": "missing",
    "huge.csv": "invalid",
    "latin.csv": "invalid",
    "json.csv": "invalid",
}


@pytest.fixture
def files(data_dir: Path, tmp_path: Path) -> Path:
    sample = data_dir / ID / "prepared/public/sample_submission.csv"
    (tmp_path / "secret").write_text(f"{SECRET},key\n{SECRET},{SECRET}\n")
    directory = tmp_path / "work"
    (directory / "directory.csv").mkdir(parents=True)
    for name in ("good.csv", "good.txt"):
        (directory / name).write_bytes(sample.read_bytes())
    (directory / "link.csv").symlink_to("good.csv")
    (directory / "linked").symlink_to(".")
    (directory / "out.csv").symlink_to("../secret")
    (directory / "zero.csv").symlink_to("/dev/zero")
    (directory / "hard.csv").hardlink_to(tmp_path / "secret")
    (directory / "latin.csv").write_bytes(b"PassengerId,Transported\n\xe9,True\n")
    (directory / "json.csv").write_text(f'{{"username":"{SECRET}","key":"{SECRET}"}}\n')
    os.mkfifo(directory / "pipe.csv")
    with open(directory / "huge.csv", "wb") as file:
        file.truncate(1 << 42)
    return directory


@pytest.mark.parametrize(("name", "expected"), KINDS.items())
def test_both_packages_treat_paths_alike(files: Path, data_dir: Path, name: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = files / name
    competition = Registry(data_dir).get_competition(ID)
    report = mlebench.grade.grade_csv(path, competition)
    assert (report.score is not None) == (expected == "valid")
    valid, message = mlebench.grade.validate_submission(path, competition)
    assert valid == (expected == "valid") and SECRET not in message
    if expected == "none" or path.is_dir():
        for call in (mleprep.grade, mleprep.validate):
            with pytest.raises(IsADirectoryError if path.is_dir() else FileNotFoundError, match=name):
                call(path, ID, data_dir=data_dir)
    else:
        grade = mleprep.grade(path, ID, data_dir=data_dir, log=False)
        assert grade.valid == bool(grade) == (expected == "valid")
        assert (grade.reason is None) == grade.valid and SECRET not in f"{grade}"
        assert grade.report["submission_exists"] == (expected != "missing")
        checked = mleprep.validate(path, ID, data_dir=data_dir)
        assert bool(checked) == grade.valid and SECRET not in checked.message
    assert SECRET not in "".join(capfd.readouterr())


def test_copy_of_the_answers_is_reported(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    competition = Registry(data_dir).get_competition(ID)
    grade = mleprep.grade(competition.answers, ID, data_dir=data_dir, log=False)
    assert grade.is_answers and grade.comparable_with_v1 is False
    table = pd.read_csv(competition.answers)
    assert mleprep.grade(table, ID, data_dir=data_dir, log=False).is_answers
    assert not mleprep.grade(table[::-1], ID, data_dir=data_dir, log=False).is_answers
    mlebench.grade.grade_csv(competition.answers, competition)
    assert "identical to the answers" in caplog.text


def test_reason_of_a_grade_is_a_record(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("PassengerId\n1\n")
    grade = mleprep.grade(tmp_path / "a.csv", ID, data_dir=data_dir, log=False)
    assert grade.reason and grade.reason.column == "Transported" and str(grade.reason) == grade.reason.message
    assert grade.report["reason"]["kind"] == grade.reason.kind == "missing_column"
    with pytest.raises(TypeError, match="the submission is the first argument"):
        mleprep.grade(ID, None, data_dir=data_dir)  # type: ignore[arg-type]


def script(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the packages call a Python script with the code `text` in place of the program."""
    path = directory / "prep"
    path.write_text(f"#!{sys.executable}\nimport signal, sys, time\n{text}")
    path.chmod(0o755)
    monkeypatch.setenv("PREP_BINARY", str(path))


# Code that writes to both stdout and stderr, in turn, more than a pipe can buffer.
LONG = "for _ in range(3000):\n    print('o' * 100)\n    print('e' * 100, file=sys.stderr)\n"


def test_exception_in_progress_is_raised_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, LONG + f"open({str(tmp_path / 'ended')!r}, 'w')\n", monkeypatch)
    calls = []

    def progress(line: str) -> None:
        calls.append(line)
        raise ValueError("no progress")

    with pytest.raises(ValueError, match="no progress"):
        _program.call(["run"], progress)
    assert len(calls) == 1 and (tmp_path / "ended").exists()


@pytest.mark.parametrize("ignores", [False, True])
def test_interruption_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignores: bool) -> None:
    handler = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if ignores else ""
    script(tmp_path, f"{handler}{LONG}print('now', file=sys.stderr, flush=True)\ntime.sleep(600)\n", monkeypatch)
    monkeypatch.setattr(_program, "_TERMINATION_SECONDS", 0.5)

    def progress(line: str) -> None:
        if line == "now":
            os.kill(os.getpid(), signal.SIGINT)

    begun = time.monotonic()
    # If a shell runs the tests in the background, Python ignores SIGINT. This restores its default handler.
    handler_before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _program.call(["run"], progress)
    finally:
        signal.signal(signal.SIGINT, handler_before)
    assert time.monotonic() - begun < 30


def test_program_that_does_not_exist_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for named in (tmp_path / "none", tmp_path):
        monkeypatch.setenv("PREP_BINARY", str(named))
        with pytest.raises(mleprep.ProgramNotFound, match="PREP_BINARY names"):
            mleprep.list()


def test_directories_of_others_are_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    assert _private.is_private(private)
    private.chmod(0o777)
    assert not _private.is_private(private)
    # The package does not use a directory that other users can write to, but creates a new one.
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    home = _private.temporary_home()
    assert home.parent == shared and stat.S_IMODE(home.stat().st_mode) == 0o700
    assert _private.temporary_home() == home
    home.chmod(0o777)
    assert _private.temporary_home() != home
    home.rmdir()
    home.symlink_to(private)
    assert _private.temporary_home() != home


def test_definitions_of_others_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = tmp_path / "caches"
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    # Simulates a package directory that is not writable.
    monkeypatch.setattr(definitions, "_package", lambda: Path("/proc/none"))
    definitions._definitions_directory.cache_clear()
    place = definitions.directory()
    assert caches in place.parents
    place.chmod(0o777)
    definitions._definitions_directory.cache_clear()
    assert caches not in definitions.directory().parents
    definitions._definitions_directory.cache_clear()


def test_settings_in_the_directory_of_temporary_files_are_ignored(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prep.toml").write_text("not valid")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    competition = Registry(data_dir).get_competition(ID)
    assert mlebench.grade.grade_csv(competition.sample_submission, competition).score is not None


def test_entry_point_follows_no_links(tmp_path: Path) -> None:
    """In a container that starts again, the agent may have replaced files by links to files of root."""
    home, secret = tmp_path / "home", tmp_path / "secret"
    for name in ("submission", "logs", "data", "closed"):
        (home / name).mkdir(parents=True)
    secret.write_text("secret")
    secret.chmod(0o600)
    for name in ("link", "logs/entrypoint.log", "submission/link"):
        (home / name).symlink_to(secret)
    (home / "submission/hard").hardlink_to(secret)
    os.mkfifo(home / "submission/pipe")
    for name in ("submission/own", "data/own"):
        (home / name).write_text("own")
        (home / name).chmod(0o600)
    (home / "closed").chmod(0o700)
    program = tmp_path / "bin" / "prep"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    text = (ROOT / "python/environment/entrypoint.sh").read_text()
    (tmp_path / "entrypoint.sh").write_text(text.replace("\nagents=/home\n", f"\nagents={home}\n"))
    around = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "COMPETITION_ID": ID}
    # A module in the working directory, which the agent can write, is not imported.
    (home / "stat.py").write_text("raise SystemExit('imported')")
    subprocess.run(["bash", tmp_path / "entrypoint.sh"], cwd=home, env=around, check=True, timeout=60)
    mode = lambda path: stat.S_IMODE(path.stat().st_mode)  # noqa: E731
    assert (secret.read_text(), mode(secret)) == ("secret", 0o600)
    assert mode(home / "submission/own") & 0o666 == 0o666 and mode(home / "closed") & 0o777 == 0o777
    assert mode(home / "data/own") == 0o600
    log = home / "logs/entrypoint.log"
    deadline = time.monotonic() + 20
    while not log.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not log.is_symlink() and log.read_text().endswith(f"{ID}\n")
