"""Tests of defects that users of the package found: frames without rows, reports of grades, and messages about arguments."""

from __future__ import annotations

import builtins
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import mleprep
import polars
import pytest
from conftest import ID
from mleprep import _envelope, _options, parts
from mleprep.parts import Failure
from test_types import FUNCTIONS, returned

QUIET: Any = {"progress": False}


def empty(kind: Any) -> Any:
    return _envelope.results(mleprep.Results[kind], {"competitions": []})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_without_rows_have_the_columns_of_the_class(library: Any) -> None:
    found = _envelope.results(mleprep.Results[mleprep.Leaks], {"competitions": [{
        "id": ID, "worst": None, "items": 1, "has_few_items": False, "bundle": False, "findings": [],
    }]})  # fmt: skip
    for results in (found, empty(mleprep.Leaks), found[:0], pickle.loads(pickle.dumps(found))):
        frame = results.to_frame(library, of="findings")
        assert [*frame.columns[:3]] == ["id", "level", "detector"] and len(frame["level"]) == 0
        assert "message" in results.to_frame(library, of="failed").columns
        assert "worst" in results.to_frame(library).columns
    runs = _envelope.results(mleprep.Runs, {"competitions": []})
    assert [*runs.to_frame(library, of="unverified").columns] == ["id", "unverified"]
    for of in ("failures", "timings", "left_out"):
        assert len(runs.to_frame(library, of=of).columns) > 0
    assert [*mleprep.Results[Any]([]).to_frame(library).columns] == ["id"]


def test_all_classes_have_a_schema_that_does_not_depend_on_the_data() -> None:
    for kind in vars(mleprep.results).values():
        if isinstance(kind, type) and issubclass(kind, mleprep.Record):
            frame = mleprep.Results[Any]([], kind).to_frame("polars")
            assert polars.Null not in frame.dtypes and frame.columns == [*parts.columns(kind)]
    grades = [mleprep.Grade(ID, None), mleprep.Grade(ID, 1.0, thresholds={"gold": 0.5}, medal="gold")]
    frames = [mleprep.Results([one]).to_frame("polars") for one in grades]
    both = polars.concat([*frames, empty(mleprep.Grade).to_frame("polars")])
    assert both["score"].to_list() == [None, 1.0] and both["medal"].dtype == polars.String
    assert both["thresholds.gold"].to_list() == [None, 0.5] and "thresholds" not in both.columns
    assert both.write_csv().startswith("id,score,")


def test_frames_of_metrics_have_a_row_per_metric(data_dir: Path, tmp_path: Path) -> None:
    estimate = {"mean": 1.0, "ci_lower": 0.0, "ci_upper": 2.0, "standard_error": 0.5}
    entry = {"experiment": "mine", "sets": [{"set": "low", "metrics": {"any_medal_percentage": estimate}}]}
    found = _envelope.results(mleprep.Results[mleprep.Experiment], {"experiments": [entry]})
    for library in ("pandas", "polars"):
        frame = found.to_frame(library, of="metrics")
        assert (frame["id"][0], frame["set"][0], frame["metric"][0]) == ("mine", "low", "any_medal_percentage")
        assert frame["mean"][0] == 1.0
        assert "any_medal_percentage" in found.to_frame(library, of="sets")["metrics"][0]
    found.to_frame("polars", of="metrics").write_csv(tmp_path / "metrics.csv")


