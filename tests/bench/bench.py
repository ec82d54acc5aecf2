#!/usr/bin/env python3
"""Benchmarks of `prep` beside an alternative, in one run on one machine.

  bench.py --prep target/release/prep [table] [images] [memory] [grading] [--rows N] [--images N] [--cases DIR] [--work DIR]

table    N rows like the taxi competition's (7 columns, about 110 bytes each): read, shuffle-split, write train, test and
         answers; pandas does the same in a process of its own (needs pandas 2.2 and scikit-learn)
images   N images of 12 KB in one zip, prepared into train and test folders; Info-ZIP's unzip into one folder
memory   the table with N and with 10 N rows: peak memory of both, and bytes per further row
grading  all recorded submissions (tests/cases, or another folder of cases) by `prep grade`, one call for all cases of a name;
         scikit-learn computes the same metrics in a process of its own (needs pandas, scikit-learn and PyYAML)

Each line: what, wall seconds, CPU seconds, peak resident memory. Files are read from the page cache on both sides.
"""
import argparse, json, os, random, shutil, subprocess, sys, tempfile, time, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

PANDAS = """
import sys
import pandas as pd
from sklearn.model_selection import train_test_split
source, target = sys.argv[1:]
rides = pd.read_csv(source, float_precision="round_trip")
train, test = train_test_split(rides, test_size=0.1, random_state=0)
train.to_csv(f"{target}/train.csv", index=False)
test.drop(columns=["fare_amount"]).to_csv(f"{target}/test.csv", index=False)
test.to_csv(f"{target}/answers.csv", index=False)
"""


def run(name, command, **kwargs):
    """Runs a command to its end; returns and prints wall seconds, CPU seconds, peak resident MB."""
    begin = time.monotonic()
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kwargs)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{name} failed:\n{errors.decode()}")
    cpu = usage.ru_utime + usage.ru_stime
    print(f"{name:34} {wall:8.2f} s {cpu:8.2f} CPU s {usage.ru_maxrss / 1024:8.0f} MB", flush=True)
    return wall, cpu, usage.ru_maxrss / 1024


def prep(args, work, competition, name):
    """Prepares from nothing: empty store, empty data directory."""
    for folder in ("cache", "data"):
        shutil.rmtree(work / folder, ignore_errors=True)
    command = [args.prep, "run", "-c", competition, "--source", work, "--data-dir", work / "data", "--skip-verification"]
    environment = dict(os.environ, PREP_CACHE_DIR=str(work / "cache"), PREP_PIPELINES=str(HERE / "pipelines"))
    return run(name, command, env=environment)


def write_table(path, rows):
    """Two in three decimals have 14 to 17 digits, as coordinates from a float32 have."""
    draw = random.Random(0)
    with open(path, "w") as out:
        out.write("key,fare_amount,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count\n")
        for row in range(rows):
            second = row * 31 % 86400
            key = f"2013-{row % 12 + 1:02}-{row % 28 + 1:02} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{row:07}"
            places = ",".join(repr(base + draw.random() / 8) for base in (-73.98, 40.75, -73.97, 40.76))
            out.write(f"{key},{draw.randrange(250, 6000) / 100},{places},{row % 6 + 1}\n")


