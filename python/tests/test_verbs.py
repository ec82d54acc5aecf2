"""Tests of the functions on prepared samples: paths, tables, results of all verbs, errors and progress."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import mleprep
import numpy as np
import pandas as pd
import pytest
from conftest import ID, ROOT, SAMPLES
from mleprep import _progress, _tables, parts
from mleprep.results import prepared_path

PIZZA = "random-acts-of-pizza"
PICTURES = "aerial-cactus-identification"


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a data directory with two variants."""
    directory = tmp_path_factory.mktemp("variants")
    for variant in ("v1", "fixed"):
        mleprep.run(ID, variant=variant, source=SAMPLES, skip_verification=True, data_dir=directory, progress=False)
    return directory


def test_each_variant_has_its_own_path(variants: Path) -> None:
    for variant, expected in (("v1", variants / ID), ("fixed", variants / "fixed" / ID)):
        path = mleprep.path(ID, variant=variant, data_dir=variants)
        assert path == expected / "prepared" and (path / "public" / "train.csv").is_file()
    assert prepared_path(Path("d"), "x", "fixed:30,63") == Path("d/fixed-30-63/x/prepared")
    with pytest.raises(mleprep.InputError) as raised:
        mleprep.path(ID, variant="fixed:63", data_dir=variants)
    assert raised.value.help == f'run `mleprep.run("{ID}", variant="fixed:63", data_dir="{variants}")`'
    assert f"is not prepared in {variants}" in str(raised.value)
    with pytest.raises(mleprep.UsageError, match="did you mean `spaceship-titanic`"):
        mleprep.path("spaceship-titanik", data_dir=variants)
    for wrong in ("fixd", "fixed:99"):
        with pytest.raises(mleprep.UsageError, match="there is no variant `fixd`|has the correction `99`"):
            mleprep.path(ID, variant=wrong, data_dir=variants)


def test_path_of_a_record_is_in_its_data_dir(variants: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(tmp_path))
    given: Any = {"source": SAMPLES, "skip_verification": True, "data_dir": variants, "progress": False}
    for variant in ("v1", "fixed"):
        done = mleprep.run(ID, variant=variant, **given)
        assert mleprep.path(done) == mleprep.path(done[0]) == done[0].path == mleprep.path(ID, variant=variant, data_dir=variants)
        assert "train" in mleprep.load(done)
    with pytest.raises(mleprep.InputError, match="`fixed` .* is not prepared in"):
        mleprep.path(done, data_dir=tmp_path)
    with pytest.raises(mleprep.InputError, match="`v1` .* is not prepared in"):
        mleprep.path(done, data_dir=tmp_path, variant="v1")
    with pytest.raises(TypeError, match="needs one competition, not 2"):
        mleprep.path([done[0], done[0]])


def test_path_without_a_data_dir_is_that_of_the_settings(variants: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(variants))
    assert mleprep.path(ID) == variants / ID / "prepared"
    [one] = mleprep.run(ID, source=SAMPLES, skip_verification=True, progress=False)
    assert one.path == variants / ID / "prepared" and one.state == "up_to_date"
    monkeypatch.chdir(variants.parent)
    [one] = mleprep.run(ID, source=SAMPLES, skip_verification=True, progress=False, data_dir=variants.name)
    assert one.path == variants / ID / "prepared"


def test_public_tables_are_frames(data_dir: Path) -> None:
    tables = mleprep.load(ID, data_dir=data_dir)
    assert {*tables} == {"train", "test", "sample_submission"}
    assert tables["train"].shape[0] == 270 and tables["train"] is tables["train"]
    assert mleprep.validate(tables["sample_submission"], ID, data_dir=data_dir)
    assert "train.csv" in tables._repr_html_() and "train" in repr(tables)
    assert tables == tables and tables != mleprep.load(ID, data_dir=data_dir)
    with pytest.raises(KeyError, match="no table 'trian'; did you mean 'train'?"):
        tables["trian"]
    pizza = mleprep.load(PIZZA, data_dir=data_dir)
    assert pizza["train"].equals(pizza["train.zip/train.json"]) and len(pizza["train"]) == 232
    # `load` does not convert values, for example timestamps to dates.
    assert pizza["train"]["unix_timestamp_of_request"].dtype == np.float64