@pytest.mark.filterwarnings("ignore::mleprep.PrepWarning")
def test_grades_can_be_passed_as_reports(data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    given: Any = {"data_dir": data_dir, "log": False}
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"competition_id": "{ID}", "submission_path": "{sample}"}}\n' * 2)
    grade = mleprep.grade(sample, ID, output=tmp_path / "one", **given)
    grades = mleprep.grade_all(tmp_path / "a.jsonl", output=tmp_path / "all", **given)
    for reports, count in ((grade, 1), (grades, 2), ([grade, *grades], 3)):
        [figures] = mleprep.summarize(reports)[0].competitions
        assert figures.runs == count
    page = mleprep.report(ID, output=tmp_path / "page.html", grading={"alice": [grades], "bob": grade}, data_dir=data_dir)
    assert "alice" in page.path.read_text() and "bob" in page.path.read_text()
    with pytest.raises(TypeError, match="`reports` contains a grade without a report; pass `output`"):
        mleprep.summarize(mleprep.grade(sample, ID, **given))
    others = mleprep.grade_all(tmp_path / "b.jsonl", output=tmp_path / "others", **given)
    both = mleprep.summarize({"alice": [grades, others], "bob": iter([grade])})
    assert both.ids == ["alice", "bob"] and [one.competitions[0].runs for one in both] == [4, 1]
    [figures] = mleprep.summarize([grades, tmp_path / "others", grade])[0].competitions
    assert figures.runs == 5
    for some in (grades[:1], grades[0], [others, [*grades][1:]]):
        with pytest.raises(mleprep.UsageError, match=f"`reports` contains 1 of the 2 grades in {grades[0].path}, but"):
            mleprep.summarize(some)
    with pytest.raises(mleprep.UsageError, match="`grading` contains 1 of the 2 grades in"):
        mleprep.report(ID, output=tmp_path / "page.html", grading={"alice": grades[:1]}, data_dir=data_dir)
    with pytest.raises(TypeError, match="`name` cannot be used with a mapping"):
        mleprep.summarize({"alice": grades}, name="bob")
    with pytest.raises(mleprep.UsageError, match="the experiment `bob` has no reports"):
        mleprep.report(ID, output=tmp_path / "page.html", grading={"alice": grade, "bob": []}, data_dir=data_dir)
    for pairs in ([(ID, sample), (ID, str(sample))], iter([(grade, sample)] * 2), {ID: sample}):
        found = mleprep.grade_all(pairs, output=tmp_path / "pairs", **given)
        assert {*found.ids} == {ID} and {one.submission_path for one in found} == {sample} and found[0].score == grade.score
        assert found._repr_html_().count(f">.../{ID}/prepared/public/{sample.name}<") == len(found)
    with pytest.raises(mleprep.UsageError, match="^submissions:2: there is no competition `nothing`"):
        mleprep.grade_all([(ID, sample), ("nothing", sample)], output=tmp_path / "pairs", **given)
    missing = tmp_path / "missing.csv"
    assert [bool(one) for one in mleprep.grade_all([(ID, sample), (ID, missing)], output=tmp_path / "pairs", **given)] == [True, False]
    with pytest.raises(FileNotFoundError, match="for `submissions`: .*missing.csv"):
        mleprep.grade_all([(ID, missing)], output=tmp_path / "pairs", **given)
    lines: list[str] = []
    (tmp_path / "c.jsonl").write_text(f'{{"competition_id": "{ID}", "submission_path": "missing.csv"}}')
    for submissions in ([(ID, missing)], tmp_path / "c.jsonl"):
        [none] = mleprep.grade_all(submissions, output=tmp_path / "pairs", check=False, progress=lines.append, **given)
        assert none.reason and none.reason.kind == "no_submission"
    assert lines.count("  help: write absolute paths") == 2
    with pytest.raises(mleprep.UsageError, match="`submissions` must be one list or directories of runs, but .*a.jsonl"):
        mleprep.grade_all([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], output=tmp_path / "all", **given)


def test_messages_name_the_data_directory(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(tmp_path))
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    for call in (
        lambda: mleprep.grade(sample, ID), lambda: mleprep.validate(sample, ID), lambda: mleprep.leaks(ID, **QUIET),
        lambda: mleprep.digest(ID), lambda: mleprep.export(ID, tmp_path / "copy"), lambda: mleprep.audit(ID, **QUIET),
    ):  # fmt: skip
        with pytest.raises(mleprep.InputError) as raised:
            call()
        assert raised.value.message.endswith(f" in {tmp_path}") and "`data_dir`" in (raised.value.help or "")
    for check in (True, False):
        lines: list[str] = []
        try:
            failed = mleprep.grade_all([(ID, sample)], output=tmp_path / "x", check=check, progress=lines.append).failed
            message, help, place = failed[0].message, failed[0].help, failed[0].place
            assert f"error: submissions:1: {message}" in lines
        except mleprep.InputError as error:
            message, help, place = error.message, error.help, error.place
        assert message == f"variant `v1` of competition `{ID}` is not prepared in {tmp_path}"
        assert help == f'run `mleprep.run("{ID}")`, or name the directory of the prepared data with `data_dir`'
        assert place == "submissions:1" and not any("mleprep-" in line for line in lines)
    for call in (mleprep.grade, mleprep.validate):
        with pytest.raises(mleprep.InputError, match=f"^variant `fixed` of competition `{ID}` is not prepared in {data_dir}\n"):
            call(sample, ID, variant="fixed", data_dir=data_dir)
    with pytest.warns(mleprep.PrepWarning, match="variant `v1` is not prepared: leaf-classification$"):
        mleprep.report([ID, "leaf-classification"], output=tmp_path / "page.html", data_dir=data_dir)


