"""Validates and grades submissions."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from mleprep._mlebench import medals, program
from mleprep._mlebench.competition import id_of, score_file
from mleprep._mlebench.program import one_line

from mlebench.data import get_leaderboard, is_dataset_prepared
from mlebench.grade_helpers import CompetitionReport, Grader
from mlebench.registry import Competition, Registry
from mlebench.registry import registry as DEFAULT_REGISTRY
from mlebench.utils import get_logger, get_timestamp, load_answers, purple, read_csv, read_jsonl

logger = get_logger(__name__)

# Maximum number of submissions that are in memory at the same time.
_MAX_THREADS = 4

# The original functions and methods. If a caller has replaced one, this module calls the replacement, and the program
# does not read the files.
_UNPATCHED = {"read_csv": read_csv, "load_answers": load_answers, "get_leaderboard": get_leaderboard}
_METHODS = {name: getattr(Grader, name) for name in ("__call__", "rank_score", "is_lower_better")}


def grade_jsonl(path_to_submissions: Path, output_dir: Path, registry: Registry = DEFAULT_REGISTRY) -> None:
    """Grades the submissions of a list and writes a report into a directory."""
    entries = read_jsonl(str(path_to_submissions), skip_commented_out_lines=True)
    work = [(Path(str(one["submission_path"])), registry.get_competition(one["competition_id"])) for one in entries]
    output_dir = Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_MAX_THREADS) as threads:
        reports = list(threads.map(lambda one: grade_csv(*one), work))
    found = aggregate_reports(reports)
    sums = {key: value for key, value in found.items() if key != "competition_reports"}
    logger.info(json.dumps(sums, indent=4))
    path = output_dir / f"{get_timestamp()}_grading_report.json"
    path.write_text(json.dumps(found, indent=2), encoding="utf-8")
    logger.info(purple(f"Saved summary report to {path}"))


def grade_csv(path_to_submission: Path, competition: Competition) -> CompetitionReport:
    """Grades a submission. If the file does not exist, the report contains only the thresholds."""
    _require_prepared(competition)
    path = Path(path_to_submission)
    exists = path.is_file() and path.suffix.lower() == ".csv"
    score = None
    if exists:
        score = _score(path, competition)
    else:
        logger.warning(
            f"Invalid submission file: {path_to_submission}. Please check that the file exists and it is a CSV."
        )
    ranked = _rank(score, competition)
    return CompetitionReport(
        competition_id=competition.id,
        score=score,
        any_medal=ranked["gold_medal"] or ranked["silver_medal"] or ranked["bronze_medal"],
        submission_exists=exists,
        valid_submission=score is not None,
        created_at=datetime.now(),
        submission_path=str(path_to_submission),
        **ranked,
    )


def validate_submission(submission: Path, competition: Competition) -> tuple[bool, str]:
    """Returns whether a submission would get a score, and otherwise a message with the reason."""
    submission = Path(submission)
    if not submission.is_file():
        return False, f"Submission invalid! Submission file {submission} does not exist."
    if submission.suffix.lower() != ".csv":
        return False, "Submission invalid! Submission file must be a CSV file."
    _require_prepared(competition)
    own = _graded_by_program(competition)
    if own is not None:
        return program.validate(own, submission, competition.answers)
    try:
        competition.grader.grade_fn(read_csv(submission), load_answers(competition.answers))
    except Exception as error:
        return (
            False,
            "Submission invalid! The attempt to grade the submission has resulted in the following error message:\n"
            f"{one_line(error)}",
        )
    return True, "Submission is valid."


def aggregate_reports(competition_reports: list[CompetitionReport]) -> dict[str, Any]:
    """Returns a summary of several reports: counts, followed by the reports."""
    counted = {
        "total_runs_with_submissions": "submission_exists",
        "total_valid_submissions": "valid_submission",
        "total_medals": None,
        "total_gold_medals": "gold_medal",
        "total_silver_medals": "silver_medal",
        "total_bronze_medals": "bronze_medal",
        "total_above_median": "above_median",
    }
    found: dict[str, Any] = {"total_runs": len(competition_reports)}
    for total, field in counted.items():
        found[total] = int(sum(getattr(one, field) for one in competition_reports)) if field else 0
    found["total_medals"] = sum(found[f"total_{medal}_medals"] for medal in ("gold", "silver", "bronze"))
    return found | {"competition_reports": [one.to_dict() for one in competition_reports]}


def _require_prepared(competition: Competition) -> None:
    if not is_dataset_prepared(competition, grading_only=True):
        raise ValueError(
            f"Dataset for competition `{competition.id}` is not prepared! "
            f"Please run `mlebench prepare -c {competition.id}` to prepare the dataset."
        )


def _is_unpatched(grader: Grader, methods: tuple[str, ...], functions: tuple[str, ...]) -> bool:
    """Whether no caller replaced the grader or functions of this module."""
    kind = type(grader)
    return all(getattr(kind, name) is _METHODS[name] for name in methods) and all(
        globals()[name] is _UNPATCHED[name] for name in functions
    )


def _graded_by_program(competition: Competition) -> str | None:
    """Returns the id of the competition if the program can grade. None if code of a caller is involved."""
    if not _is_unpatched(competition.grader, ("__call__",), ("read_csv", "load_answers")):
        return None
    return id_of(competition.grader.grade_fn)


def _score(path: Path, competition: Competition) -> float | None:
    """Returns the score rounded to five decimals."""
    own = _graded_by_program(competition)
    if own is None:
        try:
            submission = read_csv(path)
        except Exception as error:
            logger.warning(f"Invalid submission: {one_line(error)}")
            return None
        return competition.grader(submission, load_answers(competition.answers))
    score, reason = score_file(own, path, competition.answers)
    if score is None:
        logger.warning(f"Invalid submission: {reason}")
    return score


def _rank(score: float | None, competition: Competition) -> dict[str, Any]:
    """Returns medals, thresholds and direction. Uses pandas only for leaderboards that cannot be read without it."""
    assert competition.leaderboard.exists(), f"Leaderboard {competition.leaderboard} does not exist."
    grader = competition.grader
    scores = None
    if _is_unpatched(grader, ("rank_score", "is_lower_better"), ("get_leaderboard",)):
        scores = medals.read_scores(competition.leaderboard)
    if scores is None:
        leaderboard = get_leaderboard(competition)
        ranked: dict[str, Any] = grader.rank_score(score, leaderboard)
        known = {name: ranked[name] for name in medals.RANKED}
        return known | {"is_lower_better": grader.is_lower_better(leaderboard)}
    if not scores:
        logger.warning(f"{competition.id} has no leaderboard: there are no medals.")
        return medals.UNRANKED.copy()
    return medals.rank(score, scores) | {"is_lower_better": medals.is_lower_better(scores)}
