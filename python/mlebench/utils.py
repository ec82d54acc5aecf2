"""What the benchmark's scripts and their users take from here."""

from __future__ import annotations

import difflib
import importlib
import json
import logging
import os
import time
import uuid
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSED = {".zip", ".tar", ".gz", ".tgz", ".rar", ".7z"}


def get_logger(name: str, level: int = logging.INFO, filename: Path | None = None) -> logging.Logger:
    """A logger; the root logger gets its handler when this is first called."""
    logging.basicConfig(
        level=level,
        format="[%(asctime)s] [%(filename)s:%(lineno)d] %(message)s",
        filename=filename,
    )
    return logging.getLogger(name)


logger = get_logger(__name__)


def purple(text: str) -> str:
    return f"\033[1;35m{text}\033[0m"


def one_line(message: object) -> str:
    """A message as one line without braces: readers take logs apart by lines, and find reports by their braces."""
    return " ".join(str(message).split()).translate(str.maketrans("{}", "()"))


def get_timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H-%M-%S-%Z", time.gmtime())


def read_csv(*args: Any, **kwargs: Any) -> pd.DataFrame:
    """`pandas.read_csv` that reads back every float as it was written, and an empty file as an empty frame."""
    import pandas as pd

    kwargs.setdefault("float_precision", "round_trip")
    try:
        frame: pd.DataFrame = pd.read_csv(*args, **kwargs)
    except pd.errors.EmptyDataError:
        path = args[0] if args else kwargs.get("filepath_or_buffer")
        logger.warning(f"CSV file empty! {path}")
        return pd.DataFrame()
    return frame


def read_jsonl(file_path: str | os.PathLike[str], skip_commented_out_lines: bool = False) -> list[dict[str, Any]]:
    """The values of a file with one JSON value a line. Comments begin with # or //."""
    values = []
    with open(file_path, encoding="utf-8") as file:
        for line in file:
            text = line.strip()
            if skip_commented_out_lines and (not text or text.startswith(("#", "//"))):
                continue
            values.append(json.loads(text))
    return values


def load_answers(path_to_answers: Path) -> pd.DataFrame | list[dict[str, Any]]:
    match Path(path_to_answers).suffix.lower():
        case ".csv":
            return read_csv(path_to_answers)
        case ".jsonl":
            return read_jsonl(path_to_answers)
    raise ValueError(f"Unsupported file format for answers: {path_to_answers}")


def load_yaml(fpath: Path) -> dict[str, Any]:
    """The mapping in a YAML file. Only this needs PyYAML, so that a checkout works without it."""
    assert isinstance(fpath, Path), f"Expected a Path, got {type(fpath).__name__}."
    assert fpath.exists(), f"{fpath} does not exist."
    import yaml

    with open(fpath, encoding="utf-8") as file:
        contents: dict[str, Any] = yaml.safe_load(file)
    return contents


def in_ci() -> bool:
    return os.environ.get("GITHUB_ACTIONS") is not None


def import_fn(fn_import_string: str) -> Any:
    """What "module:name" stands for."""
    module, _, name = fn_import_string.partition(":")
    return getattr(importlib.import_module(module), name)


def get_path_to_callable(cal: Callable[..., Any]) -> Path:
    """File of a function, relative to the package's parent where it lies there."""
    import inspect

    assert callable(cal), "Expected a callable."
    path = Path(inspect.getfile(cal)).resolve()
    root = get_repo_dir()
    return path.relative_to(root) if path.is_relative_to(root) else path


def get_module_dir() -> Path:
    return Path(__file__).parent.resolve()


def get_repo_dir() -> Path:
    return get_module_dir().parent


def get_runs_dir() -> Path:
    """`runs` of the checkout that the package lies in; of the current folder where it is installed elsewhere."""
    root = get_repo_dir()
    return (root if (root / "run_agent.py").exists() else Path.cwd()) / "runs"


def generate_run_id(competition_id: str, agent_id: str, run_group: str | None = None) -> str:
    """A new name for a run of an agent."""
    if run_group:
        return f"{competition_id}_{uuid.uuid4()}"
    return f"{get_timestamp()}_{competition_id}_{agent_id}_{uuid.uuid4().hex[:8]}"


def create_run_dir(
    competition_id: str | None = None, agent_id: str | None = None, run_group: str | None = None
) -> Path:
    """A new folder for a run."""
    for given in (competition_id, agent_id, run_group):
        assert given is None or isinstance(given, str), f"Expected text, got {type(given).__name__}."
    run_id = str(uuid.uuid4())
    if competition_id and agent_id:
        run_id = generate_run_id(competition_id, agent_id, run_group)
    folder = get_runs_dir() / run_group / run_id if run_group else get_runs_dir() / run_id
    folder.mkdir(parents=True, exist_ok=False)
    return folder


def is_empty(dir: Path) -> bool:
    assert isinstance(dir, Path), f"Expected a Path, got {type(dir).__name__}."
    assert dir.is_dir(), f"{dir} is no folder."
    return not any(dir.iterdir())


def is_compressed(fpath: Path) -> bool:
    return Path(fpath).suffix.lower() in _COMPRESSED


def compress(src: Path, compressed: Path, exist_ok: bool = False) -> None:
    """A file, or what a folder holds, as a zip."""
    assert isinstance(src, Path) and isinstance(compressed, Path), "Expected Paths."
    assert src.exists(), f"{src} does not exist."
    if not exist_ok and compressed.exists():
        raise FileExistsError(f"{compressed} exists already.")
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        if src.is_file():
            archive.write(src, src.name)
        else:
            for path in sorted(src.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(src).as_posix())


def extract(compressed: Path, dst: Path, recursive: bool = False, already_extracted: set[Path] | None = None) -> None:
    """Unpacks a zip or a 7z; with `recursive`, also the archives in it."""
    assert isinstance(compressed, Path) and isinstance(dst, Path), "Expected Paths."
    assert compressed.exists(), f"{compressed} does not exist."
    done = set() if already_extracted is None else already_extracted
    match compressed.suffix.lower():
        case ".zip":
            with zipfile.ZipFile(compressed) as archive:
                archive.extractall(dst)
        case ".7z":
            import py7zr

            with py7zr.SevenZipFile(compressed, mode="r") as archive:
                archive.extractall(path=dst)
        case suffix:
            raise NotImplementedError(f"Archives of the kind `{suffix}` are not unpacked.")
    done.add(compressed.resolve())
    if not recursive:
        return
    for path in sorted(dst.rglob("*")):
        if path.suffix.lower() in (".zip", ".7z") and path.is_file() and path.resolve() not in done:
            extract(path, path.parent / path.stem, recursive=True, already_extracted=done)


def get_diff(d: dict[str, Any], other_d: dict[str, Any], fromfile: str = "d", tofile: str = "other_d") -> str:
    """The difference of two mappings, line by line."""

    def lines(mapping: dict[str, Any]) -> list[str]:
        return json.dumps(mapping, indent=2, sort_keys=True, default=str).splitlines(keepends=True)

    return "".join(difflib.unified_diff(lines(d), lines(other_d), fromfile=fromfile, tofile=tofile))


def authenticate_kaggle_api() -> Any:
    """Kaggle's own client, signed in. Nothing here needs it; it has to be installed."""
    try:
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = KaggleApi()
        api.authenticate()
        api.competitions_list()
    except (Exception, SystemExit) as error:
        raise PermissionError(
            "Kaggle authentication failed! Please ensure you have valid Kaggle API credentials configured; "
            "see https://www.kaggle.com/docs/api."
        ) from error
    return api
