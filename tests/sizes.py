#!/usr/bin/env python3
"""Print the code lines, tokens and files of each crate, without comments, empty lines and tests. Compare the extras with
their budgets.

A token is a name, a number, a character of punctuation, or a whole literal, so formatting and long messages do not count.

The crates in `engine/extras` are extras: they neither prepare, grade, verify nor explain. The exit code is 1 if an extra has
no budget or exceeds its budget. A higher budget needs a reason in the commit.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Maximum number of code lines of each extra.
BUDGETS = {
    "leaks": 8_177,
    "remote": 3_241,
    "report": 2_712,
    "draft": 2_854,
    "serve": 1_395,
    "trust": 830,
    "experiments": 1_073,
    "mcp": 501,
}
LITERAL_OR_COMMENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<literal>b?c?r(?P<hashes>\#*)".*?"(?P=hashes)|[bc]?"(?:\\.|[^"\\])*"|'(?:\\(?:x..|u\{[^}]*\}|.)|[^\\'\n])')""",
    re.DOTALL,
)
TESTS = "#[cfg(test)]"


def without_tests(code):
    """Returns the code without the items that are only compiled for tests."""
    kept = []
    while TESTS in code:
        before, _, rest = code.partition(TESTS)
        kept.append(before)
        depth = 0
        for end, character in enumerate(rest):
            depth += (character == "{") - (character == "}")
            if depth == 0 and character in "};":
                break
        code = rest[end + 1 :]
    return "".join([*kept, code])


def main():
    lines, tokens, files = Counter(), Counter(), Counter()
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.split():
        crate, is_source, _ = path.partition("/src/")
        if not is_source or crate.startswith("tests/"):
            continue
        code = (ROOT / path).read_text(encoding="utf-8")
        code = without_tests(LITERAL_OR_COMMENT.sub(lambda found: "L" if found["literal"] else "", code))
        name = Path(crate).name
        lines[name] += sum(1 for line in code.splitlines() if line.strip())
        tokens[name] += len(re.findall(r"\w+|[^\w\s]", code))
        files[name] += 1
    print(f"{'crate':12}{'code lines':>12}{'tokens':>12}{'files':>8}{'budget':>10}")
    for name, count in tokens.most_common():
        print(f"{name:12}{lines[name]:12,}{count:12,}{files[name]:8,}{BUDGETS.get(name, ''):>10}")
    print(f"{'all':12}{lines.total():12,}{tokens.total():12,}{files.total():8,}")
    for manifest in ROOT.glob("engine/extras/*/Cargo.toml"):
        BUDGETS.setdefault(manifest.parent.name, 0)
    exceeded = [name for name, budget in BUDGETS.items() if lines[name] > budget]
    for name in exceeded:
        print(f"`{name}` has {lines[name]:,} code lines, and its budget is {BUDGETS[name]:,}")
    return bool(exceeded)


if __name__ == "__main__":
    sys.exit(main())
