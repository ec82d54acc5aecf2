//! `prep grade`: many submissions, one report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use prep_app::{Log, grade_list};
use prep_core::units;
use prep_grade::report::CompetitionReport;

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Which;
use crate::output::table::{Align, Table};
use crate::session::{Ended, Session};
use crate::verbs::grade_sample::without_leaderboard;

/// Grade the submissions of a list and write the benchmark's report
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep grade --submission submissions.jsonl --output-dir reports

A line of the list is a JSON object: {\"competition_id\": \"ID\", \"submission_path\": \"path/submission.csv\"}. \
Entries that cannot be graded, because their competition is not prepared, say, are listed in the report \
under `not_graded`; the others are graded all the same.")]
pub struct GradeArgs {
    /// The list of submissions: JSON Lines
    #[arg(long, value_name = "FILE.jsonl")]
    submission: PathBuf,
    /// Folder for the report; made if it is not there
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    log: LogArgs,
}

/// Whether gradings are noted.
#[derive(Debug, Clone, Default, Args)]
pub struct LogArgs {
    /// Do not note gradings in DATA/grades.jsonl
    #[arg(long)]
    no_log: bool,
}

impl LogArgs {
    pub fn log(&self, session: &Session) -> Log {
        let printer = session.printer.clone();
        match self.no_log {
            true => Log::off(),
            false => Log::kept(move |error| printer.warning(error)),
        }
    }
}

impl GradeArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let settings = &self.which.settings(session);
        let catalog = session.catalog()?;
        let log = self.log.log(session);
        let graded = grade_list(settings, &catalog, &self.submission, &self.output_dir, &log)?;
        let reports = graded.results.iter();
        let reports: Vec<_> = reports.filter_map(|(_, one)| one.as_ref().ok()).collect();
        if session.printer.json {
            session.printer.result(&(graded.text.clone() + "\n"))?;
        } else {
            session.printer.result(&table(&reports))?;
        }
        without_leaderboard(session, &reports);
        not_comparable(session, &reports);
        session
            .printer
            .message(format!("report: {}", graded.path.display()));
        let mut exits = Vec::new();
        for (entry, result) in &graded.results {
            let Err(error) = result else { continue };
            let place = format!("{}:{}", self.submission.display(), entry.line);
            let mut error = CliError::from(error.clone());
            error.message = format!("{place}: {}", error.message);
            session.printer.error(&error);
            exits.push(error.exit);
        }
        Ok(Exit::combine(exits))
    }
}

/// Warns of scores that seem to be the benchmark's and do not mean what they mean.
fn not_comparable(session: &Session, reports: &[&CompetitionReport]) {
    let of_benchmark = reports.iter().filter(|report| {
        prep_splits::sets_of(&report.competition_id)
            .next()
            .is_some()
    });
    let because: BTreeMap<&str, &Vec<String>> = of_benchmark
        .map(|report| {
            let because = &report.variant.not_comparable_because;
            (report.competition_id.as_str(), because)
        })
        .filter(|(_, because)| !because.is_empty())
        .collect();
    for (id, because) in because {
        session.printer.warning(format!(
            "scores of `{id}` cannot be compared with those of the benchmark: {}",
            because.join("; ")
        ));
    }
}

/// A score as tables show it.
pub fn score(report: &CompetitionReport) -> String {
    let number = |score: f64| score.to_string();
    report.score.map_or_else(|| "-".to_owned(), number)
}

/// The best medal of a submission, as tables show it.
pub fn medal(report: &CompetitionReport) -> &'static str {
    match report.medals {
        medals if medals.gold => "gold",
        medals if medals.silver => "silver",
        medals if medals.bronze => "bronze",
        _ => "-",
    }
}

fn table(reports: &[&CompetitionReport]) -> String {
    let mut table = Table::new(&[
        ("competition", Align::Left),
        ("score", Align::Right),
        ("medal", Align::Left),
        ("above median", Align::Left),
        ("submission", Align::Left),
    ]);
    for report in reports {
        let submission = match &report.reason {
            Some(refusal) => format!("invalid: {refusal}"),
            None if report.submission_exists => "valid".to_owned(),
            None => "missing".to_owned(),
        };
        table.row(vec![
            report.competition_id.clone(),
            score(report),
            medal(report).to_owned(),
            if report.medals.above_median {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
            submission,
        ]);
    }
    let count = |counts: fn(&CompetitionReport) -> bool| {
        reports.iter().filter(|report| counts(report)).count()
    };
    format!(
        "{}\n{}: {} valid, {} above the median, {} gold, {} silver, {} bronze\n",
        table.render(),
        units::count(reports.len() as u64, "run"),
        count(CompetitionReport::valid_submission),
        count(|report| report.medals.above_median),
        count(|report| report.medals.gold),
        count(|report| report.medals.silver),
        count(|report| report.medals.bronze),
    )
}
