"""Generates upstream's files of each competition from the output of `prep pipeline show --json`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

# The functions of a competition: name, imports, parameters, parameter names, result type.
FUNCTIONS = [
    ("grade", "from typing import Any", "submission: Any, answers: Any", "submission, answers", "float"),
    ("prepare", "from pathlib import Path", "raw: Path, public: Path, private: Path", "raw, public, private", "Path"),
]


def replace(path: Path, text: str) -> None:
    """Replaces a file atomically, because other processes may be reading it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def write(directory: Path, definitions: dict[str, Any]) -> None:
    """Writes a directory per competition, the lists of competitions, and finally the index.

    Removes competitions that an earlier index names but that the program no longer contains.
    """
    for name in set(_indexed(directory)) - {one["id"] for one in definitions["competitions"]}:
        shutil.rmtree(directory / name, ignore_errors=True)
    for name, text in rendered(definitions).items():
        replace(directory / name, text)


def _indexed(directory: Path) -> list[str]:
    try:
        return list(json.loads((directory / "index.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return []


def rendered(definitions: dict[str, Any]) -> dict[str, str]:
    """Returns all files by path. The index comes last, so a reader that finds the index finds all other files."""
    # Leaves out competitions that upstream's registry lacks: those without grading, and those of packs (`PACK/ID`).
    listed = (one for one in definitions["competitions"] if "answers" in one and "/" not in one["id"])
    competitions = {one["id"]: one for one in listed}
    texts = {
        f"{name}/{file}": text for name, facts in competitions.items() for file, text in _files(name, facts).items()
    }
    texts |= {f"splits/{name}.txt": "\n".join(ids) for name, ids in definitions["lists"].items()}
    return texts | {"index.json": json.dumps({name: {} for name in competitions}) + "\n"}


def _files(name: str, facts: dict[str, Any]) -> dict[str, str]:
    files = {
        "leaderboard.csv": facts["leaderboard"],
        "description.md": facts["description"],
        "checksums.yaml": _checksums(facts["checksums"]),
        "config.yaml": _config(name, facts),
    }
    for function, imports, parameters, names, result in FUNCTIONS:
        files[f"{function}.py"] = (
            f'"""The program `prep` does the work; see mleprep._mlebench.competition."""\n\n{imports}\n\n'
            f"from mleprep._mlebench import competition\n\nID = {json.dumps(name, ensure_ascii=False)}\n\n\n"
            f"@competition.by_program(ID)\n"
            f"def {function}({parameters}) -> {result}:\n"
            f"    return competition.{function}(ID, {names})\n"
        )
    return files


def _config(name: str, facts: dict[str, Any]) -> str:
    gold = ""
    if facts["gold_submission"] != facts["answers"]:
        gold = f"  gold_submission: {name}/prepared/{facts['gold_submission']}\n"
    return (
        f"id: {name}\nname: {json.dumps(facts['name'], ensure_ascii=False)}\n"
        f"competition_type: {facts['competition_type']}\n"
        f"description: mlebench/competitions/{name}/description.md\n\n"
        f"dataset:\n  answers: {name}/prepared/{facts['answers']}\n"
        f"  sample_submission: {name}/prepared/{facts['sample_submission']}\n{gold}\n"
        f"grader:\n  name: {facts['metric']}\n  grade_fn: mlebench.competitions.{name}.grade:grade\n\n"
        f"preparer: mlebench.competitions.{name}.prepare:prepare\n"
    )


def _checksums(sums: dict[str, Any]) -> str:
    """Returns the published checksums as YAML, in upstream's format."""
    text = ""
    for section in ("private", "public"):
        files = sums.get(section) or {}
        text += f"{section}:\n" if files else f"{section}: {{}}\n"
        text += "".join(f"  {name}: {files[name]}\n" for name in sorted(files))
    if "bundle" in sums:
        text += f"zip: {sums['bundle']}\n"
    return text
