#!/usr/bin/env python3
"""With Harbor's own code, read tasks that `prep export --layout harbor` wrote. Run their scripts without a container.

    python3.12 -m venv V && V/bin/pip install harbor
    PREP_IDENTITY="$(cat grader.txt)" V/bin/python tests/check_harbor.py TASKS

The exit code is 1 unless these checks pass:

- Harbor loads each task, and Harbor's checker has no findings.
- The verifier runs in its own environment.
- Harbor computes the content hashes in `dataset.toml`.
- Harbor accepts the rewards.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

from harbor.lint.models import DEFAULT_RULES
from harbor.lint.task import lint_task
from harbor.models.dataset.manifest import DatasetManifest
from harbor.models.task.config import VerifierEnvironmentMode
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_task_verifier_mode, resolve_verifier_environment_definition
from harbor.publisher.packager import Packager
from harbor.verifier.verifier import Verifier


def trial(task: Path, public: Path) -> dict[str, float]:
    """Submits the sample, grades it, and returns the rewards as Harbor reads them."""
    with tempfile.TemporaryDirectory() as directory:
        logs, submission = Path(directory, "logs"), Path(directory, "submission.csv")
        logs.mkdir()
        script = (task / "solution" / "solve.sh").read_text()
        script = script.replace("/home/submission", directory).replace("/home/data", str(public))
        subprocess.run(["sh", "-c", script], check=True)
        environment = {**os.environ, "VERIFIER_LOGS": str(logs), "SUBMISSION": str(submission)}
        subprocess.run([str(task / "tests" / "test.sh")], env=environment, check=True, stdout=subprocess.DEVNULL)
        paths = SimpleNamespace(trial_paths=SimpleNamespace(reward_json_path=logs / "reward.json"))
        return Verifier._parse_reward_json(paths)


def main() -> int:
    root = Path(sys.argv[1])
    manifest = DatasetManifest.from_toml((root / "dataset.toml").read_text())
    digests = {reference.name: reference.digest for reference in manifest.tasks}
    failures = []
    for directory in sorted(path.parent for path in root.glob("*/task.toml")):
        task = Task(directory)
        findings = [str(finding) for finding in lint_task(directory) if finding.rule in DEFAULT_RULES]
        failures += [f"{task.name}: {finding}" for finding in findings]
        verifier = resolve_verifier_environment_definition(task.config, task.paths)
        checks = {
            "is_valid_dir": Task.is_valid_dir(directory),
            "separate verifier": resolve_task_verifier_mode(task.config) == VerifierEnvironmentMode.SEPARATE,
            "verifier image": verifier is not None and verifier.directory == task.paths.tests_dir,
            "content hash": digests[task.name] == f"sha256:{Packager.compute_content_hash(directory)[0]}",
        }
        failures += [f"{task.name}: {name}" for name, is_right in checks.items() if not is_right]
        rewards = trial(directory, directory / "environment" / "public")
        print(f"{task.name}: {len(findings)} findings, {rewards}")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
