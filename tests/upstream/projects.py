#!/usr/bin/env python3
"""Runs the code of other projects with this project's package: `projects.py CHECKOUTS DATA [NAME...]`.

CHECKOUTS is a directory with `OWNER+NAME` for each project: a work tree, a bare Git repository, or a directory `repo` with
either of these. inspect_evals is the unpacked wheel of its distribution. A project without a checkout is skipped.

DATA is a data directory in which spaceship-titanic is prepared.

The script downloads nothing. It extracts single functions from a project's files, so that it does not need the project's
dependencies, and replaces language models, containers and networks with mocks.

Run the script with an interpreter that has the package, pandas and flask.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ID = "spaceship-titanic"


class Missing(Exception):
    """Raised if the checkout of a project is missing."""


class Project:
    def __init__(self, checkouts: Path, name: str) -> None:
        self.name, self.root = name, checkouts / name

    def text(self, path: str) -> str:
        """Returns the text of a file of the project."""
        for root in (self.root, self.root / "repo"):
            if (root / path).is_file():
                return (root / path).read_text(encoding="utf-8")
            shown = subprocess.run(["git", "-C", root, "show", f"HEAD:{path}"], capture_output=True, text=True)
            if root.is_dir() and shown.returncode == 0:
                return shown.stdout
        raise Missing(path)

    def names(self, path: str, *wanted: str, **given: Any) -> types.SimpleNamespace:
        """Executes the selected functions of a file, with its constants and its imports of `mlebench` and the standard library."""
        nodes = []
        for node in ast.parse(self.text(path)).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                known = sys.stdlib_module_names | {"mlebench", "pandas", "numpy", "flask"}
                if all(module.split(".")[0] in known for module in modules) and not getattr(node, "level", 0):
                    nodes.append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if node.name in wanted:
                    nodes.append(node)
            elif isinstance(node, ast.Assign) and any(isinstance(name, ast.Name) and name.id in wanted for name in node.targets):
                nodes.append(node)
        missing = set(wanted) - {name for node in nodes for name in _defined(node)}
        assert not missing, f"{path} has no {missing}"
        # Dataclasses look up the module that defines them.
        module = sys.modules.setdefault(path, types.ModuleType(path))
        space: dict[str, Any] = {"__name__": path, **given}
        exec(compile(ast.Module(nodes, []), path, "exec"), space)
        vars(module).update(space)
        return types.SimpleNamespace(**space)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [name.id for name in node.targets if isinstance(name, ast.Name)]
    return [getattr(node, "name", "")]


class Submissions:
    """The submissions that every project grades."""

    def __init__(self, data: Path, directory: Path) -> None:
        from mlebench.registry import registry

        self.data, self.directory = data, directory
        self.competition = registry.set_data_dir(data).get_competition(ID)
        self.gold = self._file("gold.csv", self.competition.gold_submission.read_bytes())
        self.sample = self._file("sample.csv", self.competition.sample_submission.read_bytes())
        self.broken = self._file("broken.csv", b"a\n1\n")
        #: The accuracy of the sample, rounded to five decimals.
        self.score = self._accuracy()

    def _accuracy(self) -> float:
        import csv

        def labels(path: Path) -> dict[str, str]:
            with open(path, newline="", encoding="utf-8") as file:
                return {row["PassengerId"]: row["Transported"] for row in csv.DictReader(file)}

        answers, sample = labels(self.competition.answers), labels(self.sample)
        return round(sum(sample[key] == label for key, label in answers.items()) / len(answers), 5)

    def _file(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        path.write_bytes(content)
        return path


def aira_dojo(project: Project, files: Submissions) -> None:
    module = project.names("src/dojo/tasks/mlebench/evaluate.py", "evaluate_submission", "is_lower_better", "logger")
    assert module.is_lower_better(files.competition) is False
    for path, score in ((files.gold, 1.0), (files.sample, files.score), (files.broken, None)):
        found, report = module.evaluate_submission(path, files.data, ID, files.directory / "results")
        assert found == score == report["score"], path
    assert json.loads((files.directory / "results" / "grading_report.json").read_text())["valid_submission"] is False


def validation_server(path: str, config: str) -> Callable[[Project, Submissions], None]:
    """Tests a validation server of the project. Its module `config` reads a file that names the data directory."""

    def check(project: Project, files: Submissions) -> None:
        from flask import Flask

        names = config.split(".")
        for depth in range(1, len(names) + 1):
            sys.modules[".".join(names[:depth])] = types.ModuleType(names[depth - 1])
        settings = types.SimpleNamespace(dataset_dir=str(files.data))
        sys.modules[config].load_cfg = lambda: settings  # type: ignore[attr-defined]
        space: dict[str, Any] = {"__name__": "server", "__file__": path}
        exec(compile(project.text(path), path, "exec"), space)
        [app] = [value for value in space.values() if isinstance(value, Flask)]
        client = app.test_client()
        assert client.get("/health").get_json() == {"status": "running"}
        for file, valid in ((files.sample, True), (files.broken, False)):
            with open(file, "rb") as content:
                answer = client.post("/validate", data={"file": (content, "a.csv")}, headers={"exp-id": ID})
            assert answer.get_json()["is_valid"] is valid, answer.get_data()

    return check


def loongflow(project: Project, files: Submissions) -> None:
    module = project.names("agents/ml_evolve/examples/mlebench/eval_program.py", "run_evaluate", "normalize_score")
    assert module.run_evaluate(files.gold, files.data, ID)[0] == 1.0
    score, ranks = module.run_evaluate(files.sample, files.data, ID)
    assert 0 <= score < 1 and ranks["raw_result"] == files.score and ranks["gold_medal"] is False
    try:
        module.run_evaluate(files.broken, files.data, ID)
    except ValueError:
        return
    raise AssertionError("a broken submission has a score")


def shinka(project: Project, files: Submissions) -> None:
    from mlebench.registry import registry

    space = {
        "registry": registry,
        "COMPETITION_ID": ID,
        "ANS_VAL_PATH": str(files.competition.answers),
        "ANS_TEST_PATH": str(files.competition.answers),
    }
    module = project.names("agents/shinka/evaluate.py", "grade", "write_perf", "IS_LOWER_BETTER", **space)
    module.grade.__globals__.update(space)
    assert module.grade(str(files.gold), str(files.directory), "validation") == (True, 1.0)
    graded, message = module.grade(str(files.broken), str(files.directory), "test")
    assert graded is False and "grading function" in message


def scorer_script(path: str) -> Callable[[Project, Submissions], None]:
    """Tests a script in a string of the project, which another interpreter runs. Its stdout must contain only JSON."""

    def check(project: Project, files: Submissions) -> None:
        texts = [
            "".join(part.value if isinstance(part, ast.Constant) else ID for part in node.values)
            for node in ast.walk(ast.parse(project.text(path)))
            if isinstance(node, ast.JoinedStr)
        ]
        [script] = [text for text in texts if "grade_csv" in text]
        lines = script.replace("/private/data", str(files.data)).splitlines()
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        script = "\n".join(line[indent:] for line in lines)
        script = script.replace("/home" + "/submission/submission.csv", str(files.sample))
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["score"] == files.score

    return check


def _lazy_preparing(project: Project, files: Submissions) -> None:
    """The project's containers mount empty directories, so preparing must fill the directories and not replace them."""
    import asyncio
    import functools

    from mlebench.data import download_and_prepare_dataset, is_dataset_prepared
    from mlebench.registry import registry

    given = {"solver": lambda function: function, "Solver": Any, "TaskState": Any, "Generate": Any}
    module = project.names("inspect_evals/mle_bench/mle_bench.py", "_ensure_mount_dirs", "prepare_competition_data", "logger", **given)
    data = files.directory / "lazy"
    module._ensure_mount_dirs(data, ID)
    shutil.copy(_bundle(files), data / ID / f"{ID}.zip")
    competition = registry.set_data_dir(data).get_competition(ID)
    mounted = [os.stat(path).st_ino for path in (competition.public_dir, competition.private_dir)]
    download = functools.partial(download_and_prepare_dataset, skip_verification=True)
    setup = module.prepare_competition_data(registry.set_data_dir(data), download, is_dataset_prepared)
    state = types.SimpleNamespace(sample_id=ID)
    assert is_dataset_prepared(competition) is False
    assert asyncio.run(setup(state, None)) is state
    assert is_dataset_prepared(competition) is True
    assert competition.answers.read_bytes() == files.competition.answers.read_bytes()
    assert mounted == [os.stat(path).st_ino for path in (competition.public_dir, competition.private_dir)]


