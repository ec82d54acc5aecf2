"""Validating and grading submissions."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from mlebench import _competition, _program
from mlebench.data import get_leaderboard, is_dataset_prepared
from mlebench.grade_helpers import UNRANKED, CompetitionReport, rank_on
from mlebench.registry import Competition, Registry
from mlebench.registry import registry as DEFAULT_REGISTRY
from mlebench.utils import get_logger, get_timestamp, load_answers, one_line, purple, read_csv, read_jsonl

logger = get_logger(__name__)


def grade_jsonl(path_to_submissions: Path, output_dir: Path, registry: Registry = DEFAULT_REGISTRY) -> None:
    """Grades the submissions of a list and writes a report into a folder."""
    entries = read_jsonl(path_to_submissions, skip_commented_out_lines=True)
    work = [(Path(str(one["submission_path"])), registry.get_competition(one["competition_id"])) for one in entries]
    output_dir = Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as threads:
        reports = list(threads.map(lambda one: grade_csv(*one), work))
    found = aggregate_reports(reports)
    sums = {key: value for key, value in found.items() if key != "competition_reports"}
    logger.info(json.dumps(sums, indent=4))
    path = output_dir / f"{get_timestamp()}_grading_report.json"
    path.write_text(json.dumps(found, indent=2), encoding="utf-8")
    logger.info(purple(f"Saved summary report to {path}"))


def grade_csv(path_to_submission: Path, competition: Competition) -> CompetitionReport:
    """Grades a submission. Where there is none, the report has the thresholds."""
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
    lower = ranked.pop("is_lower_better")
    return CompetitionReport(
        competition_id=competition.id,
        score=score,
        any_medal=ranked["gold_medal"] or ranked["silver_medal"] or ranked["bronze_medal"],
        submission_exists=exists,
        valid_submission=score is not None,
        is_lower_better=lower,
        created_at=datetime.now(),
        submission_path=str(path_to_submission),
        **ranked,
    )


def validate_submission(submission: Path, competition: Competition) -> tuple[bool, str]:
    """Whether grading would give a score, and what to fix if it would not."""
    submission = Path(submission)
    if not submission.is_file():
        return False, f"Submission invalid! Submission file {submission} does not exist."
    if submission.suffix.lower() != ".csv":
        return False, "Submission invalid! Submission file must be a CSV file."
    _require_prepared(competition)
    own = _competition.id_of(competition.grader.grade_fn)
    if own is not None:
        found = _program.ask_one("validate", "--answers", competition.answers, "--", own, submission, fine=(0, 1))
        return found["valid"], found["message"]
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
    """Counts of several reports, and the reports."""
    reports = competition_reports
    return {
        "total_runs": len(reports),
        "total_runs_with_submissions": sum(bool(one.submission_exists) for one in reports),
        "total_valid_submissions": sum(bool(one.valid_submission) for one in reports),
        "total_medals": sum(bool(one.any_medal) for one in reports),
        "total_gold_medals": sum(bool(one.gold_medal) for one in reports),
        "total_silver_medals": sum(bool(one.silver_medal) for one in reports),
        "total_bronze_medals": sum(bool(one.bronze_medal) for one in reports),
        "total_above_median": sum(bool(one.above_median) for one in reports),
        "competition_reports": [one.to_dict() for one in reports],
    }


def _require_prepared(competition: Competition) -> None:
    if not is_dataset_prepared(competition, grading_only=True):
        raise ValueError(
            f"Dataset for competition `{competition.id}` is not prepared! "
            f"Please run `mlebench prepare -c {competition.id}` to prepare the dataset."
        )


def _score(path: Path, competition: Competition) -> float | None:
    """The score at five decimals. The program reads the files itself where the grader is its own."""
    own = _competition.id_of(competition.grader.grade_fn)
    if own is None:
        try:
            submission = read_csv(path)
        except Exception as error:
            logger.warning(f"Invalid submission: {one_line(error)}")
            return None
        return competition.grader(submission, load_answers(competition.answers))
    score, reason = _competition.score_file(own, path, competition.answers)
    if score is None:
        logger.warning(f"Invalid submission: {reason}")
    return score


def _rank(score: float | None, competition: Competition) -> dict[str, Any]:
    """Medals and thresholds on the competition's leaderboard; frames are read only where it has other columns, too."""
    assert competition.leaderboard.exists(), f"Leaderboard {competition.leaderboard} does not exist."
    with open(competition.leaderboard, encoding="utf-8") as file:
        if file.readline().strip() == "score":
            if not file.read().strip():
                logger.warning(f"{competition.id} has no leaderboard: there are no medals.")
                return UNRANKED.copy()
            return rank_on(score, competition.leaderboard)
    leaderboard = get_leaderboard(competition)
    ranked = competition.grader.rank_score(score, leaderboard)
    return ranked | {"is_lower_better": competition.grader.is_lower_better(leaderboard)}