def test_suggestions(data_dir: Path) -> None:
    """An error about a wrong word lists the valid words. An error about swapped arguments names the right order."""
    found = empty(mleprep.Leaks)
    with pytest.raises(mleprep.UsageError, match="help: write 'findings' or 'failed'"):
        found.to_frame(of="nosuch")
    unknown: Any = "Lite"
    with pytest.raises(mleprep.UsageError, match="invalid value 'Lite' for `set`\nhelp: write 'lite', "):
        mleprep.summarize(data_dir, set=unknown)
    with pytest.raises(TypeError, match="the competition is the first argument, and the output is the second one"):
        mleprep.export("out", ID, data_dir=data_dir)
    with pytest.raises(mleprep.UsageError, match="help: `lite` is a set; name one of its competitions$"):
        mleprep.load("lite", data_dir=data_dir)
    library: Any = "dask"
    with pytest.raises(mleprep.UsageError, match="write 'pandas' or 'polars'"):
        mleprep.load(ID, data_dir=data_dir, library=library)


def test_a_place_occurs_once_in_a_message() -> None:
    place = {"file": "pipelines/x/pipeline.yaml", "line": 6, "column": 21}
    one = {"kind": "pipeline", "code": 3, "message": "pipelines/x/pipeline.yaml:6:21: wrong", "place": place, "help": None}
    for found in ({"error": one}, {"competitions": [{"id": "x", "error": one}, {"id": "y", "failures": [one]}]}):
        assert str(_envelope.error(3, found, "")).count("pipeline.yaml:6:21: ") == 1
    assert _envelope.decoded(Failure, one, "error").message == "wrong"


def test_several_ids_in_a_text_are_an_error_with_a_list() -> None:
    for ids in ("a,b", "a b", ["a, b"]):
        with pytest.raises(mleprep.UsageError, match=r"which is not an id\nhelp: pass a list: \['a', 'b'\]"):
            mleprep.run(ids)
    with pytest.raises(mleprep.UsageError, match="`id` contains 'a b', which is not an id\nhelp: pass one id"):
        mleprep.load("a b")


def test_help_describes_each_field() -> None:
    for kind in (mleprep.Grade, mleprep.Competition, parts.CompetitionFigures):
        for field in dataclasses.fields(kind):
            assert f"\n    {field.name}: " in (kind.__doc__ or ""), field.name
    assert "\n    id: The name of the experiment.\n" in (mleprep.Experiment.__doc__ or "")
    assert "\n    message" not in (parts.StepReason.__doc__ or "") and "\n    kind: " in (parts.StepReason.__doc__ or "")


def test_discovery() -> None:
    """`help(mleprep)` lists all functions, and `from mleprep import *` does not replace the builtin `list`."""
    text = mleprep.__doc__ or ""
    for name in _options.VERBS:
        assert f"\n    {name}: {getattr(mleprep, name).__doc__.splitlines()[0]}\n" in text
    names: dict[str, Any] = {}
    exec("from mleprep import *", names)
    assert names.get("list", builtins.list) is builtins.list and "run" in names


def test_representations_of_results_without_findings() -> None:
    assert "worst=None" in repr(mleprep.Leaks(ID, None, 3, False, False, ()))
    assert "findings=()" in repr(mleprep.Leaks(ID, None, 3, False, False, ()))
    assert mleprep.Difference(ID).is_equal is None and mleprep.Difference(ID, outputs=()).is_equal is True
    assert mleprep.Difference("").is_equal is True and mleprep.Difference(ID, cells=(Any,)).is_equal is False  # type: ignore[arg-type]


def test_errors_of_the_system_name_the_parameter(data_dir: Path, tmp_path: Path) -> None:
    (file := tmp_path / "file.csv").touch()
    missing = tmp_path / "missing"
    for call, kind, name, path in (
        (lambda: mleprep.grade(tmp_path, ID, data_dir=data_dir), IsADirectoryError, "submission", tmp_path),
        (lambda: mleprep.validate(tmp_path, ID, data_dir=data_dir), IsADirectoryError, "submission", tmp_path),
        (lambda: mleprep.grade(missing, ID), FileNotFoundError, "submission", missing),
        (lambda: mleprep.summarize([missing]), FileNotFoundError, "reports", missing),
        (lambda: mleprep.run(ID, source=missing), FileNotFoundError, "source", missing),
        (lambda: mleprep.run(ID, source=file), NotADirectoryError, "source", file),
        (lambda: mleprep.diff(ID, "v1", missing), FileNotFoundError, "new", missing),
        (lambda: mleprep.report(ID, output=tmp_path), IsADirectoryError, "output", tmp_path),
    ):  # fmt: skip
        with pytest.raises(kind) as raised:
            call()  # type: ignore[no-untyped-call]
        assert f"for `{name}`" in str(raised.value) and raised.value.filename == str(path) and raised.value.errno