def inspect_evals(project: Project, files: Submissions) -> None:
    scorer_script("inspect_evals/mle_bench/mle_bench.py")(project, files)
    _lazy_preparing(project, files)
    # The project's check of rules, with a program that imitates Kaggle.
    from mleprep._mlebench import kaggle, program

    answers = {ID: "accepted", "closed": "not_accepted", "busy": "not_asked"}
    permission = program.permission
    program.permission = lambda name: {"state": answers[name], "url": f"https://www.kaggle.com/c/{name}/rules"}
    try:
        module = project.names(
            "inspect_evals/mle_bench/tos.py",
            *("_check_tos", "_KaggleRateLimitError", "_HTTP_TOO_MANY_REQUESTS", "_PROBE_FILENAME"),
        )
        from mlebench.utils import authenticate_kaggle_api

        api = authenticate_kaggle_api()
        if not isinstance(api, kaggle.KaggleApi):
            return
        assert isinstance(api.get_config_value("username"), str)
        assert module._check_tos(api, ID) is False and module._check_tos(api, "closed") is True
        try:
            module._check_tos(api, "busy")
        except module._KaggleRateLimitError:
            return
        raise AssertionError("too many requests are not recognised")
    finally:
        program.permission = permission


def rd_agent(project: Project, files: Submissions) -> None:
    # The project runs this command, and parses its output from the first brace to the last one.
    assert "mlebench grade-sample submission.csv {competition} --data-dir" in project.text(
        "rdagent/scenarios/data_science/test_eval.py"
    )
    module = project.names("rdagent/log/utils/__init__.py", "extract_json")
    for submission, exists in ((files.sample, True), (Path("None"), False)):
        command = f"{sys.executable} -m mlebench.cli grade-sample {submission} {ID} --data-dir {files.data} 2>&1"
        output = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
        found = module.extract_json(output)
        bronze_threshold = 0.80967  # of spaceship-titanic
        assert found["submission_exists"] is exists and found["bronze_threshold"] == bronze_threshold, output


