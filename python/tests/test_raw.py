"""Tests of the directory `raw`: which files the package keeps in this directory, and which it reads from it."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import pytest

import mlebench.data
from mlebench.registry import Registry
from mleprep._mlebench.raw import UNPACKED, fill_raw

from conftest import ID, SAMPLES


def test_raw_and_bundle_exist_even_if_results_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    competition = Registry(tmp_path).get_competition(ID)
    home = competition.raw_dir.parent
    home.mkdir(parents=True)
    shutil.copy(SAMPLES / f"{ID}.zip", home)
    mlebench.data.download_and_prepare_dataset(competition, keep_raw=False, skip_verification=True)
    assert not competition.raw_dir.exists()
    (home / f"{ID}.zip").unlink()

    def fetch(competition_id: str, data_dir: Path, quiet: bool = False) -> None:
        shutil.copy(SAMPLES / f"{competition_id}.zip", data_dir / competition_id)

    monkeypatch.setattr("mleprep._mlebench.program.fetch", fetch)
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    assert (home / f"{ID}.zip").is_file()
    assert {path.name for path in competition.raw_dir.iterdir()} == {"train.csv"}


def test_keep_raw_fails_without_a_bundle_but_prepares_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    from mleprep._mlebench.prepare import prepare_all

    competition = Registry(tmp_path).get_competition(ID)
    competition.raw_dir.parent.mkdir(parents=True)
    archive = Path(shutil.copy(SAMPLES / f"{ID}.zip", competition.raw_dir.parent))
    mlebench.data.download_and_prepare_dataset(competition, keep_raw=False, skip_verification=True)
    archive.unlink()
    # The package reports the program's error as a warning. It must not appear as an error on stderr, too.
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    assert "there is no `raw`: no bundle" in caplog.text
    assert not [line for line in capfd.readouterr().err.splitlines() if line.startswith("error")]

    def refuse(*_: object) -> None:
        raise RuntimeError("no credentials")

    monkeypatch.setattr("mleprep._mlebench.program.fetch", refuse)
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    assert "without the bundle there is no `raw`: no credentials" in caplog.text
    failures = prepare_all([competition], keep_raw=True, skip_verification=True, require_raw=True)
    assert str(failures[ID]) == "no credentials"


def test_archives_that_upstream_unpacks_are_unpacked(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("train.csv", "id\n")
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("train.zip", inner.getvalue())
    fill_raw("spooky-author-identification", bundle, tmp_path / "raw")
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["train.csv", "train.zip"]
    assert set(UNPACKED) < set(Registry(tmp_path).list_competition_ids())


def test_symbolic_links_in_raw_are_followed(data_dir: Path, tmp_path: Path) -> None:
    competition = Registry(data_dir).get_competition(ID)
    elsewhere = tmp_path / "elsewhere"
    with zipfile.ZipFile(SAMPLES / f"{ID}.zip") as archive:
        archive.extractall(elsewhere)
    (elsewhere / "circle").symlink_to(elsewhere)
    (tmp_path / "raw").symlink_to(elsewhere)
    for directory in ("public", "private"):
        (tmp_path / directory).mkdir()
    competition.prepare_fn(tmp_path / "raw", tmp_path / "public", tmp_path / "private")
    assert (tmp_path / "private" / "test.csv").read_bytes() == competition.answers.read_bytes()


def test_preparing_again_keeps_files_of_other_programs(tmp_path: Path) -> None:
    competition = Registry(tmp_path).get_competition(ID)
    competition.raw_dir.parent.mkdir(parents=True)
    shutil.copy(SAMPLES / f"{ID}.zip", competition.raw_dir.parent)
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    unpacked = competition.public_dir / "train" / "train.json"
    unpacked.parent.mkdir()
    unpacked.write_text("{}")
    (competition.public_dir / "test.csv").unlink()
    mlebench.data.download_and_prepare_dataset(competition, skip_verification=True)
    assert unpacked.read_text() == "{}" and (competition.public_dir / "test.csv").is_file()
