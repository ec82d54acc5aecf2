//! Logs each run in the cache: the steps that ran, when and why they ran, and how the run ended.
//!
//! All commands that store results in the cache are logged: `run`, `pull`, `push` and `show`. If a log cannot be written,
//! the command continues.

use std::collections::HashMap;
use std::fs;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use prep_cache::{Store, unix_seconds};
use prep_core::{Event, Reason, Reporter, RunReport, StepOutcome};
use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::reasons::readable;
use crate::settings::Settings;
use crate::task::Task;

/// Number of log files that are kept.
const MAX_LOGS: usize = 100;

/// Disk space that the log of a run in progress reserves for its next lines.
const RESERVED_BYTES: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Started {
        /// In seconds since 1970.
        at: u64,
        program: String,
        variant: String,
        competitions: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<RefusedCompetition>,
    },
    Step(LoggedStep),
    Finished {
        at: u64,
        #[serde(flatten)]
        end: Option<RunEnd>,
    },
}

/// A competition that could not be planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCompetition {
    pub id: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    pub result: RunResult,
    /// Number of steps whose results were in the cache or in the remote.
    pub reused: usize,
    /// The error that ended the run itself. `None` if there is no such error. Failed steps have their own errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunResult {
    Done,
    /// A competition or the run itself failed.
    Failed,
    /// Stopped by the user.
    Stopped,
}

impl RunEnd {
    pub(crate) fn of_report(report: &RunReport) -> RunEnd {
        let count = |wanted: fn(&StepOutcome) -> bool| {
            let outcomes = report.outcomes.values();
            outcomes.filter(|outcome| wanted(outcome)).count()
        };
        let has_failed = report.failures().next().is_some();
        RunEnd {
            result: match count(|outcome| matches!(outcome, StepOutcome::Cancelled)) {
                0 if has_failed => RunResult::Failed,
                0 => RunResult::Done,
                _ => RunResult::Stopped,
            },
            reused: count(|outcome| matches!(outcome, StepOutcome::Reused)),
            error: None,
        }
    }
}

/// A step that ran, or that was skipped because another step failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedStep {
    #[serde(rename = "id")]
    pub competition: String,
    pub step: String,
    pub kind: String,
    /// When the step ended, in seconds since 1970.
    pub at: u64,
    /// Why the step ran. `None` if it did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Reason>,
    #[serde(flatten)]
    pub outcome: StepOutcome,
}

/// A run, read from its log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedRun {
    /// 0 for the latest run.
    pub number: usize,
    /// In seconds since 1970.
    pub started: u64,
    /// `None` if the process was killed, or the run is in progress.
    pub finished: Option<u64>,
    pub program: String,
    pub variant: String,
    /// The ids of all competitions of the run.
    pub selected: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedCompetition>,
    /// `None` if `finished` is `None`, or if an earlier version of the program wrote the log.
    #[serde(flatten)]
    pub end: Option<RunEnd>,
    pub steps: Vec<LoggedStep>,
}

impl LoggedStep {
    pub fn failed(&self) -> bool {
        matches!(self.outcome, StepOutcome::Failed { .. })
    }
}

/// Writes the log of a run, and passes the events on to another reporter.
pub(crate) struct RunLog {
    /// `None` if the log cannot be created.
    file: Option<Mutex<BufWriter<File>>>,
    /// The reasons of the steps that are running, by competition and step.
    reasons: Mutex<HashMap<(String, String), Reason>>,
    /// Receives every event after it was logged.
    next: Arc<dyn Reporter>,
}

