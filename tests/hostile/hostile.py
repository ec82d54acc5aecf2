"""Measures time and memory of the verbs that read untrusted files, with hostile files of 1, 10 and 100 KB.

    python hostile.py PREP [--only ENDING/NAME,...] [--sizes 1000,10000,100000] [--verbs audit,diff] [--jobs 2]

The verbs, by what contains the hostile file:

- a prepared tree: audit, diff and leaks
- a bundle: bundle (audit), source (leaks), run, show (pipeline show, first rows), publish (run --expand-archives), export,
  page (report of the published data), fetch (--list) and new (pipeline new)
- nothing, because the verb reads the file itself: grade, validate, answers and board (grade with these), list (grade of a
  list), summarize, reports (report with a grading report), check (pipeline check), config (prep.toml), locked (prep.lock),
  ids (run --ids-from) and mcp (on stdin)

run reads the file as a table, as masks, headers or records, if its format has a reader.

Prints each run that ends by a signal, uses more than 1 GB of memory or 30 s of processor time, writes more than 100 KB of
messages, or writes control characters. mcp answers each line, so the limit of messages does not apply to all its answers.

Needs NumPy, pyarrow, py7zr and Pillow for some formats. Without a package, its formats are skipped.
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
import members
import pipelines
import tables
import texts
from competition import PIPELINE

MAX_SECONDS, MAX_KILOBYTES, MAX_OUTPUT = 30, 1_000_000, 100_000


def recipes():
    for module in (texts, members, archives, images, tables, pipelines):
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
    **{f"zip/long_{name}": (f"t: {{ read: a.{name.split('_')[0]}, columns: [a] }}", "SELECT * FROM t") for name in ("csv", "csv_quoted", "csv_header", "csv_returns", "csv_nul", "csv_utf_16")},
    **{f"zip/long_{name}": ("t: { read: a.json, dialect: dataframe, columns: [a] }", "SELECT * FROM t") for name in ("json", "json_key", "json_spaces", "json_numbers", "json_lists", "json_deep", "json_escapes")},
    **{f"zip/long_{name}": ("f: { files: '**' }\n  t: { text_lines: f }", "SELECT * FROM t") for name in ("txt", "txt_words")},
    **{f"{kind}": ("f: { files: '**' }\n  t: { headers: f }", "SELECT * FROM t") for kind in ("png", "jpg", "tiff", "tif", "webp", "bmp", "gif")},
    "tfrecord": ("f: { files: '**' }\n  t: { tfrecords: f }", "SELECT * FROM t"),
    "txt": ("f: { files: '**' }\n  t: { text_lines: f }", "SELECT * FROM t"),
    "json.gz": ("t: { read: x.json.gz/x.json, dialect: dataframe, columns: [a] }", "SELECT * FROM t"),
    "csv.gz": ("t: { read: x.csv.gz/x.csv, columns: [id] }", "SELECT * FROM t"),
    "zip/gz_members": ("t: { read: a.csv.gz/a.csv, columns: [id] }", "SELECT * FROM t"),
    "zip/gz_members_text": ("t: { read: a.csv.gz/a.csv, columns: [id] }", "SELECT * FROM t"),
    "zip/tgz_members": ("t: { read: a.tar.gz/a.csv, columns: [id] }", "SELECT * FROM t"),
    **{f"zip/{name}": ("t: { read: a.tar/a.csv, columns: [id] }", "SELECT * FROM t") for name in ("pax_comment", "pax_path", "pax_records", "pax_headers", "pax_global", "pax_size", "pax_sparse", "long_name", "long_link")},
    **{f"zip/{name}": ("t: { read: a.csv, columns: [id] }", "SELECT * FROM t") for name in ("bzip2", "lzma", "zstd", "xz", "unknown_method", "no_records", "one_name")},
    **{f"zip/{name}": ("t: { read: a.zip/a.csv, columns: [id] }", "SELECT * FROM t") for name in ("packed_directory", "one_name_65536", "long_comments", "extra_fields")},
    "zip/long_end": ("t: { read: x.tar.gz/b.csv, columns: [a] }", "SELECT * FROM t"),
}


# A pipeline that publishes the bundle.
EVERYTHING = b"""name: E
category: Tabular
bundle: { kaggle: e }
tables:
  f: { files: '**' }
public:
  ./: SELECT file FROM f
