"""Writes a frame for the program, including the types of its columns.

A CSV would lose the types: a reader would take the text `1` for a number, and the text `NA` for a missing cell.
engine/grade/src/table/typed.rs describes the format.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_MAX_INTEGER = 2**64


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Writes a typed frame, without its index."""
    columns: list[dict[str, Any]] = []
    contents: list[bytes] = []
    for name, place in zip(_unique(frame.columns), range(frame.shape[1])):
        kind, content = _column(frame.iloc[:, place])
        described: dict[str, Any] = {"name": name, "type": kind}
        if kind == "object":
            described["bytes"] = len(content)
        columns.append(described)
        contents.append(content)
    with open(path, "wb") as file:
        file.write(json.dumps({"rows": len(frame), "columns": columns}).encode() + b"\n")
        file.writelines(contents)


def _unique(names: Any) -> list[str]:
    """Returns the column names as text. Appends numbers to repeated names, as `read_csv` does."""
    found: list[str] = []
    for name in map(str, names):
        unique, number = name, 0
        while unique in found:
            number += 1
            unique = f"{name}.{number}"
        found.append(unique)
    return found


def _column(series: pd.Series[Any]) -> tuple[str, bytes]:
    """Returns type and content of a column."""
    if str(series.dtype) == "category":
        series = series.astype(series.cat.categories.dtype)
    dtype: Any = series.dtype
    # Columns of extension types, for example nullable integers, have no NumPy type if cells are missing.
    kind = getattr(dtype, "kind", "O") if not _is_extension(dtype) or not series.isna().any() else "O"
    if kind == "b":
        return "bool", series.to_numpy(dtype="bool").tobytes()
    for letter, target, code in (("i", "int64", "<i8"), ("u", "uint64", "<u8"), ("f", "float64", "<f8")):
        if kind == letter:
            return target, series.to_numpy(dtype=target).astype(code).tobytes()
    cells = [_cell(value) for value in series.astype(object)]
    if _exceeds_integers(series):
        # The benchmark's pandas reads integers above 64 bits as text, while pandas 3 reads integers of any length.
        cells = [str(cell) if isinstance(cell, int) else None for cell in series.astype(object)]
    return "object", json.dumps(cells).encode()


def _exceeds_integers(series: pd.Series[Any]) -> bool:
    """Whether the column contains Python integers above 64 bits, which only `read_csv` of pandas 3 creates."""
    import pandas as pd

    if int(pd.__version__.split(".")[0]) < 3:
        return False
    present = [value for value in series.astype(object) if isinstance(value, int) or not pd.isna(value)]
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in present)
    return whole and any(not -_MAX_INTEGER // 2 <= value < _MAX_INTEGER for value in present)


def _is_extension(dtype: Any) -> bool:
    from pandas.api.types import is_extension_array_dtype

    return bool(is_extension_array_dtype(dtype))


def _cell(value: Any) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(value, str):
        # An unpaired surrogate is not a valid character.
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        whole = int(value)
        return whole if -_MAX_INTEGER // 2 <= whole < _MAX_INTEGER else _number(float(whole))
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    if value is None or (np.ndim(value) == 0 and pd.isna(value)):
        return None
    return str(value)


def _number(value: float) -> Any:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else {"float": "inf" if value > 0 else "-inf"}