def table_bundle(work, rows):
    work.mkdir(parents=True, exist_ok=True)
    raw = work / "train.csv"
    write_table(raw, rows)
    with zipfile.ZipFile(work / "bench-table.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        bundle.write(raw, "train.csv")
    return raw


def table(args, work):
    raw = table_bundle(work, args.rows)
    print(f"table: {args.rows} rows, {raw.stat().st_size / 1e6:.0f} MB", flush=True)
    ours, _, memory = prep(args, work, "bench-table", "prep (unzips, too)")
    target = work / "pandas"
    target.mkdir(exist_ok=True)
    theirs, _, _ = run("pandas", [sys.executable, "-c", PANDAS, raw, target])
    prepared = work / "data/bench-table/prepared"
    for ours_name, name in (("public/train.csv", "train.csv"), ("public/test.csv", "test.csv"), ("private/test.csv", "answers.csv")):
        if subprocess.run(["cmp", "-s", prepared / ours_name, target / name]).returncode != 0:
            sys.exit(f"{ours_name} is not what pandas wrote")
    print(f"{theirs / ours:.1f} times faster, equal bytes; {memory:.0f} MB")


def images(args, work):
    work.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    bundle = work / "bench-images.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as out:
        rows = ["id,label\n"]
        for number in range(args.images):
            out.writestr(f"images/{number:06}.jpg", draw.randbytes(12_000))
            rows.append(f"{number:06},{number % 2}\n")
        out.writestr("train.csv", "".join(rows))
    print(f"images: {args.images} of 12 KB", flush=True)
    target = work / "unzipped"
    results = {"prep": [], "unzip": []}
    for turn in range(3):
        shutil.rmtree(target, ignore_errors=True)
        results["unzip"].append(run("unzip", ["unzip", "-q", bundle, "-d", target])[0])
        results["prep"].append(prep(args, work, "bench-images", "prep")[0])
    print(f"{min(results['prep']) / min(results['unzip']):.2f} times unzip's time (best of 3)")


def memory(args, work):
    peaks = []
    for rows in (args.rows, 10 * args.rows):
        table_bundle(work, rows)
        peaks.append(prep(args, work, "bench-table", f"prep, {rows} rows")[2])
    per_row = (peaks[1] - peaks[0]) * 2**20 / (9 * args.rows)
    print(f"10 times the rows take {peaks[1] / peaks[0]:.2f} times the memory: {per_row:.1f} bytes for a further row")


def grading(args, work):
    cases = sorted(path.parent for path in args.cases.glob("*/*/expected.json"))
    pipelines = HERE.parents[1] / "pipelines"
    cases = [case for case in cases if (pipelines / case.parent.name / "pipeline.yaml").exists()]
    ours, theirs, graded, both, same = 0.0, 0.0, 0, 0, 0
    for name in sorted({case.name for case in cases}):
        here, source, data = work / name, work / name / "source", work / name / "data"
        source.mkdir(parents=True, exist_ok=True)
        entries = []
        for case in (case for case in cases if case.name == name):
            (source / f"{case.parent.name}.zip").symlink_to(case / "raw.zip")
            paths = sorted((case / "submissions").iterdir())
            entries += [{"competition_id": case.parent.name, "submission_path": str(path)} for path in paths]
        listed = here / "list.jsonl"
        listed.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        environment = dict(os.environ, PREP_CACHE_DIR=str(work / "cache"))
        ids = sorted({entry["competition_id"] for entry in entries})
        options = ["--source", source, "--data-dir", data, "--skip-verification"]
        run(f"prepare {len(ids)} competitions", [args.prep, "run", *(word for id in ids for word in ("-c", id)), *options], env=environment)
        command = [args.prep, "grade", "--submission", listed, "--output-dir", here / "reports", "--data-dir", data]
        ours += run(f"prep grade, {len(entries)} of {name}", command, env=environment)[1]
        with open(listed) as lines:
            found = subprocess.run([sys.executable, HERE / "scikit_grade.py", pipelines, data], stdin=lines, stdout=subprocess.PIPE, check=True)
        found = json.loads(found.stdout)
        theirs += found["cpu"]
        print(f"{'scikit-learn, without its imports':34} {'':10} {found['cpu']:8.2f} CPU s", flush=True)
        report, = (here / "reports").iterdir()
        rows = {row["submission_path"]: row["score"] for row in json.loads(report.read_text())["competition_reports"]}
        for entry, score in zip(entries, found["scores"], strict=True):
            mine = rows[entry["submission_path"]]
            if mine is not None and score is not None:
                both += 1
                same += mine == score or abs(mine - score) <= 1e-5 * max(1.0, abs(score))
        graded += len(entries)
    print(f"{graded} submissions: prep {1e3 * ours / graded:.1f} ms of CPU each, scikit-learn {1e3 * theirs / graded:.1f} ms; "
          f"{both} have a score on both sides, {same} of them the same")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", help="table, images, memory, grading (default: table and images)")
    parser.add_argument("--prep", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--cases", type=Path, default=HERE.parent / "cases", help="folder of cases for grading")
    parser.add_argument("--work", type=Path)
    args = parser.parse_args()
    args.prep, args.cases = args.prep.resolve(), args.cases.resolve()
    work = args.work or Path(tempfile.mkdtemp(prefix="prep-bench-"))
    for name in args.which or ["table", "images"]:
        {"table": table, "images": images, "memory": memory, "grading": grading}[name](args, work / name)
    if not args.work:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
