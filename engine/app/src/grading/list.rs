//! Grades a list of submissions in parallel, and writes one report, which is signed if a key is given.

use std::collections::{BTreeSet, HashMap};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::{Timestamp, ToSpan};
use prep_contents::parallel;
use prep_core::Failure;
use prep_formats::json::JsonValue;
use prep_grade::report::{CompetitionReport, JsonObject, aggregate, file_name, pretty};
use prep_grade::report::{ListedSubmission, parse_list};
use prep_remote::SigningKey;
use tempfile::NamedTempFile;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::grading::{Grading, GradingLog, NO_SUBMISSION};
use crate::settings::Settings;

/// The report of a list of submissions.
pub struct GradedList {
    /// A report or an error for each entry, in the order of the list.
    pub results: Vec<(ListedSubmission, Result<CompetitionReport, Error>)>,
    /// The text of the report.
    pub text: String,
    /// The file of the report.
    pub path: PathBuf,
    /// Warnings about the prepared data, sorted.
    pub warnings: BTreeSet<String>,
}

/// Grades the submissions in the file `list`, and writes the report into `output_dir`. Signs the report if `key` is given.
/// `runs` contains the directory of each entry's run, or is empty if the directories are unknown.
///
/// # Errors
/// Returns an error if `list` cannot be read or has mistakes, or if the report cannot be written. If a submission cannot be
/// graded, the result of that submission is an error.
pub fn grade_list(
    settings: &Settings,
    catalog: &Catalog,
    list: &Path,
    runs: &[PathBuf],
    output_dir: &Path,
    log: &GradingLog,
    key: Option<&SigningKey>,
) -> Result<GradedList, Error> {
    let text = std::fs::read_to_string(list)
        .map_err(|error| Error::reading("read the list", list, &error))?;
    let entries = parse_list(&text)
        .map_err(|error| Error::request(format!("{}: {error}", list.display())))?;
    // The file is created before grading, so that no time is lost if the report cannot be written.
    let file = ReportFile::create(output_dir)?;
    let (results, warnings) = grade_all(settings, catalog, &entries, log);
    let mut results: Vec<_> = entries.into_iter().zip(results).collect();
    for ((_, result), run) in results.iter_mut().zip(runs) {
        if let Ok(report) = result
            && report.submission_path == NO_SUBMISSION
        {
            report.run = Some(run.to_string_lossy().into_owned());
        }
    }
    let mut reports = Vec::new();
    let mut errors = Vec::new();
    for (entry, result) in &results {
        match result {
            Ok(report) => reports.push(report.clone()),
            Err(error) => errors.push((entry, error)),
        }
    }
    let (text, path) = file.write(list_report(&reports, &errors), key)?;
    Ok(GradedList {
        results,
        text,
        path,
        warnings,
    })
}

/// Grades the entries in parallel. Also returns warnings about the prepared data.
fn grade_all(
    settings: &Settings,
    catalog: &Catalog,
    entries: &[ListedSubmission],
    log: &GradingLog,
) -> (Vec<Result<CompetitionReport, Error>>, BTreeSet<String>) {
    let gradings: HashMap<&str, OnceLock<Result<Grading, Error>>> = entries
        .iter()
        .map(|entry| (entry.competition_id.as_str(), OnceLock::new()))
        .collect();
    let results = parallel::map(entries, settings.jobs, |entry| {
        let id = entry.competition_id.as_str();
        let missing = || Error::new(Failure::Internal, "a competition of the list is missing");
        let grading = gradings.get(id).ok_or_else(missing)?;
        let grading = grading.get_or_init(|| {
            let grading = Grading::open(catalog, settings, id)?;
            Ok(grading.logged(settings, log))
        });
        let grading = grading.as_ref().map_err(Clone::clone)?;
        grading.report_of_path(Path::new(&entry.submission_path))
    });
    let opened = gradings
        .values()
        .filter_map(|grading| grading.get()?.as_ref().ok());
    let warnings = opened.flat_map(|grading| grading.warnings().iter().cloned());
    (results, warnings.collect())
}

/// Returns the report in upstream's format. The additional key `not_graded` lists the entries with errors.
fn list_report(
    reports: &[CompetitionReport],
    errors: &[(&ListedSubmission, &Error)],
) -> JsonObject {
    let mut report = aggregate(reports);
    let not_graded = errors.iter().map(|(entry, error)| {
        JsonValue::from(JsonObject::from_iter([
            ("competition_id", entry.competition_id.as_str().into()),
            ("submission_path", entry.submission_path.as_str().into()),
            ("message", error.message.as_str().into()),
        ]))
    });
    if !errors.is_empty() {
        report.insert("not_graded".into(), not_graded.collect::<Vec<_>>().into());
    }
    report
}

/// Writes the report of one submission into `output_dir`, as a list of one report. Signs this list if `key` is given.
///
/// # Errors
/// Returns an error if the report cannot be written.
pub fn write_report(
    report: &CompetitionReport,
    output_dir: &Path,
    key: Option<&SigningKey>,
) -> Result<PathBuf, Error> {
    let file = ReportFile::create(output_dir)?;
    let (_, path) = file.write(aggregate(std::slice::from_ref(report)), key)?;
    Ok(path)
}

