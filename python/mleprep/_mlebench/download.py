"""Downloads bundles with the program."""

from __future__ import annotations

import shutil
from pathlib import Path

from mleprep._mlebench import program


def download(competition_id: str, download_dir: Path, quiet: bool = False, force: bool = False) -> Path:
    """Downloads a bundle to `download_dir/ID.zip` if it does not exist. Returns its path."""
    download_dir = Path(download_dir).resolve()
    target = download_dir / f"{competition_id}.zip"
    if force:
        target.unlink(missing_ok=True)
    if target.is_file():
        return target
    is_home = download_dir.name == competition_id
    data_dir = download_dir.parent if is_home else download_dir / f".download-{competition_id}"
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        program.fetch(competition_id, data_dir, quiet)
        if not is_home:
            shutil.move(data_dir / competition_id / target.name, target)
    finally:
        if not is_home:
            shutil.rmtree(data_dir, ignore_errors=True)
    return target