impl RunLog {
    /// Creates the log of a run that prepares `ids`. `refused` contains the competitions that could not be planned.
    pub(crate) fn start(
        task: &Task,
        ids: &[String],
        refused: &[(String, Error)],
        next: Arc<dyn Reporter>,
    ) -> Arc<RunLog> {
        let dir = Store::run_logs(&task.settings.store_dir);
        let file = create(&dir);
        remove_old(&dir);
        let log = RunLog {
            file: file.ok().map(|file| Mutex::new(BufWriter::new(file))),
            reasons: Mutex::default(),
            next,
        };
        let refused = refused.iter().map(|(id, error)| RefusedCompetition {
            id: id.clone(),
            message: error.message.clone(),
        });
        log.write(&Line::Started {
            at: unix_seconds(),
            program: crate::VERSION.to_owned(),
            variant: task.options.variant.clone(),
            competitions: ids.to_vec(),
            refused: refused.collect(),
        });
        Arc::new(log)
    }

    pub(crate) fn finish(&self, ended: Result<RunEnd, &Error>) {
        self.write(&Line::Finished {
            at: unix_seconds(),
            end: Some(ended.unwrap_or_else(|error| RunEnd {
                result: RunResult::Failed,
                reused: 0,
                error: Some(error.message.clone()),
            })),
        });
    }

    fn write(&self, line: &Line) {
        let (Some(file), Ok(text)) = (&self.file, serde_json::to_string(line)) else {
            return;
        };
        let mut file = file.lock();
        // An error only makes the log incomplete.
        let _ = writeln!(file, "{text}").and_then(|()| file.flush());
        let Ok(length) = file.get_ref().metadata().map(|metadata| metadata.len()) else {
            return;
        };
        // Reserves space for the next lines, so that the log of a run that fills the disk still states how the run ended. Errors
        // are ignored, because some file systems cannot reserve space.
        let _ = match line {
            Line::Finished { .. } => file.get_ref().set_len(length),
            _ => fallocate(
                file.get_ref(),
                FallocateFlags::KEEP_SIZE,
                length,
                RESERVED_BYTES,
            )
            .map_err(io::Error::from),
        };
    }
}

impl Reporter for RunLog {
    fn event(&self, event: &Event) {
        match event {
            Event::StepStarted {
                competition,
                step,
                reason,
                ..
            } => {
                let name = (competition.clone(), step.clone());
                self.reasons.lock().insert(name, readable(reason.clone()));
            }
            Event::StepEnded {
                competition,
                step,
                kind,
                outcome,
                ..
            } if *outcome != StepOutcome::Reused => {
                let name = (competition.clone(), step.clone());
                let why = self.reasons.lock().remove(&name);
                self.write(&Line::Step(LoggedStep {
                    competition: name.0,
                    step: name.1,
                    kind: (*kind).to_owned(),
                    at: unix_seconds(),
                    why,
                    outcome: outcome.clone(),
                }));
            }
            Event::StepWaiting { .. } | Event::StepEnded { .. } => {}
        }
        self.next.event(event);
    }
}