struct ReportFile<'a> {
    directory: &'a Path,
    file: NamedTempFile,
}

impl ReportFile<'_> {
    fn create(directory: &Path) -> Result<ReportFile<'_>, Error> {
        std::fs::create_dir_all(directory)
            .map_err(|error| Error::writing("create the directory", directory, &error))?;
        let file = tempfile::Builder::new()
            .prefix(".report-")
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(directory)
            .map_err(|error| Error::writing("write a report into", directory, &error))?;
        Ok(ReportFile { directory, file })
    }

    /// Signs and writes the report. Returns its text and path.
    fn write(
        self,
        report: JsonObject,
        key: Option<&SigningKey>,
    ) -> Result<(String, PathBuf), Error> {
        let text = pretty(match key {
            Some(key) => signed_list(key, report),
            None => report,
        });
        let path = save(self.file, self.directory, &text, Timestamp::now())
            .map_err(|error| Error::writing("write a report into", self.directory, &error))?;
        Ok((text, path))
    }
}

/// Signs each entry of a report, and then the report, so that a missing entry is detected.
fn signed_list(key: &SigningKey, mut report: JsonObject) -> JsonObject {
    if let Some(JsonValue::List(entries)) = report.get_mut("competition_reports") {
        for entry in entries {
            if let JsonValue::Object(entry) = entry {
                *entry = prep_trust::sign(key, std::mem::take(entry));
            }
        }
    }
    prep_trust::sign(key, report)
}

/// Writes a report under a unique name, even if other processes write reports into the same directory in the same
/// second. The file appears complete or not at all.
///
/// The name contains the first second, from `now` on, for which the directory has no report. Therefore the order of the
/// names is that of the reports.
fn save(
    mut file: NamedTempFile,
    directory: &Path,
    text: &str,
    now: Timestamp,
) -> std::io::Result<PathBuf> {
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let mut time = now;
    loop {
        let path = directory.join(file_name(time));
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(path),
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => {
                file = failed.file;
                time = time
                    .saturating_add(1.second())
                    .map_err(std::io::Error::other)?;
            }
            Err(failed) => return Err(failed.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_grade::GradeOutcome;
    use prep_grade::report::medals::Leaderboard;
    use prep_grade::report::{GradedData, GradedSubmission};

    /// Upstream's keys come first and in upstream's order, because harnesses read them. `not_graded` is last.
    #[test]
    fn ungraded_entries_follow_upstreams_keys() {
        let leaderboard = Leaderboard::parse("score\n2\n1\n").unwrap();
        let report = CompetitionReport::new(GradedSubmission {
            competition_id: "a",
            path: "a.csv",
            outcome: GradeOutcome::Score {
                value: 1.0,
                rounded: 1.0,
            },
            leaderboard: Some(&leaderboard),
            data: &GradedData {
                name: "v1".to_owned(),
                not_comparable_because: Vec::new(),
            },
            graded_at: jiff::civil::DateTime::default(),
        });
        let entry = ListedSubmission {
            line: 1,
            competition_id: "b".into(),
            submission_path: "b.csv".into(),
        };
        let error = crate::prepared::not_prepared("b");
        let whole_report = list_report(std::slice::from_ref(&report), &[(&entry, &error)]);
        assert_eq!(
            whole_report.get("total_runs"),
            Some(&JsonValue::from(1_i64))
        );
        let keys: Vec<_> = whole_report.keys().filter_map(|key| key.as_str()).collect();
        assert_eq!(keys[0], "total_runs");
        assert_eq!(keys[keys.len() - 2], "competition_reports");
        assert_eq!(keys[keys.len() - 1], "not_graded");
        assert_eq!(
            list_report(std::slice::from_ref(&report), &[]),
            aggregate(std::slice::from_ref(&report))
        );
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Every report gets its own file although all have the same time stamp, and no temporary file is left.
    #[test]
    fn reports_of_the_same_second_get_different_files() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::UNIX_EPOCH;
        std::thread::scope(|scope| {
            for number in 0..6 {
                let directory = dir.path();
                scope.spawn(move || {
                    let file = ReportFile::create(directory).unwrap().file;
                    save(file, directory, &number.to_string(), now).unwrap()
                });
            }
        });
        let names = names(dir.path());
        let expected: Vec<String> = (0..6_i64).map(|at| file_name(now + at.seconds())).collect();
        assert_eq!(names, expected);
        let mut texts: Vec<String> = names
            .iter()
            .map(|name| std::fs::read_to_string(dir.path().join(name)).unwrap())
            .collect();
        texts.sort();
        assert_eq!(texts, ["0", "1", "2", "3", "4", "5"]);
    }

    #[test]
    fn later_reports_have_later_names() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let paths = [0_i64, 0, 0, 1, 1, 9].map(|second| {
            let file = ReportFile::create(dir.path()).unwrap().file;
            save(file, dir.path(), "", now + second.seconds()).unwrap()
        });
        assert!(paths.is_sorted(), "{paths:?}");
    }
}
