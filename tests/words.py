#!/usr/bin/env python3
"""Find words and patterns that docs/style.md rules out, in docs, comments, help and messages.

    tests/words.py              all files that git tracks
    tests/words.py PATH...      only files below these paths
    tests/words.py --count      a table: the number of findings per directory and rule

Prints `path:line: text: suggestion` for each finding. The exit code is 1 if there are findings.

The script checks Markdown without code, and comments in Rust, Python, shell, TOML and YAML. In Rust and Python, it also
checks string literals of at least three words, which are messages and help. It never checks `` `code` ``.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

# A rule: its name, a pattern, what to write in its place. A space in a pattern also matches a line break.
RULES = [
    ("anew", r"\banew\b|\bover again\b|\bafresh\b", "again"),
    ("beside", r"\bbeside\b", "next to, besides, in addition to"),
    ("tells", r"\btells?\b|\btold\b", "shows, reports, returns, distinguishes"),
    ("says", r"\bsays?\b|\bsaid\b", "shows, reports, states, returns"),
    ("asked", r"\basked\b", "requested"),
    ("held against", r"\b(holds?|held|holding)\b[^.;:]{0,40} against\b|\b(is|are|was|were) held to\b", "compares with, checks against"),
    ("vouch", r"\bvouch", "verifies"),
    ("taken for", r"\b(is|are|was|were|be|been) taken for\b|\bcounts? as\b", "is treated as"),
    ("stands", r"\bstands?\b(?! for|-)|\bstood\b", "is, is written"),
    ("lies", r"\blies\b|\blie\b|\blain\b", "is, is stored"),
    ("blank", r"\bblanks?\b(?! lines?\b)", "space, empty"),
    ("torn", r"\btorn\b", "partially written, truncated"),
    ("so many", r"\bso (many|much)\b(?! (\w+ )?that\b)", "the number of, N; the amount of"),
    ("is no", r"(?<![Tt]here\s)\b(is|are|was|were) no (?!longer\b|more than\b)\w+", "is not a"),
    ("is none", r"\b(where|when|that) there (is|are|was|were) none\b", "there are no"),
    ("way out", r"\bway out\b", "help, suggestion"),
    ("filler", r"\bfor so long\b|\bby and by\b|\bmeanwhile\b|\ball the same\b", "while ...; eventually; anyway; nothing"),
    ("settle", r"\bsettle[sd]?\b|\bspent\b|\bmisfits?\b|\bspades?\b|\b(un)?bur(y|ied|ies)\b|\bglances?\b", "a plain word"),
    ("a look", r"\b(an?|the|this|each|every|first|second|quick) looks?\b(?! (for|up|like)\b)", "check"),
    ("put right", r"\b(puts?|made|makes?) (right|good)\b", "restores, repairs"),
    ("whole", r"\bwhole numbers?\b|\bas a whole\b|\bas wholes\b", "integer; entirely"),
    ("share", r"\b(an?|the|its|their|small|large|largest|equal) shares?\b(?! of memory\b)", "fraction"),
    ("refused", r"\b(is|are|was|were|be|been|being|gets?) refused\b|\brefusals?\b", "is an error, is rejected"),
    ("folder", r"\bfolders?\b", "directory"),
    ("the machine", r"\b(reasons? of|by|because of) the machine\b", "the system: disk full, permission denied"),
    ("riddle", r"\b(What|Whatever|Who|Whoever|Whom|Whose|Whichever)\b(?![^.!?]{0,200}\?)", "name the thing; actor, verb, object"),
    ("riddle", r"\b(One|Those|That) (that|which|who)\b|\b(That|Those) of\b|\bOf (an?|the|all|each|every|one|those|others)\b", "name the thing"),
    ("riddle", r"\bwhat (is|was|are|were) (there|wanted|meant|left|here|had|needed|read|made|written)\b|\bwhat there (is|was)\b", "name the thing"),
    ("riddle", r"[:;] (who|what|whoever|whatever)\b(?![^.!?]{0,200}\?)|\b(?i:whoever)\b|\bwhom\b", "name the thing"),
    ("wanted", r"\bwants\b|\b(is|are|was|were|be) wanted\b", "needs, requested"),
    ("archaic", r"\bthere(of|in|upon|with|by)\b|\b(to|can|cannot|could) be had\b|\bnothing but (the|their|its|an?|one|what)\b|\bnone but\b|\bsave for\b", "a plain word"),
]

RULES = [(name, re.compile(pattern.replace(" ", r"\s+")), suggestion) for name, pattern, suggestion in RULES]

# Places where a word is right. A place: a pattern for the path, a pattern for the text, the reason.
ALLOWED = [
    (r"", r"one of blanks, single_blanks", "values of a key"),
    (r"", r"HOW: beside, instead", "values of an option"),
    (r"^docs/style\.md$|^tests/words\.py$", r".", "the lists of these words"),
    (r"exact_match\.rs$", r"if there \\? ?is no correct answer", "no answer is correct"),
]

CHECKED = (".md", ".rs", ".py", ".sh", ".toml", ".yaml", ".yml", ".ci/run")
# Recorded output, data, and texts that are published with a competition.
SKIPPED = re.compile(
    r"^(tests/cases/|tests/end_to_end/(transcripts|kinds/[^/]+/(bundle|expected))/|engine/spec/tests/diagnostics/"
    r"|pipelines/[^/]+/description\.md|tests/end_to_end/.*/description\.md|Cargo\.lock)|/tests/data/(?!.*\.py$)"
)
RUST = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)|(?P<raw>(?:b|c)?r(?P<hash>\#*)"(?:.|\n)*?"(?P=hash))"""
    r"""|(?P<string>(?:b|c)?"(?:\\.|\\\n|[^"\\])*")|b?'(?:\\[^\n]+?|[^'\\\n])'""",
    re.S | re.X,
)
HASH = re.compile(r"(?:^|(?<=\s))(?P<comment>\#(?!!)[^\n]*)(?P<raw>\b\B)?(?P<string>\b\B)?", re.M | re.X)