def test_reports_that_are_named_twice_are_counted_once(data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    grade = mleprep.grade(sample, ID, output=tmp_path / "one", data_dir=data_dir, log=False)
    reports: Any
    for reports in ([grade, grade], [grade, tmp_path / "one"], [grade.path] * 2):
        with pytest.warns(mleprep.PrepWarning, match="1 report is named several times, but counted once: ") as warned:
            found = mleprep.summarize({"alice": reports})
        assert found[0].competitions[0].runs == 1
        # Warnings of a mapping are about the caller, too.
        assert {one.filename for one in warned} == {__file__}


@pytest.mark.filterwarnings("ignore::mleprep.PrepWarning")
def test_notebooks_show_sets_with_figures_and_scores(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    entries = [(ID, sample), (ID, "None")]
    grades = mleprep.grade_all(entries, output=tmp_path / "all", data_dir=data_dir, log=False, progress=False)
    assert [str(one.reason) for one in grades] == ["None", "no submission"]
    assert ">no submission<" in grades._repr_html_() and "file None" not in grades._repr_html_()
    found = mleprep.summarize({"alice": grades, "bob": grades})
    note = "<p><em>alice, bob: no figures for low, medium, high, all, because"
    for one, rows in ((found, 2), (found[0], 1)):
        shown = one._repr_html_()
        assert (shown.count("<table>"), shown.count("<tr>")) == (2, 2 + 2 * rows)
        assert shown.count("no figures") == 1 and (note in shown) == (one is found)
    # The program reads a text with `=` like the command line.
    monkeypatch.chdir(tmp_path)
    for reports in ("carol=all", ["carol=al*/*report*.json"], "carol = all"):
        assert mleprep.summarize(reports).ids == ["carol"]
    page = mleprep.report(ID, output="page.html", grading="carol=all", data_dir=data_dir)
    assert "carol" in page.path.read_text()
    with pytest.raises(mleprep.InputError, match="(?s)there is no file or directory `al`.*did you mean `all`"):
        mleprep.summarize("carol=al")


def test_groups_are_experiments_of_a_page(data_dir: Path, tmp_path: Path) -> None:
    sample = data_dir / ID / "prepared" / "public" / "sample_submission.csv"
    mleprep.grade(sample, ID, output=tmp_path / "g1", data_dir=data_dir, log=False)
    (tmp_path / "groups.csv").write_text("experiment_id,run_group\nalice,g1\n")
    page = mleprep.report(ID, output=tmp_path / "page.html", groups=tmp_path / "groups.csv", data_dir=data_dir)
    assert "alice" in page.path.read_text()


def test_runs_without_a_submission_have_no_path(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "g" / f"{ID}_1").mkdir(parents=True)
    [grade] = mleprep.grade_all(tmp_path / "g", output=tmp_path / "out", data_dir=data_dir, log=False)
    assert grade.submission_path is None and not grade
    ungraded = {"competition": ID, "submission_path": "None", "message": "not prepared"}
    assert _envelope.decoded(parts.UngradedRun, ungraded, "run").submission_path is None


def test_records_name_the_sets_that_functions_accept() -> None:
    everything = mleprep.list(set="all", progress=False)
    for name in ("scored", "all", "low"):
        assert [one.id for one in everything if name in one.sets] == mleprep.list(set=name, progress=False).ids
    with pytest.raises(mleprep.UsageError, match='help: `lite` is a set; select it with `set="lite"`$'):
        mleprep.list("lite", progress=False)


def test_notebooks_show_the_disk_space_that_a_removal_frees() -> None:
    space = parts.Space(files=1, bytes=5_000_000, freed_bytes=1_000)
    shown = mleprep.Competition(id=ID, disk=parts.DiskUse(space, space))._repr_html_()
    assert "freed bytes" in shown and "1.00 kB" in shown and "MB" not in shown


def test_notebooks_complete_the_fields_of_records() -> None:
    """jedi, which completes in IPython, knows an object in a notebook only by its class."""
    jedi = pytest.importorskip("jedi")
    for name in FUNCTIONS:
        group, row = returned(name)
        if group is row:
            continue
        found = group([], row)
        for code in ("found[0].", 'found["x"].', "for one in found:\n    one."):
            names = {one.name for one in jedi.Interpreter(code, [{"found": found}]).complete()}
            assert {one.name for one in dataclasses.fields(row)} <= names and not names & {"ids", "failed"}, (name, code)
    # Fields with several parts are sequences, because jedi does not know the elements of a `tuple[X, ...]`.
    plans = returned("plan")[0]([], mleprep.Plan)
    names = {one.name for one in jedi.Interpreter("found[0].steps[0].", [{"found": plans}]).complete()}
    assert {one.name for one in dataclasses.fields(parts.Step)} <= names
    assert {one.name for one in jedi.Interpreter("mleprep.parts.", [{"mleprep": mleprep}]).complete()} == {*dir(parts)}
    assert {"Estimate", "Medal"} <= {*dir(parts)} and not {"re", "dataclass", "cells"} & {*dir(parts)}
