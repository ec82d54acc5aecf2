//! `prep grade`: many submissions, one report.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use jiff::Timestamp;
use prep_grade::json::Json;
use prep_grade::list::{self, Entry};
use prep_grade::report::{CompetitionReport, aggregate, file_name};

use super::catalog;
use crate::catalog::Catalog;
use crate::error::CliError;
use crate::exit::Exit;
use crate::grading::Grading;
use crate::table::{Align, Table};
use crate::{Ended, Session, units};

/// Grade the submissions of a list and write the benchmark's report
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep grade --submission submissions.jsonl --output-dir reports

A line of the list is a JSON object: {\"competition_id\": \"ID\", \"submission_path\": \"path/submission.csv\"}.
Entries that cannot be graded, because their competition is not prepared, say, are listed in the report
under `not_graded`; the others are graded all the same.")]
pub struct GradeArgs {
    /// The list of submissions: JSON Lines
    #[arg(long, value_name = "FILE.jsonl")]
    submission: PathBuf,
    /// Folder for the report; made if it is not there
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
}

/// What became of the submissions of a list.
pub struct Graded {
    /// In the order of the list; an error where an entry could not be graded.
    pub results: Vec<(Entry, Result<CompetitionReport, CliError>)>,
    /// The report as text, as it stands in the file.
    text: String,
    /// Where the report was written.
    pub path: PathBuf,
}

impl GradeArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = catalog(&session.settings)?;
        let graded = grade_list(session, &catalog, &self.submission, &self.output_dir)?;
        if session.printer.json {
            session.printer.result(&(graded.text.clone() + "\n"))?;
        } else {
            let reports = graded.results.iter();
            let reports: Vec<_> = reports.filter_map(|(_, one)| one.as_ref().ok()).collect();
            session.printer.result(&table(&reports))?;
        }
        session
            .printer
            .message(format!("report: {}", graded.path.display()));
        let mut exits = Vec::new();
        for (entry, result) in &graded.results {
            let Err(error) = result else { continue };
            let place = format!("{}:{}", self.submission.display(), entry.line);
            let mut error = error.clone();
            error.message = format!("{place}: {}", error.message);
            session.printer.error(&error);
            exits.push(error.exit);
        }
        Ok(Exit::combine(exits))
    }
}

/// Grades the submissions of the list in the file `list` and writes the report into the folder `output_dir`.
///
/// # Errors
/// When the list cannot be used or the report cannot be written; what is wrong with single entries is in the result.
pub fn grade_list(
    session: &Session,
    catalog: &Catalog,
    list: &Path,
    output_dir: &Path,
) -> Result<Graded, CliError> {
    let text = std::fs::read_to_string(list)
        .map_err(|error| CliError::file("read the list", list, &error))?;
    let entries = list::parse(&text)
        .map_err(|error| CliError::usage(format!("{}: {error}", list.display())))?;
    // Before the work, so that it is not in vain.
    std::fs::create_dir_all(output_dir)
        .map_err(|error| CliError::file("make the folder", output_dir, &error))?;
    let results = grade_all(session, catalog, &entries);
    let results: Vec<_> = entries.into_iter().zip(results).collect();
    let mut reports = Vec::new();
    let mut refused = Vec::new();
    for (entry, result) in &results {
        match result {
            Ok(report) => reports.push(report.clone()),
            Err(error) => refused.push((entry, error)),
        }
    }
    let text = whole(&reports, &refused).pretty();
    let path = output_dir.join(file_name(Timestamp::now()));
    write(&path, &text).map_err(|error| CliError::file("write the report", &path, &error))?;
    Ok(Graded {
        results,
        text,
        path,
    })
}

/// Grades side by side; results are in the order of the entries.
fn grade_all(
    session: &Session,
    catalog: &Catalog,
    entries: &[Entry],
) -> Vec<Result<CompetitionReport, CliError>> {
    let settings = &session.settings;
    let gradings: HashMap<&str, OnceLock<Result<Grading, CliError>>> = entries
        .iter()
        .map(|entry| (entry.competition_id.as_str(), OnceLock::new()))
        .collect();
    let results: Vec<OnceLock<Result<CompetitionReport, CliError>>> =
        entries.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((entry, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            entries.get(index).zip(results.get(index))
        } {
            let id = entry.competition_id.as_str();
            let grading = gradings
                .get(id)
                .map(|cell| cell.get_or_init(|| Grading::open(catalog, settings, id)));
            let report = match grading {
                Some(Ok(grading)) => Ok(grading.report(Path::new(&entry.submission_path))),
                Some(Err(error)) => Err(error.clone()),
                None => Err(defect()),
            };
            // Every index is taken once.
            let _ = result.set(report);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.min(entries.len()) {
            scope.spawn(work);
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(|| Err(defect())))
        .collect()
}

fn defect() -> CliError {
    CliError::new(
        Exit::Failed,
        "this entry was not graded, which is a defect of prep",
    )
}

/// The benchmark's report, and after its keys the entries that could not be graded, if there are any.
fn whole(reports: &[CompetitionReport], refused: &[(&Entry, &CliError)]) -> Json {
    let report = aggregate(reports);
    let (false, Json::Map(mut keys)) = (refused.is_empty(), report.clone()) else {
        return report;
    };
    let not_graded = refused.iter().map(|(entry, error)| {
        Json::Map(vec![
            ("competition_id", Json::Text(entry.competition_id.clone())),
            ("submission_path", Json::Text(entry.submission_path.clone())),
            ("message", Json::Text(error.message.clone())),
        ])
    });
    keys.push(("not_graded", Json::List(not_graded.collect())));
    Json::Map(keys)
}

/// Under a temporary name first: a report is there as a whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("json.part");
    let mut file = std::fs::File::create(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
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

#[cfg(test)]
mod tests {
    use super::*;
    use prep_grade::medals::Leaderboard;

    #[test]
    fn entries_that_cannot_be_graded_stand_after_the_benchmarks_keys() {
        let leaderboard = Leaderboard::parse("score\n2\n1\n").unwrap();
        let report = CompetitionReport::new(
            "a",
            "a.csv",
            None,
            &leaderboard,
            "v1",
            jiff::civil::DateTime::default(),
        );
        let entry = Entry {
            line: 1,
            competition_id: "b".into(),
            submission_path: "b.csv".into(),
        };
        let error = crate::prepared::not_prepared("b");
        let Json::Map(keys) = whole(std::slice::from_ref(&report), &[(&entry, &error)]) else {
            panic!("no map")
        };
        assert_eq!(keys[0], ("total_runs", Json::Count(1)));
        assert_eq!(keys[keys.len() - 2].0, "competition_reports");
        assert_eq!(keys[keys.len() - 1].0, "not_graded");
        assert_eq!(
            whole(std::slice::from_ref(&report), &[]),
            aggregate(std::slice::from_ref(&report))
        );
        assert!(table(&[&report]).contains("a                -  -      no            missing"));
    }

    #[test]
    fn reports_leave_no_part_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        write(&path, "{}").unwrap();
        let names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["r.json"]);
    }
}
