"""Downloading and preparing data."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, TypeVar

from mlebench import _competition, _program
from mlebench._checksums import read_checksums, write_checksums
from mlebench.registry import Competition
from mlebench.utils import extract, get_diff, get_logger, is_empty, read_csv

if TYPE_CHECKING:
    import pandas as pd

logger = get_logger(__name__)

_HASHED = ["csv", "json", "jsonl", "parquet", "bson"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def download_and_prepare_dataset(
    competition: Competition,
    keep_raw: bool = True,
    overwrite_checksums: bool = False,
    overwrite_leaderboard: bool = False,
    skip_verification: bool = False,
) -> None:
    """Brings the data folder of a competition up to date; what is missing is downloaded."""
    failures = prepare_all([competition], keep_raw, overwrite_checksums, overwrite_leaderboard, skip_verification)
    for error in failures.values():
        raise error


def prepare_all(
    competitions: Iterable[Competition],
    keep_raw: bool,
    overwrite_checksums: bool,
    overwrite_leaderboard: bool,
    skip_verification: bool,
) -> dict[str, Exception]:
    """The same for several, side by side where the program prepares them. Returns what went wrong, by id."""
    failures: dict[str, Exception] = {}
    ours: dict[Path, list[Competition]] = {}
    others = []
    for competition in competitions:
        try:
            assert is_valid_prepare_fn(competition.prepare_fn), (
                "The prepare function must have the parameters `raw`, `public` and `private`."
            )
            ensure_leaderboard_exists(competition, force=overwrite_leaderboard)
            data_dir = _data_dir_of(competition)
            if data_dir is None:
                others.append(competition)
            elif not _is_prepared_by_others(competition):
                ours.setdefault(data_dir, []).append(competition)
        except Exception as error:
            failures[competition.id] = error
    check = not (skip_verification or overwrite_checksums)
    for data_dir, own in ours.items():
        failures |= _run(data_dir, [one.id for one in own], check)
    done = [one for own in ours.values() for one in own if one.id not in failures]
    for competition in done + others:
        try:
            if competition in others:
                _prepare_with(competition, check)
            elif keep_raw:
                _unpack(competition)
            if overwrite_checksums:
                write_checksums(competition.checksums, _sums(competition))
            if not keep_raw and competition.raw_dir.exists():
                shutil.rmtree(competition.raw_dir)
        except Exception as error:
            failures[competition.id] = error
    return failures


def _data_dir_of(competition: Competition) -> Path | None:
    """The data folder, if the program prepares this competition; None for callers' own functions and folders."""
    home = competition.raw_dir.parent
    prepared = home / "prepared"
    usual = (
        home.name == competition.id
        and competition.raw_dir.name == "raw"
        and competition.public_dir == prepared / "public"
        and competition.private_dir == prepared / "private"
        and _competition.id_of(competition.prepare_fn) == competition.id
    )
    return home.parent if usual else None


def _is_prepared_by_others(competition: Competition) -> bool:
    """Whether there are data that something else prepared: they stay as they are."""
    noted = competition.raw_dir.parent / "prepared.json"
    return not noted.exists() and competition.public_dir.exists() and is_dataset_prepared(competition)


def _run(data_dir: Path, ids: list[str], check: bool) -> dict[str, Exception]:
    """Lets the program prepare. Returns what went wrong, by id."""
    data_dir.mkdir(parents=True, exist_ok=True)
    # Without credentials the program refuses a selection with missing bundles before anything starts. Here one competition
    # does not keep another from being prepared, so those whose bundles exist follow by themselves.
    found = _results(data_dir, ids, check) or _results(data_dir, ids, check, "--available")
    failures: dict[str, Exception] = {}
    for one in ids:
        error = _failure(one, found.get(one))
        if error is not None:
            failures[one] = error
    return failures


def _results(data_dir: Path, ids: list[str], check: bool, *options: str) -> dict[str, Any]:
    """The program's result of each competition, by id; empty if it did not start."""
    named = [argument for one in ids for argument in ("--competition", one)]
    more = [*options] if check else [*options, "--skip-verification"]
    anything = tuple(range(256))
    text = _program.call("run", *named, "--data-dir", data_dir, "--json", *more, fine=anything, shown=True)
    try:
        return {one["id"]: one for one in json.loads(text)["competitions"]}
    except (ValueError, KeyError):
        return {}


def _failure(competition_id: str, found: dict[str, Any] | None) -> Exception | None:
    if found is None:
        return RuntimeError(f"`{competition_id}` was not prepared; see the messages above.")
    if found["state"] in ("prepared", "up_to_date"):
        return None
    messages = [one["message"] for one in found["failures"]] or [f"it is {found['state']}"]
    text = f"`{competition_id}` was not prepared: " + "; ".join(messages)
    differs = any(one["failure"] == "check" for one in found["failures"])
    return ValueError(text) if differs else RuntimeError(text)


def _unpack(competition: Competition) -> None:
    """`raw` with what the bundle holds, if there is nothing in it yet."""
    archive = competition.raw_dir.parent / f"{competition.id}.zip"
    if competition.raw_dir.exists() and not is_empty(competition.raw_dir):
        return
    if not archive.is_file():
        logger.warning(f"There is no {archive}, so nothing is unpacked to {competition.raw_dir}.")
        return
    competition.raw_dir.mkdir(parents=True, exist_ok=True)
    extract(archive, competition.raw_dir)


