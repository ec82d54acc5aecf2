"""Rewrites messages of the program, so that they name parameters and functions of this package."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, overload

from mleprep import _options

# A command in backticks, or an option with or without quotes and a value: `--set NAME`, '--set <NAME>', --partial=no.
_MENTION = re.compile(
    r"`prep (?P<command>[a-z-][^`]*)`|"
    r"(?<![\w/.-])(?P<quote>[`'])?(?P<option>--[a-z][a-z-]*)"
    r"(?P<value>\[?[= ]?<[^>]*>\]?|=[^\s,;`']+| [A-Z]+=[A-Z][\w.]*| [A-Z]{2,}\b| [A-Z]/\d+| [/.~][^\s,;`']*|"
    r"(?(quote) [^`']+|(?!)))?(?(quote)[`'])"
)
# Phrases of the command line, and their replacements. They are about the order of arguments, about forms of a command
# that are separate functions here, and about keys of a terminal.
_PHRASES = {
    "write its id first: ": "name the competition: ", " without --list": "", "press Ctrl-C again": "interrupt again",
    "run the command in the directory to which the paths are relative, or write": "write",
    "contains run groups; write": "contains run groups; pass their directories with `glob.glob`, which finds",
}
_NAMES = re.compile(r"[A-Z]{2,}|<yes.*")


@overload
def translated(text: str) -> str: ...
@overload
def translated(text: None) -> None: ...
def translated(text: str | None) -> str | None:
    """Returns a message with `source` instead of `--source`, and `mleprep.run("ID")` instead of `prep run ID`.

    A command without a function becomes a shell command.
    """
    if text is None:
        return None
    for phrase, replacement in _PHRASES.items():
        text = text.replace(phrase, replacement)
    return _MENTION.sub(_replacement, text)


def _replacement(found: re.Match[str]) -> str:
    if found["command"]:
        call = _call(found["command"])
        return f"`{call}`" if call else f"the shell command `prep {found['command']}`"
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
    """Returns `name="value"`, `name=True` for an option without a value, or the name for `<PLACEHOLDER>` and `NAME=VALUE`."""
    name = _key(option)
    takes_bool = "bool" in str(table[name].__origin__)
    if takes_bool and (not value or value in ("yes", "no") or _NAMES.fullmatch(value)):
        return f"{name}={value != 'no'}"
    return name if not value or "<" in value or "=" in value else f'{name}="{value}"'


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
    if "-h" in words:
        return f"help(mleprep.{verb})"
    ids, arguments = [], []
    while words:
        word = words.pop(0)
        option, _, value = word.partition("=")
        if not word.startswith("-"):
            ids.append(f'"{word}"')
        elif word in ("-o", "--output") and words:
            verb = "grade_all" if verb == "grade" and len(ids) == 1 else verb
            arguments.append(f'output="{words.pop(0)}"')
        elif _key(option) not in table:
            return None
        else:
            if not value and "bool" not in str(table[_key(option)].__origin__) and words:
                value = words.pop(0)
            arguments.append(_assignment(option, value or "yes", table))
    if verb in ("grade", "validate"):
        ids.reverse()
    return f"mleprep.{verb}({', '.join(ids + arguments)})"
