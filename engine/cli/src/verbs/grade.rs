//! `prep grade`: grades submissions of one or many competitions, and shows the scores that earn medals.
//!
//! The operands select the action:
//!
//! - ID and SUBMISSION.csv grade one submission.
//! - SUBMISSIONS.jsonl grades a list of submissions.
//! - Directories of runs grade the submissions in these directories.
//! - An ID alone, or `--leaderboard FILE`, shows the scores that earn medals.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Error, GradedList, Grading, NO_SUBMISSION, Submission, Validation};
use prep_core::units;
use prep_grade::GradeOutcome;
use prep_grade::report::{CompetitionReport, JsonObject};
use serde_json::json;

use crate::error::{CliError, Exit};
use crate::forms;
use crate::global::{number, similar_path};
use crate::options::{GivenArgs, IdentityArg, LogArgs, SignArgs, VariantArg};
use crate::output::grading;
use crate::output::printer::write_atomically;
use crate::runs::{self, PlacesArgs, is_runs_directory};
use crate::session::{CliSession, VerbResult};

/// Grade a submission, a list of them, or directories of runs
#[derive(Debug, Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct GradeArgs {
    /// ID and SUBMISSION.csv, a list SUBMISSIONS.jsonl, directories of runs, or an ID
    #[arg(value_name = "WHAT", required_unless_present = "leaderboard")]
    operands: Vec<PathBuf>,
    /// Directory for the report; with --list, the file for the list
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write FILE, like Harbor's reward.json: score, medal, and a reward from 0 to 1
    ///
    /// The reward is the fraction of the leaderboard's scores that are worse than the score. It is 0 for an invalid submission
    /// and for a copy of the answers. Without a leaderboard, it is 1 for any valid submission.
    #[arg(long, value_name = "FILE")]
    reward: Option<PathBuf>,
    /// Show the medal of a score instead of grading a submission
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true, value_parser = number)]
    score: Option<f64>,
    /// List the submissions of directories of runs; grade nothing
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    places: PlacesArgs,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    identity: IdentityArg,
}

const USAGE: &str = "\
prep grade [OPTIONS] ID SUBMISSION.csv [--output DIR]
       prep grade [OPTIONS] SUBMISSIONS.jsonl --output DIR
       prep grade [OPTIONS] RUNS_DIR... (--output DIR | --list)
       prep grade [OPTIONS] ID [--score SCORE]";

/// A macro, so that two constants can contain the examples.
macro_rules! examples {
    () => {
        "Examples:
  prep grade spaceship-titanic submission.csv
  prep grade submissions.jsonl -o reports
  prep grade runs/2026-01-01T00-00-00-GMT_run-group_my-agent -o reports
  prep grade spaceship-titanic submission.csv -o reports --sign laptop
  prep grade spaceship-titanic                  the scores that earn medals
  prep grade spaceship-titanic --score 0.81     the medal of a score"
    };
}

