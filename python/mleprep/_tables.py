"""Reads the public tables of a prepared competition as frames of pandas or polars, and as arrays of numpy."""

from __future__ import annotations

import bz2
import difflib
import gzip
import importlib.util
import json
import lzma
import mimetypes
import os
import re
import typing
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal

from mleprep import _html, _options, parts
from mleprep.errors import InputError

# The type is `Any`, because the results of these functions have no common type.
_COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ALL_ROWS = {"infer_schema_length": None}
#: For each library: suffix of a file -> the function that reads such a file, and its options.
_READERS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "pandas": {
        ".csv": ("read_csv", {"low_memory": False}),
        ".tsv": ("read_csv", {"low_memory": False, "sep": "\t"}),
        # Not `read_json`, because it converts columns with certain names to dates.
        ".json": ("DataFrame", {}),
        ".jsonl": ("DataFrame", {}),
        ".parquet": ("read_parquet", {}),
    },
    "polars": {
        ".csv": ("read_csv", _ALL_ROWS),
        ".tsv": ("read_csv", _ALL_ROWS | {"separator": "\t"}),
        ".json": ("DataFrame", _ALL_ROWS),
        ".jsonl": ("read_ndjson", _ALL_ROWS),
        ".parquet": ("read_parquet", {}),
    },
}
_ARRAYS = (".npy", ".npz")
_ARCHIVE = re.compile(r"\.(7z|rar|tar|tgz|zip)\b")
#: Number of names of tables in a `repr`.
_SHOWN_NAMES = 10