def _prepare_with(competition: Competition, check: bool) -> None:
    """Prepares with the caller's own function, from an unpacked bundle."""
    create_prepared_dir(competition)
    if is_empty(competition.raw_dir):
        archive = competition.raw_dir.parent / f"{competition.id}.zip"
        if not archive.is_file():
            archive = download_dataset(competition.id, competition.raw_dir.parent)
        published = read_checksums(competition.checksums).get("zip")
        if check and published not in (None, found := get_checksum(archive)):
            raise ValueError(f"{archive} has the MD5 {found}, not the published one, {published}.")
        extract(archive, competition.raw_dir)
    if not is_dataset_prepared(competition):
        competition.prepare_fn(
            raw=competition.raw_dir,  # type: ignore[call-arg]
            public=competition.public_dir,
            private=competition.private_dir,
        )
    description = competition.public_dir / "description.md"
    description.unlink(missing_ok=True)
    description.write_text(competition.description, encoding="utf-8")
    if check and competition.checksums.is_file():
        expected = read_checksums(competition.checksums)
        found_sums = _sums(competition)
        published_sums = {section: expected.get(section, {}) for section in ("private", "public")}
        found_sums.pop("zip", None)
        if published_sums != found_sums:
            difference = get_diff(published_sums, found_sums, fromfile="published", tofile="found")
            raise ValueError(f"Checksums of `{competition.id}` differ from the published ones:\n{difference}")


def _sums(competition: Competition) -> dict[str, Any]:
    archive = competition.raw_dir.parent / f"{competition.id}.zip"
    sums: dict[str, Any] = {
        "private": generate_checksums(competition.private_dir),
        "public": generate_checksums(competition.public_dir),
    }
    if archive.is_file():
        sums["zip"] = get_checksum(archive)
    return sums


def download_dataset(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:
    """Downloads a bundle unless it is there; returns its path."""
    download_dir = Path(download_dir).resolve()
    target = download_dir / f"{competition_id}.zip"
    if force:
        target.unlink(missing_ok=True)
    if download_dir.name == competition_id:
        data_dir, home = download_dir.parent, None
    else:
        home = download_dir / f".download-{competition_id}"
        data_dir = home
    if target.is_file():
        return target
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        more = ["--quiet"] if quiet else []
        _program.call(
            "fetch", competition_id, "--data-dir", data_dir, "--skip-bundle-verification", *more, shown=True
        )
        if home is not None:
            shutil.move(home / competition_id / target.name, target)
    finally:
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
    return target


def is_dataset_prepared(competition: Competition, grading_only: bool = False) -> bool:
    """Whether there is something in the folders, with the files that count."""
    assert isinstance(competition, Competition), f"Expected a Competition, got {type(competition).__name__}."
    folders = [("Private", competition.private_dir)]
    files = [("Answers", competition.answers)]
    if not grading_only:
        folders.insert(0, ("Public", competition.public_dir))
        files.append(("Sample submission", competition.sample_submission))
    for name, folder in folders:
        if not folder.is_dir():
            logger.warning(f"{name} directory does not exist.")
            return False
        if is_empty(folder):
            logger.warning(f"{name} directory is empty.")
            return False
    for name, file in files:
        if not file.is_file():
            logger.warning(f"{name} file does not exist.")
            return False
    return True


def get_leaderboard(competition: Competition) -> pd.DataFrame:
    assert competition.leaderboard.exists(), f"Leaderboard {competition.leaderboard} does not exist."
    return read_csv(competition.leaderboard)


def ensure_leaderboard_exists(competition: Competition, force: bool = False) -> Path:
    """The leaderboard's path. It is part of the program, with a digest; nobody fetches another one."""
    if force:
        raise NotImplementedError(
            "Leaderboards are pinned: Kaggle changes theirs, and scores would not be comparable any more. "
            "Without --force and --overwrite-leaderboard the pinned one is used."
        )
    if not competition.leaderboard.exists():
        raise FileNotFoundError(f"Leaderboard {competition.leaderboard} does not exist.")
    return competition.leaderboard


def create_prepared_dir(competition: Competition) -> None:
    for folder in (competition.raw_dir, competition.public_dir, competition.private_dir):
        folder.mkdir(parents=True, exist_ok=True)


def is_valid_prepare_fn(preparer_fn: Any) -> bool:
    """Whether a function has the parameters `raw`, `public` and `private`, in this order."""
    try:
        parameters = inspect.signature(preparer_fn).parameters
    except (TypeError, ValueError):
        return False
    return list(parameters) == ["raw", "public", "private"]


def generate_checksums(
    target_dir: Path, exts: list[str] | None = None, exclude: list[Path] | None = None
) -> dict[str, str]:
    """MD5s of the files of some kinds that lie in a folder itself."""
    wanted = tuple(f".{ext.lstrip('.')}" for ext in (exts if exts is not None else _HASHED))
    left_out = {Path(path) for path in exclude or []}
    files = (path for path in sorted(Path(target_dir).iterdir()) if path.is_file() and path not in left_out)
    return {path.name: get_checksum(path) for path in files if path.suffix in wanted}


def get_checksum(fpath: Path) -> str:
    assert fpath.is_file(), f"{fpath} is no file."
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def get_last_modified(fpath: Path) -> datetime:
    return datetime.fromtimestamp(fpath.stat().st_mtime)


def file_cache(fn: _Function) -> _Function:
    """Keeps nothing: what is read is read. The program has a cache of its own."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]


def is_api_exception(exception: Exception) -> bool:
    return type(exception).__name__ == "ApiException"
