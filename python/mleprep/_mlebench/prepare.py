"""Prepares competitions with the program or with a function of the caller."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any, Iterable

from mlebench import data
from mlebench.registry import Competition
from mlebench.utils import is_empty
from mleprep._mlebench import advice, program
from mleprep._mlebench import competition as by_program
from mleprep._mlebench.checksums import read_checksums, write_checksums
from mleprep._mlebench.raw import fill_raw

logger = logging.getLogger("mlebench.data")


def prepare_all(
    competitions: Iterable[Competition],
    keep_raw: bool = False,
    overwrite_checksums: bool = False,
    overwrite_leaderboard: bool = False,
    skip_verification: bool = False,
    require_raw: bool = False,
) -> dict[str, Exception]:
    """Prepares competitions, in parallel if the program prepares them. Returns errors by id.

    With `require_raw`, a bundle that cannot be downloaded is an error, even if the data are prepared.
    """
    failures: dict[str, Exception] = {}
    by_directory: dict[Path, list[Competition]] = {}
    others = []
    for one in competitions:
        try:
            assert data.is_valid_prepare_fn(one.prepare_fn), (
                "The prepare function must have the parameters `raw`, `public` and `private`."
            )
            data.ensure_leaderboard_exists(one, force=overwrite_leaderboard)
            data_dir = _data_dir_of(one)
            if data_dir is None:
                others.append(one)
            elif not _is_prepared_by_others(one):
                if data.download_dataset is not data._DOWNLOAD_DATASET:
                    # Calls the caller's download function to get the bundle.
                    data.download_dataset(competition_id=one.id, download_dir=one.raw_dir.parent, force=False)
                by_directory.setdefault(data_dir, []).append(one)
        except Exception as error:
            failures[one.id] = error
    check = not (skip_verification or overwrite_checksums)
    for data_dir, ours in by_directory.items():
        failures |= _run(data_dir, [one.id for one in ours], check)
    prepared = [one for ours in by_directory.values() for one in ours if one.id not in failures]
    for one in prepared + others:
        try:
            if one in others:
                _prepare_with(one, check)
            else:
                _describe(one)
                if keep_raw:
                    _keep_raw(one, require_raw)
            if overwrite_checksums:
                write_checksums(one.checksums, _sums(one))
            if not keep_raw and one.raw_dir.exists():
                shutil.rmtree(one.raw_dir)
        except Exception as error:
            failures[one.id] = error
    return failures


def _data_dir_of(competition: Competition) -> Path | None:
    """Returns the data directory if the program prepares this competition. None for callers' own functions."""
    home = competition.raw_dir.parent
    prepared = home / "prepared"
    usual = (
        home.name == competition.id
        and competition.raw_dir.name == "raw"
        and competition.public_dir == prepared / "public"
        and competition.private_dir == prepared / "private"
        and by_program.id_of(competition.prepare_fn) == competition.id
    )
    return home.parent if usual else None


def _is_prepared_by_others(competition: Competition) -> bool:
    """Whether another program prepared the data. The package does not change such data."""
    noted = competition.raw_dir.parent / "prepared.json"
    return not noted.exists() and competition.public_dir.exists() and data.is_dataset_prepared(competition)


def _run(data_dir: Path, ids: list[str], check: bool) -> dict[str, Exception]:
    """Calls the program to prepare competitions. Returns errors by id."""
    data_dir.mkdir(parents=True, exist_ok=True)
    # As in upstream, each call decides whether to compare checksums. Without an option, the last run would decide.
    options = ["--skip-verification=no" if check else "--skip-verification=yes"]
    try:
        found = program.run(data_dir, ids, *options)
    except program.ProgramError as error:
        return dict.fromkeys(ids, error)
    failures = {one: failure for one in ids if (failure := _failure(one, found[one])) is not None}
    missing = [one for one in failures if _lacks_bundle(data_dir, one, found[one])]
    if missing:
        try:
            data.authenticate_kaggle_api()
        except PermissionError:
            # Upstream raises this class. The text is the program's, because it also states where to put a bundle.
            failures |= {one: PermissionError(str(failures[one])) for one in missing}
    return failures


