"""Downloads bundles with the program."""

from __future__ import annotations

import shutil
from pathlib import Path

from mleprep._mlebench import advice, program


def download(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:
    """Downloads a bundle to `download_dir/ID.zip` if it does not exist. Returns its path.

    The program downloads into a directory named ID. If `download_dir` has another name, the directory is
    `download_dir/.download-ID/ID`.

    After an interruption, the next call continues the download.
    """
    download_dir = Path(download_dir).resolve()
    target = download_dir / f"{competition_id}.zip"
    if force:
        target.unlink(missing_ok=True)
    if target.is_file():
        return target
    is_home = download_dir.name == competition_id
    data_dir = download_dir.parent if is_home else download_dir / f".download-{competition_id}"
    data_dir.mkdir(parents=True, exist_ok=True)
    if is_home:
        program.fetch(competition_id, data_dir, quiet)
        return target
    try:
        program.fetch(competition_id, data_dir, quiet)
    except BaseException as error:
        _remove_if_empty(data_dir / competition_id)
        _remove_if_empty(data_dir)
        if isinstance(error, program.ProgramError):
            raise program.ProgramError(_for_caller(str(error), data_dir, target), error.code) from None
        raise
    shutil.move(data_dir / competition_id / target.name, target)
    shutil.rmtree(data_dir, ignore_errors=True)
    return target


def _for_caller(message: str, data_dir: Path, target: Path) -> str:
    """Replaces the paths in the program's data directory by the path that the caller knows."""
    inner = data_dir / target.stem / target.name
    message = message.replace(f"{data_dir / target.name}, {inner}", str(inner)).replace(str(inner), str(target))
    return message.replace(str(advice.INSTEAD["--source"]), f"put the bundle at {target}")


def _remove_if_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        pass
