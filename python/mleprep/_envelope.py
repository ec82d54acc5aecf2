"""Parses the program's JSON: `{"competitions": [{"id": ...}, ...]}` and
`{"error": {"code", "message", "help", "place"}}`. No other module knows its structure.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mleprep.errors import PrepError, error_of
from mleprep.results import Competition, Failure, Grade, Plan, Prepared, Step, Validation

Record = dict[str, Any]


def records(stdout: str) -> list[Record]:
    """Returns the competitions in the program's output."""
    value = json.loads(stdout)
    found = value["competitions"] if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise ValueError("the output has no list `competitions`")
    return found


def error(code: int, stdout: str, stderr: str) -> PrepError:
    """Returns the error of a call, from its JSON output or otherwise from its messages."""
    try:
        found = json.loads(stdout)["error"]
        return error_of(code, found["message"], advice(found.get("help")), _place(found.get("place")))
    except (ValueError, KeyError, TypeError):
        pass
    message, help = _from_messages(stderr)
    return error_of(code, message or f"`prep` ended with code {code}", advice(help))


# Options of the program that stand for a value of a parameter.
_VALUES = {"--lite": 'set="lite"', "--all": 'set="all"'}
# Options that are parameters of this package's functions, with and without a value.
_PARAMETERS = {
    *("--source", "--variant", "--data-dir", "--cache-dir", "--pipelines", "--memory", "--set"),
    *("--skip-verification", "--skip-bundle-verification", "--available", "--discard-bundle"),
}


def advice(help: str | None) -> str | None:
    """Returns the help of an error with this package's parameters in place of the program's options.

    Other options are named as options of the program.
    """
    return None if help is None else re.sub(r"`[^`]*`|--[a-z][a-z-]*(?: DIR| URL)?", _parameter, help)


def _parameter(option: re.Match[str]) -> str:
    text = option[0]
    name = text.split()[0]
    if text.startswith("`"):
        # A command of the program, which also works outside of Python.
        return text
    if name in _VALUES:
        return f"`{_VALUES[name]}`"
    if name in _PARAMETERS:
        return f"`{name[2:].replace('-', '_')}`"
    return f"the option `{text}` of the program `prep`"


def _place(place: object) -> str | None:
    match place:
        case None | str():
            return place
        case {"file": file, "line": line, "column": column}:
            return f"{file}:{line}:{column}"
    return json.dumps(place)


def _from_messages(stderr: str) -> tuple[str | None, str | None]:
    """Parses the first error on stderr, and the help that follows it."""
    found = re.search(r"^error: (.*?)(?=^error: |^help: |\Z)", stderr, re.MULTILINE | re.DOTALL)
    if found is None:
        return stderr.strip() or None, None
    help = re.match(r"help: (.*?)(?=^error: |^help: |\Z)", stderr[found.end() :], re.MULTILINE | re.DOTALL)
    return found[1].strip(), help[1].strip() if help else None


def competition(record: Record) -> Competition:
    return Competition(
        id=record["id"],
        name=record.get("name"),
        sets=tuple(record.get("sets") or ()),
        category=record.get("category"),
        bytes=record.get("bytes"),
        state=str(record.get("state", "")),
        variants=tuple(record.get("variants") or ()),
        comparable_with_v1=record.get("comparable_with_v1"),
    )


def plan(record: Record) -> Plan:
    download = record.get("download") or {}
    steps = (
        Step(name=step["step"], kind=step["kind"], runs=_runs(step["runs"]), reason=step.get("reason"))
        for step in record.get("steps", ())
    )
    return Plan(
        id=record["id"],
        steps=tuple(steps),
        download_bytes=download.get("bytes") if isinstance(download, dict) else download,
    )


def _runs(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def prepared(record: Record) -> Prepared:
    failures = (
        Failure(
            message=failure["message"],
            step=failure.get("step"),
            kind=failure.get("failure"),
            help=advice(failure.get("help")),
        )
        for failure in record.get("failures", ())
    )
    return Prepared(
        id=record["id"],
        variant=record["variant"],
        state=record["state"],
        files=record.get("files"),
        bytes=record.get("bytes"),
        seconds=record.get("seconds", 0.0),
        steps_run=record.get("steps_run", 0),
        steps_reused=record.get("steps_reused", 0),
        checksums=record.get("checksums", ""),
        failures=tuple(failures),
    )


def validation(record: Record) -> Validation:
    return Validation(
        id=record["id"], valid=record["valid"], message=record["message"], reason=record.get("reason")
    )


def _message(reason: object) -> str | None:
    """Returns the message of the reason why there is no score. The report also has its kind, column and row."""
    match reason:
        case {"message": str(message)}:
            return message
        case None | str():
            return reason
    return json.dumps(reason)


def grade(record: Record) -> Grade:
    medals = (name for name in ("gold", "silver", "bronze") if record.get(f"{name}_medal"))
    thresholds = {
        name: record[f"{name}_threshold"]
        for name in ("gold", "silver", "bronze", "median")
        if record.get(f"{name}_threshold") is not None
    }
    return Grade(
        id=record.get("id") or record["competition_id"],
        score=record.get("score"),
        valid=bool(record.get("valid_submission")),
        reason=_message(record.get("reason")),
        medal=next(medals, None),
        above_median=bool(record.get("above_median")),
        is_lower_better=record.get("is_lower_better"),
        thresholds=thresholds,
        variant=record.get("variant"),
        comparable_with_v1=record.get("comparable_with_v1"),
        is_answers=bool(record.get("submission_is_answers")),
        report=record,
    )