const EXAMPLES: &str = examples!();
const LONG_EXAMPLES: &str = concat!(
    examples!(),
    "

A line of a list is a JSON object: {\"competition_id\": \"ID\", \"submission_path\": \"PATH\"}. Relative paths begin at the \
current directory, as in the benchmark. If an entry cannot be graded, for example because its competition is not prepared, the report lists it under `not_graded`, and the other \
entries are graded.

A run is a directory ID_anything with submission/submission.csv. The metadata.json of a group names its runs. Without \
that file, the runs are its directories ID_anything. The list is written to DIR/submissions.jsonl. Grade the runs of \
different agents separately, because a report does not name agents.

A signed report (--sign) contains its place in DATA/grades.jsonl. `prep verify-report` checks it.

The exit code is 1 if a single submission is not valid. In a list, an invalid submission is a result with the score null. \
The exit code is 4 if none of the files of a list exists."
);

impl GradeArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &self.identity.session(session)?;
        let catalog = session.catalog()?;
        let is_known = |path: &PathBuf| catalog.find(&path.to_string_lossy()).is_some();
        self.operands
            .iter()
            .try_for_each(|path| require_file(path))?;
        let mut operands = self.operands.iter();
        if operands
            .clone()
            .any(|path| path.is_dir() && !is_known(path))
            && let Some(file) = operands.find(|path| path.is_file() && !is_runs_directory(path))
        {
            let message = format!("{} is a file, not a directory of runs", file.display());
            let help = "name only directories of runs, for example runs/*/";
            return Err(CliError::usage(message).help(help));
        }
        match self.operands.as_slice() {
            [] => show_thresholds(session, &catalog, None, self),
            [id] if is_known(id) => show_thresholds(session, &catalog, Some(&name(id)), self),
            paths if paths.iter().all(|path| is_runs_directory(path)) => {
                let graded = (!self.list).then_some(forms::GRADED_RUNS);
                forms::check("grade", &[&[forms::RUNS][..], graded.as_slice()].concat())?;
                grade_runs(session, &catalog, paths, self)
            }
            [submission] if is_csv(submission) => {
                Err(CliError::no_competition("grade", submission))
            }
            [list] if list.is_file() => {
                forms::check("grade", &[forms::LIST])?;
                grade_list(session, &catalog, list, &[], self)
            }
            [id] => Err(self.unknown(&catalog, id)),
            [id, submission] if !is_known(id) && is_known(submission) => {
                Err(CliError::swapped("grade", id, submission))
            }
            [first, others @ ..] => {
                let names_runs = !is_known(first) && is_runs_directory(first);
                match (others.iter().find(|path| !path.exists()), others) {
                    (Some(missing), _) if names_runs => Err(no_such_path(missing)),
                    (_, [submission]) => {
                        grade_one(session, &catalog, &name(first), submission, self)
                    }
                    _ => Err(CliError::usage("expected an id and one submission")
                        .help("write many submissions into a list, one JSON object per line")),
                }
            }
        }
    }

    /// Returns the error for an operand that is neither a competition nor a file.
    /// If neither `--output` nor `--list` is given, the operand may be a misspelled id, so the error reports an unknown id.
    fn unknown(&self, catalog: &Catalog, word: &Path) -> CliError {
        match catalog.get(&name(word)) {
            Err(error) if word.extension().is_none() && self.output.is_none() && !self.list => {
                error.into()
            }
            _ => no_such_path(word),
        }
    }

    /// Returns the directory for the report of a list.
    fn output_dir(&self) -> Result<&Path, CliError> {
        self.output.as_deref().ok_or_else(|| {
            CliError::usage("no directory for the report").help("name one with --output DIR")
        })
    }
}

/// Rejects `-`, which means stdin in other programs.
fn require_file(path: &Path) -> Result<(), CliError> {
    match path.as_os_str() == "-" {
        true => Err(CliError::usage(
            "`-` is not a file, and `prep` reads no submission from stdin",
        )
        .help("write the submission to a file, and name the file")),
        false => Ok(()),
    }
}

/// Returns whether the file is a submission. Submissions are CSV files, and other files are lists of submissions.
fn is_csv(path: &Path) -> bool {
    path.extension()
        .is_some_and(|suffix| suffix.eq_ignore_ascii_case("csv"))
}

fn name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn no_such_path(path: &Path) -> CliError {
    let message = format!("there is no file or directory `{}`", path.display());
    CliError::new(Exit::Input, message)
        .help("name an id and a submission, a list SUBMISSIONS.jsonl, or directories of runs")
        .suggest(similar_path(path).as_deref())
}

/// Suggests an action if the submission is missing or compressed, because upstream's message in the report suggests none.
fn suggest_submission(session: &CliSession, path: &Path) {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    let is_packed = suffix.is_some_and(|suffix| ["zip", "gz", "bz2", "xz"].contains(&suffix));
    match similar_path(path) {
        _ if is_packed && path.is_file() => {
            let text = "`prep` does not unpack submissions; unpack the file, and name the CSV file";
            session.printer.message(text);
        }
        _ if path.is_symlink() && !path.exists() => {
            let text = format!(
                "{} is a link, and its target does not exist",
                path.display()
            );
            session.printer.message(text);
        }
        Some(near) if !path.exists() => {
            session.printer.message(format!("did you mean `{near}`?"));
        }
        _ => {}
    }
}

