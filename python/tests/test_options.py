"""Tests that the options of the program are parameters of the functions, and that messages name the parameters."""

from __future__ import annotations

import datetime
import inspect
import os
import re
import subprocess
import typing

import mleprep
import numpy as np
import pandas as pd
import pytest
from conftest import ID, ROOT
from mleprep import _options, _words

# Options that determine the form of the output, which the package parses.
OUTPUT = {"--json", "--color", "--help"}
# Options in the table of docs/python.md, which explains why they are not parameters.
SECTION = (ROOT / "docs/python.md").read_text(encoding="utf-8").split("\n## Options without a parameter\n")[1].split("\n## ")[0]
DOCUMENTED = {option for row in SECTION.splitlines() if row.startswith("| ") for option in re.findall(r"--[a-z-]+", row.split("|")[1])}
VERBS = sorted({name.split("_")[0] for name in _options.VERBS if name not in ("path", "load")})


def options_of(verb: str) -> dict[str, str]:
    """Returns the options in the help of a verb, each with the name of its value."""
    command = [os.environ["PREP_BINARY"], verb, "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)(\[?[ =]?<.*>\]?)?$", text, re.MULTILINE)
    assert len(found) > 5
    return dict(found)


@pytest.mark.parametrize("verb", VERBS)
def test_each_option_is_a_parameter(verb: str) -> None:
    options = options_of(verb)
    tables = [table for name, table in _options.VERBS.items() if name.split("_")[0] == verb]
    keys = {f"--{key.replace('_', '-')}" for table in tables for key in table} - {"--check", "--progress"}
    assert keys <= options.keys(), "the program lacks an option"
    # `output` is a parameter of each function, but not in its table.
    assert options.keys() - keys <= DOCUMENTED | {"--help", "--output"}, "the function lacks a parameter"
    for table in tables:
        for key, kind in table.items():
            if value := options.get(f"--{key.replace('_', '-')}"):
                assert kind.__origin__ is not bool, key
                # True passes the option without a value, so only options with an optional value accept True.
                assert (bool in typing.get_args(kind.__origin__)) == value.startswith("["), key
            elif value == "":
                assert kind.__origin__ is bool, key


def test_documented_options_exist_and_are_not_parameters() -> None:
    assert DOCUMENTED <= {option for verb in VERBS for option in options_of(verb)}
    grade = {f"--{name.replace('_', '-')}" for name in _options.VERBS["grade"]}
    assert DOCUMENTED & grade == set() and DOCUMENTED >= _options.REPLACED.keys()
    assert all(name in _options.VERBS for name in re.findall(r"the function `(\w+)`", SECTION))


def test_each_option_of_a_run_is_in_its_signature() -> None:
    names = inspect.signature(mleprep.run).parameters
    expected = {option.removeprefix("--").replace("-", "_") for option in options_of("run").keys() - OUTPUT}
    assert expected - names.keys() == {"competition", "lite", "all", "dry_run", "timings", "quiet", "keep_going"}
    assert {"lite", "all"} <= {*re.findall(r'set="(\w+)"', " ".join(_options.REPLACED.values()))}
    assert "skip_verification: do not compare" in (mleprep.run.__doc__ or "")


def test_sets_are_those_of_the_program() -> None:
    text = subprocess.run([os.environ["PREP_BINARY"], "run", "--help"], capture_output=True, text=True).stdout
    names = re.search(r"A named set: ((?:.*\S\n)+)", text)
    assert names
    documented = {name.split()[0] for name in names[1].split(",")}
    assert {*typing.get_args(_options.Set)} == documented | {"all"}
    # Only the set `own` is empty: it contains competitions that users add.
    for name in {*typing.get_args(_options.Set)} - {"own"}:
        assert len(mleprep.list(set=name)) >= 7
    with pytest.raises(mleprep.PrepError, match="is empty"):
        mleprep.list(set="own")


