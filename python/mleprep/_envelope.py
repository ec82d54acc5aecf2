"""Converts the program's JSON to records. The JSON is `{"competitions": [{"id": ...}, ...]}`, or
`{"error": {"code", "message", "help", "place"}}` if the entire command failed.

A value whose type differs from the declared type of the record's field is an error.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import signal
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from mleprep import _words
from mleprep.errors import InternalError, PrepError, error_of
from mleprep.parts import Failure, Json
from mleprep.results import Results


def document(stdout: str) -> Json:
    """Parses the output of a call. Returns an empty object if it is not a JSON object."""
    try:
        value = json.loads(stdout)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def results(kind: Any, found: Json, members: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Returns the results in the output of a call. `kind` is a type of `Results`, or of a record for one result.

    Adds `members` to each of the program's objects.
    """
    entries = found.get("competitions", found.get("experiments"))
    if not isinstance(entries, list):
        raise unexpected("competitions", list, entries)
    # A record of `run` has the failures of its competition. Other records have no failures.
    failed = [{**entry, **entry["error"]} for entry in entries if is_failed(entry)]
    failed += [{"id": entry["id"], **one} for entry in entries for one in entry.get("failures", ())]
    rows = [{**entry, **members} for entry in entries if not is_failed(entry)]
    group = typing.get_origin(kind) or kind
    if not issubclass(group, Results):
        return decoded(kind, rows[0], "competitions") if rows else None
    row = typing.get_args(kind if group is Results else group.__orig_bases__[0])[0]
    made = group((decoded(row, one, "competitions") for one in rows), row)
    for name, type_ in _types(group).items():
        if name in found:
            setattr(made, name, decoded(type_, found[name], name))
    made.json = found
    made.failed = decoded(Sequence[Failure], failed, "error")
    return made


def is_failed(entry: Json) -> bool:
    """Whether an entry is the error of a competition instead of its record."""
    return "error" in entry and entry.keys() <= {"id", "error", "submission_path"}


@functools.cache
def _types(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def decoded(kind: Any, value: Any, place: str) -> Any:
    """Converts a JSON value to a type. Raises `InternalError` if the value does not have this type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or (origin is Literal and isinstance(value, str)):
        return value
    if origin in (types.UnionType, typing.Union):
        [inner] = (one for one in arguments if one is not type(None))
        return None if value is None else decoded(inner, value, place)
    if origin is Sequence and isinstance(value, list):
        return tuple(decoded(arguments[0], one, place) for one in value)
    if origin is dict and isinstance(value, dict):
        return {name: decoded(arguments[1], one, f"{place}.{name}") for name, one in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value, place)
    if kind is Path and isinstance(value, str | Path):
        return Path(os.path.abspath(value))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise unexpected(place, kind, value)
    return value


def _record(kind: Any, value: Json, place: str) -> Any:
    found = {}
    for field in dataclasses.fields(kind):
        source = field.metadata.get("source", field.name)
        inner = source(value) if callable(source) else _member(value, source)
        has_default = dataclasses.MISSING is not field.default or dataclasses.MISSING is not field.default_factory
        if inner is not dataclasses.MISSING and not (inner is None and callable(source) and has_default):
            found[field.name] = decoded(_types(kind)[field.name], inner, f"{place}.{field.name}")
        elif not has_default:
            raise unexpected(f"{place}.{field.name}", _types(kind)[field.name], None)
    return kind(**found)


def _member(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name, dataclasses.MISSING)
    return value


def unexpected(place: str, kind: Any, value: object) -> InternalError:
    message = f"in the output of the program, `{place}` is {value!r:.100}, but should be of type {kind}"
    return InternalError(message, code=101, help="check that the program and the package have the same version")


def error(code: int, found: Json, stderr: str) -> PrepError:
    """Returns the error of a call, from its JSON output or its messages. Names each failure once.

    A negative code is the number of the signal that ended the program.
    """
    if code < 0:
        return _killed(-code)
    errors: list[Json] = [found["error"]] if "error" in found else []
    for entry in found.get("competitions", ()):
        inner = [*entry.get("failures", ()), *([entry["error"]] if entry.get("error") else [])]
        errors += ({"id": entry.get("id"), **one} for one in inner)
    failures = cast(Sequence[Failure], decoded(Sequence[Failure], errors or _from_messages(stderr), "error"))
    if not failures and code == 130:
        return error_of(code, "the program was stopped", "call the function again; finished steps are kept")
    if not failures:
        return error_of(code, stderr.strip() or f"`prep` ended with code {code}")
    places: dict[str, list[str]] = {}
    for one in failures:
        places.setdefault(one.message, []).extend([one.place] if one.place else [])
    if len(places) == 1:
        [(message, at)] = places.items()
        return error_of(code, message, failures[0].help, ", ".join(at) or None)
    lines = (f"{', '.join(at)}: {message}" if at else message for message, at in places.items())
    return error_of(code, "\n".join(lines), failures[0].help)


def _killed(number: int) -> PrepError:
    """Returns the error for a signal that the program did not handle."""
    name = signal.Signals(number).name if number in {*signal.Signals} else "unknown"
    message = f"the program was killed by signal {number} ({name})"
    if name == "SIGKILL":
        return error_of(6, message, "if the memory was exhausted, pass a lower limit, such as `memory=\"4GB\"`")
    return error_of(130 if name in ("SIGHUP", "SIGINT", "SIGTERM") else 101, message)


def _from_messages(stderr: str) -> list[Json]:
    """Parses the errors on stderr, and the help after each error."""
    return [{"kind": "other", "message": message, "help": help or None} for message, help in _messages("error", stderr)]


def warnings(stderr: str) -> list[str]:
    """Returns the warnings on stderr, without duplicates."""
    found = _messages("warning", stderr)
    texts = (f"{message}\nhelp: {help}" if help else message for message, help in found)
    return [_words.translated(text) for text in dict.fromkeys(texts)]


def _messages(level: str, stderr: str) -> list[tuple[str, str]]:
    found = re.findall(rf"^{level}: (.*?)(?:^ *help: (.*?))?(?=^\S|\Z)", stderr, re.MULTILINE | re.DOTALL)
    return [(message.strip(), help.strip()) for message, help in found]

