"""Measures time and memory of the verbs that read untrusted files, with hostile files of 1, 10 and 100 KB.

    python hostile.py PREP [--only ENDING/NAME] [--sizes 1000,10000,100000] [--verbs audit,diff] [--jobs 2]

The verbs are audit, diff and leaks of a prepared tree; bundle (audit), source (leaks), run, fetch (its list) and new
(pipeline new) of a bundle; and grade, validate, list (grade of a list), summarize and check (pipeline check) of the file
itself. run reads the file as a table or as masks, if its format has a reader.

Prints each run that ends by a signal, uses more than 1 GB of memory, or more than 30 s of processor time.
Needs NumPy, pyarrow, py7zr and Pillow for some formats; their recipes are skipped if a package is missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent / "blind"))
import archives
import images
import pipelines
import tables
from competition import PIPELINE

MAX_SECONDS, MAX_KILOBYTES = 30, 1_000_000


def recipes():
    for module in (archives, images, tables, pipelines):
        for ending, kinds in module.RECIPES.items():
            for name, make in kinds.items():
                yield ending, name, make


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def tree(root, ending, content):
    write(root / f"public/x.{ending}", content)
    for part in ("private/answers", "public/sample_submission"):
        write(root / f"{part}.csv", b"id,target\n3,1\n4,0\n")


# The tables that read a file of this format in the bundle, and a query.
READS = {
    "csv": ("t: { read: x.csv, columns: { a: inferred } }", "SELECT * FROM t"),
    "json": ("t: { read: x.json, dialect: dataframe, columns: [a] }", "SELECT * FROM t"),
    "jsonl": ("t: { read: x.jsonl, dialect: ujson, columns: [a] }", "SELECT * FROM t"),
    "parquet": ("t: { read: x.parquet, format: parquet, columns: { a: json } }", "SELECT * FROM t"),
    "npy": ("f: { files: x.npy }\n  t: { masks: f }", "SELECT * FROM t"),
    "bson": ("t: { read: x.bson, format: bson, columns: [a] }", "SELECT * FROM t"),
    "tgz": ("t: { read: x.tgz/a.csv, columns: [a] }", "SELECT * FROM t"),
    "7z": ("t: { read: x.7z/a.csv, columns: [a] }", "SELECT * FROM t"),
    "zip/checkerboard": ("f: { files: a.npy }\n  t: { masks: f }", "SELECT * FROM t"),
    "zip/long_header": ("t: { read: a.csv, columns: [a] }", "SELECT * FROM t"),
    "zip/long_end": ("t: { read: x.tar.gz/b.csv, columns: [a] }", "SELECT * FROM t"),
}


def reader(ending, name):
    """Returns the pipeline of the verb run."""
    table, query = READS.get(f"{ending}/{name}") or READS.get(ending) or ("f: { files: '**' }", "SELECT file, size FROM f")
    return f"name: R\ncategory: Tabular\nbundle: {{ kaggle: r }}\ntables:\n  {table}\npublic:\n  t.csv: {query}\n".encode()


# The highest memory of a process includes that of its parent before the program was loaded, so a small process starts it.
LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:], stdout=2)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def measure(command, environment, limit):
    """Returns the exit code, seconds of processor time, kilobytes of memory, and the output."""
    process = subprocess.Popen([sys.executable, "-S", "-c", LAUNCHER, "-", "timeout", "-s", "KILL", str(limit), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, text = process.communicate()
    code, cpu, memory = out.split()
    return int(code), float(cpu), int(memory), text.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prep")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--verbs", default="audit,diff,leaks,bundle,source,run,fetch,new,grade,validate,list,summarize,check")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=90, help="seconds after which a run is killed")
    parser.add_argument("--keep")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    root = Path(options.keep or tempfile.mkdtemp(prefix="hostile-"))

    def run(case):
        ending, name, make, size = case
        out = []
        home = root / f"{ending}-{name}-{size}"
        try:
            ours, theirs = make(size, 0), make(size, 1)
            items = make(size // 2, 0), make(size // 2, 1)
        except Exception as error:
            return case, [("skipped", None, f"{type(error).__name__}: {error}"[:200])]
        tree(home / "data/x/prepared", ending, ours)
        tree(home / "theirs/x/prepared", ending, theirs)
        tree(home / "items/x/prepared", ending, b"")
        for part, content in zip(("train/1", "test/3"), items):
            write(home / f"items/x/prepared/public/{part}.{ending}", content)
        write(home / "pipelines/x/pipeline.yaml", PIPELINE.format(id="x", key="id", label="target").encode())
        # A bundle that is the hostile archive, or contains the hostile file.
        bundle = ours if ending == "zip" else archives.zipped([(f"x.{ending}", ours)])
        write(home / "bundles/x.zip", bundle)
        write(home / "bundles/r.zip", bundle)
        write(home / "pipelines/r/pipeline.yaml", reader(ending, name))
        file = home / f"x/x.{ending}"
        write(file, ours)
        write(home / "x/list.jsonl", ours)
        environment = {**os.environ, "PREP_CACHE_DIR": str(home / "cache")}
        common = ["--pipelines", str(home / "pipelines")]
        commands = {
            "audit": ["audit", "x", "--tree", str(home / "theirs"), *common, "--data-dir", str(home / "data")],
            "diff": ["diff", "x", str(home / "theirs"), str(home / "data"), *common],
            "bundle": ["audit", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "data")],
            "source": ["leaks", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "data")],
            "leaks": ["leaks", "x", *common, "--data-dir", str(home / "items")],
            "run": ["run", "r", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "runs"), "--memory", "1GB"],
            "fetch": ["fetch", "--list", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "runs")],
            "new": ["pipeline", "new", "n", "--source", str(home / "bundles"), "--no-download", "--output", str(home / "drafts"), "--data-dir", str(home / "runs")],
            "grade": ["grade", "x", str(file), *common, "--data-dir", str(home / "data")],
            "validate": ["validate", "x", str(file), *common, "--data-dir", str(home / "data")],
            "list": ["grade", str(home / "x/list.jsonl"), "--output", str(home / "grades"), *common, "--data-dir", str(home / "data")],
            "summarize": ["summarize", str(file), *common, "--data-dir", str(home / "data")],
            "check": ["pipeline", "check", str(file)],
        }
        write(home / "bundles/n.zip", bundle)
        for verb in options.verbs.split(","):
            out.append((verb, len(ours), measure([options.prep, *commands[verb]], environment, options.limit)))
        if not options.keep:
            subprocess.run(["rm", "-rf", str(home)])
        return case, out

    cases = [(*recipe, size) for recipe in recipes() for size in map(int, options.sizes.split(",")) if options.only in f"{recipe[0]}/{recipe[1]}"]
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for (ending, name, _, size), runs in pool.map(run, cases):
            for verb, length, measured in runs:
                place = f"{ending}/{name} {size}"
                if length is None:
                    print("skipped", place, measured, flush=True)
                    continue
                code, cpu, memory, text = measured
                is_bad = code < 0 or code > 100 or cpu > MAX_SECONDS or memory > MAX_KILOBYTES
                bad += is_bad
                if is_bad or options.v or cpu > MAX_SECONDS / 3 or memory > MAX_KILOBYTES / 2:
                    print("BAD " if is_bad else "ok  ", f"{verb:9} {place} ({length} bytes): code {code}, {cpu:.1f} s CPU, {memory // 1000} MB", flush=True)
                if code < 0 or code > 100:
                    print("     ", text[-300:].replace("\n", " | "), flush=True)
    print(bad, "bad of", len(cases), "inputs")
    sys.exit(bad > 0)


main()