def test_polars_reads_the_same_tables(data_dir: Path) -> None:
    polars = pytest.importorskip("polars")
    for name in (ID, PIZZA):
        expected = mleprep.load(name, data_dir=data_dir, library="pandas")
        tables = mleprep.load(name, data_dir=data_dir, library="polars")
        assert {*tables} == {*expected}
        for key in tables:
            assert isinstance(tables[key], polars.DataFrame) and tables[key].shape == expected[key].shape
    sample = mleprep.load(ID, data_dir=data_dir, library="polars")["sample_submission"]
    assert mleprep.grade(sample, ID, data_dir=data_dir, log=False).score == 0.5


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_all_formats_are_loaded(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library)
    frame = pd.DataFrame({"id": ["001", "002"], "value": [1, 2]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "c.csv.gz", index=False)
    frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "e.json", orient="records")
    np.save(tmp_path / "f.npy", np.arange(3))
    np.savez(tmp_path / "g.npz", x=np.arange(3))
    (tmp_path / "folder").mkdir()
    frame.to_csv(tmp_path / "folder" / "h.csv", index=False)
    (tmp_path / "photo.jpg").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "i.csv.zip", "w") as archive:
        archive.writestr("i.csv", frame.to_csv(index=False))
        archive.writestr("__MACOSX/._i.csv", "")
        archive.writestr("photo.jpg", "")
    tables = _tables.Tables(tmp_path, library)
    assert sorted(tables) == ["a", "b", "c", "d", "e", "f", "folder/h", "g", "i"]
    for name in "abcdei":
        assert tables[name].shape == (2, 2), name
    assert [*tables["d"]["id"]] == ["001", "002"] and tables["f"].tolist() == [0, 1, 2] == tables["g"]["x"].tolist()
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(mleprep.InputError, match=f"^{tmp_path / 'a.csv'}: {library} cannot read the table `a`: .*\n") as raised:
        _tables.Tables(tmp_path, library)["a"]
    assert raised.value.__cause__


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_content_of_json_decides_whether_it_is_a_table(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library)
    columns = {"kind": {"a": "code", "b": "text"}, "source": {"a": "x", "b": "y"}}
    documents = {
        "lines": '{"a": 1, "b": [1]}\n\n{"a": 2, "b": [2]}\n', "rows": '[{"a": 1}, {"a": 2.5}]', "columns": '{"a": [1, 2]}',
        "names": '{"0": "x", "1": "y"}', "coco": '{"images": [{"id": 1}], "annotations": [{"id": 2}]}', "list": "[1, 2]",
        "mixed": '{"info": {}, "images": [{"id": 1}]}', "nested": json.dumps(columns),
    }  # fmt: skip
    for name, text in documents.items():
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "one.jsonl").write_text('{"a": 1}')
    tables = dict(_tables.Tables(tmp_path, library))
    for name in ("lines", "rows", "columns"):
        assert [int(one) for one in tables[name]["a"]] == [1, 2], name
    assert tables["lines"].shape == (2, 2) and tables["one"].shape == (1, 1)
    for name in ("names", "coco", "list", "mixed"):
        assert tables[name] == json.loads(documents[name])
    # polars has no index.
    nested = tables["nested"].reset_index() if library == "pandas" else tables["nested"]
    assert [*nested.columns] == ["index", "kind", "source"] and [*nested["index"]] == ["a", "b"] and [*nested["source"]] == ["x", "y"]
    (tmp_path / "rows.json").write_text('{"a": 1}\n{')
    with pytest.raises(mleprep.InputError, match="cannot read the table `rows`"):
        _tables.Tables(tmp_path, library)["rows"]


