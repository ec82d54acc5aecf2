"""Tests that `plan` and `why` return the reasons of steps in the words of `prep plan`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mleprep
import pytest
from conftest import ID, ROOT, SAMPLES
from mleprep import _html, _options

VERIFIED = {"skip_verification": False, "skip_bundle_verification": True}


def prepare(given: dict[str, Any]) -> None:
    mleprep.run(ID, **{**given, "skip_verification": True})


def remove_published_file(given: dict[str, Any]) -> None:
    prepare(given)
    (given["data_dir"] / ID / "prepared" / "public" / "train.csv").unlink()


def change_bundle(given: dict[str, Any]) -> None:
    prepare(given)
    with zipfile.ZipFile(given["source"] / f"{ID}.zip", "a") as archive:
        archive.writestr("notes.txt", "new")


def change_pipeline(given: dict[str, Any]) -> None:
    given["pipelines"] = given["cache_dir"] / "pipelines"
    directory = shutil.copytree(ROOT / "pipelines" / ID, given["pipelines"] / ID)
    prepare(given)
    pipeline = directory / "pipeline.yaml"
    pipeline.write_text(pipeline.read_text().replace("seed: 0", "seed: 1"))


def remove_results(given: dict[str, Any]) -> None:
    prepare(given)
    [ledger] = given["cache_dir"].rglob("ledger-v*")
    for path in ledger.iterdir():
        shutil.rmtree(path)


def fail(given: dict[str, Any]) -> None:
    mleprep.run(ID, **given, **VERIFIED, check=False)


# For each case: the function that is called before, the options of `plan` and `why`, and the beginning of the message
# of each expected kind of reason.
CASES: dict[str, tuple[Callable[[dict[str, Any]], object], dict[str, Any], dict[str, str]]] = {
    "not prepared": (dict, {}, {"unread": "not read yet, ", "first_run": "first run"}),
    "missing bundle": (dict, {"source": None}, {"missing": "missing", "first_run": "first run"}),
    "up to date": (prepare, {}, {}),
    "changed pipeline": (
        change_pipeline,
        {},
        {"changed": "method.seed changed", "input_pending": "depends on the result of `"},
    ),
    "changed bundle": (change_bundle, {}, {"unread": "not read yet, ", "input_pending": "depends on the result of `"}),
    "removed file": (
        remove_published_file,
        {},
        {"not_current": "the data directory differs from the results of the steps: "},
    ),
    "failed": (fail, VERIFIED, {"failed": "it failed: "}),
    "removed results": (remove_results, {}, {"result_missing": "its result is no longer in the cache"}),
}


@pytest.mark.parametrize("name", CASES)
def test_reasons_are_those_of_the_command_line(tmp_path: Path, name: str) -> None:
    before, options, expected = CASES[name]
    given: dict[str, Any] = {
        "source": tmp_path / "source",
        "data_dir": tmp_path / "data",
        "cache_dir": tmp_path,
        "progress": False,
    }
    given["source"].mkdir()
    shutil.copy(SAMPLES / f"{ID}.zip", given["source"])
    before(given)
    given |= options
    # Otherwise a plan of a missing bundle fails, because there are no credentials for Kaggle.
    offline = {**given, "no_download": True}
    command = [os.environ["PREP_BINARY"], "plan", ID, *_options.command_line("plan", offline)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^  (\S+) +\S+ +(.*)$", shown, re.MULTILINE)
    [plan], why = mleprep.plan(ID, **offline), mleprep.why(ID, **given)
    for steps in (plan.steps, why.steps):
        texts = [
            (one.name, f"{'may run: ' if one.runs == 'maybe' else ''}{one.reason}") for one in steps if one.runs != "no"
        ]
        assert texts == lines
        reasons = [one.reason for one in steps if one.reason]
        assert expected.items() <= {(one.kind, one.message[: len(expected.get(one.kind, ""))]) for one in reasons}, texts
        for one in reasons:
            assert (one.kind == "changed") == bool(one.changes) and (one.kind == "input_pending") == bool(one.waits_for)
    for html in (plan._repr_html_(), why._repr_html_()):
        assert "_run" not in html and "unread" not in html and "not_current" not in html
    if before is not dict:
        assert "first run" in why._repr_html_()


def test_sizes_are_those_of_the_program() -> None:
    sizes = {
        0: "0 B",
        999: "999 B",
        1234: "1.23 kB",
        14_613: "14.6 kB",
        999_499: "999 kB",
        999_960: "1.00 MB",
        2 * 10**15: "2000 TB",
    }
    assert {count: _html.size(count) for count in sizes} == sizes