fn grade_one(
    session: &CliSession,
    catalog: &Catalog,
    id: &str,
    submission: &Path,
    args: &GradeArgs,
) -> VerbResult {
    args.given.check_forms("grade")?;
    let key = args.sign.key(session)?;
    if key.is_some() && args.output.is_none() && !session.printer.json {
        return Err(CliError::usage("there is no report to sign")
            .help("write a report with --output DIR, or print a report with --json"));
    }
    let settings = args.variant.settings(session);
    let open = || {
        Ok(match args.given.overrides() {
            Some(given) => Grading::with_answers(catalog, id, &given)?,
            None => Grading::open(catalog, &settings, id)?
                .logged(&settings, &args.log.log(session, args.sign.is_requested())),
        })
    };
    let (grader, report, unrounded) = report(open, submission)?;
    let report = report.inspect_err(|_| {
        // For example, the pipeline is already corrected, but the answers were prepared before.
        let warnings = grader.warnings().iter();
        warnings.for_each(|warning| session.printer.warning(warning));
    })?;
    let written = args.output.as_ref();
    let written = written.map(|directory| prep_app::write_report(&report, directory, key.as_ref()));
    let written = written.transpose()?;
    if session.printer.json {
        let mut entry = grading::entry(&report);
        entry.insert("unrounded_score".into(), unrounded.into());
        let entry = grading::signed(entry, key.as_ref());
        let path = written.as_ref().map(|path| path.to_string_lossy());
        let further = path.map(|path| ("report", (&*path).into()));
        let text = grading::envelope(vec![entry], JsonObject::from_iter(further));
        session.printer.result(&text)?;
    } else {
        session
            .printer
            .table(&grading::rows(&[(&report, submission)]))?;
        if let Some((thresholds, is_lower)) = report.thresholds.zip(report.is_lower_better) {
            session
                .printer
                .message(grading::thresholds(thresholds, is_lower).trim_end());
        }
    }
    suggest_submission(session, submission);
    for warning in grader.warnings() {
        session.printer.warning(warning);
    }
    let misspelled = grader.misspelled_label(submission);
    session.printer.warnings(misspelled.as_slice());
    grading::remarks(&session.printer, &[&report]);
    if let Some(path) = &args.reward {
        let text = grading::reward(&report, grader.reward(&report));
        write_atomically(path, |out| out.write_all(text.as_bytes()))?;
    }
    if let Some(path) = written {
        session
            .printer
            .message(format!("report: {}", path.display()));
    }
    Ok(match report.valid_submission() {
        true => Exit::Success,
        false => Exit::No,
    })
}

/// The opened competition, the report, and the score without rounding.
type Graded = (Grading, Result<CompetitionReport, Error>, Option<f64>);

/// Grades a submission.
fn report(
    open: impl FnOnce() -> Result<Grading, CliError>,
    path: &Path,
) -> Result<Graded, CliError> {
    let name = path.to_string_lossy();
    let submission = match Submission::open_table(path) {
        Ok(submission) => submission,
        Err(error) => {
            let grader = open()?;
            let report = grader.report_without_submission(&name, &error);
            return Ok((grader, report, None));
        }
    };
    let (grader, outcome) = Grading::open_and_grade(&submission, open)?;
    let unrounded = match &outcome {
        Ok(GradeOutcome::Score { value, .. }) => Some(*value),
        _ => None,
    };
    let report = grader.report(&submission, outcome);
    let is_valid = |report: &CompetitionReport| report.valid_submission();
    let unrounded = unrounded.filter(|_| report.as_ref().is_ok_and(is_valid));
    Ok((grader, report, unrounded))
}

