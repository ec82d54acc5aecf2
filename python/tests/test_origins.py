"""Tests that a record of a competition implies the data directory and the variant of the call that returned it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import mleprep
import pytest
from conftest import ID, SAMPLES
from mleprep import _calls, _options

#: Functions that need more arguments than the competition: maps it to the positional and the keyword arguments.
ARGUMENTS: dict[str, Any] = {
    "grade": lambda found: ([__file__, found], {}),
    "validate": lambda found: ([__file__, found], {}),
    "grade_score": lambda found: ([0.5, found], {}),
    "diff": lambda found: ([found, "@1", "@0"], {}),
    "export": lambda found: ([found, "copy"], {}),
    "report": lambda found: ([found], {"output": "page.html"}),
}
FUNCTIONS = sorted(_options.VERBS.keys() - {"path", "load", "grade_all", "summarize"})


class Called(Exception):
    """Raised in place of calling the program. Contains the options of the command line."""


def record(data_dir: Path | None = None, variant: str | None = None) -> mleprep.Record:
    given = {"data_dir": data_dir, "variant": variant}
    return mleprep.Record(ID, origin={name: value for name, value in given.items() if value is not None})


def options(monkeypatch: pytest.MonkeyPatch, name: str, competitions: Any, **given: Any) -> dict[str, str]:
    """Returns the options of the command line of a call."""

    def answer(arguments: Any, *_: Any) -> None:
        raise Called(
            dict(one.removeprefix("--").split("=", 1) for one in arguments if one.startswith("--") and "=" in one)
        )

    monkeypatch.setattr(_calls, "_answer", answer)
    own, further = ARGUMENTS.get(name, lambda found: ([found], {}))(competitions)
    with pytest.raises(Called) as called:
        getattr(mleprep, name)(*own, **further, **given)
    [found] = called.value.args
    return {key: found[key] for key in ("data-dir", "variant") if key in found}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_record_implies_its_data_dir_and_variant(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    both = {"data-dir": str(tmp_path), "variant": "fixed"}
    if "variant" not in _options.VERBS[name]:
        del both["variant"]
    one = record(tmp_path, "fixed")
    for competitions in (one, [one], mleprep.Results([one]), iter([one]), pickle.loads(pickle.dumps(one))):
        assert options(monkeypatch, name, competitions) == both
    assert options(monkeypatch, name, one, data_dir=None) == both
    assert options(monkeypatch, name, one, data_dir="other") == {**both, "data-dir": "other"}
    assert options(monkeypatch, name, record()) == options(monkeypatch, name, ID) == {}
    if "variant" in both:
        assert options(monkeypatch, name, one, variant="v1") == {**both, "variant": "v1"}
    several = mleprep.Results([one, record(tmp_path / "other", "fixed")])
    with pytest.raises(mleprep.UsageError, match=f"several data directories: {tmp_path}, {tmp_path / 'other'}"):
        options(monkeypatch, name, several)
    if "variant" in both:
        with pytest.raises(mleprep.UsageError, match="several variants: fixed, v1") as raised:
            options(monkeypatch, name, [one, record(tmp_path, "v1")])
        assert "select one with `variant`" in str(raised.value)


def test_results_have_the_data_dir_and_variant_of_their_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(tmp_path / "data"))
    given: Any = {"source": SAMPLES, "skip_verification": True, "progress": False}
    # The records of a run without `data_dir` imply the data directory that the settings named during the run.
    v1, fixed = (mleprep.run(ID, variant=variant, **given)[0] for variant in (None, "fixed"))
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(tmp_path))
    expected = {"data_dir": tmp_path / "data", "variant": "fixed"}
    sample = fixed.public / "sample_submission.csv"
    grade, [digest] = mleprep.grade(sample, fixed, log=False), mleprep.digest(fixed)
    assert fixed.origin == grade.origin == digest.origin == expected and v1.origin == {**expected, "variant": "v1"}
    assert grade.variant.startswith("fixed") and grade.valid and not mleprep.grade(sample, v1, log=False).valid
    [competition] = mleprep.list(v1)
    assert competition.origin == {"data_dir": tmp_path / "data"} and competition.variants == ("v1", "fixed")
    # This record implies the data directory that the settings named when `plan` was called.
    [other] = mleprep.plan(ID, no_download=True, progress=False)
    monkeypatch.setenv("MLE_BENCH_DATA_DIR", str(tmp_path / "data"))
    assert other.origin == {"data_dir": tmp_path, "variant": "v1"} and mleprep.list(other)[0].origin == {"data_dir": tmp_path}
    with pytest.raises(mleprep.UsageError, match="several data directories"):
        mleprep.plan([fixed, mleprep.list(other)[0]])
    assert mleprep.path(fixed) == mleprep.path(grade) == fixed.path != mleprep.path(competition) == v1.path
    assert mleprep.why(fixed, progress=False).variant == "fixed"
    assert mleprep.run(fixed, **given)[0].path == fixed.path
    [frame] = [mleprep.Results([fixed]).to_frame()]
    assert "origin" not in frame.columns and "origin=" not in repr(fixed) and "origin" not in str(fixed.json)
    assert ">origin<" not in digest._repr_html_() and fixed == pickle.loads(pickle.dumps(fixed))
    with pytest.raises(mleprep.UsageError, match="several variants"):
        mleprep.leaks([v1, fixed], progress=False)