def kapso(project: Project, files: Submissions) -> None:
    tree = ast.parse(project.text("benchmarks/mle/handler.py"))
    [handler] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "MleBenchHandler"]
    [method] = [node for node in handler.body if isinstance(node, ast.FunctionDef) and node.name == "final_evaluate"]
    from mlebench.grade import grade_csv
    from mlebench.registry import registry

    space: dict[str, Any] = {"grade_csv": grade_csv, "registry": registry.set_data_dir(files.data), "Path": Path}
    exec(compile(ast.Module([method], []), "handler.py", "exec"), space)
    shutil.copy(files.sample, files.directory / "final_submission.csv")
    found = space["final_evaluate"](types.SimpleNamespace(competition_id=ID), str(files.directory))
    assert found.startswith(f"CompetitionReport(competition_id='{ID}', score={files.score},"), found
    assert grade_csv(Path("dummy.csv"), files.competition).is_lower_better is False


def mle_agent(project: Project, files: Submissions) -> None:
    module = project.names("exp/mlebench_api.py", "grade_sample", "grade", "prepare")
    from mlebench.registry import registry

    module.grade_sample.__globals__["registry"] = registry.set_data_dir(files.data)
    assert module.grade_sample(files.sample, ID).score == files.score
    lines = files.directory / "list.jsonl"
    lines.write_text(json.dumps({"competition_id": ID, "submission_path": str(files.gold)}) + "\n")
    module.grade(lines, files.directory / "reports")
    [report] = (files.directory / "reports").glob("*_grading_report.json")
    assert json.loads(report.read_text())["total_gold_medals"] == 1
    init = project.names("exp/init.py", "is_init", "EXP_DIR", "LFS_SEARCH_DIR", "_LFS_SIGNATURE")
    assert init.is_init() in (True, False)


