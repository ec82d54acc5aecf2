"""Graders and reports."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench import _program
from mlebench.utils import get_logger, import_fn, one_line

if TYPE_CHECKING:
    import pandas as pd

logger = get_logger(__name__)

_RANKED = (
    "gold_medal",
    "silver_medal",
    "bronze_medal",
    "above_median",
    "gold_threshold",
    "silver_threshold",
    "bronze_threshold",
    "median_threshold",
)

# What a score earns where there is no leaderboard, as `prep grade` reports it.
UNRANKED: dict[str, Any] = {name: False if name.endswith(("medal", "median")) else None for name in _RANKED} | {
    "is_lower_better": None
}


class InvalidSubmissionError(Exception):
    """A submission that the rules refuse."""


class Grader:
    """A metric with its rules: `grade_fn` scores a submission against answers, or raises."""

    def __init__(self, name: str, grade_fn: str) -> None:
        self.name = name
        self.grade_fn = import_fn(grade_fn)
        assert isinstance(self.name, str), "Grader name must be a string."
        assert len(self.name) > 0, "Grader name cannot be empty."

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Grader:
        return Grader(name=data["name"], grade_fn=data["grade_fn"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grader):
            return NotImplemented
        return self.name == other.name and self.grade_fn == other.grade_fn

    def __hash__(self) -> int:
        return hash((self.name, self.grade_fn))

    def __repr__(self) -> str:
        return f"Grader(name={self.name!r}, grade_fn={self.grade_fn!r})"

    def __call__(self, submission: pd.DataFrame, answers: Any) -> float | None:
        """The score at five decimals; None, and a warning in the log, for a submission that gets none."""
        try:
            score = self.grade_fn(submission, answers)
        except Exception as error:
            logger.warning(f"Invalid submission: {one_line(error)}")
            return None
        rounded: float = round(score, 5)
        return rounded

    def is_lower_better(self, leaderboard: pd.DataFrame) -> bool:
        """Leaderboards begin with the best score."""
        scores = leaderboard["score"]
        return bool(scores.iloc[0] < scores.iloc[-1])

    def rank_score(self, score: float | None, leaderboard: pd.DataFrame) -> dict[str, Any]:
        """What a score earns on a leaderboard, and what it takes to earn that."""
        assert "score" in leaderboard.columns, "The leaderboard has no column `score`."
        assert score is None or isinstance(score, (float, int)), f"The score is a {type(score).__name__}."
        if len(leaderboard) == 0:
            raise IndexError("The leaderboard is empty.")
        with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
            path = Path(folder) / "leaderboard.csv"
            lines = ["score", *(repr(float(one)) for one in leaderboard["score"])]
            path.write_text("\n".join(lines) + "\n")
            found = rank_on(score, path)
        return {key: found[key] for key in _RANKED}


def rank_on(score: float | None, leaderboard: Path) -> dict[str, Any]:
    """The same for a file with the one column `score`; also says whether lower scores are better."""
    # No score, like NaN, earns nothing.
    number = "nan" if score is None else repr(float(score))
    found = _program.ask_one("grade", "--leaderboard", leaderboard, f"--score={number}")
    return {key: found[key] for key in (*_RANKED, "is_lower_better")}


@dataclass(frozen=True)
class CompetitionReport:
    competition_id: str
    score: float | None
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str

    def to_dict(self) -> dict[str, Any]:
        """What goes into JSON: plain values."""
        data = asdict(self)
        for key, value in data.items():
            if key.endswith("_threshold") or key == "score":
                data[key] = None if value is None else float(value)
            elif self.__annotations__[key] == "bool":
                data[key] = None if value is None else bool(value)
        data["created_at"] = self.created_at.isoformat()
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CompetitionReport:
        values = {name: data[name] for name in cls.__annotations__}
        if not isinstance(values["created_at"], datetime):
            values["created_at"] = datetime.fromisoformat(values["created_at"])
        return cls(**values)