/// Grades the submissions of a list. `directories` contains the directory of each run, or is empty if the directories
/// are not known.
fn grade_list(
    session: &CliSession,
    catalog: &Catalog,
    list: &Path,
    directories: &[PathBuf],
    args: &GradeArgs,
) -> VerbResult {
    let (settings, log) = (
        &args.variant.settings(session),
        args.log.log(session, args.sign.is_requested()),
    );
    let key = args.sign.key(session)?;
    let key = key.as_ref();
    let graded = prep_app::grade_list(
        settings,
        catalog,
        list,
        directories,
        args.output_dir()?,
        &log,
        key,
    )?;
    let reports = graded.results.iter();
    let reports: Vec<_> = reports.filter_map(|(_, one)| one.as_ref().ok()).collect();
    let missing = missing_files(session, &graded);
    if session.printer.json {
        let competitions = graded.results.iter().map(|(entry, result)| match result {
            Ok(report) => grading::signed(grading::entry(report), key),
            Err(error) => grading::not_graded(list, entry, &error.clone().into()),
        });
        let competitions = competitions.collect();
        let path = graded.path.to_string_lossy();
        let further = JsonObject::from_iter([("report", (&*path).into())]);
        let text = grading::envelope(competitions, further);
        session.printer.result(&text)?;
    } else if missing.is_none() {
        let rows = reports.iter().map(|report| {
            let path = match (report.submission_path.as_str(), &report.run) {
                (NO_SUBMISSION, None) => "-",
                (NO_SUBMISSION, Some(run)) => run,
                (path, _) => path,
            };
            (*report, Path::new(path))
        });
        let rows: Vec<_> = rows.collect();
        session.printer.result(&grading::summary(&rows))?;
    }
    let warnings: Vec<String> = graded.warnings.iter().cloned().collect();
    session.printer.warnings(&warnings);
    if graded.results.is_empty() {
        let text = format!("the list {} names no submission", list.display());
        session.printer.warning(text);
    }
    grading::remarks(&session.printer, &reports);
    let path = graded.path.display();
    session.printer.message(format!("report: {path}"));
    let mut errors = Vec::new();
    for (entry, result) in &graded.results {
        let Err(error) = result else { continue };
        let place = format!("{}:{}", list.display(), entry.line);
        let mut error = CliError::from(error.clone());
        error.message = format!("{place}: {}", error.message);
        errors.push(error);
    }
    errors.extend(missing);
    session.printer.errors(&errors);
    Ok(Exit::combine(errors.iter().map(|error| error.exit)))
}

/// Prints the number of files that a list names but that do not exist. If all files of the list are missing, returns an
/// error instead, because the list was probably written for another directory. Then no table of scores is printed.
fn missing_files(session: &CliSession, graded: &GradedList) -> Option<CliError> {
    let named = graded.results.iter();
    let named = named.filter(|(entry, _)| entry.submission_path != NO_SUBMISSION);
    let found: Vec<&CompetitionReport> = named.filter_map(|(_, one)| one.as_ref().ok()).collect();
    let missing = found.iter().filter(|report| {
        let path = Path::new(&report.submission_path);
        !report.submission_exists && !path.exists()
    });
    let missing: Vec<_> = missing.collect();
    let is_relative =
        |report: &&&CompetitionReport| !Path::new(&report.submission_path).is_absolute();
    let place = match (missing.iter().any(is_relative), &session.places.current_dir) {
        (true, Some(directory)) => {
            format!("; relative paths begin at {}", directory.display())
        }
        _ => String::new(),
    };
    let count = units::count(found.len() as u64, "file");
    match missing.len() {
        0 => None,
        some if some < found.len() => {
            let verb = if some == 1 { "does" } else { "do" };
            let text = format!("{some} of {count} {verb} not exist{place}");
            session.printer.message(text);
            None
        }
        _ => {
            let help = "run the command in the directory to which the paths are relative, or write absolute paths";
            let error = CliError::new(Exit::Input, format!("none of {count} exists{place}"));
            Some(error.help(help))
        }
    }
}

/// The list of submissions in the directory of the report.
const LIST: &str = "submissions.jsonl";

fn grade_runs(
    session: &CliSession,
    catalog: &Catalog,
    runs: &[PathBuf],
    args: &GradeArgs,
) -> VerbResult {
    let (text, directories) = runs::list(session, catalog, runs, &args.places)?;
    if args.list {
        match &args.output {
            None => session.printer.result(&text)?,
            Some(path) => write_atomically(path, |out| out.write_all(text.as_bytes()))?,
        }
        return Ok(Exit::Success);
    }
    let directory = args.output_dir()?;
    std::fs::create_dir_all(directory)
        .map_err(|error| Error::writing("create the directory", directory, &error))?;
    let list = directory.join(LIST);
    write_atomically(&list, |out| out.write_all(text.as_bytes()))?;
    grade_list(session, catalog, &list, &directories, args)
}

