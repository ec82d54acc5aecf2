"""Reads the public tables of a prepared competition as frames of pandas or polars, and as arrays of numpy."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import json
import lzma
import os
import typing
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal

from mleprep import _html, _options, parts

# Any, because the results of these functions have no common type.
_COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ALL_ROWS = {"infer_schema_length": None}
#: For each library: suffix of a file -> the function that reads such a file, and its options.
_READERS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "pandas": {
        ".csv": ("read_csv", {"low_memory": False}),
        ".tsv": ("read_csv", {"low_memory": False, "sep": "\t"}),
        # pandas' `read_json` converts columns to dates because of their names.
        ".json": ("DataFrame", {}),
        ".jsonl": ("DataFrame", {}),
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
    """The tables of a directory by name: `train` for train.csv. Reads a table at the first access."""

    def __init__(self, directory: Path, library: str | None = None) -> None:
        # The name, because modules cannot be pickled.
        self._library = _imported(library, "mleprep.load").__name__
        self._readers = _READERS[self._library]
        #: The file of each table, and the member if the file is a zip archive.
        self._places: dict[str, tuple[Path, str | None]] = {}
        self._read: dict[str, Any] = {}
        files = sorted(os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names)
        # Archives come last, so that a file gets the short name instead of its copy in an archive.
        for file in sorted(files, key=lambda file: file.endswith(".zip")):
            shown = file[len(str(directory)) + 1 :]
            self._add(shown, shown, Path(file), None)
            if file.endswith(".zip") and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    for name in archive.namelist():
                        self._add(name, f"{shown}/{name}", Path(file), name)

    def _add(self, name: str, full_name: str, path: Path, member: str | None) -> None:
        suffix = _suffix(name)
        if (suffix in self._readers or suffix in _ARRAYS) and "__MACOSX" not in name:
            short = name[: name.rindex(suffix)]
            self._places[full_name if short in self._places else short] = (path, member)

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
            data: Any = file
            if function == "DataFrame":
                data = [json.loads(line) for line in file] if suffix == ".jsonl" else json.load(file)
            return getattr(importlib.import_module(self._library), function)(data, **options)
        array = importlib.import_module("numpy").load(file, allow_pickle=False)
        return array if suffix == ".npy" else dict(array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    # The comparison of mappings would read all tables and compare frames, which have no truth value.
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"Tables({', '.join(self)})"

    def _repr_html_(self) -> str:
        places = self._places.items()
        return _html.table([{"table": name, "file": path.name, "member": member} for name, (path, member) in places])


def _suffix(name: str) -> str:
    """Returns the suffix without a suffix of compression: `.csv` for train.csv.gz."""
    stem, suffix = os.path.splitext(name)
    return os.path.splitext(stem)[1] if suffix in _COMPRESSED else suffix


def frame(rows: list[dict[str, Any]], columns: Mapping[str, Any], library: str | None) -> Any:
    """Returns a frame of pandas or polars. `columns` contains the names and the declared types of all columns."""
    module = _imported(library, "to_frame")
    if module.__name__ == "pandas":
        return module.DataFrame(rows, columns=[*columns])
    return module.DataFrame(rows, schema={name: _dtype(module, kind) for name, kind in columns.items()})


def _dtype(polars: ModuleType, kind: Any) -> Any:
    """Returns the type of polars for a declared type. Types without an equivalent become texts."""
    kind = parts.required(kind)
    if typing.get_origin(kind) is tuple:
        return polars.List(_dtype(polars, typing.get_args(kind)[0]))
    if isinstance(kind, type) and issubclass(kind, parts.Part):
        return polars.Struct({name: _dtype(polars, one) for name, one in parts.columns(kind).items()})
    return {bool: polars.Boolean, int: polars.Int64, float: polars.Float64}.get(kind, polars.String)


def _imported(library: str | None, function: str) -> ModuleType:
    """Returns pandas or polars for a function. Without `library`, prefers pandas."""
    _options.check_type("library", Literal["pandas", "polars"] | None, library)
    for name in [library] if library else _READERS:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError(f"{function} needs {library or ' or '.join(_READERS)}: pip install {library or 'pandas'}")
