"""Benchmarks `prep grade`: on recorded submissions, compared with scikit-learn's metrics, and on a submission with many
rows, compared with pandas reading it."""
import json, multiprocessing, os, random, subprocess
from pathlib import Path

import bundles
from measure import PIPELINES, Cost, Row, prep, run

HERE = Path(__file__).resolve().parent


def grading(args, work):
    cases = sorted(path.parent for path in args.cases.glob("*/*/expected.json"))
    pipelines = HERE.parents[1] / "pipelines"
    known = json.loads(subprocess.check_output([args.python, HERE / "scikit_grade.py", pipelines]))
    cases = [case for case in cases if case.parent.name in known]
    ours, theirs, graded, both, same = [], 0.0, 0, 0, 0
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
        command = [args.prep, "grade", listed, "--output", here / "reports", "--data-dir", data]
        ours.append(run(f"prep grade, {len(entries)} of {name}", command, env=environment))
        with open(listed) as lines:
            found = subprocess.run([args.python, HERE / "scikit_grade.py", pipelines, data], stdin=lines, stdout=subprocess.PIPE, check=True)
        found = json.loads(found.stdout)
        theirs += found["cpu"]
        print(f"  {'scikit-learn, without its imports':40} {'':10} {found['cpu']:8.2f} CPU s", flush=True)
        report, = (here / "reports").iterdir()
        rows = {row["submission_path"]: row["score"] for row in json.loads(report.read_text())["competition_reports"]}
        for entry, score in zip(entries, found["scores"], strict=True):
            mine = rows[entry["submission_path"]]
            if mine is not None and score is not None:
                both += 1
                same += mine == score or abs(mine - score) <= 1e-5 * max(1.0, abs(score))
        graded += len(entries)
    cost = Cost(sum(one.wall for one in ours), sum(one.cpu for one in ours), max(one.memory for one in ours))
    note = f"{both} have a score on both sides, {same} of them the same; {1e3 * cost.cpu / graded:.1f} ms of CPU each"
    return [Row("grading", f"{graded} submissions", cost, "scikit-learn, its metrics alone", Cost(theirs, theirs, 0), note)]


READ_TWICE = """
import sys
import pandas as pd
for path in sys.argv[1:]:
    pd.read_csv(path)
"""


def write_submission(answers, path):
    """Writes a submission with other values for the same rows, in a different order."""
    draw = random.Random(1)
    ids = [line.split(",")[0] for line in answers.read_text().splitlines()[1:]]
    draw.shuffle(ids)
    path.write_text("id,target\n" + "".join(f"{id},{draw.random() * 100}\n" for id in ids))


def many_rows(args, work):
    rows, draw = args.rows * 5, random.Random(0)
    with bundles.archive(work / "bench-grading.zip") as bundle:
        with bundle.open("train.csv", "w", force_zip64=True) as out:
            out.write(b"id,target\n")
            for begin in range(0, rows + 1000, 1000):
                lines = (f"row-{row * 7919 % (rows + 1000):09},{draw.random() * 100}\n" for row in range(begin, begin + 1000))
                out.write("".join(lines).encode())
    prep(args, work, "bench-grading")
    answers, submission = work / "data/bench-grading/prepared/private/test.csv", work / "submission.csv"
    # A separate process, because the peak memory of a child process includes the memory of its parent.
    writer = multiprocessing.Process(target=write_submission, args=(answers, submission))
    writer.start()
    writer.join()
    environment = dict(os.environ, PREP_CACHE_DIR=str(work / "cache"), PREP_PIPELINES=str(PIPELINES))
    command = [args.prep, "grade", "bench-grading", submission, "--data-dir", work / "data"]
    ours = run("prep grade, one submission", command, env=environment)
    theirs = run("pandas", [args.python, "-c", READ_TWICE, submission, answers])
    return [Row("many_rows", f"a submission of {rows} rows in another order", ours, "pandas, reading it and the answers", theirs)]