def keep_lines(match):
    """Replaces code by a placeholder and keeps its line breaks."""
    return "_" + "\n" * match.group(0).count("\n")


def markdown(text):
    text = re.sub(r"^( *)(```|~~~).*?^\1\2 *$", keep_lines, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", keep_lines, text, flags=re.S)
    return re.sub(r"\]\([^)]*\)", keep_lines, text)


def pieces(path, text):
    """Yields (line, whether it is a comment, text) of each comment and each string."""
    if path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield token.start[0], token.type == tokenize.COMMENT, token.string
        return
    for match in (RUST if path.endswith(".rs") else HASH).finditer(text):
        if found := match.group("comment") or match.group("raw") or match.group("string"):
            yield text.count("\n", 0, match.start()) + 1, match.group("comment") is not None, found


def passages(path, text):
    """Yields (first line, text) of each piece of prose; a run of line comments is one piece."""
    if path.endswith(".md"):
        yield 1, markdown(text)
        return
    run, first, last = [], 0, 0
    for line, is_comment, found in pieces(path, text):
        if is_comment:
            body = re.sub(r"^(//[/!]?|/\*+|#+)", "", found).removesuffix("*/")
            if run and line == last + 1 and "\n" not in found:
                run.append(body)
            else:
                if run:
                    yield first, markdown("\n".join(run))
                run, first = [body], line
            last = line
        elif len(found.split()) >= 3 and not re.search(r"\b(SELECT|FROM|JOIN)\b", found):
            yield line, re.sub(r"\\n|\{[^{}]*\}", "  ", found)
    if run:
        yield first, markdown("\n".join(run))


def findings(path):
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    for first, passage in passages(path, text):
        passage = re.sub(r"`[^`]*`", keep_lines, passage)
        for name, pattern, suggestion in RULES:
            for match in pattern.finditer(passage):
                found = " ".join(match.group(0).split())
                around = " ".join(passage[max(0, match.start() - 60) : match.end() + 40].split())
                if any(re.search(p, path) and re.search(t, around) for p, t, _ in ALLOWED):
                    continue
                yield first + passage.count("\n", 0, match.start()), name, found, suggestion, around


def place(path):
    parts = path.split("/")
    return parts[0] if len(parts) == 1 or parts[0] in ("pipelines", "docs") and parts[1] != "reference" else "/".join(parts[:2])


def main(arguments):
    table = "--count" in arguments
    paths = [argument for argument in arguments if not argument.startswith("--")]
    files = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True).stdout.split("\n")
    counts, total = {}, 0
    for path in files:
        if not path.endswith(CHECKED) or SKIPPED.search(path) or not Path(path).is_file():
            continue
        for line, name, found, suggestion, around in findings(path):
            total += 1
            counts.setdefault(place(path), Counter())[name] += 1
            if not table:
                print(f"{path}:{line}: `{found}`: {suggestion}\n    ... {around} ...")
    if table:
        for where, rules in sorted(counts.items(), key=lambda entry: -entry[1].total()):
            print(f"{rules.total():6} {where:24} " + ", ".join(f"{name} {n}" for name, n in rules.most_common()))
    print(f"{total} findings", file=sys.stderr)
    return total > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