def test_parameters_become_options() -> None:
    given = {
        "set": "lite", "jobs": 2, "memory": "8GB", "available": True, "locked": False, "partial": False,
        "skip_verification": True, "expand_archives": "no", "source": None, "check": False, "progress": False,
    }
    expected = "--set=lite --jobs=2 --memory=8GB --available --partial=no --skip-verification --expand-archives=no"
    assert " ".join(_options.command_line("run", given)) == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("expand_archives", True, "--expand-archives"),
        ("expand_archives", False, "--expand-archives=no"),
        ("expand_archives", "instead", "--expand-archives=instead"),
        ("skip_verification", True, "--skip-verification"),
        ("jobs", np.int64(2), "--jobs=2"),
        ("closed_after", datetime.date(2020, 1, 2), "--closed-after=2020-01-02"),
        ("closed_after", datetime.datetime(2020, 1, 2, 3), "--closed-after=2020-01-02"),
    ],
)
def test_values_become_valid_options(key: str, value: object, expected: str) -> None:
    assert [*_options.command_line("run", {key: value})] == [expected]
    subprocess.run([os.environ["PREP_BINARY"], "run", "--dry-run", "--no-download", "leaf-classification", expected], check=True)


def test_word_that_is_not_in_the_table_is_an_error_with_the_allowed_words() -> None:
    found = set()
    for table in _options.VERBS.values():
        for key, kind in table.items():
            words = re.findall(r"'([\w-]+)'", str(kind.__origin__)) if "Literal" in str(kind) and key != "set" else []
            if words:
                found.add(key)
                with pytest.raises(mleprep.UsageError, match=f"invalid value 'other' for `{key}`") as raised:
                    _options.check_type(key, kind.__origin__, "other")
                assert re.findall(r"'([\w-]+)'", raised.value.help or "") == words
    assert found == {"expand_archives", "layout", "link_mode", "take"}


@pytest.mark.parametrize("name", [*VERBS, "path", "load"])
def test_data_dir_must_be_a_data_directory(name: str, data_dir: typing.Any) -> None:
    with pytest.raises(NotADirectoryError):
        [*_options.command_line(name, {"data_dir": __file__})]
    for inner in ("", "prepared", "prepared/public", "prepared/private"):
        with pytest.raises(mleprep.UsageError, match="is the directory of a competition") as raised:
            [*_options.command_line(name, {"data_dir": data_dir / ID / inner})]
        assert raised.value.help == f"name the directory that contains it, {data_dir}"


def test_options_for_directories_reject_files() -> None:
    names = {
        (name, key) for name, table in _options.VERBS.items() for key, kind in table.items() if "'directory'" in str(kind)
    }
    directories = {"data_dir", "cache_dir", "source", "pipelines", "descriptions", "tree", "runs", "output"}
    assert {key for _, key in names} == directories
    for name, key in names:
        with pytest.raises(NotADirectoryError):
            [*_options.command_line(name, {key: __file__})]


def test_help_names_the_data_directory_of_a_variant(tmp_path: typing.Any) -> None:
    (tmp_path / "prep.lock").touch()
    (tmp_path / "fixed" / ID / "prepared" / "public").mkdir(parents=True)
    with pytest.raises(mleprep.UsageError) as raised:
        mleprep.load(ID, data_dir=tmp_path / "fixed" / ID / "prepared")
    assert raised.value.help == f"name the directory that contains it, {tmp_path}"
    [*_options.command_line("run", {"data_dir": tmp_path / "fixed" / ID / "prepared" / "public" / "other"})]


def test_reports_of_experiments_are_named(tmp_path: typing.Any) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.touch()
    b.touch()
    for grading, expected in [
        (a, [f"--grading={a}"]),
        ([a, b], [f"--grading={a}", f"--grading={b}"]),
        ({"mine": [a, b], "theirs": str(a)}, [f"--grading=mine={a}", f"--grading=mine={b}", f"--grading=theirs={a}"]),
    ]:
        assert [*_options.command_line("report", {"grading": grading})] == expected


