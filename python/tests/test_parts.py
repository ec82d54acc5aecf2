"""Tests of the parts of results: frames of parts, one-line representations, and absolute paths."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mleprep
import pytest
from conftest import ID, SAMPLES
from mleprep.parts import Part, columns

PIZZA = "random-acts-of-pizza"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Maps names to results of functions, which were all called with relative paths."""
    directory = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        given: Any = {"data_dir": "data", "progress": False}
        source: Any = {"source": SAMPLES, "skip_verification": True, **given}
        first = mleprep.run(ID, **source)
        second = mleprep.run(ID, variant="fixed", **source)
        sample = first[ID].public / "sample_submission.csv"
        entries = [{"competition_id": ID, "submission_path": str(sample)}, {"competition_id": "nothing", "submission_path": "x"}]
        Path("list.jsonl").write_text("\n\n".join(map(json.dumps, entries)))
        Path("set.txt").write_text(ID)
        return {
            "run": first,
            "fixed": second,
            "plan": mleprep.plan([ID, PIZZA], no_download=True, **given),
            "why": mleprep.why(ID, **source),
            "list": mleprep.list(**given),
            "leaks": mleprep.leaks(ID, source=SAMPLES, **given),
            "audit": mleprep.audit(ID, source=SAMPLES, **given),
            "diff": mleprep.diff(ID, "v1", "fixed", **given),
            "fetch": mleprep.fetch(ID, source=SAMPLES, skip_bundle_verification=True, **given),
            "fetch_list": mleprep.fetch_list(ID, source=SAMPLES, no_download=True, **given),
            "export": mleprep.export(ID, "copy", **given),
            "report": mleprep.report(ID, output="page.html", **given),
            "grade": mleprep.grade(sample, ID, data_dir="data", output="reports"),
            "grade_all": mleprep.grade_all("list.jsonl", output="reports", check=False, **given),
            "summarize": mleprep.summarize("reports", ids_from="set.txt", check=False, progress=False),
        }


NAMES = "run fixed plan why list leaks audit diff fetch fetch_list export report grade grade_all summarize".split()