/// Creates a log whose number is one more than the highest number of the existing logs.
///
/// The number does not depend on the clock, so runs in the same second, or after a change of the clock, have the correct
/// order. Earlier versions named logs by the time in seconds and the process, for example `00001796076341-2384.jsonl`. The
/// new numbers continue after these times.
fn create(dir: &Path) -> io::Result<File> {
    fs::create_dir_all(dir)?;
    let number_of = |path: PathBuf| path.file_stem()?.to_str()?.split('-').next()?.parse().ok();
    let latest: Option<u64> = logs(dir).into_iter().filter_map(number_of).max();
    for number in latest.map_or(1, |latest| latest.saturating_add(1)).. {
        match File::create_new(dir.join(format!("{number:014}.jsonl"))) {
            // Another process took this number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns the log files of a directory, the latest first.
fn logs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn remove_old(dir: &Path) {
    for path in logs(dir).iter().skip(MAX_LOGS) {
        // Errors are ignored, because another process may have removed the file.
        let _ = fs::remove_file(path);
    }
}

/// Returns the logged runs, the latest first. Skips invalid lines, because a killed process may leave an incomplete line.
///
/// # Errors
/// Returns an error if a log cannot be read.
pub fn logged_runs(settings: &Settings) -> Result<Vec<LoggedRun>, Error> {
    let mut runs = Vec::new();
    for path in logs(&Store::run_logs(&settings.store_dir)) {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::reading("read the log", &path, &error)),
        };
        runs.extend(parse(&text, runs.len()));
    }
    Ok(runs)
}

fn parse(text: &str, number: usize) -> Option<LoggedRun> {
    let mut lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let Some(Line::Started {
        at,
        program,
        variant,
        competitions,
        refused,
    }) = lines.next()
    else {
        return None;
    };
    let mut run = LoggedRun {
        number,
        started: at,
        finished: None,
        program,
        variant,
        selected: competitions,
        refused,
        end: None,
        steps: Vec::new(),
    };
    for line in lines {
        match line {
            Line::Step(step) => run.steps.push(step),
            Line::Finished { at, end } => {
                run.finished = Some(at);
                run.end = end;
            }
            Line::Started { .. } => {}
        }
    }
    Some(run)
}

/// Formats seconds since 1970 as local time, for example `2026-11-25 13:05:12`.
pub fn local_time(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    let time = time.to_zoned(TimeZone::system());
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_log_is_an_unfinished_run() {
        let step = LoggedStep {
            competition: "a".into(),
            step: "t".into(),
            kind: "csv".into(),
            at: 6,
            why: Some(Reason::FirstRun),
            outcome: StepOutcome::Done { millis: 3 },
        };
        let started = Line::Started {
            at: 5,
            program: "1".into(),
            variant: "v1".into(),
            competitions: vec!["a".into(), "b".into()],
            refused: vec![RefusedCompetition {
                id: "b".into(),
                message: "no pipeline".into(),
            }],
        };
        let text = |line: &Line| serde_json::to_string(line).unwrap();
        let whole = format!("{}\n{}\n", text(&started), text(&Line::Step(step.clone())));
        let half = format!("{whole}{{\"event\":\"fin");
        let run = parse(&half, 2).unwrap();
        assert_eq!((run.number, run.started, run.finished), (2, 5, None));
        assert_eq!(run.steps, [step]);
        assert_eq!((run.refused[0].id.as_str(), run.end), ("b", None));
        let end = RunEnd {
            result: RunResult::Failed,
            reused: 7,
            error: Some("disk full".into()),
        };
        let finished = Line::Finished {
            at: 9,
            end: Some(end.clone()),
        };
        let run = parse(&format!("{whole}{}\n", text(&finished)), 0).unwrap();
        assert_eq!((run.finished, run.end), (Some(9), Some(end)));
        // Earlier versions did not write how a run ended.
        let run = parse(&format!("{whole}{{\"event\":\"finished\",\"at\":9}}\n"), 0).unwrap();
        assert_eq!((run.finished, run.end), (Some(9), None));
        assert_eq!(parse("", 0), None);
    }

    #[test]
    fn only_the_last_logs_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let names = || -> Vec<String> { logs(dir.path()).iter().map(|path| name(path)).collect() };
        // Earlier versions named logs by time and process. The clock was wrong when the last of these logs was written.
        for old in ["00000000000007-9", "00000000000007-10", "00001827612341-5"] {
            fs::write(dir.path().join(format!("{old}.jsonl")), "").unwrap();
        }
        create(dir.path()).unwrap();
        create(dir.path()).unwrap();
        let latest = [
            "00001827612343.jsonl",
            "00001827612342.jsonl",
            "00001827612341-5.jsonl",
        ];
        assert_eq!(names()[..3], latest);
        for _ in 0..MAX_LOGS {
            create(dir.path()).unwrap();
            let own = names().remove(0);
            remove_old(dir.path());
            assert_eq!(names()[0], own);
        }
        assert_eq!(names().len(), MAX_LOGS);
        assert_eq!(names()[MAX_LOGS - 1], "00001827612344.jsonl");
    }
}
