#!/usr/bin/env python3
"""Compares the results of this project's Python functions with upstream's, for all recorded cases and their submissions.

`answers.py CHECKOUT [--theirs PYTHON] [--ours PYTHON] [--prep PROGRAM] [--cases DIR] [--case seed0]`

CHECKOUT is a checkout of openai/mle-bench. The PYTHON of --theirs must be able to import upstream's package. The PYTHON of
--ours must have pandas.

`prep` prepares all cases once. After that, both packages run on the same directory: `grade_csv`, `validate_submission`,
`get_competition`, `is_dataset_prepared` (including a competition that is not prepared).

The script does not compare reasons and descriptions, because this project has its own texts.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests/cases"
FIELDS = ["id", "name", "competition_type", "answers", "gold_submission", "sample_submission", "raw_dir", "private_dir", "public_dir"]


def dump(cases, data, case, out):
    """Runs in both interpreters, and writes all results to `out` as JSON."""
    from mlebench.data import is_dataset_prepared
    from mlebench.grade import grade_csv, validate_submission
    from mlebench.registry import registry

    registry = registry.set_data_dir(data)
    elsewhere = registry.set_data_dir(data / "nowhere")
    answers = {}
    for directory in sorted(cases.iterdir()):
        if not (directory / case).is_dir():
            continue
        competition = registry.get_competition(directory.name)
        one = {name: str(getattr(competition, name)).replace(str(data), "DATA") for name in FIELDS}
        one["grader"] = competition.grader.name
        one["prepared"] = [bool(is_dataset_prepared(where.get_competition(directory.name), grading_only=only))
                           for where in (registry, elsewhere) for only in (False, True)]
        one["direction"] = bool(competition.grader.is_lower_better(__import__("pandas").read_csv(competition.leaderboard)))
        submissions = sorted((directory / case / "submissions").iterdir()) + [pathlib.Path("None")]
        for submission in submissions:
            report = grade = None
            try:
                report = grade_csv(submission, competition).to_dict()
                grade = {name: report[name] for name in report if name not in ("created_at", "submission_path", "reason", "variant")}
                grade = {name: repr(float(value)) if isinstance(value, float) else value if isinstance(value, (str, type(None))) else
                         bool(value) if type(value).__name__ in ("bool", "bool_") else repr(float(value)) for name, value in grade.items()}
            except Exception as error:
                grade = f"raises {type(error).__name__}"
            try:
                valid, message = validate_submission(submission, competition)
                said = [bool(valid), message.splitlines()[0].replace(str(data), "DATA")]
            except Exception as error:
                said = f"raises {type(error).__name__}"
            one[submission.name] = [grade, said]
        answers[directory.name] = one
    out.write_text(json.dumps(answers, indent=1))


def main():
    if sys.argv[1] == "--dump":
        return dump(*map(pathlib.Path, sys.argv[2:4]), sys.argv[4], pathlib.Path(sys.argv[5]))
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--theirs", default=sys.executable)
    parser.add_argument("--ours", default=sys.executable)
    parser.add_argument("--prep", type=pathlib.Path, default=ROOT / "target/release/prep")
    parser.add_argument("--cases", type=pathlib.Path, default=CASES, help="cases ID/CASE, recorded from the benchmark")
    parser.add_argument("--case", default="seed0")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        data = work / "data"
        (work / "bundles").mkdir()
        cases = given.cases.resolve()
        ids = [directory.name for directory in sorted(cases.iterdir()) if (directory / given.case).is_dir()]
        for name in ids:
            (work / "bundles" / f"{name}.zip").symlink_to(cases / name / given.case / "raw.zip")
        subprocess.run([str(given.prep.resolve()), "run", *ids, "--source", str(work / "bundles"), "--no-download", "--skip-verification",
                        "--data-dir", str(data), "--cache-dir", str(work / "store"), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        theirs = work / "theirs"
        shutil.copytree(given.checkout / "mlebench", theirs / "mlebench")
        for name in ids:
            # A checkout may contain Git LFS pointers instead of leaderboards.
            shutil.copy(ROOT / "pipelines" / name / "leaderboard.csv", theirs / "mlebench/competitions" / name / "leaderboard.csv")
        answers = []
        for who, python, path in (("theirs", given.theirs, theirs), ("ours", given.ours, ROOT / "python")):
            out = work / f"{who}.json"
            environment = dict(os.environ, PYTHONPATH=str(path), PREP_BINARY=str(given.prep.resolve()), HOME=str(work),
                               XDG_CACHE_HOME=str(work / "cache"), PYTHONDONTWRITEBYTECODE="1")
            with open(work / f"{who}.log", "w") as log:
                ended = subprocess.run([python, __file__, "--dump", str(cases), str(data), given.case, str(out)], cwd=work, env=environment,
                                       stdout=log, stderr=subprocess.STDOUT)
            if ended.returncode:
                print((work / f"{who}.log").read_text()[-2000:])
                return 1
            answers.append(json.loads(out.read_text()))
        return compare(*answers)


def compare(theirs, ours):
    asked = differ = better = known = 0
    for name, one in theirs.items():
        for key, value in one.items():
            asked += 1
            own = ours[name][key]
            if own == value:
                continue
            if isinstance(value, list) and "raises" in str(value[0]) and isinstance(own[0], dict) and own[0]["score"] is None:
                # Upstream cannot read the file and raises an exception. This package reports no score.
                better += 1
                continue
            if theirs[name]["answers"].endswith(".jsonl") and isinstance(value, list) and value[0] == own[0]:
                # Upstream grades with JSON answers, but its validation reads them as CSV (upstream's issue 134).
                known += 1
                continue
            differ += 1
            print(f"{name}: {key}\n  theirs {value}\n  ours   {own}")
    print(f"{len(theirs)} competitions, {asked} answers, {differ} differ; {better} reports where the benchmark ends with a trace, "
          f"{known} submissions that it grades and calls invalid")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
