"""Rewrites messages of the program, so that they name parameters and functions of this package."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, overload

from mleprep import _html, _options

# A command in backticks, or an option with or without quotes and a value: `--set NAME`, '--set <NAME>', --partial=no.
_MENTION = re.compile(
    r"`prep (?P<command>[a-z][^`]*)`|"
    r"(?<![\w/.-])(?P<quote>[`'])?(?P<option>--[a-z][a-z-]*)"
    r"(?P<value>\[?[= ]?<[^>]*>\]?|=[^\s,;`']+| [A-Z]{2,}\b| [A-Z]/\d+| [/.~][^\s,;`']*)?(?(quote)[`'])"
)
# Messages about the order of arguments, which differs from the order of the functions' parameters.
_PHRASES = {"write its id first: ": "name the competition: "}
_NAMES = re.compile(r"[A-Z]{2,}|<yes.*")
#: Reasons why steps run, in the words of `prep plan`. Braces contain names of the reason's members.
_REASONS = {
    "first_run": "first run",
    "failed": "it failed: {message}",
    "result_missing": "its result is no longer in the cache",
    "output_missing": "its result is no longer in the cache, and another step needs it",
    "unstored": "its result was kept in memory only, and another step needs it",
    "input_pending": "depends on the result of `{waits_for}`",
    "not_current": "the data directory differs from the results of the steps: {difference}",
    "unread": "not read yet, {bytes}",
    "changed": "{changes}",
}


@overload
def translated(text: str) -> str: ...
@overload
def translated(text: None) -> None: ...
def translated(text: str | None) -> str | None:
    """Returns a message with `source` instead of `--source`, and `mleprep.run("ID")` instead of `prep run ID`."""
    if text is None:
        return None
    for phrase, replacement in _PHRASES.items():
        text = text.replace(phrase, replacement)
    return _MENTION.sub(_replacement, text)


def reason(record: Mapping[str, Any]) -> str | None:
    """Returns a reason of the program's JSON in words. Returns a reason that this package does not know unchanged."""
    kind = record.get("reason")
    shown = dict(record)
    for name, function in (("message", _first_line), ("bytes", _html.size), ("changes", _changes)):
        if name in shown:
            shown[name] = function(shown[name])
    return translated(_REASONS.get(kind, kind).format_map(shown)) if kind else None


def _first_line(message: str) -> str:
    return re.sub(r" \(os error \d+\)", "", message.split("\n", 1)[0])


def _changes(changes: list[dict[str, Any]]) -> str:
    """Returns the changed fields of a step with the names that a pipeline uses."""
    texts = []
    for one in changes:
        name = re.sub(r"^inputs\.(.*)", r"input `\1`", one["field"].removeprefix("params."))
        verb = "was added" if one["old"] is None else "was removed" if one["new"] is None else "changed"
        text = f"{'kind of step' if name == 'step' else name} {verb}"
        texts.append("this version of prep implements the step differently" if name == "version" else text)
    return ", ".join(texts)


def _replacement(found: re.Match[str]) -> str:
    if found["command"]:
        return f"`{_call(found['command']) or 'prep ' + found['command']}`"
    option, value = found["option"], (found["value"] or "").lstrip("[= ")
    if option in _options.REPLACED:
        text = _options.REPLACED[option]
        return text if "`" in text else f"`{text}`"
    tables = [table for table in _options.VERBS.values() if _key(option) in table]
    if tables:
        return f"`{_assignment(option, value, tables[0])}`"
    return f"`{_key(option)}`" if _key(option) in _options.POSITIONAL else found[0]


def _key(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _assignment(option: str, value: str, table: Mapping[str, Any]) -> str:
    """Returns `name="value"`, `name=True` for an option without a value, or the name if the value is `<PLACEHOLDER>`."""
    name = _key(option)
    takes_bool = "bool" in str(table[name].__origin__)
    if takes_bool and (not value or value in ("yes", "no") or _NAMES.fullmatch(value)):
        return f"{name}={value != 'no'}"
    return name if not value or "<" in value else f'{name}="{value}"'


def _call(command: str) -> str | None:
    """Returns a call of this package for a command of the program. Returns None if there is no such function."""
    verb, *words = shlex.split(command)
    for option in ("--list", "--check-rules"):
        if verb == "fetch" and option in words:
            words.remove(option)
            verb += _key(option).join(("_", ""))
    table = _options.VERBS.get(verb)
    if table is None:
        return None
    ids, arguments = [], []
    while words:
        word = words.pop(0)
        option, _, value = word.partition("=")
        if not word.startswith("-"):
            ids.append(f'"{word}"')
        elif _key(option) not in table:
            return None
        else:
            if not value and "bool" not in str(table[_key(option)].__origin__) and words:
                value = words.pop(0)
            arguments.append(_assignment(option, value or "yes", table))
    if verb in ("grade", "validate"):
        ids.reverse()
    return f"mleprep.{verb}({', '.join(ids + arguments)})"
