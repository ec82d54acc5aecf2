"""Reads and writes files of checksums: YAML with at most two levels, in the benchmark's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_checksums(path: Path) -> dict[str, Any]:
    """Returns `{"zip": md5, "public": {name: md5}, "private": {name: md5}}`."""
    sums: dict[str, Any] = {}
    section: dict[str, str] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, value = line.rpartition(":")
        if not separator:
            raise ValueError(f"{path}:{number}: expected `name: md5`, found `{line}`.")
        key, value = (part.strip().strip("'\"") for part in (key, value))
        if line[0].isspace():
            if section is None:
                raise ValueError(f"{path}:{number}: `{key}` is in no section.")
            section[key] = value
        elif value in ("", "{}"):
            section = sums.setdefault(key, {})
        else:
            sums[key] = value
    return sums


def write_checksums(path: Path, sums: dict[str, Any]) -> None:
    lines = []
    for key, value in sorted(sums.items()):
        if not isinstance(value, dict):
            lines.append(f"{key}: {value}")
        elif not value:
            lines.append(f"{key}: {{}}")
        else:
            lines.append(f"{key}:")
            lines.extend(f"  {name}: {md5}" for name, md5 in sorted(value.items()))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