def test_many_tables_are_shown_shortly(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    for place in range(200):
        (tmp_path / "part" / f"{place:03}.csv").touch()
    (tmp_path / "train.csv").touch()
    tables = _tables.Tables(tmp_path)
    assert repr(tables).startswith("Tables(201: train, part/000, ") and repr(tables).endswith("part/008, ...)")
    assert tables._repr_html_().count("<tr>") == 101 and tables._repr_html_().endswith("and 101 more</em></p>")
    with pytest.raises(KeyError) as raised:
        tables["nothing"]
    assert len(str(raised.value)) < 200 and tables._ipython_key_completions_() == [*tables]


def test_files_that_are_not_tables_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("description.md", "train.json.7z"):
        (tmp_path / name).touch()
    tables = _tables.Tables(tmp_path)
    assert repr(tables) == "Tables(0; 2 other files: description.md, train.json.7z)" and "train.json.7z" in tables._repr_html_()
    with pytest.raises(KeyError, match="no table 'x' in Tables.0; 2 other files: description.md"):
        tables["x"]
    (tmp_path / "a.parquet").touch()
    (tmp_path / "inner").mkdir()
    for name in ("names.csv", "inner/names.csv", "inner/words.txt", "inner/corpus.txt.7z"):
        (tmp_path / name).touch()
    tables = _tables.Tables(tmp_path)
    others = "4 other files: description.md, train.json.7z, inner/corpus.txt.7z, ..."
    assert repr(tables) == f"Tables(3: a, names, inner/names; {others})"
    assert ">inner/names.csv<" in tables._repr_html_() and tables._repr_html_().endswith(f"<p><em>{others}</em></p>")
    for key, expected in {
        "train": "train.json.7z; `run` with `expand_archives=True` unpacks it",
        "words.txt": "inner/words.txt, which is text",
        "words": "inner/words.txt, which is text",
        "inner/words": "inner/words.txt, which is text",
        "corpus": "inner/corpus.txt.7z, which is text; `run` with `expand_archives=True` unpacks it",
    }.items():
        with pytest.raises(KeyError) as raised:
            tables[key]
        assert raised.value.args[0] == f"there is no table {key!r}, because `load` does not read {tmp_path}/{expected}"
    position: Any = 0
    with pytest.raises(TypeError, match="^tables are indexed by name, not by 0: Tables.3: a, "):
        tables[position]
    # `in` must not read the file. Reading it would fail, because the file is empty.
    assert "names" in tables and 0 not in tables

    def failing(*_: Any) -> None:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", failing)
    with pytest.raises(ImportError, match='pandas needs pyarrow to read .*a.parquet: .*, or pass `library="polars"`'):
        _tables.Tables(tmp_path, "pandas")["a"]


def test_missing_library_is_an_import_error(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ImportError, match="mleprep.load needs pandas or polars: pip install pandas"):
        mleprep.load(ID, data_dir=data_dir)
    with pytest.raises(ImportError, match="mleprep.load needs polars: pip install polars"):
        mleprep.load(ID, data_dir=data_dir, library="polars")


def test_unknown_library_is_a_usage_error(data_dir: Path) -> None:
    call: Any
    for call in (lambda name: mleprep.load(ID, data_dir=data_dir, library=name), mleprep.list(ID, data_dir=data_dir).to_frame):
        with pytest.raises(mleprep.UsageError, match="invalid value 'dask' for `library`"):
            call("dask")
        with pytest.raises(TypeError, match="`library` must be a text, not 3"):
            call(3)


def test_tables_can_be_pickled(data_dir: Path) -> None:
    tables = mleprep.load(ID, data_dir=data_dir)
    copy = pickle.loads(pickle.dumps(tables))
    assert [*copy] == [*tables] and copy["train"].equals(tables["train"])


def test_results_of_all_verbs(variants: Path, tmp_path: Path) -> None:
    data: Any = {"data_dir": variants, "progress": False}
    [plan] = mleprep.plan(ID, source=SAMPLES, skip_verification=True, **data)
    assert plan.is_up_to_date and plan.steps[0].name == "bundle"
    [found] = mleprep.leaks(ID, source=SAMPLES, **data)
    assert found.items == 30 and found.bundle and found.worst is None
    [audit] = mleprep.audit(ID, source=SAMPLES, **data)
    assert audit.verdict == "answers_differ" and audit.outputs and audit.outputs.published == 4
    digests = mleprep.digest(**data)
    assert digests.ids == [ID] and digests[0].public.files == 4 and len(digests.digest) == 64
    assert mleprep.digest(mleprep.list(ID, data_dir=variants), **data).digest == digests.digest
    difference = mleprep.diff(ID, "v1", "fixed", **data)
    assert not difference.is_equal and difference.outputs and "private/test.csv" in difference._repr_html_()
    assert mleprep.diff(ID, variants, str(variants), **data).is_equal
    copy = mleprep.export(ID, tmp_path / "copy", private=True, **data)
    assert copy.path == tmp_path / "copy" and copy.private and len(copy.files) == 5 and (tmp_path / "copy" / ID / "prepared" / "private").is_dir()
    page = mleprep.report(ID, output=tmp_path / "new" / "page.html", **data)
    assert page.path == tmp_path / "new" / "page.html" and page.path.stat().st_size == page.bytes and page.ids == [ID]
    assert str(page.path) in repr(page) and str(page.bytes) in repr(page)
    [listing] = mleprep.fetch_list(ID, source=SAMPLES, no_download=True, **data)
    assert [one.path for one in listing.files] == ["train.csv"] and listing.files[0].used
    [bundle] = mleprep.fetch(ID, source=SAMPLES, skip_bundle_verification=True, **data)
    assert bundle.path == SAMPLES / f"{ID}.zip"
    for one in (found, audit, digests, difference, copy, page, listing, bundle, plan):
        assert one._repr_html_().startswith("<table>")
    # A single record is shown with its reasons.
    plan = mleprep.plan(ID, source=tmp_path, variant="fixed:parties", skip_verification=True, no_download=True, **data)
    for details in (plan._repr_html_(), audit._repr_html_()):
        assert details.count("<table>") == 2
    assert "first run" in plan._repr_html_() and "no rule explains this difference" in audit._repr_html_()


def test_several_records_are_shown_with_their_reasons(variants: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data: Any = {"data_dir": variants, "progress": False}
    [audit] = mleprep.audit(ID, source=SAMPLES, **data)
    several = mleprep.Results([audit, audit])._repr_html_()
    assert several.count("no rule explains this difference") == 2 * audit._repr_html_().count("no rule explains")
    plans = mleprep.plan([PIZZA, PICTURES], no_download=True, **data)
    count = sum(step.runs != "no" for plan in plans for step in plan.steps)
    assert plans._repr_html_().count("first run") == count - 2 and f">{PICTURES}</td><td " in plans._repr_html_()
    monkeypatch.setattr("mleprep._html.MAX_ROWS", 5)
    assert plans._repr_html_().endswith(f"<p><em>and {count - 5} more</em></p>")
    figures = {"valid_submissions_percentage": parts.Estimate(25.0, 20.0, 30.0, 2.5)}
    experiments = [mleprep.Experiment(id, (parts.SetFigures("low", num_seeds_averaged=3, metrics=figures),)) for id in ("a", "b")]
    assert mleprep.Results(experiments)._repr_html_().count(">25.00 ± 2.50</td>") == 2


def test_files_that_are_not_compared_are_mentioned(variants: Path) -> None:
    data: Any = {"data_dir": variants, "progress": False}
    assert "not compared" in mleprep.diff(PIZZA, "v1", "v1", **data)._repr_html_()
    assert "not compared" not in mleprep.diff(ID, "v1", "v1", **data)._repr_html_()


def test_why_returns_one_step_or_all_steps(variants: Path) -> None:
    data: Any = {"data_dir": variants, "source": SAMPLES, "progress": False}
    every = mleprep.why(ID, **data)
    assert (every.id, every.variant, every.as_last_time) == (ID, "v1", ("skip_verification",)) and len(every.steps) > 5
    one = mleprep.why(mleprep.list(ID, data_dir=variants), step="public/test.csv", **data)
    [step] = one.steps
    assert step.name == "public/test.csv" and step.last and step.last.record.inputs
    assert one._repr_html_().count("<table>") == 2
    with pytest.raises(mleprep.UsageError, match="has no step `split`") as raised:
        mleprep.why(ID, "split", **data)
    assert raised.value.help == f'`mleprep.why("{ID}")` lists its steps'


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_results_become_frames(variants: Path, library: Any) -> None:
    pytest.importorskip(library)
    data: Any = {"data_dir": variants, "progress": False}
    found = mleprep.list(**data)
    frame = found.to_frame(library)
    assert [*frame["id"]] == found.ids and "json" not in frame.columns
    ids = [ID, "leaf-classification"]
    runs = mleprep.run(ids, source=SAMPLES, no_download=True, skip_verification=True, check=False, **data)
    frame = runs.to_frame(library)
    assert [*frame["path"]] == [str(one.path) for one in runs] and "json" not in str(frame["failures"][1])
    grade = mleprep.grade_score(0.5, ID)
    many = [mleprep.Grade(ID, None if place < 200 else 0.5, json=grade.json) for place in range(201)]
    assert mleprep.Results(many).to_frame(library)["score"][200] == 0.5


def test_frames_are_not_files_in_results(variants: Path, tmp_path: Path) -> None:
    sample = mleprep.load(ID, data_dir=variants, library="pandas")["sample_submission"]
    sample.to_csv(tmp_path / "a.csv", index=False)
    data: Any = {"data_dir": variants}
    assert mleprep.grade(tmp_path / "a.csv", ID, **data).submission_path == tmp_path / "a.csv"
    assert mleprep.grade(sample, ID, **data).submission_path is None
    for frame, expected in (
        (pd.DataFrame(), "the frame has no columns"),
        (sample.T, "the frame has 30 columns, but none"),
        (sample.set_index("PassengerId"), "`PassengerId` is the index of the frame: call `reset_index()`"),
    ):
        reason = mleprep.grade(frame, ID, **data).reason
        assert reason and expected in reason.message and "file" not in str(reason) and "line" not in str(reason)
        assert mleprep.validate(frame, ID, **data).reason == reason


def test_id_of_several_records_is_an_error(variants: Path) -> None:
    [one] = mleprep.list(ID, data_dir=variants)
    assert one.variant == "v1"
    with pytest.raises(KeyError, match=f"2 results have the id `{ID}`; index them by position"):
        mleprep.Results([one, one])[ID]


def test_score_without_a_submission_has_a_medal() -> None:
    found = mleprep.grade_score(0.81, ID)
    assert (found.id, found.score, found.medal, found.above_median) == (ID, 0.81, "bronze", True)
    assert mleprep.grade_score(-1e3, [ID]).medal is None and not found.is_lower_better
    assert mleprep.grade_score(None, ID).thresholds == found.thresholds and found.thresholds["gold"] == 0.82066


def test_reports_are_summarized(variants: Path, tmp_path: Path) -> None:
    sample = mleprep.path(ID, data_dir=variants) / "public" / "sample_submission.csv"
    lines = tmp_path / "list.jsonl"
    lines.write_text(json.dumps({"competition_id": ID, "submission_path": str(sample)}))
    for seed in range(2):
        [grade] = mleprep.grade_all(lines, output=tmp_path / f"reports-{seed}", data_dir=variants, progress=False)
        assert grade.score == 0.5 and grade.path and json.loads(grade.path.read_text())["total_runs"] == 1
    single = mleprep.grade(sample, ID, output=tmp_path / "single", data_dir=variants)
    assert single.path and single.path.parent == tmp_path / "single" and json.loads(single.path.read_text())
    assert mleprep.grade(sample, ID, data_dir=variants).path is None and not {*single.json} & {"_path", "path"}
    lines.write_text(lines.read_text() + "\n\n" + json.dumps({"competition_id": "nothing", "submission_path": "x"}))
    given: Any = {"output": tmp_path / "other", "data_dir": variants, "progress": False}
    with pytest.raises(mleprep.UsageError, match="there is no competition `nothing`") as raised:
        mleprep.grade_all(lines, **given)
    assert raised.value.results and raised.value.results.ids == [ID] and raised.value.place == f"{lines}:3"
    found = mleprep.grade_all([lines], check=False, **given)
    assert found.ids == [ID] and [(one.id, one.place) for one in found.failed] == [("nothing", f"{lines}:3")]
    (tmp_path / "one.txt").write_text(ID)
    reports = sorted(tmp_path.glob("reports-*"))
    [experiment] = mleprep.summarize(reports, name="mine", ids_from=tmp_path / "one.txt", progress=False)
    assert experiment.id == "mine" and experiment.sets[0].num_seeds_averaged == 2
    assert experiment.competitions[0].mean_score == 0.5 and "<th style='text-align:left'>valid %<" in experiment._repr_html_()
    assert "<th style='text-align:left'>seeds</th>" in experiment._repr_html_() and "100.00 ± 0.00" in experiment._repr_html_()
    [experiment] = mleprep.summarize(reports, ids_from=[ID], progress=False)
    assert [(one.set, one.num_seeds_averaged) for one in experiment.sets] == [("ids", 2)]
    with pytest.raises(mleprep.UsageError, match=f"(?s)no competition `{ID}s`.*did you mean `{ID}`"):
        mleprep.summarize(reports, ids_from=[f"{ID}s"], pad_missing=True, progress=False)
    with pytest.warns(mleprep.PrepWarning, match="these experiments contain the same reports.*: `a`, `b`"):
        mleprep.summarize({"a": reports, "b": reports[0]}, progress=False)
    with pytest.raises(mleprep.InputError, match="no figures for `low`") as raised:
        mleprep.summarize(reports, set="low", progress=False)
    assert raised.value.results[0].sets[0].error
    [experiment] = mleprep.summarize(reports, set="low", check=False, progress=False)
    assert experiment.sets[0].set == "low"
    [experiment] = mleprep.summarize(reports, progress=False)
    assert [one.set for one in experiment.sets if not one.error] == ["graded competitions"]
    assert experiment.competitions[0].mean_score == 0.5 and "logged_gradings" in experiment.competitions[0]._row()


def test_directories_of_run_groups_are_graded(variants: Path, tmp_path: Path) -> None:
    sample = (variants / ID / "prepared" / "public" / "sample_submission.csv").read_bytes()
    runs = tmp_path / "runs [1]"
    # The run group `b` has only a run without a submission.
    for run in (runs / "a" / f"{ID}_0", runs / "b" / f"{ID}_0", runs / "c" / f"{ID}_0", runs / "c" / f"{ID}_1"):
        run.mkdir(parents=True)
        if run.parent.name != "b":
            (run / "x.csv").write_bytes(sample)
    (runs / "notes.txt").touch()
    given: Any = {"data_dir": variants, "progress": False, "log": False}
    for paths, count in ((sorted(runs.glob("*/")), 4), (runs / "a", 1), ([runs / "a", runs / "c"], 3)):
        assert len(mleprep.grade_all(paths, output=tmp_path / "x", submission_path="x.csv", **given)) == count, paths
    (runs / "b" / "metadata.json").write_text(json.dumps({"runs": {f"{ID}_0": {}}}))
    grades = mleprep.grade_all(sorted(runs.glob("*/")), output=tmp_path / "y", **given)
    assert len(grades) == 4 and not any(grades)
    # Without a submission, the directory identifies the run, in frames and in notebooks.
    assert grades[0].submission_path is None and grades[0].run == runs / "a" / f"{ID}_0"
    assert grades.to_frame("pandas")["run"][0] == str(runs / "a" / f"{ID}_0")
    assert f"runs [1]/a/{ID}_0<" in grades._repr_html_()
    # The groups in `runs` may belong to several agents, so the caller must pass the directory of each group.
    with pytest.raises(mleprep.InputError, match="there is no run in") as raised:
        mleprep.grade_all(runs, output=tmp_path / "z", **given)
    assert "contains run groups; pass their directories" in (raised.value.help or "")
    with pytest.raises(FileNotFoundError, match=r"did you mean '.*/runs \[1\]'"):
        mleprep.grade_all(tmp_path / "rnus [1]", output=tmp_path / "z", **given)
    with pytest.raises(mleprep.InputError, match="there is no run in"):
        mleprep.grade_all(variants / ID, output=tmp_path / "z", **given)


COINS = (
    "name: Coins\ncategory: Tabular\nbundle: { kaggle: coins }\n"
    "tables:\n  coins: { read: coins.csv, columns: { id: number, side: text } }\n"
    "  train, test: { split: coins, method: shuffle, test_size: 0.5, seed: 0 }\n"
    "public:\n  train.csv: SELECT * FROM train\n  test.csv: SELECT * FROM test\n"
    "  sample_submission.csv: SELECT id, 'heads' AS side FROM test\n"
    "private:\n  test.csv: SELECT * FROM test\n"
    "grade:\n  answers: private/test.csv\n"
    "  rules: [{ columns: [id, side] }, same_rows, { align: id }]\n  metric: { accuracy: side }\n"
)


def test_leak_has_findings(tmp_path: Path) -> None:
    directory = tmp_path / "pipelines" / "coins"
    directory.mkdir(parents=True)
    (directory / "pipeline.yaml").write_text(COINS)
    with zipfile.ZipFile(tmp_path / "coins.zip", "w") as archive:
        sides = np.random.default_rng(0).choice(["heads", "tails"], 400)
        archive.writestr("coins.csv", "id,side\n" + "".join(f"{place},{side}\n" for place, side in enumerate(sides)))
    own: Any = {"pipelines": tmp_path / "pipelines", "data_dir": tmp_path / "data", "progress": False}
    mleprep.run("coins", source=tmp_path, **own)
    [found] = mleprep.leaks("coins", **own)
    assert found.worst == "leak"
    [worst, *_] = found.findings
    assert worst.level == "leak" and worst.detector and worst.what and worst.evidence and worst.advice
    assert mleprep.load("coins", pipelines=own["pipelines"], data_dir=own["data_dir"])["train"].shape == (200, 2)


def test_competition_of_a_pack_has_the_pack_in_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREP_PACKS", str(tmp_path / "packs"))
    (tmp_path / "lab" / "coins").mkdir(parents=True)
    pack = "name: lab\nversion: 1\nsets: { small: [coins] }\ncompetitions: { coins: { closed: 2024-03-01 } }\n"
    (tmp_path / "lab" / "pack.yaml").write_text(pack)
    (tmp_path / "lab" / "coins" / "pipeline.yaml").write_text(COINS)
    with zipfile.ZipFile(tmp_path / "coins.zip", "w") as archive:
        archive.writestr("coins.csv", "id,side\n" + "".join(f"{place},heads\n" for place in range(40)))
    subprocess.run([os.environ["PREP_BINARY"], "pack", "add", tmp_path / "lab"], check=True, capture_output=True)
    places: Any = {"data_dir": tmp_path / "data", "progress": False}
    [found] = mleprep.list(set="lab/small", closed_after="2024-01-31", **places)
    assert (found.id, found.closed, found.launched) == ("lab/coins", "2024-03-01", None)
    [run] = mleprep.run("lab/coins", source=tmp_path, **places)
    assert run.public == tmp_path / "data" / "lab" / "coins" / "prepared" / "public"
    table = mleprep.load("lab/coins", data_dir=tmp_path / "data")["sample_submission"]
    assert mleprep.grade(table, "lab/coins", data_dir=tmp_path / "data").score == 1
    assert mleprep.diff("lab/coins", "v1", "v1", **places).is_equal
    mleprep.export("lab/coins", tmp_path / "copy", layout="dojo", private=True, **places)
    assert (tmp_path / "copy" / "coins" / "data" / "private" / "test_answer.csv").is_file()


def test_mistake_of_a_pipeline_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "coins").mkdir()
    (tmp_path / "coins" / "pipeline.yaml").write_text("name: Coins\n")
    messages = []
    for call in (mleprep.plan, mleprep.run):
        with pytest.raises(mleprep.PipelineError) as raised:
            call("coins", pipelines=tmp_path, data_dir=tmp_path, progress=False)
        assert raised.value.place and raised.value.place.endswith("coins/pipeline.yaml:1:1") and raised.value.help
        assert str(raised.value).startswith(f"{raised.value.place}: the pipeline lacks `bundle`")
        assert str(raised.value).count(raised.value.help) == 1
        messages.append(raised.value.message.splitlines())
    # The messages of both functions have the same form. `run` lists all mistakes.
    [first], [same, second] = messages
    assert first == same == "the pipeline lacks `bundle`"
    assert second == f"{raised.value.place}: the pipeline lacks `category`"


def test_failed_competitions_are_raised_or_returned(variants: Path) -> None:
    data: Any = {"data_dir": variants, "progress": False}
    with pytest.raises(mleprep.InputError) as raised:
        mleprep.leaks([ID, PICTURES], **data)
    assert raised.value.help == f'run `mleprep.run("{PICTURES}", data_dir="{variants}")`' and raised.value.results.ids == [ID]
    found = mleprep.leaks([ID, PICTURES], check=False, **data)
    assert found.ids == [ID] and [one.id for one in found.failed] == [PICTURES]
    assert "is not prepared" in found._repr_html_()
    two: Any = [PICTURES, PIZZA]
    with pytest.raises(mleprep.InputError) as raised:
        mleprep.run(two, no_download=True, **data)
    for message in (str(raised.value), raised.value.message):
        assert f"{PICTURES}/bundle: no bundle" in message and f"{PIZZA}/bundle: no bundle" in message
    assert "run without `no_download=True`" in str(raised.value) and "--" not in str(raised.value)
    assert raised.value.place is None
    done = mleprep.run(two, no_download=True, check=False, **data)
    assert [(one.id, one.place) for run in done for one in run.failures] == [(one, f"{one}/bundle") for one in two]
    assert [one.failures[0].kind for one in done] == ["input", "input"] and not any(one or one.is_complete for one in done)
    assert repr(done) == "Runs(2: 2 failed)" and [one.id for one in done.failed] == two and done[1:].failed == done.failed[1:]
    assert done._repr_html_().count("<table>") == 1 and len(done.to_frame(of="failed")) == 2
    assert repr(found) == f"LeakSearches(1: {ID}; 1 failed)"
    prepared = mleprep.list(two + [ID], **data)
    assert [one.is_prepared for one in prepared] == [False, False, True] == [*prepared.to_frame()["is_prepared"]]
    left_out = mleprep.run(two, available=True, source=ROOT, **data)
    assert left_out.left_out == (PICTURES, PIZZA) and repr(left_out) == "Runs(0: 2 left out)"
    assert f">{PIZZA}</td>" in left_out._repr_html_() and ">left out</th>" in left_out._repr_html_()


def test_missing_credentials_are_failures_without_check(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / f"{ID}.zip").write_bytes((SAMPLES / f"{ID}.zip").read_bytes())
    given: Any = {"source": tmp_path / "source", "data_dir": tmp_path / "data", "progress": False}
    ids = [ID, PIZZA, PICTURES]
    for call in (mleprep.run, mleprep.fetch):
        with pytest.raises(mleprep.InputError, match="2 bundles cannot be downloaded: no Kaggle credentials"):
            call(ids, **given)
    done = mleprep.run(ids, skip_verification=True, check=False, **given)
    assert [one.state for one in done] == ["prepared", "failed", "failed"]
    assert "no Kaggle credentials" in done[PIZZA].failures[0].message
    found = mleprep.fetch(ids, skip_bundle_verification=True, check=False, **given)
    assert found.ids == [ID] and [one.id for one in found.failed] == [PIZZA, PICTURES]


def test_warnings_of_the_program_are_warnings_of_python(variants: Path) -> None:
    answers = variants / ID / "prepared" / "private" / "test.csv"
    with pytest.warns(mleprep.PrepWarning) as warned:
        grade = mleprep.grade(answers, ID, data_dir=variants)
    assert {one.filename for one in warned} == {__file__}
    copy, comparable = (str(one.message) for one in warned)
    assert "identical to the answers" in copy and "cannot be compared" in comparable
    assert grade.is_answers and not grade.comparable_with_v1
    for column in ("valid", "is answers", "comparable with v1"):
        assert f">{column}<" in grade._repr_html_()


@pytest.mark.parametrize("progress", [True, False])
def test_warnings_appear_once(variants: Path, tmp_path: Path, progress: bool, capfd: pytest.CaptureFixture[str]) -> None:
    answers = variants / ID / "prepared" / "private" / "test.csv"
    (tmp_path / "list.jsonl").write_text(json.dumps({"competition_id": ID, "submission_path": str(answers)}))
    with pytest.warns(mleprep.PrepWarning, match="cannot be compared"):
        mleprep.grade_all(tmp_path / "list.jsonl", output=tmp_path, data_dir=variants, progress=progress)
    shown = capfd.readouterr().err
    assert "cannot be compared" not in shown and ("report: " in shown) == progress


def test_validations_and_grades_have_the_same_reasons(variants: Path, tmp_path: Path) -> None:
    sample = (variants / ID / "prepared" / "public" / "sample_submission.csv").read_text()
    head, *rows = sample.splitlines()
    for name, text, kind in [
        ("rows.csv", "\n".join([head, *rows[1:]]), "row_count"),
        ("columns.csv", sample.replace("Transported", "Other"), "missing_column"),
        ("twice.csv", "\n".join([head, rows[0], *rows[:-1]]), None),
        ("bytes.csv", "\0", None),
        ("text.txt", sample, "no_submission"),
        ("valid.csv", sample, None),
    ]:
        (tmp_path / name).write_text(text)
        grade = mleprep.grade(tmp_path / name, ID, data_dir=variants, log=False)
        validation = mleprep.validate(tmp_path / name, ID, data_dir=variants)
        assert validation.reason == grade.reason, name
        found = grade.reason and grade.reason.kind
        assert found == kind or kind is None and bool(found) != (name == "valid.csv"), found


def test_unknown_id_in_results_suggests_a_similar_id() -> None:
    table = mleprep.list(set="lite")
    for wrong in ("spooky", "spooky-author-identificatoin"):
        with pytest.raises(KeyError, match="did you mean `spooky-author-identification`"):
            table[wrong]


def test_diff_with_one_side_is_an_error() -> None:
    with pytest.raises(mleprep.UsageError) as raised:
        mleprep.diff(ID, "v1")
    assert f'`mleprep.diff("{ID}", "v1")` needs two sides' in str(raised.value)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'old'"):
        mleprep.diff(ID)  # type: ignore[call-arg]


def test_diff_of_two_pipeline_files_is_a_record(tmp_path: Path) -> None:
    for name, text in (("a.yaml", COINS), ("b.yaml", COINS.replace("seed: 0", "seed: 1"))):
        (tmp_path / name).write_text(text)
    found = mleprep.diff(tmp_path / "a.yaml", tmp_path / "b.yaml", progress=False)
    assert isinstance(found, mleprep.Record) and found.id == "" and found.json["pipeline"] == [vars(one) for one in found.pipeline] != []


def test_collections_are_compared_by_their_records(variants: Path) -> None:
    found = mleprep.list([ID, PIZZA], data_dir=variants)
    for same in (mleprep.list([ID, PIZZA], data_dir=variants), pickle.loads(pickle.dumps(found))):
        assert found == same and found.json == same.json
    assert found != mleprep.list([PIZZA, ID], data_dir=variants) and found != [*found]
    assert ID in found and found[0] in found and "nothing" not in found
    assert found[:1].json == {"competitions": [found[0].json]}


@pytest.mark.parametrize("as_ids", [lambda found: found, lambda found: found[0], lambda found: [ID], lambda found: ID])
def test_functions_for_one_competition_take_the_same_ids(variants: Path, tmp_path: Path, as_ids: Any) -> None:
    data: Any = {"data_dir": variants}
    given = as_ids(mleprep.list(ID, **data))
    path = mleprep.path(given, **data)
    assert path == variants / ID / "prepared" and "train" in mleprep.load(given, **data)
    sample = path / "public" / "sample_submission.csv"
    assert mleprep.grade(sample, given, log=False, **data) and mleprep.validate(sample, given, **data)
    assert mleprep.diff(given, "v1", "fixed", progress=False, **data).id == ID
    assert mleprep.export(given, tmp_path / "copy", progress=False, **data).id == ID


def test_lazy_frame_is_collected(variants: Path, recwarn: pytest.WarningsRecorder) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.scan_csv(variants / ID / "prepared" / "public" / "sample_submission.csv")
    assert mleprep.validate(frame, ID, data_dir=variants)
    assert not [one for one in recwarn if one.category.__name__ == "PerformanceWarning"]


@pytest.mark.parametrize("name", ["run", "plan", "list", "fetch", "fetch_check_rules", "audit", "digest", "leaks"])
def test_unknown_id_is_an_exception_even_without_check(name: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(mleprep.UsageError, match="there is no competition `spooky`"):
        getattr(mleprep, name)(["spooky"], check=False, data_dir=tmp_path, progress=lines.append)
    assert not any("error" in line or "help" in line for line in lines)


def test_errors_are_shown_with_the_next_message_or_hidden() -> None:
    lines = ("error: a", "  help: b", "c", "warning: e", "  help: f", "error: d")
    warning, error = ["warning: e", "  help: f"], ["error: a", "  help: b"]
    for hidden, expected in (
        ({"error", "warning"}, ["c"]), ({"error"}, ["c", *warning]), ({"warning"}, [*error, "c", "error: d"]),
    ):  # fmt: skip
        shown: list[str] = []
        with _progress.listener(shown.append, hidden) as show:
            assert show
            for line in lines:
                show(line)
        assert shown == expected
    shown = []
    with pytest.raises(KeyError), _progress.listener(shown.append, ()) as show:
        assert show
        show("error: a")
        raise KeyError
    assert shown == []


@pytest.mark.parametrize("call", ['run("leaf-classification", no_download=True)', 'list("leaf")', 'run("x", memory="x")'])
def test_error_appears_once(call: str, tmp_path: Path) -> None:
    # Notebooks set these variables.
    around = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    around["MLE_BENCH_DATA_DIR"] = str(tmp_path / "data")
    code = f"import mleprep\ntry:\n    mleprep.{call}\nexcept mleprep.PrepError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, check=True)
    assert done.stdout and "\x1b" not in done.stdout + done.stderr
    assert not any(line in done.stderr for line in done.stdout.splitlines())
    assert "help" not in done.stderr and "error" not in done.stderr


def test_messages_without_an_exception_are_shown(tmp_path: Path) -> None:
    lines: list[str] = []
    mleprep.run("leaf-classification", no_download=True, check=False, data_dir=tmp_path, progress=lines.append)
    assert any(line.startswith("error: leaf-classification/bundle") for line in lines)
    assert any("`no_download=True`" in line for line in lines)


class Bar:
    """Records what a bar of tqdm shows."""

    def __init__(self, total: int, bar_format: str) -> None:
        self.total, self.n, self.text, self.format, self.is_closed = total, 0, "", bar_format, False

    def set_description(self, text: str) -> None:
        self.text = text

    def refresh(self) -> None:
        assert not self.is_closed

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("ending", ["done", "failed", "raised"])
def test_notebook_shows_a_bar_that_never_moves_backwards(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    last = "b: done after 2.00 s" if ending == "done" else "b: failed after 2.00 s"
    bars: list[Bar] = []
    monkeypatch.setattr(_progress, "_tqdm", lambda: lambda **given: bars.append(Bar(**given)) or bars[0])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    shown = []
    with contextlib.suppress(KeyError), _progress.listener(True, {"error"}) as show:
        assert show
        for line in (
            "note", "a: started, 5 steps", "3 of 12 steps, 34 %, 3.4 GB, 10 s; now b/x (90 % of 1.20 GB)",
            "b: started, 6 steps", "a: done after 1.00 s, 5 steps run", "9 of 12 steps, 1 of 2 competitions, 30 %; now b/x",
            "9 of 12 steps, 1 of 2 competitions, 70 %, 2 min left; now b/x (34 % of 1.20 GB)", last, "error: b/x: no",
            "  help: mend it", "the run prepared 1 of 2 competitions, but not b",
        ):  # fmt: skip
            show(line)
            shown += [(one.n, one.total) for one in bars]
        if ending == "raised":
            raise KeyError
    assert shown == [(0, 100), *[(34, 100)] * 4, *[(70, 100)] * 5]
    [bar] = bars
    assert bar.is_closed and bar.text == last and bar.n == (100 if ending == "done" else 70)
    assert "remaining" not in bar.format and _progress.environment(True) == {"PREP_STATUS_SECONDS": "1"}
    assert _progress.environment(print) == _progress.environment(False) == {}
    assert sys.stderr.getvalue().splitlines() == ["note", "the run prepared 1 of 2 competitions, but not b"]  # type: ignore[attr-defined]


def test_real_notebook(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("tqdm")
    given = f"source={str(SAMPLES)!r}, skip_verification=True, data_dir={str(tmp_path)!r}"
    cells = [
        f"import mleprep\nmleprep.run({ID!r}, {given})",
        f"mleprep.run('leaf-classification', no_download=True, data_dir={str(tmp_path)!r})",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    around = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    nbclient.NotebookClient(book, timeout=300, allow_errors=True).execute(env=around)
    # Without ipywidgets, the bar is the text of several outputs.
    (*bar, table), failed = book.cells[0].outputs, book.cells[1].outputs
    assert "100%" in "".join(one.get("text") or one["data"]["text/plain"] for one in bar)
    assert table["data"]["text/html"].startswith("<table>") and ID in table["data"]["text/html"]
    assert failed[-1]["ename"] == "InputError" and not any("error:" in one.get("text", "") for one in failed)