FRAME = pd.DataFrame({"id": [ID]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mleprep.run("x", skip_verificaton=True), "run() has no parameter `skip_verificaton`; did you mean `skip_verification`?"),
        (lambda: mleprep.run("x", force=True), "run() has no parameter `force`"),
        (lambda: mleprep.run("x", available="yes"), "`available` must be True or False, not 'yes'"),
        (lambda: mleprep.run("x", jobs=True), "`jobs` must be an integer, not True"),
        (lambda: mleprep.run("x", jobs="two"), "`jobs` must be an integer, not 'two'"),
        (lambda: mleprep.run("x", memory=["10GB"]), "`memory` must be a text or an integer, not ['10GB']"),
        (lambda: mleprep.run("x", variant=["v1"]), "`variant` must be a text, not ['v1']"),
        (lambda: mleprep.run("x", skip_verification="yes"), "`skip_verification` must be True or False, not 'yes'"),
        (lambda: mleprep.run("x", progress="yes"), "`progress` must be True or False or a function, not 'yes'"),
        (lambda: mleprep.path("x", data_dir=5), "`data_dir` must be a text or a path, not 5"),
        (lambda: mleprep.export("x", None), "`output` must be a text or a path, not None"),
        (lambda: mleprep.grade("x.csv", "x", log="no"), "`log` must be True or False, not 'no'"),
        (lambda: mleprep.grade_all(FRAME, output="o"), "`submissions` must be a text or a path or several of them or a mapping, not DataFrame"),
        (lambda: mleprep.grade_score("x", 0.8), "`score` must be a number, not 'x'; the order of the arguments is score, id"),
        (lambda: mleprep.grade_score(0.8, 0.8), "`id` must be an id or the result of a function, not 0.8"),
        *((lambda name=name: getattr(mleprep, name)(FRAME), "`ids` must be an id, several ids or the result of a function, not DataFrame")
          for name in ("run", "list", "fetch", "audit", "digest")),
        (lambda: mleprep.plan("x", lite=True), 'plan() has no parameter `lite`; use `set="lite"`'),
        (lambda: mleprep.run(all=True), 'run() has no parameter `all`; use `set="all"`'),
        (lambda: mleprep.run("x", dry_run=True), "run() has no parameter `dry_run`; use `mleprep.plan`"),
        (lambda: mleprep.run("x", quiet=True), "run() has no parameter `quiet`; use `progress=False`"),
        (lambda: mleprep.run("x", timings=True), "run() has no parameter `timings`; use the attribute `timings` of the result"),
        (lambda: mleprep.run(competition="x"), "run() has no parameter `competition`; use `ids`"),
        (lambda: mleprep.grade("x", competition="x"), "grade() has no parameter `competition`; use `id`"),
        (lambda: mleprep.grade("x", "y", quiet=True), "grade() has no parameter `quiet`"),
        (lambda: mleprep.grade("x", "y", code_path="z"), "grade() has no parameter `code_path`; `mleprep.grade_all` has it"),
        (lambda: mleprep.fetch("x", open=True), "fetch() has no parameter `open`; `mleprep.fetch_check_rules` has it"),
        (lambda: mleprep.path(["x", "y"]), "this function needs one competition, not 2"),
        (lambda: mleprep.grade("x", pd.DataFrame({"a": [1]})), "the submission is the first argument, and the id of the competition is the second one"),
        (lambda: mleprep.grade("x", 1), "the submission is the first argument, and the id of the competition is the second one"),
        (lambda: mleprep.grade("x", "none.csv"), "the submission is the first argument, and the id of the competition is the second one"),
        (lambda: mleprep.grade(1, "x"), "a submission is a file or a frame of pandas or polars, not int"),
        (lambda: mleprep.grade(pd.Series([1]), "x"), "a submission is a file or a frame of pandas or polars, not Series"),
        (lambda: mleprep.report(None, output="page.html"), "`ids` must be an id, several ids or the result of a function, not None"),
        (lambda: mleprep.run(["x", None]), "`ids` must be an id, several ids or the result of a function, not None"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_type_errors_with_a_message(call: typing.Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "call",
    [
        lambda path: mleprep.grade(path, "spaceship-titanic"),
        lambda path: mleprep.validate(str(path), "spaceship-titanic"),
        lambda path: mleprep.grade(__file__, "spaceship-titanic", answers=path),
        lambda path: mleprep.run("spaceship-titanic", source=path),
        lambda path: mleprep.run(ids_from=path),
        lambda path: mleprep.audit("spaceship-titanic", tree=path),
        lambda path: mleprep.summarize([path]),
        lambda path: mleprep.report(output="page.html", grading={"mine": path}),
        lambda path: mleprep.diff("spaceship-titanic", path, "v1"),
        lambda path: mleprep.grade(__file__, "spaceship-titanic", data_dir=path),
        lambda path: mleprep.load("spaceship-titanic", data_dir=path),
        lambda path: mleprep.digest(data_dir=path),
        lambda path: mleprep.export("spaceship-titanic", "copy", data_dir=path),
    ],
)
def test_missing_input_is_file_not_found(call: typing.Callable[[object], object], tmp_path: typing.Any) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        call(tmp_path / "missing")
    assert raised.value.filename == str(tmp_path / "missing")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run without --no-download and --available", "run without `no_download=True` and `available=True`"),
        ("name the directory of bundles and other source files with --source", "name the directory of bundles and other source files with `source`"),
        ("name a competition, or a set with --lite, --all, --set NAME or --ids-from FILE",
         'name a competition, or a set with `set="lite"`, `set="all"`, `set="NAME"` or `ids_from="FILE"`'),
        ("--per-competition shows the figures", "the field `competitions` of the records shows the figures"),
        ("run `prep run leaf --data-dir='my data'`", 'run `mleprep.run("leaf", data_dir="my data")`'),
        ("run with --expand-archives=no", "run with `expand_archives=False`"),
        ("the parent directory with --pipelines /a/b", 'the parent directory with `pipelines="/a/b"`'),
        ("write --unit I/4, or start a job array", 'write `unit="I/4"`, or start a job array'),
        ("`--remove-unpublished` removes them", "`remove_unpublished=True` removes them"),
        ("as last time: --skip-verification=no, --source /b", 'as last time: `skip_verification=False`, `source="/b"`'),
        ("invalid value 'x' for '--jobs <N>'", "invalid value 'x' for `jobs`"),
        ("invalid value 'x' for '--score <SCORE>'", "invalid value 'x' for `score`"),
        ("write its id first: `prep grade ID a.csv`", 'name the competition: `mleprep.grade("a.csv", "ID")`'),
        ("'--expand-archives[=<HOW>]' cannot be used with '--partial[=<yes|no>]'",
         "`expand_archives` cannot be used with `partial=True`"),
        ("run `prep run leaf --skip-verification --variant fixed`",
         'run `mleprep.run("leaf", skip_verification=True, variant="fixed")`'),
        ("`prep fetch --list leaf` lists the members of the bundle", '`mleprep.fetch_list("leaf")` lists the members of the bundle'),
        ("`prep fetch --check-rules` lists the rules", "`mleprep.fetch_check_rules()` lists the rules"),
        ("`prep list` shows all competitions", "`mleprep.list()` shows all competitions"),
        ("grade with `prep grade ID a.csv`", 'grade with `mleprep.grade("a.csv", "ID")`'),
        ("run `prep cache verify --repair`", "run the shell command `prep cache verify --repair`"),
        ("`prep grade runs -o runs` writes the report", '`mleprep.grade_all("runs", output="runs")` writes the report'),
        ("`prep grade -h` shows the forms", "`help(mleprep.grade)` shows the forms"),
        ("use --yes to remove", "use --yes to remove"),
        ("cannot read /a--source/b/--set.csv", "cannot read /a--source/b/--set.csv"),
        ("a -- b --- c", "a -- b --- c"),
        ("stopping; press Ctrl-C again to end at once", "stopping; interrupt again to end at once"),
    ],
)  # fmt: skip
def test_messages_name_parameters(text: str, expected: str) -> None:
    assert _words.translated(text) == expected