fn show_thresholds(
    session: &CliSession,
    catalog: &Catalog,
    id: Option<&str>,
    args: &GradeArgs,
) -> VerbResult {
    if args.given.answers.is_some() {
        return Err(CliError::usage("no submission to grade").help("name one after the id"));
    }
    forms::check("grade", &[forms::THRESHOLDS])?;
    let leaderboard = match (&args.given.leaderboard, id) {
        (Some(path), _) => prep_app::read_leaderboard(path)?,
        (None, id) => prep_app::leaderboard(catalog.get(id.unwrap_or_default())?)?,
    };
    let thresholds = leaderboard.thresholds();
    let medals = args.score.map(|score| leaderboard.medals(score));
    if session.printer.json {
        let mut entry = JsonObject::from_iter([
            ("id", id.into()),
            ("gold_threshold", thresholds.gold.into()),
            ("silver_threshold", thresholds.silver.into()),
            ("bronze_threshold", thresholds.bronze.into()),
            ("median_threshold", thresholds.median.into()),
            ("is_lower_better", leaderboard.is_lower_better().into()),
        ]);
        if let (Some(score), Some(medals)) = (args.score, medals) {
            for (name, value) in [
                ("score", score.into()),
                ("gold_medal", medals.gold.into()),
                ("silver_medal", medals.silver.into()),
                ("bronze_medal", medals.bronze.into()),
                ("above_median", medals.above_median.into()),
            ] {
                entry.insert(name.into(), value);
            }
        }
        let text = grading::envelope(vec![entry], JsonObject::new());
        session.printer.result(&text)?;
        return Ok(Exit::Success);
    }
    let mut text = grading::thresholds(thresholds, leaderboard.is_lower_better());
    if let (Some(score), Some(medals)) = (args.score, medals) {
        let medal = match grading::medal_of(medals) {
            "-" => "no medal",
            medal => medal,
        };
        let side = match medals.above_median {
            true => "above the median",
            false => "not above the median",
        };
        text = format!("{score}: {medal}, {side}\n{text}");
    }
    session.printer.result(&text)?;
    Ok(Exit::Success)
}

/// Check a submission without showing its score
#[derive(Debug, Args)]
#[command(
    override_usage = "prep validate [OPTIONS] ID SUBMISSION.csv",
    after_help = "\
Examples:
  prep validate spaceship-titanic submission.csv
  prep validate spaceship-titanic submission.csv --json

A validation shows no score, so it is not logged in DATA/grades.jsonl and is not one of the gradings that reports count.

The exit code is 0 if the submission is valid, and 1 if it is not."
)]
pub struct ValidateArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// The submission
    #[arg(value_name = "SUBMISSION.csv")]
    submission: Option<PathBuf>,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    identity: IdentityArg,
}

impl ValidateArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        self.given.check_forms("validate")?;
        let session = &self.identity.session(session)?;
        let catalog = session.catalog()?;
        let is_known = |name: &str| catalog.find(name).is_some();
        let Some(submission) = &self.submission else {
            return Err(match is_known(&self.id) {
                true => CliError::usage("no submission is named")
                    .help(format!("write `prep validate {} SUBMISSION.csv`", self.id)),
                false => CliError::no_competition("validate", Path::new(&self.id)),
            });
        };
        require_file(submission)?;
        if !is_known(&self.id) && is_known(&submission.to_string_lossy()) {
            let id = Path::new(&self.id);
            return Err(CliError::swapped("validate", id, submission));
        }
        let name = submission.to_string_lossy();
        let outcome = match Submission::open(submission) {
            Ok(submission) => {
                Grading::open_and_grade(&submission, || self.grading(session, &catalog))?.1
            }
            Err(error) => Err(error),
        };
        let found = Validation::of(&name, &outcome)?;
        let json = || {
            json!({
                "competitions": [{
                    "id": self.id,
                    "valid": found.valid,
                    "message": found.message,
                    "reason": found.reason,
                }],
            })
        };
        let text = || format!("{}\n", found.message);
        session.printer.show(json, text)?;
        suggest_submission(session, submission);
        Ok(if found.valid { Exit::Success } else { Exit::No })
    }

    fn grading(&self, session: &CliSession, catalog: &Catalog) -> Result<Grading, CliError> {
        let grading = match self.given.overrides() {
            Some(given) => Grading::with_answers(catalog, &self.id, &given)?,
            None => Grading::open(catalog, &self.variant.settings(session), &self.id)?,
        };
        for warning in grading.warnings() {
            session.printer.warning(warning);
        }
        Ok(grading)
    }
}
