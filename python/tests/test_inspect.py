"""Runs the example of docs/harbor.md for Inspect, with a local sandbox and without a model."""

from __future__ import annotations

import os
import re
import subprocess
import types
from pathlib import Path
from typing import Any

import mleprep
import pytest
from conftest import ID, ROOT, SAMPLES

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")


@pytest.fixture(scope="module")
def example() -> types.ModuleType:
    """Returns the page's example as a module. Paths are relative, because the sandbox is a directory of this machine."""
    page = (ROOT / "docs" / "harbor.md").read_text()
    [code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "inspect_ai" in block]
    module = types.ModuleType("competitions")
    exec(compile(code.replace('"/home/', '"'), "competitions.py", "exec"), module.__dict__)
    return module


def test_submissions_are_scored_with_sealed_answers(example: types.ModuleType, tmp_path: Path) -> None:
    from inspect_ai.solver import solver
    from inspect_ai.util import sandbox

    data, program = tmp_path / "data", os.environ["PREP_BINARY"]

    def prep(*arguments: str) -> str:
        return subprocess.run([program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    mleprep.run(ID, source=SAMPLES, skip_verification=True, data_dir=data, progress=False)
    answers = (data / ID / "prepared/private/test.csv").read_text()
    key = prep("seal", "--new-identity", "grader.txt").strip()
    prep("seal", ID, "--for", key, "--data-dir", str(data))
    prep("export", "--layout", "harbor", ID, "-o", "tasks", "--data-dir", str(data))

    @solver
    def submit(text: str | None) -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            content = text or await sandbox().read_file("data/sample_submission.csv")
            await sandbox().write_file(example.SUBMISSION, content)
            return state

        return solve

    options = {"data_dir": data, "identity": tmp_path / "grader.txt"}
    values = []
    for text in (None, "no\n1\n", f"{answers}\n", answers):
        task = inspect_ai.Task(
            dataset=example.MemoryDataset(example.samples(tmp_path / "tasks")),
            solver=submit(text),
            scorer=example.competition(**options),
            sandbox="local",
        )
        [log] = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none")
        assert log.status == "success", log.error
        [sample] = log.samples or []
        assert sample.id == ID and sample.scores
        values.append(sample.scores["competition"].value)
    # The sample, an invalid submission, the right values in a different file, and a copy of the file with the answers.
    assert 0 < values[0] < 1 and values[1] == 0 and values[2] > 0.99 and values[3] == 0
