"""Formats results as small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns an HTML table. Escapes the cells, so that nothing in them is treated as markup."""
    head = "".join(f"<th style='text-align:left'>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(shown(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(value: object) -> str:
    """Formats a value: an empty text for None, and several values separated by commas."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.5g}"
        case list() | tuple():
            return ", ".join(shown(one) for one in value)
    return str(value)


def size(count: int | None) -> str:
    """Formats a number of bytes like the program, in decimal units: `12.3 MB`."""
    if count is None:
        return ""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 999.5 or unit == "TB":
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit always returns")
