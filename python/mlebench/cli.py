"""The command `mlebench`."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Sequence

from mleprep._mlebench.program import ProgramError, one_line

from mlebench import __version__
from mlebench.data import ensure_leaderboard_exists
from mlebench.grade import grade_csv, grade_jsonl
from mlebench.registry import Registry, registry
from mlebench.utils import get_logger

logger = get_logger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns the exit code: 0 for success, 1 for failure, 2 for an invalid command line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None or (given.command == "dev" and given.dev_command is None):
        parser.print_help()
        return 0
    _require_selection(parser, given)
    try:
        match given.command:
            case "prepare":
                return _prepare(given)
            case "grade":
                grade_jsonl(given.submission, given.output_dir, _registry(given))
            case "grade-sample":
                _grade_sample(given)
            case "dev":
                _download_leaderboards(given)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _failed(error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mlebench", description="Runs agents on Machine Learning competitions.")
    parser.add_argument("--version", action="version", version=f"mlebench {__version__}")
    commands = parser.add_subparsers(dest="command")
    # argparse formats help texts with %. Ids contain no %.
    ids = _ids_in_words()
    data_dir = "directory of the competitions' data"

    prepare = commands.add_parser("prepare", help="download and prepare competitions")
    prepare.add_argument("-c", "--competition-id", metavar="ID", help=f"id of the competition. {ids}")
    prepare.add_argument("-a", "--all", action="store_true", help="all competitions")
    prepare.add_argument("--lite", action="store_true", help="the competitions of low complexity")
    prepare.add_argument("-l", "--list", type=Path, metavar="FILE", help="a text file with one id per line")
    prepare.add_argument("--keep-raw", action="store_true", help="leave the unpacked bundle in DIR/ID/raw")
    prepare.add_argument("--data-dir", type=Path, metavar="DIR", help=data_dir)
    prepare.add_argument(
        "--overwrite-checksums", action="store_true", help="record the checksums of the new files as the expected ones"
    )
    prepare.add_argument("--overwrite-leaderboard", action="store_true", help="an error: leaderboards are pinned")
    prepare.add_argument("--skip-verification", action="store_true", help="do not compare with published checksums")

    grade = commands.add_parser("grade", help="grade the submissions of a list")
    grade.add_argument("--submission", type=Path, required=True, metavar="FILE", help="the list: JSON Lines")
    grade.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="directory for the report")
    grade.add_argument("--data-dir", type=Path, metavar="DIR", help=data_dir)

    sample = commands.add_parser("grade-sample", help="grade one submission")
    sample.add_argument("submission", type=Path, help="a CSV")
    sample.add_argument("competition_id", help=f"id of the competition. {ids}")
    sample.add_argument("--data-dir", type=Path, metavar="DIR", help=data_dir)

    dev = commands.add_parser("dev", help="for developers of competitions")
    developing = dev.add_subparsers(dest="dev_command")
    boards = developing.add_parser("download-leaderboard", help="check that leaderboards exist")
    boards.add_argument("-c", "--competition-id", metavar="ID", help=f"id of the competition. {ids}")
    boards.add_argument("--all", action="store_true", help="all competitions")
    boards.add_argument("--force", action="store_true", help="an error: leaderboards are pinned")
    parser.set_defaults(dev_command=None)
    return parser


def _ids_in_words() -> str:
    """Returns the ids for the help, which must also work without the program."""
    try:
        return "Valid options: " + ", ".join(registry.list_competition_ids())
    except (OSError, ProgramError):
        return "`prep list` shows all of them."


def _require_selection(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    if given.command == "prepare" and not (given.lite or given.all or given.list or given.competition_id):
        parser.error("prepare needs one of --lite, --all, --list and --competition-id")
    if given.command == "dev" and not (given.all or given.competition_id):
        parser.error("download-leaderboard needs --all or --competition-id")


def _registry(given: argparse.Namespace) -> Registry:
    return registry.set_data_dir(given.data_dir) if given.data_dir else registry


def _prepare(given: argparse.Namespace) -> int:
    own = _registry(given)
    if given.lite:
        ids = own.get_lite_competition_ids()
    elif given.all:
        ids = own.list_competition_ids()
    elif given.list:
        lines = (line.strip() for line in given.list.read_text(encoding="utf-8").splitlines())
        ids = [line for line in lines if line and not line.startswith("#")]
    else:
        ids = [given.competition_id]
    from mleprep._mlebench.prepare import prepare_all

    failures = prepare_all(
        [own.get_competition(one) for one in ids],
        keep_raw=given.keep_raw,
        overwrite_checksums=given.overwrite_checksums,
        overwrite_leaderboard=given.overwrite_leaderboard,
        skip_verification=given.skip_verification,
        require_raw=given.keep_raw,
    )
    for error in failures.values():
        _failed(error)
    if failures and len(ids) > 1:
        print(f"error: {len(failures)} of {len(ids)} were not prepared: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


def _grade_sample(given: argparse.Namespace) -> None:
    competition = _registry(given).get_competition(given.competition_id)
    report = grade_csv(given.submission, competition)
    logger.info("Competition report:")
    logger.info(json.dumps(report.to_dict(), indent=4))


def _download_leaderboards(given: argparse.Namespace) -> None:
    ids = registry.list_competition_ids() if given.all else [given.competition_id]
    for one in ids:
        path = ensure_leaderboard_exists(registry.get_competition(one), force=given.force)
        logger.info(f"The leaderboard of {one} is {path}.")


def _failed(error: Exception) -> int:
    print(textwrap.shorten(f"error: {one_line(error)}", 4000), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