@pytest.mark.parametrize("given", [(), []])
def test_missing_submissions_are_an_error_with_the_parameters(given: list[str]) -> None:
    with pytest.raises(mleprep.UsageError, match="no submissions are given\n"):
        mleprep.grade_all(given, output="reports")


@pytest.mark.parametrize("reports", [(), []])
def test_missing_reports_are_an_error_with_the_parameters(reports: list[str]) -> None:
    with pytest.raises(mleprep.UsageError, match="no reports are given\n.*`groups`"):
        mleprep.summarize(reports)


def test_errors_name_arguments_of_the_functions(tmp_path: typing.Any) -> None:
    with pytest.raises(mleprep.UsageError, match="^invalid value 'x' for `memory`"):
        mleprep.plan(ID, memory="x", progress=False)
    (tmp_path / "a.csv").touch()
    with pytest.raises(mleprep.UsageError, match="no competition is named") as raised:
        mleprep.grade_all([tmp_path / "a.csv"], output=tmp_path, progress=False)
    assert raised.value.help == f'name the competition: `mleprep.grade("{tmp_path}/a.csv", "ID")`'


@pytest.mark.parametrize("verb", VERBS)
def test_no_message_names_an_option_that_is_a_parameter(verb: str) -> None:
    kept = OUTPUT | {"--layout", "--for", "--mount-public", "--verbose", "--format"}
    for option, value in options_of(verb).items():
        if option not in kept:
            for text in (f"use {option}", f"use '{option}{value}'", f"`{option}` does it", f"without {option}; or"):
                assert option not in _words.translated(text)
