"""Graders and reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Optional

from mleprep._mlebench import medals
from mleprep._mlebench.lazy import LazyModule
from mleprep._mlebench.program import ProgramError, ProgramNotFound, one_line

from mlebench.utils import get_logger, import_fn

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")

logger = get_logger(__name__)


class InvalidSubmissionError(Exception):
    """Raised for a submission that violates the rules."""


class Grader:
    """A metric with its rules. `grade_fn` scores a submission against answers, or raises an error."""

    def __init__(self, name: str, grade_fn: str) -> None:
        self.name = name
        self.grade_fn = import_fn(grade_fn)
        assert isinstance(self.name, str), "Grader name must be a string."
        assert len(self.name) > 0, "Grader name cannot be empty."

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Grader:
        return Grader(**data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grader):
            return NotImplemented
        return (type(self), self.name, self.grade_fn) == (type(other), other.name, other.grade_fn)

    def __hash__(self) -> int:
        return hash((self.name, self.grade_fn))

    def __repr__(self) -> str:
        return f"Grader(name={self.name!r}, grade_fn={self.grade_fn!r})"

    def __call__(self, submission: pd.DataFrame, answers: Any) -> Optional[float]:
        """Returns the score rounded to five decimals. For an invalid submission, logs a warning and returns None."""
        try:
            score = self.grade_fn(submission, answers)
        except ProgramNotFound:
            # This error does not concern the submission.
            raise
        except Exception as error:
            if isinstance(error, ProgramError) and not error.is_about_input():
                raise
            logger.warning(f"Invalid submission: {one_line(error)}")
            return None
        rounded: float = round(score, 5)
        return rounded

    def is_lower_better(self, leaderboard: pd.DataFrame) -> bool:
        """Whether lower scores are better: the first score of a leaderboard is the best one."""
        return bool(medals.is_lower_better(_scores(leaderboard)))

    def rank_score(self, score: Optional[float], leaderboard: pd.DataFrame) -> dict[str, Any]:
        """Returns the medals that a score earns on a leaderboard, and the thresholds of the medals."""
        assert "score" in leaderboard.columns, "Leaderboard must have a `score` column."
        scores = _scores(leaderboard)
        medals.is_lower_better(scores)
        assert score is None or isinstance(score, (float, int)), (
            f"Expected `score` to be a `float` or `int` but got a {type(score)}."
        )
        return medals.rank(score, scores)


def _scores(leaderboard: pd.DataFrame) -> list[float]:
    return [float(score) for score in leaderboard["score"]]


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
        """Returns the fields as values that JSON can represent."""
        data = {name: getattr(self, name) for name in CompetitionReport.__dataclass_fields__}
        return _plain(data) | {"created_at": self.created_at.isoformat(), "submission_path": self.submission_path}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CompetitionReport:
        values = _plain({name: data[name] for name in CompetitionReport.__dataclass_fields__})
        created_at = values["created_at"]
        if not isinstance(created_at, datetime):
            values["created_at"] = datetime.fromisoformat(created_at)
        return cls(**values)


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields as Python's floats and booleans. Without a leaderboard, thresholds and direction are None."""
    kinds = {"float": float, "float | None": float, "bool": bool}
    plain = {}
    for name, value in data.items():
        kind = kinds.get(str(CompetitionReport.__annotations__[name]))
        plain[name] = value if kind is None or value is None else kind(value)
    return plain
