"""Measures time and memory of `prep grade` with hostile submissions of 1, 10 and 100 KB, for all recorded competitions.

    python grading.py PREP [--only TEXT] [--sizes 1000,10000,100000]

Prepares the recorded competitions (`tests/cases`) in a temporary directory. Replaces cells, rows and columns of each sample
submission, and grades the changed file.

Prints each run that ends by a signal or a panic, or uses more than 1 GB of memory or 30 s of processor time.
"""

import argparse
import csv
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_SECONDS, MAX_KILOBYTES = 30, 1_000_000
ROOT = Path(__file__).resolve().parents[2]

# The peak memory of a process includes the memory of its parent before `exec`. So a small process starts `prep`.
MEASURE = """
import os, resource, subprocess, sys
limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def fill(text, size):
    return text * max(1, size // max(1, len(text)))


def count_up(form, size):
    texts = (form.format(i, 2 * i + 1) for i in range(size // len(form.format(0, 1))))
    return "".join(texts)[:size].rsplit(" ", 1)[0]


def cells(size, known):
    """Returns hostile cells by name. `known` are valid cells of the column."""
    yield "run", "1 999999999999"
    yield "run of 64 bits", "9223372036854775807 9223372036854775807"
    yield "negative run", "-5 -5"
    for length in (1, 10_000, 1_000_000, 1_000_000_000):
        yield f"equal runs of {length}", fill(f"1 {length} ", size).strip()
    yield "runs", count_up("{1} 1 ", size)
    yield "overlapping runs", count_up("{0} 10000 ", size)
    yield "words", count_up("w{0} ", size)
    yield "numbers", count_up("{0} ", size)
    for name, unit in [("brackets", "["), ("parentheses", "("), ("objects", '{"a":'), ("commas", ","), ("quotes", '"')]:
        yield name, fill(unit, size)
    yield "lists", "[" * (size // 2) + "]" * (size // 2)
    for name, unit in [("digits", "9"), ("zeros", "\0"), ("letters", "a"), ("spaces", " "), ("lines", "\n")]:
        yield name, fill(unit, size)
    yield "accents", "e" + fill("\u0301", size // 2)
    yield "emoji", fill("\U0001f600", size // 4)
    yield "fraction", "0." + "9" * size
    yield "long exponent", "1e" + "9" * size
    for number in ("1e999999", "-inf", "nan", "5e-324", "1e308", "18446744073709551616", "True", ""):
        yield number, number
    for label in ("0", "14", "car", "opacity", "none"):
        yield f"boxes of {label}", fill(f"{label} 1 0 0 1 1 ", size).strip()
        yield f"boxes without confidence of {label}", fill(f"{label} nan 0 0 1 1 ", size).strip()
    yield "3D boxes", fill("0.5 1 1 1 1 1 1 0 car ", size).strip()
    yield "points", fill("U+003F 1 1 ", size).strip()
    for text in {min(known, key=len, default=""), max(known, key=len, default="")}:
        for between in (" ", ",", ";", ""):
            yield f"{text[:20]!r} and {between!r}", fill(text + between, size).removesuffix(between)


def table(rows):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def tables(head, rows, size):
    """Returns hostile tables by name."""
    first = rows[:1]
    line, all_rows = table(first), table([head, *rows])
    more = [f"c{i}" for i in range(size // 8)]
    yield "columns", table([head + more, *rows])
    yield "equal columns", table([head + head[-1:] * (size // (len(head[-1]) + 1)), *rows])
    yield "columns and short rows", table([head + more[:4000]]) + b"1\n" * (size // 4)
    yield "wide rows", table([head, *(row + [""] * (size // len(rows)) for row in rows)])
    yield "short rows", table([head]) + b"1\n" * (size // 2)
    yield "equal rows", all_rows + line * (size // len(line))
    yield "only equal rows", table([head]) + line * (size // len(line))
    yield "other identifiers", all_rows + table([[f"u{i}", *row[1:]] for row in first for i in range(size // len(line))])
    for name, unit in [("empty lines", b"\n"), ("carriage returns", b"\r"), ("zeros", b"\0"), ("bytes", b"\xff")]:
        yield name, all_rows + unit * size
    yield "unclosed quote", all_rows + b'"' + b"x\n" * (size // 2)
    yield "one line", b"a" * size
    yield "nothing", b""


def submissions(sample, answers, size):
    head, *rows = [row for row in csv.reader(io.StringIO(sample.read_text())) if row]
    truth = []
    if answers.suffix == ".csv":
        truth = list(csv.DictReader(io.StringIO(answers.read_text())))
    yield from tables(head, rows, size)
    for index, column in enumerate(head[:8]):
        known = [row.get(column) or "" for row in truth] or [row[index] for row in rows]
        replaced = lambda row, text: [*row[:index], text, *row[index + 1 :]]
        for name, text in cells(size, known):
            yield f"a cell of {column}: {name}", table([head, replaced(rows[0], text), *rows[1:]])
        if size // len(rows) > 3:
            for name, text in cells(size // len(rows), known):
                yield f"all cells of {column}: {name}", table([head, *(replaced(row, text) for row in rows)])


def prepare(prep, ids, work):
    (work / "source").mkdir(parents=True)
    for name in ids:
        (work / f"source/{name}.zip").symlink_to(next((ROOT / "tests/cases" / name).glob("*/raw.zip")))
    places = ["--source", work / "source", "--data-dir", work / "data", "--cache-dir", work / "cache"]
    subprocess.run([prep, "run", *ids, "--skip-verification", "--quiet", *places], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prep")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="1000,10000,100000")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="grading-"))
    cases = sorted(path.parts[-3] for path in ROOT.glob("tests/cases/*/*/raw.zip"))
    ids = [name for name in dict.fromkeys(cases) if options.only in name]
    prepare(options.prep, ids, work)
    count = bad = 0
    for name in ids:
        prepared = work / "data" / name / "prepared"
        pipeline = (ROOT / "pipelines" / name / "pipeline.yaml").read_text()
        answers = re.search(r"^  answers: (\S+)", pipeline, re.M)
        sample = re.search(r"^  sample: (\S+)", pipeline, re.M)
        sample = prepared / (sample[1] if sample else "public/sample_submission.csv")
        if not sample.exists():
            print("skipped", name, "has no", sample.name)
            continue
        seconds = kilobytes = 0
        for size in map(int, options.sizes.split(",")):
            for what, content in submissions(sample, prepared / answers[1], size):
                (work / "submission.csv").write_bytes(content)
                command = [options.prep, "grade", name, work / "submission.csv", "--data-dir", work / "data", "--no-log"]
                done = subprocess.run([sys.executable, "-S", "-c", MEASURE, *command], capture_output=True, check=True)
                code, time, memory = (float(word) for word in done.stdout.split())
                count += 1
                seconds, kilobytes = max(seconds, time), max(kilobytes, memory)
                if code not in (0, 1) or time > MAX_SECONDS or memory > MAX_KILOBYTES:
                    bad += 1
                    print(f"BAD {name}, {what}, {size}: code {code:.0f}, {time:.1f} s, {memory / 1000:.0f} MB", flush=True)
        print(f"{name}: at most {seconds:.2f} s and {kilobytes / 1000:.0f} MB", flush=True)
    subprocess.run(["rm", "-rf", work], check=False)
    print(bad, "bad of", count, "submissions")
    sys.exit(bad > 0)


main()
