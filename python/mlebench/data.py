"""Downloading and preparing data; see `mlebench._data`.

An installer in use replaces line 29 of this file by a line of its own, so the file ends before.
"""

from mlebench._data import (
    create_prepared_dir as create_prepared_dir,
    download_and_prepare_dataset as download_and_prepare_dataset,
    download_dataset as download_dataset,
    ensure_leaderboard_exists as ensure_leaderboard_exists,
    file_cache as file_cache,
    generate_checksums as generate_checksums,
    get_checksum as get_checksum,
    get_last_modified as get_last_modified,
    get_leaderboard as get_leaderboard,
    is_api_exception as is_api_exception,
    is_dataset_prepared as is_dataset_prepared,
    is_valid_prepare_fn as is_valid_prepare_fn,
)
