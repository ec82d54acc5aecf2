"""Helper functions that upstream's scripts, and scripts of its users, import from `mlebench.utils`."""

from __future__ import annotations

import difflib
import json
import logging
import os
import sys
import time
import uuid
import zipfile
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from mleprep._mlebench.competition import import_function
from mleprep._mlebench.lazy import LazyModule
from mleprep._mlebench.program import one_line
from mleprep._mlebench.unpack import unpack

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")

_COMPRESSED = [".zip", ".tar", ".gz", ".tgz", ".tar.gz", ".rar", ".7z"]


def get_logger(name: str, level: int = logging.INFO, filename: Optional[Path] = None) -> Logger:
    """Returns a logger. The first call adds a handler to the root logger."""
    logging.basicConfig(
        level=level,
        format="[%(asctime)s] [%(filename)s:%(lineno)d] %(message)s",
        filename=filename,
    )
    return logging.getLogger(name)


logger = get_logger(__name__)


def purple(str: str) -> str:
    return f"\033[1;35m{str}\033[0m"


def get_timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H-%M-%S-%Z", time.gmtime())


def read_csv(*args: Any, **kwargs: Any) -> pd.DataFrame:
    """Calls `pandas.read_csv` so that it parses every float exactly and returns an empty frame for an empty file."""
    kwargs.setdefault("float_precision", "round_trip")
    try:
        frame: pd.DataFrame = pd.read_csv(*args, **kwargs)
    except pd.errors.EmptyDataError:
        path = args[0] if args else kwargs.get("filepath_or_buffer")
        logger.warning(f"CSV file empty! {path}")
        return pd.DataFrame()
    return frame


def read_jsonl(file_path: str, skip_commented_out_lines: bool = False) -> list[dict[str, Any]]:
    """Returns the values in a file with one JSON value per line. Skips comments, which begin with # or //."""
    values = []
    with open(file_path, encoding="utf-8") as file:
        for line in file:
            text = line.strip()
            if skip_commented_out_lines and (not text or text.startswith(("#", "//"))):
                continue
            values.append(json.loads(text))
    return values


def load_answers(path_to_answers: Path) -> Any:
    match Path(path_to_answers).suffix:
        case ".csv":
            return read_csv(path_to_answers)
        case ".jsonl":
            return read_jsonl(str(path_to_answers))
    raise ValueError(f"Unsupported file format for answers: {path_to_answers}")


def load_yaml(fpath: Path) -> dict[str, Any]:
    """Returns the mapping in a YAML file."""
    assert isinstance(fpath, Path), f"Expected a Path, got {type(fpath).__name__}."
    assert fpath.is_file(), f"File `{fpath}` does not exist."
    assert fpath.suffix == ".yaml", f"Expected a YAML file, got `{fpath}`."
    import yaml

    with open(fpath, encoding="utf-8") as file:
        contents: dict[str, Any] = yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return contents


def in_ci() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def import_fn(fn_import_string: str) -> Callable[..., Any]:
    """Imports the function that `module:name` names."""
    function: Callable[..., Any] = import_function(fn_import_string)
    return function


def get_path_to_callable(callable: Callable[..., Any]) -> Path:
    """Returns the path of a function's module, relative to the current directory."""
    path = getattr(sys.modules[callable.__module__], "__file__", None)
    assert path is not None, f"Module `{callable.__module__}` has no file."
    return Path(os.path.relpath(path, start=os.getcwd()))


def get_module_dir() -> Path:
    return Path(__file__).parent.resolve()


def get_repo_dir() -> Path:
    return get_module_dir().parent


def get_runs_dir() -> Path:
    """Returns the directory `runs` of the package's checkout, or of the current directory if the package is installed."""
    root = get_repo_dir()
    return (root if (root / "run_agent.py").exists() else Path.cwd()) / "runs"


