"""Tests that the package gives no advice that its users cannot follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlebench import cli
from mleprep._mlebench import advice, download, program

_REMEDIES = Path(__file__).parents[2] / "engine/cli/src/remedy.rs"


def _prepare_options() -> set[str]:
    [commands] = cli._parser()._subparsers._group_actions  # type: ignore[union-attr]
    return {option for action in commands.choices["prepare"]._actions for option in action.option_strings}


def _remedies() -> list[str]:
    """Returns the texts of all remedies of the program."""
    text = _REMEDIES.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    texts = [one.replace("\\", "") for one in re.findall(r'"([^"]*)"', text) if " " in one]
    # This text is not a literal in the file, because the program composes it from the names of options.
    return [*texts, "run without --no-download and --available"]


def test_options_in_translated_advice_exist() -> None:
    options = _prepare_options()
    assert advice.SAME_OPTIONS <= options
    for text in filter(None, advice.INSTEAD.values()):
        assert set(advice.options_in(text)) <= options, text


def test_translated_advice_names_no_option_of_the_program() -> None:
    remedies, options = _remedies(), _prepare_options()
    assert len(remedies) > 20
    named = {option for text in remedies for option in advice.options_in(text)}
    assert named - advice.SAME_OPTIONS == set(advice.INSTEAD)
    for text in [*remedies, "; or ".join(remedies)]:
        # The program indents the help below an error.
        for marker in ("help: ", "  help: "):
            translated = advice.translate(marker + text) or marker
            assert set(advice.options_in(translated)) <= options and translated.startswith(marker), translated


def test_other_lines_and_commands_are_not_changed() -> None:
    for line in ["error: a", "help: run `prep cache verify --repair`", "warning: --available", "help: accept the rules"]:
        assert advice.translate(line) == line
    for line in ("help: run without --locked", "as last time: --source=/b --skip-verification"):
        assert advice.translate(line) is None
    assert advice.translate("warning: x: not removed: a; `--remove-unpublished` removes them") == "warning: x: not removed: a"
    assert advice.translate_all("error: a\nhelp: run without --locked\nhelp: b") == "error: a\nhelp: b"


def test_an_interrupted_download_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "any/.download-x/x/x.zip.partial"

    def interrupted(competition_id: str, data_dir: Path, quiet: bool) -> None:
        kept.parent.mkdir()
        kept.write_bytes(b"some")
        raise KeyboardInterrupt

    def complete(competition_id: str, data_dir: Path, quiet: bool) -> None:
        assert kept.read_bytes() == b"some"
        kept.rename(kept.with_name("x.zip"))

    def refused(competition_id: str, data_dir: Path, quiet: bool) -> None:
        (data_dir / competition_id).mkdir()
        place = data_dir / competition_id / f"{competition_id}.zip"
        raise program.ProgramError(f"looked for {data_dir / place.name}, {place}", 4)

    monkeypatch.setattr(program, "fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download.download("x", tmp_path / "any")
    monkeypatch.setattr(program, "fetch", complete)
    assert download.download("x", tmp_path / "any").read_bytes() == b"some"
    assert [one.name for one in (tmp_path / "any").iterdir()] == ["x.zip"]
    # A failed download that received no bytes leaves no files and directories.
    monkeypatch.setattr(program, "fetch", refused)
    with pytest.raises(program.ProgramError) as raised:
        download.download("y", tmp_path / "any")
    # The caller knows only this path.
    assert str(raised.value) == f"looked for {tmp_path / 'any/y.zip'}"
    assert [one.name for one in (tmp_path / "any").iterdir()] == ["x.zip"]
