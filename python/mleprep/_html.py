"""Formats results as small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Returns an HTML table. Escapes markup in cells."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = _row("th", (name.replace("_", " ") for name in names))
    body = "".join(_row("td", (_cell(name, row.get(name)) for name in names)) for row in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


#: Maximum number of rows in a table.
MAX_ROWS = 100


def tables(*all_rows: Sequence[Mapping[str, object]]) -> str:
    """Returns a table for each sequence with rows: at most `MAX_ROWS` rows, then the number of omitted rows."""
    return "".join(
        table(rows[:MAX_ROWS]) + (note(f"and {len(rows) - MAX_ROWS} more") if len(rows) > MAX_ROWS else "")
        for rows in filter(None, all_rows)
    )


def note(text: str) -> str:
    """Returns a line below a table."""
    return f"<p><em>{escape(text)}</em></p>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(name: str, value: object) -> str:
    return size(value) if isinstance(value, int) and name.endswith("bytes") else shown(value)


def shown(value: object) -> str:
    """Formats a value: nothing for None, commas between texts, and for other sequences only the number of elements."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.10g}"
        case list() | tuple():
            is_short = all(isinstance(one, str | int | float | None) for one in value)
            return ", ".join(shown(one) for one in value) if is_short else str(len(value))
    return str(value)


def last_parts(path: Path | None) -> str | None:
    """Returns the last parts of a path, which identify a run: `.../GROUP/RUN/submission/submission.csv`."""
    if path is None or len(path.parts) <= 4:
        return None if path is None else str(path)
    return "/".join(["...", *path.parts[-4:]])


def size(count: int) -> str:
    """Formats a number of bytes like the program, in decimal units with three digits: `1.23 MB`."""
    if count < 1000:
        return f"{count} B"
    amount, *units = count / 1000, "kB", "MB", "GB", "TB"
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    digits = 2 if amount < 9.995 else 1 if amount < 99.95 else 0
    return f"{amount:.{digits}f} {units[0]}"
