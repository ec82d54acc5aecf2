"""Translates the program's advice for users of the package.

The program's help names options of `prep`, which the command `mlebench` does not have. Complete commands, such as
`prep cache verify`, also work for users of `mlebench`.
"""

from __future__ import annotations

import re

# Options that `mlebench prepare` has with the same meaning.
SAME_OPTIONS = frozenset({"--data-dir", "--skip-verification"})

# For each option of the program, the action that users of the package can take instead. None if there is no such action.
INSTEAD: dict[str, str | None] = {
    "--answers": None,
    "--available": None,
    "--cache-dir": "set PREP_CACHE_DIR to a directory on the file system of the data directory",
    "--discard-bundle": None,
    "--expand-archives": None,
    "--forget-options": None,
    "--from-cache": None,
    "--identity": None,
    "--locked": None,
    "--memory": "raise `memory` in prep.toml",
    "--no-download": None,
    "--pipelines": "set PREP_PIPELINES to a directory that contains ID/pipeline.yaml",
    "--remote": "set `url` in `[remote]` of prep.toml",
    "--remove-unpublished": "move the files elsewhere",
    "--replace": None,
    "--set": None,
    "--skip-bundle-verification": "--skip-verification accepts the bundle and the outputs, whatever their checksums are",
    "--source": "put the bundle at ID/ID.zip in the data directory",
    "--unseal": "delete ID/private.age in the data directory to write the plain answers again",
}

# The indentation and the marker of a line that suggests actions.
_HELP = re.compile(r"(?P<marker> *help: )(?P<actions>.*)")
_ALTERNATIVE = "; or "


def translate(line: str) -> str | None:
    """Returns a line of the program's messages for users of the package. None if the line is useless to these users.

    Omits parts that name options of the program. An error or a warning keeps its message even if the message names
    options.
    """
    found = _HELP.fullmatch(line)
    if found is None:
        parts = [part for part in line.split("; ") if SAME_OPTIONS.issuperset(options_in(part))]
        return "; ".join(parts) or (line if line.startswith(("error", "warning")) else None)
    actions = [_action(one) for one in found["actions"].split(_ALTERNATIVE)]
    kept = list(dict.fromkeys(one for one in actions if one is not None))
    return found["marker"] + _ALTERNATIVE.join(kept) if kept else None


def translate_all(text: str) -> str:
    """Translates each line of a text."""
    lines = (translate(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line is not None)


def options_in(text: str) -> list[str]:
    """Returns the options in a text, except options of complete commands in backticks."""
    return re.findall(r"--[a-z][a-z-]*", re.sub(r"`prep [^`]*`", "", text))


def _action(text: str) -> str | None:
    for option in options_in(text):
        if option not in SAME_OPTIONS:
            # The package has no equivalent of options that are not in the table.
            return INSTEAD.get(option)
    return text
