"""Tests that the types of all results are those of the program's JSON, according to its schema."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mleprep
import pytest
from conftest import ROOT
from mleprep import _envelope, _options
from mleprep.parts import Failure, Part
from mleprep.results import Results

SCHEMA = json.loads((ROOT / "docs/reference/json.schema.json").read_text(encoding="utf-8"))["$defs"]
FUNCTIONS = sorted(_options.VERBS.keys() - {"path", "load"})
SCHEMA |= {"grade_all": SCHEMA["grade_list"], "grade_score": SCHEMA["grade_thresholds"]}


def returned(name: str) -> tuple[type, type]:
    """Returns the type of a function's result, and the type of its records."""
    kind = typing.get_type_hints(getattr(mleprep, name))["return"]
    group = typing.get_origin(kind) or kind
    if not issubclass(group, Results):
        return kind, kind
    return kind, typing.get_args(kind if group is Results else group.__orig_bases__[0])[0]


def alternatives(schema: Any) -> Iterator[Any]:
    """Yields the alternatives of a schema. Each one has one type."""
    if "$ref" in schema:
        yield from alternatives(SCHEMA[schema["$ref"].rsplit("/", 1)[1]])
    elif inner := schema.get("anyOf") or schema.get("oneOf"):
        for one in inner:
            yield from alternatives(one)
    elif isinstance(schema.get("type"), list):
        for one in schema["type"]:
            yield {**schema, "type": one}
    else:
        yield schema


def samples(schema: Any) -> Iterator[Any]:
    """Yields values of each type that a schema permits, with and without optional members."""
    for one in alternatives(schema):
        match one.get("type"):
            case "string":
                yield from one.get("enum", ["text"])
            case "array" if "minItems" in one:
                yield from ([value] * one["minItems"] for value in samples(one["items"]))
            case "array":
                yield []
                yield from ([value] for value in samples(one.get("items", {})))
            case "object":
                yield from objects(one)
            case kind:
                yield from {None: [{}], "null": [None], "integer": [3], "number": [1.5, 2], "boolean": [True, False]}[kind]


def objects(schema: Any) -> Iterator[Any]:
    members = {key: [*samples(one)] for key, one in schema.get("properties", {}).items()}
    full = {key: values[0] for key, values in members.items()}
    if isinstance(values := schema.get("additionalProperties"), dict):
        full |= {"key": next(samples(values))}
    yield full
    yield {key: full[key] for key in schema.get("required", ())}
    for key, values in members.items():
        yield from ({**full, key: value} for value in values[1:])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_document_of_the_schema_is_a_result(name: str) -> None:
    kind, row = returned(name)
    count = 0
    for document in objects(SCHEMA[name]):
        entries = document.get("competitions", document.get("experiments"))
        for entry in entries:
            if name == "summarize":
                entry["experiment"] = "mine"
        # Members that `_calls._call` adds to the program's JSON.
        members = {"run": {"_origin": {"data_dir": Path("data")}}, "export": {"_path": "copy"}}.get(name, {})
        found = _envelope.results(kind, document, members)
        rows = found if isinstance(found, Results) else [found] if found else []
        assert all(isinstance(one, row) for one in rows)
        count += len(rows)
    assert count > 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_type_is_broader_than_the_schema(name: str) -> None:
    kind, row = returned(name)
    document = SCHEMA[name]["properties"]
    items = (document.get("competitions") or document["experiments"])["items"]
    failed = SCHEMA["failed"]["properties"]
    check_record(row, [one for one in alternatives(items) if one["properties"] != failed])
    if issubclass(group := typing.get_origin(kind) or kind, Results):
        for key, of in typing.get_type_hints(group).items():
            if key in document:
                check_parts(of, document[key])


def check_record(row: type, entries: list[Any]) -> None:
    """Compares the fields of a record and of its parts with alternative schemas."""
    kinds = typing.get_type_hints(row)
    for field in dataclasses.fields(row):
        source = field.metadata.get("source", field.name)
        if callable(source):
            continue
        path, _, name = source.rpartition(".")
        places = entries
        for part in path.split(".") if path else ():
            places = [inner for one in places for inner in alternatives(one["properties"][part]) if "properties" in inner]
        assert any(name in entry["properties"] for entry in places), f"{field.name} is not in the schema"
        for entry in places:
            if name not in entry["properties"]:
                continue
            members = [*alternatives(entry["properties"][name])]
            is_optional = name not in entry["required"] or any(one.get("type") == "null" for one in members)
            arguments = typing.get_args(kinds[field.name])
            assert (type(None) not in arguments) or is_optional or path, f"{field.name} is never None"
            words = {word for one in members for word in one.get("enum", ()) if word is not None}
            assert words_of(kinds[field.name]) == words, field.name
            check_parts(kinds[field.name], entry["properties"][name])


def check_parts(kind: Any, schema: Any) -> None:
    """Compares the types of parts in a type with a schema. Rejects `dict[str, Any]` if the schema types the values."""
    if isinstance(kind, type) and issubclass(kind, Part) and kind is not Failure:
        check_record(kind, [one for one in alternatives(schema) if "properties" in one])
    arguments = [one for one in typing.get_args(kind) if one not in (type(None), ...)]
    if typing.get_origin(kind) is dict:
        # The parameters of a step have no common type.
        assert arguments[1] is not Any or not schema["additionalProperties"].get("type")
        check_parts(arguments[1], schema["additionalProperties"])
    elif typing.get_origin(kind) is not typing.Literal:
        for one in arguments:
            for inner in alternatives(schema):
                if inner.get("type") != "null":
                    check_parts(one, inner["items"] if typing.get_origin(kind) is Sequence else inner)


def words_of(kind: Any) -> set[str]:
    """Returns the words that a type allows. The set is empty if all texts are allowed."""
    kinds = [kind, *typing.get_args(kind)]
    return {word for one in kinds if typing.get_origin(one) is typing.Literal for word in typing.get_args(one)}


def test_kinds_of_failures_are_in_the_schema() -> None:
    enums = (SCHEMA[name]["properties"]["kind"]["enum"] for name in ("error_object", "failure"))
    assert words_of(typing.get_type_hints(Failure)["kind"]) == {word for words in enums for word in words}


def test_members_of_results_are_in_the_schema() -> None:
    for name in FUNCTIONS:
        group = typing.get_origin(returned(name)[0]) or returned(name)[0]
        if issubclass(group, Results) and group is not Results:
            own = {key for key in group.__annotations__}
            assert own <= SCHEMA[name]["properties"].keys()


def test_failures_have_the_types_of_the_schema() -> None:
    for definition in ("failure", "error_object"):
        for one in objects(SCHEMA[definition]):
            found = _envelope.decoded(Failure, one, "failure")
            assert isinstance(found.message, str) and isinstance(found.code, int)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(str, {}), (int, True), (int, 1.5), (tuple[str, ...], "text"), (float | None, "1"), (dict[str, float], {"a": "b"})],
)
def test_value_of_another_type_is_an_error(kind: Any, value: Any) -> None:
    with pytest.raises(mleprep.InternalError, match="`a` is|`a.a` is"):
        _envelope.decoded(kind, value, "a")
