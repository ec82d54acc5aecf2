"""Ranks a score on a leaderboard by Kaggle's rules.

The program ranks scores on its own leaderboards. This module ranks on leaderboards in a frame, whose cells may be missing
or infinite.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, Sequence

RANKED = (
    "gold_medal",
    "silver_medal",
    "bronze_medal",
    "above_median",
    "gold_threshold",
    "silver_threshold",
    "bronze_threshold",
    "median_threshold",
)

# The medal fields of a report for a competition without a leaderboard, as `prep grade` writes them.
UNRANKED: dict[str, Any] = {name: False if name.endswith(("medal", "median")) else None for name in RANKED} | {
    "is_lower_better": None
}

# If a number has more digits, pandas' default parser and `float` may give different results.
_EXACT_DIGITS = 15


def is_lower_better(scores: Sequence[float]) -> bool:
    if not scores:
        raise IndexError("The leaderboard is empty.")
    return scores[0] < scores[-1]


def rank(score: float | None, scores: Sequence[float]) -> dict[str, Any]:
    """Returns the medals of a score, and the thresholds of the medals."""
    lower = is_lower_better(scores)
    places = zip(("gold", "silver", "bronze"), _places(len(scores)))
    thresholds = {name: scores[place - 1] for name, place in places} | {"median": _median(scores)}
    earned = dict.fromkeys(("gold", "silver", "bronze"), False)
    above = False
    if score is not None:
        for name in earned:
            # A score earns at most one medal. A score equal to the threshold earns the medal.
            if score <= thresholds[name] if lower else score >= thresholds[name]:
                earned[name] = True
                break
        above = score < thresholds["median"] if lower else score > thresholds["median"]
    medals: dict[str, Any] = {f"{name}_medal": value for name, value in earned.items()}
    medals["above_median"] = bool(above)
    return medals | {f"{name}_threshold": float(value) for name, value in thresholds.items()}


def _places(teams: int) -> tuple[int, int, int]:
    """Returns the last ranks that earn gold, silver and bronze, counted from 1."""
    tenth, fifth, two_fifths = (max(1, int(teams * part)) for part in (0.1, 0.2, 0.4))
    if teams < 100:
        return tenth, fifth, two_fifths
    if teams < 250:
        return 10, fifth, two_fifths
    gold = 10 + int(teams * 0.002)
    if teams < 1000:
        return gold, 50, 100
    return gold, max(1, int(teams * 0.05)), tenth


def _median(scores: Sequence[float]) -> float:
    known = sorted(score for score in scores if not math.isnan(score))
    if not known:
        return math.nan
    middle = len(known) // 2
    return known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2


def read_scores(leaderboard: Path) -> list[float] | None:
    """Returns the column `score` of a file. None if reading it needs pandas."""
    with open(leaderboard, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines, None) != ["score"]:
            return None
        scores = []
        for line in lines:
            if len(line) != 1 or sum(map(str.isdigit, line[0])) > _EXACT_DIGITS:
                return None
            if line[0].strip("+-.0123456789eE"):
                return None
            try:
                scores.append(float(line[0]))
            except ValueError:
                return None
    return scores
