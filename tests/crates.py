#!/usr/bin/env python3
"""Compare the tables of crates and of dependencies in docs/architecture.md with the Cargo.toml files, check the names in its
walk through the code, and find library crates that read the environment.

A row of the table of crates names a crate and its dependencies, which must be in lower rows. The exit code is 1 if anything
differs.
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
    paths = []
    for pattern in ("cache", "splits", "engine/*", "engine/extras/*"):
        paths.extend(sorted(ROOT.glob(f"{pattern}/Cargo.toml")))
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


def packages():
    """Returns the packages of others that the page's table of dependencies names."""
    section = (ROOT / PAGE).read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 4 and re.fullmatch(r"(`[\w-]+`(, )?)+", cells[1]):
            yield from re.findall(r"[\w-]+", cells[1])


def walk():
    """Yields a message for each name in the page's walk through the code that does not exist."""
    section = (ROOT / PAGE).read_text().partition("### A walk through the code")[2].partition("\n### ")[0]
    for path in sorted(set(re.findall(r"`(engine/[\w/.]+)`", section))):
        if not (ROOT / path).exists():
            yield f"the walk names `{path}`, which does not exist"
    for path, names in re.findall(r"^\| `([\w/.]+)` \| (.*?) \|", section, re.MULTILINE):
        code = (ROOT / path).read_text() if (ROOT / path).exists() else ""
        for name in re.findall(r"\w+", names):
            if not re.search(rf"\bfn {name}\b", code):
                yield f"the walk names `{name}`, which is not in {path}"


def problems():
    yield from walk()
    declared = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    declared = {name for name in declared if not name.startswith("prep-")}
    for name in sorted(declared ^ set(packages())):
        yield f"the dependency `{name}` is only in one of the table and Cargo.toml"
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
