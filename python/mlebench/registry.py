"""Which competitions there are, and where their data are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from mlebench import _definitions
from mlebench.grade_helpers import Grader
from mlebench.utils import get_logger, import_fn

logger = get_logger(__name__)

DEFAULT_DATA_DIR = Path(
    os.environ.get("MLE_BENCH_DATA_DIR") or _definitions.user_cache_dir() / "mle-bench" / "data"
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
    prepare_fn: Callable[[Path, Path, Path], Any]
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
        assert isinstance(self.grader, Grader), "Competition grader must be a Grader."
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
    """The competitions, with their data in one folder."""

    def __init__(self, data_dir: str | os.PathLike[str] = DEFAULT_DATA_DIR) -> None:
        self._data_dir = Path(data_dir).resolve()

    def get_competition(self, competition_id: str) -> Competition:
        facts = _definitions.index().get(competition_id)
        assert facts is not None, f"There is no competition `{competition_id}`."
        home = self._data_dir / competition_id
        prepared = home / "prepared"
        folder = self.get_competitions_dir() / competition_id
        module = f"mlebench.competitions.{competition_id}"
        return Competition(
            id=competition_id,
            name=facts["name"],
            description=_description(prepared / "public" / "description.md") or facts["description"],
            grader=Grader(name=facts["metric"], grade_fn=f"{module}.grade:grade"),
            answers=prepared / facts["answers"],
            gold_submission=prepared / facts["gold_submission"],
            sample_submission=prepared / facts["sample_submission"],
            competition_type=facts["competition_type"],
            prepare_fn=import_fn(f"{module}.prepare:prepare"),
            raw_dir=home / "raw",
            private_dir=prepared / "private",
            public_dir=prepared / "public",
            checksums=folder / "checksums.yaml",
            leaderboard=folder / "leaderboard.csv",
        )

    def get_competitions_dir(self) -> Path:
        """Folder with a folder per competition."""
        return _definitions.folder()

    def get_splits_dir(self) -> Path:
        """Folder of lists of ids."""
        return _definitions.folder() / "splits"

    def get_lite_competition_ids(self) -> list[str]:
        return (self.get_splits_dir() / "low.txt").read_text().splitlines()

    def list_competition_ids(self) -> list[str]:
        return sorted(_definitions.index())

    def get_data_dir(self) -> Path:
        return self._data_dir

    def set_data_dir(self, new_data_dir: str | os.PathLike[str]) -> Registry:
        """Another registry, with another folder."""
        return Registry(new_data_dir)


def _description(path: Path) -> str | None:
    """The description that is published, if it is there."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if text.strip() else None


registry = Registry()
