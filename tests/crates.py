#!/usr/bin/env python3
"""Compare the table of crates in docs/architecture.md with the Cargo.toml files, and find library crates that read the
environment.

A row of the table names a crate and the crates that it depends on. All of them must be in rows below it. The exit code is
1 if anything differs.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/architecture.md"
# The crate of the program, which passes its environment on to the libraries.
PROGRAM = "cli"
# Sources that are compiled only for tests.
TEST_FILES = ("tests.rs", "attack.rs")
ENVIRONMENT = re.compile(r"\benv::(args|current_dir|home_dir|temp_dir|vars?)(_os)?\(")


def manifests():
    """Returns the names of all crates, each with the crates that it depends on, and its directory."""
    paths = [ROOT / "cache/Cargo.toml", ROOT / "splits/Cargo.toml", *sorted(ROOT.glob("engine/*/Cargo.toml"))]
    for path in paths:
        dependencies = tomllib.loads(path.read_text()).get("dependencies", {})
        used = {name.removeprefix("prep-") for name in dependencies if name.startswith("prep-")}
        yield path.parent.name, used, path.parent


def rows():
    """Returns the crates of the page's table in order, each with the crates that it depends on."""
    for line in (ROOT / PAGE).read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and re.fullmatch(r"`\w+`", cells[1]) and re.fullmatch(r"(`\w+`(, )?)*", cells[3]):
            yield cells[1].strip("`"), re.findall(r"\w+", cells[3])


def problems():
    table = list(rows())
    order = [name for name, _ in table]
    drawn = dict(table)
    crates = list(manifests())
    for name in sorted({name for name, _, _ in crates} ^ set(order)):
        yield f"`{name}` is only in one of the table and the workspace"
    for name, used, directory in crates:
        for other in sorted(used ^ set(drawn.get(name, used))):
            yield f"`{name}` depends on `{other}` only in {'its Cargo.toml' if other in used else 'the table'}"
        for other in used & set(order[: order.index(name)]) if name in order else ():
            yield f"`{name}` depends on `{other}`, which is above it"
        if name != PROGRAM:
            yield from environment(directory / "src")


def environment(directory):
    """Returns the lines of a library that read the environment, without tests and examples in comments."""
    for path in sorted(directory.rglob("*.rs")):
        code = path.read_text().partition("#[cfg(test)]\nmod tests {")[0]
        for number, line in enumerate(code.splitlines(), 1):
            if path.name not in TEST_FILES and not line.lstrip().startswith("//") and ENVIRONMENT.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: a library reads the environment"


if __name__ == "__main__":
    found = list(problems())
    for problem in found:
        print(problem)
    sys.exit(bool(found))
