"""The competitions, and the paths of their data."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from mleprep._mlebench import definitions

from mlebench.grade_helpers import Grader
from mlebench.utils import get_logger, get_repo_dir, import_fn, load_yaml

logger = get_logger(__name__)

DEFAULT_DATA_DIR = Path(
    os.environ.get("MLE_BENCH_DATA_DIR") or definitions.user_cache_dir() / "mle-bench" / "data"
).resolve()


@dataclass(frozen=True)
class Competition:
    id: str
    name: str
    description: str
    grader: Grader
    answers: Path
    gold_submission: Path
    sample_submission: Path
    competition_type: str
    prepare_fn: Callable[[Path, Path, Path], Path]
    raw_dir: Path
    private_dir: Path
    public_dir: Path
    checksums: Path
    leaderboard: Path

    def __post_init__(self) -> None:
        texts = ("id", "name", "description", "competition_type")
        paths = ("answers", "gold_submission", "sample_submission", "checksums", "leaderboard")
        for field in texts:
            assert isinstance(getattr(self, field), str), f"Competition {field} must be a string."
        assert isinstance(self.grader, Grader), "Competition grader must be of type Grader."
        for field in paths:
            assert isinstance(getattr(self, field), Path), f"Competition {field} must be a Path."
        for field in texts:
            assert len(getattr(self, field)) > 0, f"Competition {field} cannot be empty."

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Competition:
        grader = Grader.from_dict(data["grader"])
        names = [name for name in Competition.__dataclass_fields__ if name != "grader"]
        try:
            fields = {name: data[name] for name in names}
        except KeyError as error:
            raise ValueError(f"Missing key {error} in competition config!") from error
        return Competition(grader=grader, **fields)


class Registry:
    """The competitions that are defined in a directory, and the data directory that contains their data.

    Subclasses can use different directories. A competition is a directory that contains a `config.yaml`.
    """

    def __init__(self, data_dir: Path = DEFAULT_DATA_DIR) -> None:
        self._data_dir = Path(data_dir).resolve()

    def get_competition(self, competition_id: str) -> Competition:
        directory = self.get_competitions_dir() / competition_id
        path = directory / "config.yaml"
        assert path.is_file(), f"File `{path}` does not exist{self._suggestion(competition_id)}."
        config = load_yaml(path)
        dataset = config["dataset"]
        data_dir = self.get_data_dir()
        home = data_dir / competition_id
        answers = data_dir / dataset["answers"]
        return Competition.from_dict(
            {
                **config,
                "description": _description(directory, config["description"], home / "prepared" / "public"),
                "answers": answers,
                "sample_submission": data_dir / dataset["sample_submission"],
                "gold_submission": data_dir / dataset["gold_submission"] if "gold_submission" in dataset else answers,
                "prepare_fn": import_fn(config["preparer"]),
                "raw_dir": home / "raw",
                "public_dir": home / "prepared" / "public",
                "private_dir": home / "prepared" / "private",
                "checksums": directory / "checksums.yaml",
                "leaderboard": directory / "leaderboard.csv",
            }
        )

    def _suggestion(self, competition_id: str) -> str:
        near = difflib.get_close_matches(competition_id, self.list_competition_ids(), n=1)
        return f", because there is no competition `{competition_id}`; did you mean `{near[0]}`?" if near else ""

    def get_competitions_dir(self) -> Path:
        """Returns the directory that contains a directory per competition."""
        return definitions.directory()

    def get_splits_dir(self) -> Path:
        """Returns the directory of lists of ids: `experiments/splits` in a checkout of upstream, otherwise prep's own."""
        splits = get_repo_dir() / "experiments" / "splits"
        return splits if splits.is_dir() else definitions.directory() / "splits"

    def get_lite_competition_ids(self) -> list[str]:
        return (self.get_splits_dir() / "low.txt").read_text().splitlines()

    def get_data_dir(self) -> Path:
        return self._data_dir

    def set_data_dir(self, new_data_dir: Path) -> Registry:
        """Returns a registry with a different data directory. This registry does not change."""
        return Registry(new_data_dir)

    def list_competition_ids(self) -> list[str]:
        """Returns all ids, sorted."""
        return [path.parent.stem for path in sorted(self.get_competitions_dir().rglob("config.yaml"))]


def _description(directory: Path, named: str, public: Path) -> str:
    """Returns the published description of a built-in competition, or otherwise the text that its config names."""
    text = get_repo_dir() / named
    if not text.is_file():
        # The package is not writable, so the files are in the cache directory.
        text = directory / Path(named).name
    if directory.parent == definitions.directory() and definitions.is_built_in(directory.name):
        return _read(public / "description.md") or text.read_text(encoding="utf-8")
    return text.read_text(encoding="utf-8")


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if text.strip() else None


registry = Registry()