def benchflow(project: Project, files: Submissions) -> None:
    import mlebench

    wanted = ["load_competitions", "_resolve_source_dir", "_load_splits", "_load_category_metadata", "_load_yaml"]
    wanted += ["_sanitize_id", "_dataset_size", "_infer_complexity_from_splits", "MLEBenchCompetition"]
    wanted += ["_copy_mlebench_package", "_copytree", "_CORE_MLEBENCH_FILES", "_SCRIPT_DIR"]
    import yaml

    module = project.names("benchmarks/mle-bench/benchflow.py", *wanted, yaml=yaml, __file__=str(files.directory / "x.py"))
    root = Path(str(mlebench.__file__)).parents[1]
    competitions = {one.competition_id: one for one in module.load_competitions(root)}
    assert len(competitions) == 82 and competitions[ID].description
    task = files.directory / "task"
    module._copy_mlebench_package(root, task, competitions[ID])
    code = (
        f"from pathlib import Path\nfrom mlebench.registry import registry\nfrom mlebench.grade import grade_csv\n"
        f"competition = registry.set_data_dir(Path({str(files.data)!r})).get_competition({ID!r})\n"
        f"print(grade_csv(Path({str(files.sample)!r}), competition).score)"
    )
    import mleprep

    paths = f"{task / 'tests'}:{Path(str(mleprep.__file__)).parents[1]}"
    around = os.environ | {"PYTHONPATH": paths, "HOME": str(files.directory)}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True)
    assert done.stdout == f"{files.score}\n", done.stderr


def medals(project: Project, files: Submissions) -> None:
    names = ["GradeResult", "_extract_json_block", "_resolve_medal", "_coerced_api_regrade", "_api_grade", "grade"]
    module = project.names("bench/grader.py", *names)
    commands = files.directory / "bin"
    commands.mkdir()
    command = commands / "mlebench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mlebench.cli "$@"\n')
    command.chmod(0o755)
    path = os.environ["PATH"]
    try:
        # If the command does not exist, the project calls the package.
        for directory in (f"{commands}:{path}", str(files.directory)):
            os.environ["PATH"] = directory
            gold, sample, broken = (
                module.grade(ID, submission, files.data) for submission in (files.gold, files.sample, files.broken)
            )
            assert (gold.score, gold.medal()) == (1.0, "gold"), gold
            assert (sample.score, sample.medal(), sample.bronze_threshold) == (files.score, "none", 0.80967), sample
            assert broken.score is None and broken.raw["valid_submission"] is False, broken
    finally:
        os.environ["PATH"] = path
    # Frames of text, compared with answers that are text.
    text = module._coerced_api_regrade(ID, files.sample, files.data)
    assert text is not None and text.score == files.score, text


def dslighting(project: Project, files: Submissions) -> None:
    import asyncio

    import yaml

    class Base:
        def __init__(self, name: str, file_path: Any, log_path: str) -> None:
            self.log_path = log_path

        def log_mismatch(self, **_: Any) -> None:
            pass

    given = {"BaseBenchmark": Base, "TaskDefinition": types.SimpleNamespace, "yaml": yaml, "__file__": str(files.directory / "a/b/c.py")}
    module = project.names("dsat/benchmark/mle.py", "MLEBenchmark", "logger", **given)
    benchmark = module.MLEBenchmark("mle", None, str(files.directory / "log"), str(files.data), [ID])
    assert benchmark.problems == [{"competition_id": ID, "mode": "standard_ml"}]
    assert asyncio.run(benchmark.grade(files.gold)) == 1.0

    def evaluated(result: Any) -> Any:
        async def answer(_: Any) -> Any:
            return result, 0.0, {}

        return asyncio.run(benchmark.evaluate_problem(benchmark.problems[0], answer))

    _, report, error = evaluated(files.sample)
    assert report.score == files.score and report.valid_submission and error is None
    _, report, error = evaluated(files.broken)
    assert report.score is None and error == "Submission invalid or missing."
    _, report, error = evaluated("[ERROR] nothing")
    assert report.submission_exists is False and "nothing" in error


