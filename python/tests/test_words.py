"""Tests that the messages of the program that Python shows do not name options or commands of the command line."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from mleprep import _options, _words

# No function calls these verbs, so no exception has their messages.
OTHER_VERBS = {"cache", "config", "demo", "doctor", "pack", "pipeline", "remote", "remove", "seal", "serve", "verify_report"}
# These sources contain the help, or texts of files that the program writes.
OTHER_FILES = {"args.rs", "jobs.rs", "lock.rs", "overview.rs", "replaced.txt", "tests.rs"}
# Messages of modes that no function uses, and a message about the option of another program.
UNUSED = {
    "  x; `--json` lists all\n",
    "--replace installs the pack in place of the installed one",
    "write a report with --output DIR, or print a report with --json",
    "--for and --mount-public need --layout harbor",
    "the answers of x in `tests` are not encrypted; --for seals them",
    "raise the hard limit of open files: `ulimit -n` as root, `LimitNOFILE` of systemd, or `--ulimit nofile` of Docker",
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z]")


def is_message(text: str) -> bool:
    is_help = "Examples:" in text or "[OPTIONS]" in text or text.startswith("\n\n")
    return len(text.split()) > 2 and not is_help and bool(OPTION.search(text) or "`prep " in text)


def literals(path: Path) -> set[str]:
    """Returns the messages in a source that name options or commands, with `x` in place of values."""
    code = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    code = re.sub(r"^\s*//.*", "", code, flags=re.MULTILINE)
    texts = (re.sub(r"\\\n\s*", "", text).replace('\\"', '"').replace("\\n", "\n") for text in LITERAL.findall(code))
    texts = (re.sub(r"\{[^{}]*\}", "x", text.replace("{verb}", "grade").replace("--{option}", "--output")) for text in texts)
    return {text for text in texts if is_message(text)}


def messages() -> list[str]:
    """Returns the messages that functions of the package can show, from all sources of the program."""
    files = [path for place in ("engine", "cache", "splits") for path in (ROOT / place).rglob("src/**/*.rs")]
    is_other = {path for path in files if path.name in OTHER_FILES or {*path.with_suffix("").parts} & OTHER_VERBS}
    found = set().union(*map(literals, {*files} - is_other))
    assert found > UNUSED and len(found) > 60
    return sorted(found - UNUSED)


@pytest.mark.parametrize("text", messages())
def test_messages_name_neither_options_nor_commands(text: str) -> None:
    shown = _words.translated(text)
    commands = re.findall(r"the shell command `prep ([^`]*)`", shown)
    for command in commands:
        # These commands have no function.
        assert command.split()[0] in {*OTHER_VERBS, "--version"} - _options.VERBS.keys(), shown
    rest = re.sub(r"the shell command `[^`]*`", "", shown)
    assert not OPTION.search(rest) and "`prep " not in rest, shown


@pytest.mark.parametrize(("text", "expected"), [
    ("write `--groups a.csv`", 'write `groups="a.csv"`'),
    ("name the reports with --grading NAME=REPORT.json", "name the reports with `grading`"),
])  # fmt: skip
def test_values_of_options_are_arguments(text: str, expected: str) -> None:
    assert _words.translated(text) == expected


@pytest.mark.parametrize("words", ["run x --locked --unit 1/2", "run --nothing", "grade a b --score 1", "list --set"])
def test_messages_of_the_parser(words: str) -> None:
    command = [os.environ["PREP_BINARY"], *words.split()]
    shown = _words.translated(subprocess.run(command, capture_output=True, text=True).stderr)
    # Other options may appear in `shown`: the package never passes unknown options, and does not show the usage.
    known = [f"--{name.replace('_', '-')}" for table in _options.VERBS.values() for name in table]
    assert shown and not [one for one in known if re.search(rf"{one}\b", shown)], shown
