"""All recorded submissions, beside scikit-learn's metrics."""
import json, os, subprocess
from pathlib import Path

from measure import Cost, Row, run

HERE = Path(__file__).resolve().parent


def grading(args, work):
    cases = sorted(path.parent for path in args.cases.glob("*/*/expected.json"))
    pipelines = HERE.parents[1] / "pipelines"
    cases = [case for case in cases if (pipelines / case.parent.name / "pipeline.yaml").exists()]
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
        command = [args.prep, "grade", "--submission", listed, "--output-dir", here / "reports", "--data-dir", data]
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