def inner(value: Any) -> Iterator[Any]:
    """Yields a result, its parts and all values of fields."""
    yield value
    if isinstance(value, Part):
        for one in dataclasses.fields(value):  # type: ignore[arg-type]
            if one.name not in ("json", "origin"):
                yield from inner(getattr(value, one.name))
    elif isinstance(value, (tuple, mleprep.Results)):
        for one in value:
            yield from inner(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from inner(one)


@pytest.mark.parametrize("name", NAMES)
def test_representations_are_short_lines_and_paths_are_absolute(results: dict[str, Any], name: str) -> None:
    found = [*inner(results[name])]
    assert all(one.is_absolute() for one in found if isinstance(one, Path))
    for one in found:
        if isinstance(one, (Part, mleprep.Results)):
            assert "\n" not in repr(one) and len(repr(one)) < 700, repr(one)
        if isinstance(one, Part):
            with pytest.raises(dataclasses.FrozenInstanceError):
                one.kind = "x"  # type: ignore[attr-defined]


def test_representations(results: dict[str, Any]) -> None:
    plans = results["plan"]
    count = sum(one.steps_to_run for one in plans)
    assert repr(plans) == f"Plans(2: {count} steps to run; {ID}, {PIZZA})" and count > 10
    assert plans.disk is None and plans.left_out == () and plans[0].is_up_to_date == (plans[0].steps_to_run == 0)
    assert repr(results["list"]).startswith("Competitions(82: 3d-") and repr(results["list"]).endswith(", ...)")
    assert repr(results["plan"][0]).startswith(f"Plan(id='{ID}', steps=<")
    assert repr(results["plan"][PIZZA].steps[1]).endswith("runs='yes', reason='first run')")
    assert repr(results["list"][:0]) == "Competitions(0)" and repr(results["run"]) == "Runs(1: 1 prepared)"
    assert repr(results["diff"]).endswith("is_equal=False)")
    assert repr(results["run"][:0]) == "Results(0 Prepared)"
    grades = [mleprep.Grade(ID, 0.5, valid=True, medal="gold"), mleprep.Grade(ID, None)]
    assert repr(mleprep.Grades(grades)) == f"Grades(2: 1 valid, 1 medal; {ID}, {ID})"


def test_times_are_shown_as_text_but_remain_numbers(results: dict[str, Any]) -> None:
    found = results["why"]
    time = datetime.fromtimestamp(found.published.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    assert f"published='{time}: first run'" in repr(found) and f"at='{time}'" in repr(found.published)
    assert f">{time}: first run<" in found._repr_html_() and type(found.published.at) is int
    difference = mleprep.Difference(ID, published=(0, 1))
    assert "published=('1970-01-01 00:00:00 UTC', '1970-01-01 00:00:01 UTC')" in repr(difference)
    assert "1970-01-01 00:00:01 UTC" in difference._repr_html_() and difference.published == (0, 1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_parts_become_columns(results: dict[str, Any], library: Any) -> None:
    steps = results["why"].to_frame(library, of="steps")
    assert ("first run", "first_run") in {*zip(steps["last.reason"], steps["last.reason_kind"])}
    assert results["audit"].to_frame(library)["outputs.verdict"][0] == "answers_differ"
    assert results["audit"].to_frame(library)["tree.verdict"][0] is None
    assert not results["diff"].to_frame(library)["is_equal"][0]
    assert "last.reason" not in results["plan"].to_frame(library, of="steps").columns
    empty = results["plan"][:0].to_frame(library)
    assert {str(empty[name].dtype).lower() for name in ("download_bytes", "steps_to_run", "is_up_to_date")} <= {"int64", "bool", "boolean"}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("plan", "steps"), ("why", "steps"), ("list", "sets"), ("list", "reasons"), ("leaks", "findings"),
        ("audit", "causes"), ("diff", "outputs"), ("diff", "cells"), ("diff", "pipeline"), ("export", "files"),
        ("fetch_list", "files"), ("summarize", "sets"), ("summarize", "competitions"), ("run", "failures"),
    ],
)  # fmt: skip
def test_frames_of_parts_have_a_row_per_part(results: dict[str, Any], name: str, of: str, library: Any) -> None:
    pytest.importorskip(library)
    found = results[name]
    records = [found] if isinstance(found, mleprep.Record) else [*found]
    parts = [(one.id, part) for one in records for part in getattr(one, of)]
    frame = found.to_frame(library, of=of)
    assert len(frame) == len(parts)
    if parts:
        assert [*frame["id"]] == [id for id, _ in parts]
        expected = [*columns(type(parts[0][1]))] if isinstance(parts[0][1], Part) else [of]
        assert {*expected} <= {*frame.columns}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_reasons_and_of_the_entire_result(results: dict[str, Any], library: Any) -> None:
    pytest.importorskip(library)
    steps = results["plan"].to_frame(library, of="steps")
    rows = [(one.reason and one.reason.message, one.reason and one.reason.kind) for plan in results["plan"] for one in plan.steps]
    shown = [(text or None, kind or None) for text, kind in zip(steps["reason"], steps["reason_kind"])]
    assert [row for row in shown if row[0] == row[0]] == [row for row in rows if row[0] or library == "polars"]
    assert len(results["run"].to_frame(library, of="timings")) == len(results["run"].timings)
    [failed] = results["grade_all"].to_frame(library, of="failed")["place"]
    assert failed == "list.jsonl:3"
    with pytest.raises(mleprep.UsageError, match="invalid value 'step' for `of`\nhelp: write 'steps'"):
        results["plan"].to_frame(library, of="step")


def test_failed_entries_have_the_place_that_the_program_reports(results: dict[str, Any]) -> None:
    [entry] = [one for one in results["grade_all"].json["competitions"] if "error" in one]
    assert entry["error"]["place"] == {"file": "list.jsonl", "line": 3} and entry["error"]["kind"] == "usage"
    [failure] = results["grade_all"].failed
    assert (failure.kind, failure.id, failure.code) == ("usage", "nothing", 2)


def test_reasons_of_a_failed_run(tmp_path: Path) -> None:
    given: Any = {"data_dir": tmp_path, "progress": False, "check": False}
    [run] = mleprep.run(ID, source=SAMPLES, skip_bundle_verification=True, **given)
    assert run.failures and all(one.kind == "check" and str(one) == one.message for one in run.failures)
    [listed] = mleprep.list(ID, data_dir=tmp_path)
    [reason] = listed.reasons
    assert reason.kind == "failed" and reason.message.startswith("the last run failed: ")
    assert reason.message in listed._repr_html_()