def _lacks_bundle(data_dir: Path, competition_id: str, found: dict[str, Any]) -> bool:
    """Whether a competition was not prepared because there is no bundle."""
    name = f"{competition_id}.zip"
    exists = (data_dir / name).is_file() or (data_dir / competition_id / name).is_file()
    return not exists and any(one["step"] == "bundle" for one in found["failures"])


def _failure(competition_id: str, found: dict[str, Any]) -> Exception | None:
    if found["state"] in ("prepared", "up_to_date"):
        return None
    messages = [one["message"] for one in found["failures"]] or [f"it is {found['state']}"]
    helps = advice.translate_all("\n".join(f"help: {one['help']}" for one in found["failures"] if one["help"]))
    text = f"`{competition_id}` was not prepared: " + "; ".join(messages) + ("\n" + helps if helps else "")
    differs = any(one["kind"] == "check" for one in found["failures"])
    return ValueError(text) if differs else RuntimeError(text)


def _describe(competition: Competition) -> None:
    """Writes the competition's description if it is neither the built-in nor the published one."""
    path = competition.public_dir / "description.md"
    ours = competition.checksums.parent / "description.md"
    texts = [place.read_text(encoding="utf-8") for place in (path, ours) if place.is_file()]
    if competition.description not in texts:
        _write_description(competition)


def _write_description(competition: Competition) -> None:
    path = competition.public_dir / "description.md"
    path.unlink(missing_ok=True)
    path.write_text(competition.description, encoding="utf-8")


def _keep_raw(competition: Competition, required: bool) -> None:
    """Unpacks the bundle into `raw` if `raw` is empty.

    Downloads the bundle if the run did not need it because all results came from the cache. If the run read the
    bundle from another directory, the bundle stays there.
    """
    home = competition.raw_dir.parent
    archive = home / f"{competition.id}.zip"
    if competition.raw_dir.exists() and any(competition.raw_dir.iterdir()) and archive.is_file():
        return
    try:
        archive = program.bundle(home.parent, competition.id) or data.download_dataset(
            competition_id=competition.id, download_dir=home
        )
    except Exception as error:
        if required:
            raise
        logger.warning(f"`{competition.id}` is prepared, but without the bundle there is no `raw`: {error}")
        return
    if not competition.raw_dir.exists() or not any(competition.raw_dir.iterdir()):
        fill_raw(competition.id, archive, competition.raw_dir)


def _prepare_with(competition: Competition, check: bool) -> None:
    """Prepares from an unpacked bundle with the caller's function."""
    competition.raw_dir.mkdir(parents=True, exist_ok=True)
    data.create_prepared_dir(competition)
    if is_empty(competition.raw_dir):
        archive = competition.raw_dir.parent / f"{competition.id}.zip"
        if not archive.is_file():
            archive = data.download_dataset(competition.id, competition.raw_dir.parent)
        published = read_checksums(competition.checksums).get("zip") if competition.checksums.is_file() else None
        if check and published not in (None, found := data.get_checksum(archive)):
            raise ValueError(f"{archive} has the MD5 {found}, not the published one, {published}.")
        data.extract(archive, competition.raw_dir)
    if not data.is_dataset_prepared(competition):
        competition.prepare_fn(
            raw=competition.raw_dir,  # type: ignore[call-arg]
            public=competition.public_dir,
            private=competition.private_dir,
        )
    _write_description(competition)
    if not check:
        return
    if not competition.checksums.is_file():
        write_checksums(competition.checksums, _sums(competition))
        return
    published_sums, found_sums = read_checksums(competition.checksums), _sums(competition)
    for sums in (published_sums, found_sums):
        sums.pop("zip", None)
    if published_sums != found_sums:
        difference = data.get_diff(found_sums, published_sums, fromfile="actual_checksums", tofile="expected_checksums")
        raise ValueError(f"Checksums do not match for `{competition.id}`!\n{difference}")


def _sums(competition: Competition) -> dict[str, Any]:
    archive = competition.raw_dir.parent / f"{competition.id}.zip"
    sums: dict[str, Any] = {
        "private": data.generate_checksums(competition.private_dir),
        "public": data.generate_checksums(competition.public_dir),
    }
    if archive.is_file():
        sums["zip"] = data.get_checksum(archive)
    return sums