"""

# Formats that only some verbs read.
VERBS_OF = {"toml": ["config"], "lock": ["locked"], "ids": ["ids"], "yaml": ["check"]}

CONTROL = {chr(code) for code in range(32)} - set("\n\r\t") | {chr(127), "\u202e"}


def reader(ending, name):
    """Returns the pipeline for the verb `run`."""
    table, query = READS.get(f"{ending}/{name}") or READS.get(ending) or ("f: { files: '**' }", "SELECT file, size FROM f")
    return f"name: R\ncategory: Tabular\nbundle: {{ kaggle: r }}\ntables:\n  {table}\npublic:\n  t.csv: {query}\n".encode()


# The peak memory of a process includes the memory of its parent before `exec`. So a small process starts the program.
LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:], stdin=open(sys.argv[1]), stdout=2)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def measure(command, environment, limit, stdin="/dev/null"):
    """Returns the exit code, seconds of processor time, kilobytes of memory, and the output."""
    process = subprocess.Popen([sys.executable, "-S", "-c", LAUNCHER, stdin, "timeout", "-s", "KILL", str(limit), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    out, text = process.communicate()
    code, cpu, memory = out.split()
    return int(code), float(cpu), int(memory), text.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prep")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--verbs", default="audit,diff,leaks,bundle,source,run,show,publish,export,page,fetch,new,grade,validate,answers,board,list,summarize,reports,check,mcp")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=90, help="seconds after which a run is killed")
    parser.add_argument("--keep")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    root = Path(options.keep or tempfile.mkdtemp(prefix="hostile-"))
    # A prepared competition whose submissions are the hostile files.
    write(root / "pipelines/g/pipeline.yaml", PIPELINE.format(id="g", key="id", label="target").encode())
    write(root / "bundles/g.zip", archives.zipped([("answers.csv", b"id,target\n3,1\n4,0\n")]))
    graded = ["--pipelines", str(root / "pipelines"), "--data-dir", str(root / "graded")]
    subprocess.run([options.prep, "run", "g", "-q", "--source", str(root / "bundles"), "--cache-dir", str(root / "cache"), *graded], check=True)

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
        write(home / "pipelines/e/pipeline.yaml", EVERYTHING)
        write(home / "bundles/e.zip", bundle)
        write(home / "config/prep.toml", ours if ending == "toml" else b"")
        write(home / "locked/prep.lock", ours)
        write(home / "answers.csv", b"id,target\n3,1\n4,0\n")
        published = ["e", *common, "--data-dir", str(home / "published")]
        commands = {
            "audit": ["audit", "x", "--tree", str(home / "theirs"), *common, "--data-dir", str(home / "data")],
            "diff": ["diff", "x", str(home / "theirs"), str(home / "data"), *common],
            "bundle": ["audit", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "data")],
            "source": ["leaks", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "data")],
            "leaks": ["leaks", "x", *common, "--data-dir", str(home / "items")],
            "run": ["run", "r", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "runs"), "--memory", "1GB"],
            "fetch": ["fetch", "--list", "x", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "runs")],
            "new": ["pipeline", "new", "n", "--source", str(home / "bundles"), "--no-download", "--output", str(home / "drafts"), "--data-dir", str(home / "runs")],
            "grade": ["grade", "g", str(file), *graded],
            "validate": ["validate", "g", str(file), *graded],
            "list": ["grade", str(home / "x/list.jsonl"), "--output", str(home / "grades"), *graded],
            "summarize": ["summarize", str(file), *graded],
            "show": ["pipeline", "show", "r", "--sql", "SELECT * FROM t", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "runs")],
            "publish": ["run", *published, "--source", str(home / "bundles"), "--expand-archives", "--memory", "1GB"],
            "export": ["export", *published, "--output", str(home / "exported"), "--expand-archives=instead"],
            "page": ["report", *published, "--output", str(home / "page.html")],
            "answers": ["grade", "g", str(home / "answers.csv"), "--answers", str(file), *graded],
            "board": ["grade", "g", str(home / "answers.csv"), "--answers", str(home / "answers.csv"), "--leaderboard", str(file), *graded],
            "reports": ["report", "g", "--grading", str(file), "--output", str(home / "reports.html"), *graded],
            "config": ["config", "--data-dir", str(home / "config")],
            "locked": ["run", "r", "--locked", "--source", str(home / "bundles"), *common, "--data-dir", str(home / "locked")],
            "ids": ["run", "--ids-from", str(file), "--no-download", *common, "--data-dir", str(home / "runs")],
            "mcp": ["mcp", *graded],
            "check": ["pipeline", "check", str(file)],
        }
        write(home / "bundles/n.zip", bundle)
        for verb in VERBS_OF.get(ending, options.verbs.split(",")):
            if verb in commands:
                out.append((verb, len(ours), measure([options.prep, *commands[verb]], environment, options.limit, file if verb == "mcp" else "/dev/null")))
        if not options.keep:
            subprocess.run(["rm", "-rf", str(home)])
        return case, out

    cases = [(*recipe, size) for recipe in recipes() for size in map(int, options.sizes.split(",")) if any(f"{recipe[0]}/{recipe[1]}".startswith(one) for one in options.only.split(","))]
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for (ending, name, _, size), runs in pool.map(run, cases):
            for verb, length, measured in runs:
                place = f"{ending}/{name} {size}"
                if length is None:
                    print("skipped", place, measured, flush=True)
                    continue
                code, cpu, memory, text = measured
                is_bad = code < 0 or code > 100 or cpu > MAX_SECONDS or memory > MAX_KILOBYTES or len(text) > MAX_OUTPUT and verb != "mcp" or not CONTROL.isdisjoint(text)
                bad += is_bad
                if is_bad or options.v or cpu > MAX_SECONDS / 10 or memory > MAX_KILOBYTES / 4:
                    print("BAD " if is_bad else "ok  ", f"{verb:9} {place} ({length} bytes): code {code}, {cpu:.1f} s CPU, {memory // 1000} MB, {len(text)} bytes of messages", flush=True)
                if options.v or is_bad:
                    print("     ", text[-300:].replace("\n", " | "), flush=True)
    print(bad, "bad of", len(cases), "inputs")
    sys.exit(bad > 0)


main()