def generate_run_id(competition_id: str, agent_id: str, run_group: Optional[str] = None) -> str:
    """Returns a new name for a run of an agent."""
    if run_group:
        return f"{competition_id}_{uuid.uuid4()}"
    return f"{get_timestamp()}_{competition_id}_{agent_id}_{uuid.uuid4().hex[:8]}"


def create_run_dir(
    competition_id: Optional[str] = None, agent_id: Optional[str] = None, run_group: Optional[str] = None
) -> Path:
    """Creates a new directory for a run."""
    for given in (competition_id, agent_id, run_group):
        assert given is None or isinstance(given, str), f"Expected a string or None, got {type(given).__name__}."
    run_id = str(uuid.uuid4())
    if competition_id and agent_id:
        run_id = generate_run_id(competition_id, agent_id, run_group)
    directory = get_runs_dir() / run_group / run_id if run_group else get_runs_dir() / run_id
    directory.mkdir(parents=True, exist_ok=False)
    return directory


def is_empty(dir: Path) -> bool:
    assert isinstance(dir, Path), f"Expected a Path, got {type(dir).__name__}."
    assert dir.is_dir(), f"Expected a directory, got `{dir}`."
    return not any(dir.iterdir())


def is_compressed(fpath: Path) -> bool:
    return fpath.suffix in _COMPRESSED


def compress(src: Path, compressed: Path, exist_ok: bool = False) -> None:
    """Writes the files below a directory into a zip or a 7z."""
    assert src.exists(), f"Source directory `{src}` does not exist."
    assert src.is_dir(), f"Expected a directory, got `{src}`."
    assert exist_ok or not compressed.exists(), f"Compressed file `{compressed}` exists already."
    files = [path for path in sorted(src.rglob("*")) if path.is_file()]
    match compressed.suffix:
        case ".zip":
            with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(src).as_posix())
        case ".7z":
            import py7zr

            with py7zr.SevenZipFile(compressed, "w") as archive:
                for path in files:
                    archive.write(path, path.relative_to(src).as_posix())
        case suffix:
            raise NotImplementedError(f"Unsupported compression format: `{suffix}`.")


def extract(
    compressed: Path, dst: Path, recursive: bool = False, already_extracted: Optional[set[Path]] = None
) -> None:
    """Unpacks a zip or a 7z into `dst`. With `recursive`, also unpacks archives directly in `dst`."""
    assert compressed.exists(), f"File `{compressed}` does not exist."
    assert compressed.is_file(), f"Path `{compressed}` is not a file."
    assert is_compressed(compressed), f"File `{compressed}` is not compressed."
    # Upstream's calls share one default set, so they skip archives of earlier calls. Here, each call has a new set.
    done = set() if already_extracted is None else already_extracted
    unpack(compressed, dst)
    done.add(compressed)
    if not recursive:
        return
    inner = [path for path in sorted(dst.iterdir()) if path not in done and is_compressed(path)]
    done.update(inner)
    for path in inner:
        extract(path, path.parent, recursive=True, already_extracted=done)


def get_diff(d: dict[str, Any], other_d: dict[str, Any], fromfile: str = "d", tofile: str = "other_d") -> str:
    """Returns a line-by-line difference of two mappings as YAML."""
    import yaml

    old, new = (yaml.dump(mapping, sort_keys=True).splitlines() for mapping in (d, other_d))
    return "\n".join(difflib.unified_diff(old, new, fromfile=fromfile, tofile=tofile, lineterm=""))


def authenticate_kaggle_api() -> Any:
    """Returns a signed-in client of Kaggle: Kaggle's own if it is installed, otherwise one that calls `prep`."""
    from mleprep._mlebench.kaggle import authenticated

    try:
        return authenticated()
    except (Exception, SystemExit) as error:
        logger.error(f"Authentication failed: {one_line(error)}")
        raise PermissionError(
            "Kaggle authentication failed! Please ensure you have valid Kaggle API credentials configured; "
            "see https://www.kaggle.com/docs/api."
        ) from error
