"""Tests of the package `mleprep`: its documentation page, its records, its errors."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import mleprep
import pandas as pd
import pytest
from conftest import ID, ROOT, SAMPLES
from mleprep import _envelope, _html
from mleprep.errors import error_of

PAGE = ROOT / "docs" / "python.md"


def wrong_lines(script: Path) -> list[int]:
    """Returns the numbers of the lines in a script that a strict type checker rejects."""
    around = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={script.parent}", script.name]
    found = subprocess.run(command, cwd=script.parent, env=around, capture_output=True, text=True).stdout
    return [int(line) for line in re.findall(rf"^{script.name}:(\d+): error", found, re.MULTILINE)]


def test_documentation_examples_print_the_documented_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREP_CACHE_DIR")
    subprocess.run([os.environ["PREP_BINARY"], "demo"], check=True, capture_output=True)
    monkeypatch.chdir("prep-demo")
    text = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```python"), "an example has no output"
    assert [Path("prep.toml").read_text(encoding="utf-8")] == re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    Path("examples.py").write_text("".join(code for code, _ in examples), encoding="utf-8")
    assert wrong_lines(Path("examples.py").absolute()) == []
    names: dict[str, object] = {}
    for code, expected in examples:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(code, names)
        assert shown.getvalue() == expected, code


def test_run_returns_records_and_prints_nothing_on_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    done = mleprep.run(
        [ID, "random-acts-of-pizza"],
        source=SAMPLES,
        skip_verification=True,
        data_dir=tmp_path / "data",
        progress=lines.append,
    )
    assert done.ids == [ID, "random-acts-of-pizza"]
    assert all(one.is_complete and one.steps_run + one.steps_reused > 5 and one.files for one in done)
    assert any(ID in line for line in lines)
    assert capfd.readouterr() == ("", "")
    again = mleprep.run(ID, source=SAMPLES, skip_verification=True, data_dir=tmp_path / "data", progress=False)
    assert again[ID].state == "up_to_date"
    [one] = again
    assert one.path == tmp_path / "data" / ID / "prepared" == mleprep.path(ID, data_dir=tmp_path / "data")
    assert (one.public / "train.csv").is_file() and (one.private / "test.csv").is_file()
    assert {*done.json["competitions"][0]} == {*done[0].json} and not [name for name in done[0].json if name[0] == "_"]
    assert done.left_out == () and done.timings and done.timings[0].competition in done.ids


@pytest.mark.parametrize(
    "way",
    ["cp -r data other", "cp -a data other", "mkdir other && tar -C data -c . | tar -C other -x", "mv data other"],
)
def test_copied_data_are_graded(tmp_path: Path, way: str) -> None:
    mleprep.run(ID, source=SAMPLES, skip_verification=True, data_dir=tmp_path / "data", progress=False)
    public = Path("prepared", "public")
    sample = (tmp_path / "data" / ID / public / "sample_submission.csv").read_bytes()
    (tmp_path / "sample.csv").write_bytes(sample)
    subprocess.run(["sh", "-ec", way], cwd=tmp_path, check=True)
    (tmp_path / "other" / ID / public / "notes.txt").write_text("an agent's file")
    other = tmp_path / "other"
    assert mleprep.grade(tmp_path / "sample.csv", ID, data_dir=other, log=False).score is not None
    assert mleprep.validate(tmp_path / "sample.csv", ID, data_dir=other).valid


def test_failure_of_a_run_is_raised(tmp_path: Path) -> None:
    given = {"source": tmp_path, "data_dir": tmp_path / "data", "progress": False}
    with pytest.raises(mleprep.InputError) as raised:
        mleprep.run(ID, **given)  # type: ignore[arg-type]
    assert raised.value.code == 4
    assert ID in str(raised.value)


def test_list_returns_states_and_sets(data_dir: Path) -> None:
    found = mleprep.list(data_dir=data_dir)
    assert len(found) == 82
    assert found[ID].state.startswith("prepared") and found[ID].variants == ("v1",)
    assert found["aerial-cactus-identification"].state == "not prepared"
    assert found[:2].ids == found.ids[:2]
    with pytest.raises(KeyError):
        found["no-such-competition"]


def test_frame_and_file_get_the_same_result(data_dir: Path) -> None:
    path = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    frame = pd.read_csv(path)
    by_file = mleprep.grade(path, ID, data_dir=data_dir, log=False)
    by_frame = mleprep.grade(frame, ID, data_dir=data_dir, log=False)
    assert by_frame.score == by_file.score is not None
    assert mleprep.validate(frame, ID, data_dir=data_dir)
    refused = mleprep.validate(frame.drop(columns=frame.columns[-1]), ID, data_dir=data_dir)
    assert not refused and "invalid" in refused.message and refused.reason


def test_notebook_tables_escape_their_cells(data_dir: Path) -> None:
    shown = mleprep.list([ID], data_dir=data_dir)._repr_html_()
    assert shown.startswith("<table>") and ID in shown
    assert "<th" in mleprep.validate(SAMPLES / f"{ID}.zip", ID, data_dir=data_dir)._repr_html_()
    assert "&lt;script&gt;" in _html.table([{"<b>": "<script>"}]) and "<b>" not in _html.table([{"<b>": 1}])


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1, mleprep.PrepError), (2, mleprep.UsageError), (7, mleprep.ServerError), (101, mleprep.InternalError)],
)
def test_exit_code_determines_the_exception_class(code: int, kind: type[mleprep.PrepError]) -> None:
    assert type(error_of(code, "no")) is kind


def test_errors_are_parsed_from_json_and_messages() -> None:
    place = {"file": "pipeline.yaml", "line": 3, "column": 5}
    answer = json.dumps({"error": {"kind": "pipeline", "code": 3, "message": "wrong", "help": "mend it", "place": place}})
    found = _envelope.error(3, json.loads(answer), "")
    assert str(found) == "pipeline.yaml:3:5: wrong\nhelp: mend it"
    found = _envelope.error(4, {}, "warning: old\nerror: no bundle\n  ID: a, b\n  help: mend it\nerror: two\n")
    assert (found.message, found.help) == ("no bundle\n  ID: a, b\ntwo", "mend it")
    entries = [{"id": "x", "error": {"kind": "input", "code": 4, "message": "one"}}, {"id": "y", "failures": [{"kind": "check", "message": "two", "step": "z"}]}]
    found = _envelope.error(8, {"competitions": entries}, "error: other")
    assert str(found) == "x: one\ny/z: two"
    found = _envelope.error(4, {"competitions": [*entries, {**entries[0], "id": "w"}]}, "")
    assert str(found) == "x, w: one\ny/z: two" and found.place is None


KILLED = "the program was killed by signal"


@pytest.mark.parametrize(
    ("script", "kind", "code", "text"),
    [
        ("kill -KILL $$", mleprep.SystemFailure, 6, f"{KILLED} 9 (SIGKILL)\nhelp: if the memory was exhausted, pass a lower limit"),
        ("kill -TERM $$", mleprep.Interrupted, 130, f"{KILLED} 15 (SIGTERM)"),
        ("kill -SEGV $$", mleprep.InternalError, 101, f"{KILLED} 11 (SIGSEGV)"),
        ("exit 130", mleprep.Interrupted, 130, "the program was stopped\nhelp: call the function again"),
    ],
)
def test_program_that_ends_without_a_result_raises_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, kind: type[mleprep.PrepError], code: int, text: str
) -> None:
    program = tmp_path / "prep"
    program.write_text(f"#!/bin/sh\nulimit -c 0\necho 'a: started, 13 steps' >&2\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PREP_BINARY", str(program))
    for check in (True, False):
        with pytest.raises(kind) as raised:
            mleprep.run(ID, data_dir=tmp_path, progress=False, check=check)
        assert type(raised.value) is kind and raised.value.code == code
        assert str(raised.value).startswith(text) and "started" not in str(raised.value)


def test_missing_program_error_lists_the_searched_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PREP_BINARY", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(mleprep.ProgramNotFound, match="pip install mleprep"):
        mleprep.list()
    monkeypatch.setenv("PREP_BINARY", str(tmp_path / "none"))
    with pytest.raises(mleprep.ProgramNotFound, match=str(tmp_path / "none")):
        mleprep.grade(__file__, ID)


@pytest.mark.parametrize("other", ["true", "cat"])
def test_variable_that_names_another_program_is_an_error(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    monkeypatch.setenv("PREP_BINARY", other)
    for call in (mleprep.list, lambda: mleprep.path(ID), lambda: mleprep.run(ID, progress=False)):
        with pytest.raises(mleprep.ProgramNotFound, match=f"PREP_BINARY names {other}, which is not the program `prep`"):
            call()


def test_type_checkers_know_the_parameters(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = [
        'import mleprep',
        'from pathlib import Path',
        'public: Path = mleprep.run("x", max_rate="20MB", partial=True, jobs=2, check=False)[0].public',
        'rules: str = mleprep.fetch_check_rules(set="systemcard")[0].url',
        'reason: mleprep.InvalidReason | None = mleprep.grade("a.csv", "x").reason',
        'shown: set[str] = set(); mleprep.run("x", progress=lambda line: line in shown, expand_archives=True)',
        'mleprep.run("x", jobs="two")',
        'mleprep.run("x", sources="bundles")',
        'mleprep.leaks("x")[0].findings[0].what.lower().nothing',
        'mleprep.grade("a.csv")',
        'mleprep.diff("x")',
        'mleprep.leaks("x")[0].worst == "high"',
        'mleprep.plan("x")[0].steps[0].runs == "never"',
        '(reason.kind if reason else None) == "rows"',
        'len(mleprep.PrepError("x").results)',
        'import pandas',
        'mleprep.grade(pandas.DataFrame(), "x")',
        'mleprep.grade(pandas.Series(), "x")',
    ]
    errors = [*range(7, 16), 18]
    script.write_text("\n".join(lines) + "\n")
    assert wrong_lines(script) == errors