def looplab(project: Project, files: Submissions) -> None:
    bundle = _bundle(files)
    real = project.names("looplab/adapters/mlebench_real.py", "_competition", "competition_meta", "is_prepared")
    for name in ("looplab", "looplab.adapters", "looplab.adapters.mlebench_real"):
        sys.modules[name] = types.ModuleType(name)
    vars(sys.modules["looplab.adapters.mlebench_real"]).update(vars(real))

    def download(name: str, directory: Path, **_: Any) -> Path:
        return Path(shutil.copy(bundle, directory / f"{name}.zip"))

    given = {"download_competition": download, "_competition": real._competition}
    prepare = project.names("looplab/adapters/mlebench_prep.py", "prepare_competition", "_verify_prepared_checksums", **given)
    data = str(files.directory / "looplab")
    assert real.is_prepared(ID, data) is False
    competition = prepare.prepare_competition(ID, data_dir=data)
    assert real.is_prepared(ID, data) is True
    assert (competition.public_dir / "description.md").read_text(encoding="utf-8") == competition.description
    expected = files.competition.answers.read_bytes()
    assert competition.answers.read_bytes() == expected
    meta = real.competition_meta(ID, data)
    assert (meta["direction"], meta["sample_name"]) == ("max", "sample_submission.csv")
    grade = project.names("looplab/adapters/mlebench_grade.py", "grade").grade
    assert grade(ID, str(files.sample), data)["score"] == files.score
    try:
        # The bundle is a made-up one.
        prepare.prepare_competition(ID, data_dir=data, force=True, verify=True)
    except ValueError as error:
        assert "checksums" in str(error)
        return
    raise AssertionError("made-up data have published checksums")


def _bundle(files: Submissions) -> Path:
    """Returns the bundle from which DATA was prepared: a case of this repository, or a file in DATA."""
    places = [Path(__file__).parents[1] / "cases" / ID / "seed0" / "raw.zip", files.data / ID / f"{ID}.zip"]
    for place in places:
        if place.is_file():
            return place
    raise Missing(str(places[-1]))


PROJECTS: dict[str, Callable[[Project, Submissions], None]] = {
    "facebookresearch+aira-dojo": aira_dojo,
    "leonou2010+ML-Master_submit": validation_server("grading_server.py", "utils.config_mcts"),
    "InternScience+MLEvolve": validation_server("engine/validation/format_server.py", "config"),
    "baidu-baige+LoongFlow": loongflow,
    "SakanaAI+mle-bench-shinka-agent": shinka,
    "samm393+mlebench-inspect": scorer_script("mlebench.py"),
    "UKGovernmentBEIS+inspect_evals": inspect_evals,
    "microsoft+RD-Agent": rd_agent,
    "Leeroo-AI+kapso": kapso,
    "MLSysOps+MLE-agent": mle_agent,
    "benchflow-ai+benchflow": benchflow,
    "impulse-ai+mlebench-medals": medals,
    "usail-hkust+dslighting": dslighting,
    "ArtyomZemlyak+looplab": looplab,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    failed = 0
    for name, check in PROJECTS.items():
        if given.names and not any(word in name for word in given.names):
            continue
        with tempfile.TemporaryDirectory() as directory:
            try:
                check(Project(given.checkouts.resolve(), name), Submissions(given.data.resolve(), Path(directory)))
                print(f"{name}: works")
            except Missing as error:
                print(f"{name}: skipped, there is no {error}")
            except Exception as error:
                failed += 1
                print(f"{name}: fails: {type(error).__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