class Tables(Mapping[str, Any]):
    """The tables of a directory by name: `train` for train.csv. Reads a table at the first access."""

    def __init__(self, directory: Path, library: str | None = None) -> None:
        # Keeps the name of the module, because modules cannot be pickled.
        self._library = _imported(library, "mleprep.load").__name__
        self._readers = _READERS[self._library]
        self._directory = directory
        #: The file of each table, and the member if the file is a zip archive.
        self._places: dict[str, tuple[Path, str | None]] = {}
        #: Files without a table.
        self._others: list[str] = []
        self._read: dict[str, Any] = {}
        files = (os.path.join(parent, name) for parent, _, names in os.walk(directory) for name in names)
        shown_files = [file[len(str(directory)) + 1 :] for file in files]
        # Archives come last, so that a file gets the short name instead of its copy in an archive. Files of
        # subdirectories come after those of the directory, which are the most important ones.
        for shown in sorted(shown_files, key=lambda file: (file.endswith(".zip"), file.count("/"), file)):
            file = directory / shown
            is_table = self._add(shown, shown, file, None)
            if shown.endswith(".zip") and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    members = [self._add(name, f"{shown}/{name}", file, name) for name in archive.namelist()]
                is_table = any(members)
            if not is_table:
                self._others.append(shown)

    def _add(self, name: str, full_name: str, path: Path, member: str | None) -> bool:
        """Adds a table. Returns False if the file is not a table."""
        suffix = _suffix(name)
        is_table = (suffix in self._readers or suffix in _ARRAYS) and "__MACOSX" not in name
        if is_table:
            short = name[: name.rindex(suffix)]
            self._places[full_name if short in self._places else short] = (path, member)
        return is_table

    def __getitem__(self, name: str) -> Any:
        if name not in self._places:
            if not isinstance(name, str):
                raise TypeError(f"tables are indexed by name, not by {name!r}: {self!r}")
            raise KeyError(self._missing(name))
        if name not in self._read:
            path, member = self._places[name]
            try:
                self._read[name] = self._load(path, member)
            except (MemoryError, FileNotFoundError, PermissionError):
                raise
            except ImportError as error:
                if not (member or path.name).endswith(".parquet"):
                    raise
                hint = ', or pass `library="polars"`' if importlib.util.find_spec("polars") else ""
                raise ImportError(f"pandas needs pyarrow to read {path}: pip install pyarrow{hint}") from error
            except Exception as error:
                place = str(path) + (f", member {member}" if member else "")
                message = f"{self._library} cannot read the table `{name}`: {error}"
                help = "read the file with other options, such as another encoding, or prepare it again if it is damaged"
                raise InputError(message, code=4, help=help, place=place) from error
        return self._read[name]

    def _missing(self, name: str) -> str:
        """Returns the message for a name without a table: a file that is not read, a similar name, or the tables."""
        message = f"there is no table {name!r}"
        for file in self._others:
            base = os.path.basename(file)
            if name in (file, base) or file.startswith(f"{name}.") or base.startswith(f"{name}."):
                content = _ARCHIVE.sub("", file)
                is_text = (mimetypes.guess_type(content)[0] or "").startswith("text/") and _suffix(content) not in self._readers
                kind = ", which is text" if is_text else ""
                hint = "; `run` with `expand_archives=True` unpacks it" if content != file else ""
                return f"{message}, because `load` does not read {self._directory / file}{kind}{hint}"
        if near := difflib.get_close_matches(name, self, 1):
            return f"{message}; did you mean {near[0]!r}?"
        return f"{message} in {self!r}"

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
                value = _json(file, suffix == ".jsonl")
                data = _table(value, self._library)
                if data is None:
                    return value
            return getattr(importlib.import_module(self._library), function)(data, **options)
        array = importlib.import_module("numpy").load(file, allow_pickle=False)
        return array if suffix == ".npy" else dict(array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    # The method of `Mapping` would read the table.
    def __contains__(self, name: object) -> bool:
        return name in self._places

    # The comparison of mappings would read all tables and compare frames, which have no truth value.
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        names = f": {_first([*self], _SHOWN_NAMES)}" if self._places else ""
        others = f"; {self._other_files()}" if self._others else ""
        return f"Tables({len(self)}{names}{others})"

    def _other_files(self) -> str:
        """Returns the number of files that are not read, and the first of them. Shows more of them if there are no tables."""
        count = len(self._others)
        return f"{count} other file{'s' * (count != 1)}: {_first(self._others, 3 if self._places else _SHOWN_NAMES)}"

    def _repr_html_(self) -> str:
        places = self._places.items()
        rows = [
            {"table": name, "file": path.relative_to(self._directory), "member": member} for name, (path, member) in places
        ]
        if not rows:
            return _html.tables([{"file that is not read": file} for file in self._others]) or "<em>no tables</em>"
        return _html.tables(rows) + (_html.note(self._other_files()) if self._others else "")

    def _ipython_key_completions_(self) -> list[str]:
        return [*self]


def _first(names: Sequence[str], count: int) -> str:
    """Returns the first names, and `...` if there are more."""
    return ", ".join([*names[:count], *(["..."] if len(names) > count else [])])


def _json(file: IO[bytes], is_lines: bool) -> Any:
    """Returns the value of a JSON document, or a list with the values of JSON Lines, which also occur in `.json` files."""
    lines: Iterable[bytes] = file
    if not is_lines:
        content = file.read()
        try:
            return json.loads(content)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
        lines = content.splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _table(value: Any, library: str) -> Any:
    """Returns the rows or the columns of a JSON value for a frame. Returns None if the value is not a table."""
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return value
    columns = [*value.values()] if isinstance(value, dict) else []
    if columns and all(isinstance(one, list) and len(one) == len(columns[0]) for one in columns):
        has_objects = any(isinstance(cell, dict) for one in columns for cell in one)
        return None if has_objects else value
    if not columns or not all(isinstance(one, dict) for one in columns):
        return None
    keys = max(columns, key=len)
    if any(one and one.keys() != keys.keys() for one in columns):
        return None
    # pandas makes the keys of the columns its index. polars has no index, so the keys become a column.
    return value if library == "pandas" else {"index": [*keys], **{name: [one.get(key) for key in keys] for name, one in value.items()}}


def _suffix(name: str) -> str:
    """Returns the suffix without a suffix of compression: `.csv` for train.csv.gz."""
    stem, suffix = os.path.splitext(name)
    return os.path.splitext(stem)[1] if suffix in _COMPRESSED else suffix


def frame(rows: list[dict[str, Any]], columns: Mapping[str, Any], library: str | None) -> Any:
    """Returns a frame of pandas or polars. `columns` contains the names and the declared types of all columns."""
    module = _imported(library, "to_frame")
    if module.__name__ == "pandas":
        found = module.DataFrame(rows, columns=[*columns])
        # If there are rows, pandas infers the types of the columns from the values.
        types = {name: parts.required(kind) for name, kind in columns.items()}
        return found if rows else found.astype({name: kind for name, kind in types.items() if kind in (bool, int, float, str)})
    return module.DataFrame(rows, schema={name: _dtype(module, kind) for name, kind in columns.items()})


def _dtype(polars: ModuleType, kind: Any) -> Any:
    """Returns the type of polars for a declared type. Types without an equivalent become texts."""
    kind = parts.required(kind)
    if typing.get_origin(kind) is Sequence:
        return polars.List(_dtype(polars, typing.get_args(kind)[0]))
    if parts.is_part(kind):
        return polars.Struct({name: _dtype(polars, one) for name, one in parts.columns(kind).items()})
    return {bool: polars.Boolean, int: polars.Int64, float: polars.Float64}.get(kind, polars.String)


def _imported(library: str | None, function: str) -> ModuleType:
    """Returns pandas or polars for a function. Without `library`, prefers pandas."""
    _options.check_type("library", Literal["pandas", "polars"] | None, library)
    for name in [library] if library else _READERS:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError(f"{function} needs {library or ' or '.join(_READERS)}: pip install {library or 'pandas'}")
