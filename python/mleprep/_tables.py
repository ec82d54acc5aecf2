"""Reads the public tables of a prepared competition as frames of pandas or polars, and as arrays of numpy."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import lzma
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from mleprep import _html

# The functions are Any, because their results have no common type.
_COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# Values keep their types: no texts become numbers or dates because of the names of columns.
_JSON = {"dtype": False, "convert_dates": False}
_ALL_ROWS = {"infer_schema_length": None}
#: For each library, the function and its options by the suffix of a file.
_READERS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "pandas": {
        ".csv": ("read_csv", {"low_memory": False}),
        ".tsv": ("read_csv", {"low_memory": False, "sep": "\t"}),
        ".json": ("read_json", _JSON),
        ".jsonl": ("read_json", _JSON | {"lines": True}),
        ".parquet": ("read_parquet", {}),
    },
    "polars": {
        ".csv": ("read_csv", _ALL_ROWS),
        ".tsv": ("read_csv", _ALL_ROWS | {"separator": "\t"}),
        ".json": ("read_json", _ALL_ROWS),
        ".jsonl": ("read_ndjson", _ALL_ROWS),
        ".parquet": ("read_parquet", {}),
    },
}
_ARRAYS = (".npy", ".npz")


class Tables(Mapping[str, Any]):
    """The tables of a directory by name: `train` for train.csv. A table is read at the first access to it."""

    def __init__(self, directory: Path, library: str | None = None) -> None:
        self._library = _imported(library)
        self._readers = _READERS[self._library.__name__]
        #: The file of each table, and the member if the file is a zip archive.
        self._places: dict[str, tuple[Path, str | None]] = {}
        self._read: dict[str, Any] = {}
        # Archives come last, so that the short name is that of the file.
        for path in sorted(directory.rglob("*"), key=lambda path: (path.suffix == ".zip", path)):
            shown = path.relative_to(directory).as_posix()
            if path.suffix != ".zip":
                self._add(shown, shown, (path, None))
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        self._add(name, f"{shown}/{name}", (path, name))

    def _add(self, name: str, full_name: str, place: tuple[Path, str | None]) -> None:
        suffix = _suffix(name)
        # Archives of the Finder have a second file for each one.
        if (suffix in self._readers or suffix in _ARRAYS) and "__MACOSX" not in name:
            short = name[: name.rindex(suffix)]
            self._places[full_name if short in self._places else short] = place

    def __getitem__(self, name: str) -> Any:
        if name not in self._places:
            raise KeyError(f"there is no table {name!r}; the tables are {', '.join(self)}")
        if name not in self._read:
            path, member = self._places[name]
            try:
                self._read[name] = self._load(path, member)
            except Exception as error:
                error.add_note(f"reading {path}" + (f", member {member}" if member else ""))
                raise
        return self._read[name]

    def _load(self, path: Path, member: str | None) -> Any:
        suffix = _suffix(member or path.name)
        if member is not None:
            with zipfile.ZipFile(path) as archive, archive.open(member) as file:
                return self._parse(suffix, file)
        with _COMPRESSED.get(path.suffix, open)(path, "rb") as file:
            return self._parse(suffix, file)

    def _parse(self, suffix: str, file: IO[bytes]) -> Any:
        if suffix not in _ARRAYS:
            function, options = self._readers[suffix]
            return getattr(self._library, function)(file, **options)
        array = importlib.import_module("numpy").load(file, allow_pickle=False)
        return array if suffix == ".npy" else dict(array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self)})"

    def _repr_html_(self) -> str:
        places = self._places.items()
        return _html.table([{"table": name, "file": path.name, "member": member} for name, (path, member) in places])


def _suffix(name: str) -> str:
    """Returns the suffix of a file's name before a suffix of compression: `.csv` for train.csv.gz."""
    path = Path(name.removesuffix(Path(name).suffix) if Path(name).suffix in _COMPRESSED else name)
    return path.suffix


def _imported(library: str | None) -> ModuleType:
    if library not in (None, *_READERS):
        raise ValueError(f"`library` must be one of {', '.join(_READERS)}, not {library!r}")
    for name in [library] if library else _READERS:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError(f"mleprep.load needs {library or ' or '.join(_READERS)}: pip install {library or 'pandas'}")
