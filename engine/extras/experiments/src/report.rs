//! Reads grading reports of MLE-bench (upstream) and of `prep grade`, and the file that assigns run groups to experiments.
//!
//! Upstream's reports can contain `NaN` and `Infinity`, which JSON does not allow. Such a score is read as `None`, because
//! medals do not depend on it.
//!
//! The file with the run groups is CSV with the columns `experiment_id,run_group`. A run group is a directory with one file
//! `*grading_report*.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prep_formats::json::{self, JsonObject, JsonValue, WriteOptions};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct GradedRun {
    pub competition: String,
    /// `None` if there is no score, or if it is not a finite number.
    pub score: Option<f64>,
    pub gold: bool,
    pub silver: bool,
    pub bronze: bool,
    pub above_median: bool,
    pub exists: bool,
    pub valid: bool,
    /// Why the submission is invalid. Upstream's reports do not state it.
    pub reason: Option<String>,
    pub submission: Option<String>,
    /// Directory of a run without a submission. Upstream's reports do not have it.
    pub directory: Option<String>,
    pub created_at: Option<String>,
    /// SHA-256 of the submission. Upstream's reports do not have it.
    pub submission_digest: Option<String>,
    /// Digests of the answers and of the grading rules, which contain the metric. Upstream's reports do not have them.
    pub answers_digest: Option<String>,
    pub rules_digest: Option<String>,
    /// Whether the report states that the competition has no leaderboard.
    pub has_no_leaderboard: bool,
    pub variant: Option<String>,
    /// Whether the submission was identical to the answers.
    pub is_answers: bool,
    /// Whether the score cannot be compared with upstream's scores.
    pub is_not_comparable: bool,
    /// The id of the log of gradings, and how many gradings of the competition this log contains up to this run.
    pub looks: Option<(String, u64)>,
}

impl GradedRun {
    pub fn any_medal(&self) -> bool {
        self.gold || self.silver || self.bronze
    }
}

/// A run that could not be graded, for example because its competition was not prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UngradedRun {
    pub competition: String,
    pub submission_path: String,
    /// The error of the grading.
    pub message: String,
}

/// The runs in grading reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Runs {
    pub graded: Vec<GradedRun>,
    pub ungraded: Vec<UngradedRun>,
    /// Reports that the caller named several times. Their runs are counted once.
    pub repeated_reports: BTreeSet<PathBuf>,
    /// The agents in the names of the run groups. Empty if a table assigns the run groups to experiments, because then the
    /// user has chosen which agents to combine.
    pub agents: BTreeSet<String>,
    /// Run groups of the table without a report.
    pub left_out_groups: Vec<LeftOutGroup>,
}

/// A run group without a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutGroup {
    pub name: String,
    /// Whether the directory of the group exists.
    pub has_directory: bool,
}

/// A run with several entries: they have the same competition, path and digest of the submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepeatedRun {
    pub competition: String,
    pub submission_path: String,
    /// Number of entries, at least 2.
    pub gradings: usize,
}

/// Returns the runs that were graded several times, sorted. Upstream's reports do not contain the submission's digest, so
/// their entries are compared by time. A run without a submission is recognized by its directory.
pub fn repeated_runs<'a>(runs: impl IntoIterator<Item = &'a GradedRun>) -> Vec<RepeatedRun> {
    let mut entries: BTreeMap<_, usize> = BTreeMap::new();
    for run in runs {
        let content = run.submission_digest.as_ref().or(run.created_at.as_ref());
        let submission = run.submission.as_ref().filter(|_| run.exists).zip(content);
        let submission = submission.map(|(path, content)| (path, Some(content)));
        if let Some(place) = submission.or(run.directory.as_ref().map(|path| (path, None))) {
            *entries.entry((&run.competition, place)).or_default() += 1;
        }
    }
    let repeated = entries.into_iter().filter(|(_, gradings)| *gradings > 1);
    let repeated = repeated.map(|((competition, (path, _)), gradings)| RepeatedRun {
        competition: competition.clone(),
        submission_path: path.clone(),
        gradings,
    });
    repeated.collect()
}

/// The path in the reports of runs without a submission.
const NO_SUBMISSION: &str = "None";

/// Reads the runs in grading reports, each report once. Leaves out ungraded runs that were graded in another report.
pub fn read_reports(paths: &[PathBuf]) -> Result<Runs, ExperimentsError> {
    let mut all = Runs::default();
    let mut files = BTreeSet::new();
    for path in paths {
        if !files.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            all.repeated_reports.insert(path.clone());
            continue;
        }
        let found = parse(&read(path)?, path)?;
        all.graded.extend(found.graded);
        // A run that could not be graded twice is one run.
        for run in found.ungraded {
            let is_same = |one: &UngradedRun| {
                (&one.competition, &one.submission_path) == (&run.competition, &run.submission_path)
            };
            if run.submission_path == NO_SUBMISSION || !all.ungraded.iter().any(is_same) {
                all.ungraded.push(run);
            }
        }
    }
    let runs = all.graded.iter();
    let paths = runs.flat_map(|run| [&run.submission, &run.directory]);
    all.agents = agents(paths.filter_map(Option::as_deref));
    let Runs {
        graded, ungraded, ..
    } = &mut all;
    ungraded.retain(|run| {
        let is_run = |one: &GradedRun| {
            one.competition == run.competition
                && one.submission.as_ref() == Some(&run.submission_path)
        };
        !graded.iter().any(is_run)
    });
    Ok(all)
}

/// Returns the agents that the paths of runs name. Upstream names run groups `TIME_run-group_AGENT`.
pub fn agents<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let names = paths.flat_map(|path| path.split('/'));
    let agents = names.filter_map(|name| Some(name.split_once("_run-group_")?.1.to_owned()));
    agents.collect()
}

/// Reads a text file. Fails if it is a Git LFS pointer.
pub(crate) fn read(path: &Path) -> Result<String, ExperimentsError> {
    let text = std::fs::read_to_string(path).map_err(reading(path))?;
    if text.starts_with("version https://git-lfs") {
        let problem = "is a Git LFS pointer, not the file itself; run `git lfs pull` in its checkout to fetch the file";
        return Err(ExperimentsError::new(path, problem));
    }
    Ok(text)
}

fn reading(path: &Path) -> impl Fn(std::io::Error) -> ExperimentsError {
    let message = format!("cannot read {}", path.display());
    move |source| ExperimentsError {
        message: message.clone(),
        source: Some(source.into()),
    }
}

pub(crate) fn parse_json(text: &str, path: &Path) -> Result<JsonValue, ExperimentsError> {
    json::parse(text.as_bytes()).map_err(|source| ExperimentsError {
        source: Some(source.into()),
        ..ExperimentsError::new(path, "is not JSON")
    })
}

/// Parses a grading report of one submission, or of a list of submissions. Errors name `path`.
///
/// The graded runs are sorted by competition. Runs of a competition keep their order.
pub fn parse(text: &str, path: &Path) -> Result<Runs, ExperimentsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = parse_json(text, path)?;
    let wrong =
        |problem: &str| ExperimentsError::new(path, &format!("is not a grading report: {problem}"));
    let report = value.as_object();
    let report = report.ok_or_else(|| wrong("it is not a JSON object"))?;
    let entries = match report.get("competition_id") {
        Some(_) => std::slice::from_ref(&value),
        None => report
            .get("competition_reports")
            .and_then(JsonValue::as_list)
            .ok_or_else(|| wrong("it has no list `competition_reports`"))?,
    };
    let mut graded = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            parse_run(entry).map_err(|problem| wrong(&format!("entry {}: {problem}", index + 1)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    graded.sort_by(|a, b| a.competition.cmp(&b.competition));
    let ungraded = report.get("not_graded").and_then(JsonValue::as_list);
    let ungraded = ungraded.unwrap_or_default().iter().map(ungraded_run);
    Ok(Runs {
        graded,
        ungraded: ungraded.collect(),
        ..Runs::default()
    })
}

fn ungraded_run(entry: &JsonValue) -> UngradedRun {
    let text = |key| {
        let text = entry.get(key).and_then(JsonValue::as_str);
        text.unwrap_or_default().to_owned()
    };
    UngradedRun {
        competition: text("competition_id"),
        submission_path: text("submission_path"),
        message: text("message"),
    }
}

fn parse_run(entry: &JsonValue) -> Result<GradedRun, String> {
    let entry = entry.as_object().ok_or("it is not a JSON object")?;
    let text = |key| {
        entry
            .get(key)
            .and_then(JsonValue::as_str)
            .map(str::to_owned)
    };
    let digest = |name| {
        let digest = entry.get("digests")?.get(name)?;
        digest.as_str().map(str::to_owned)
    };
    Ok(GradedRun {
        competition: text("competition_id").ok_or("it has no `competition_id`")?,
        score: match entry.get("score") {
            Some(JsonValue::Float(score)) => Some(*score).filter(|score| score.is_finite()),
            Some(JsonValue::Int(score)) => Some(*score as f64),
            _ => None,
        },
        gold: flag(entry, "gold_medal")?,
        silver: flag(entry, "silver_medal")?,
        bronze: flag(entry, "bronze_medal")?,
        above_median: flag(entry, "above_median")?,
        exists: flag(entry, "submission_exists")?,
        valid: flag(entry, "valid_submission")?,
        reason: entry
            .get("reason")
            .and_then(|reason| Some(reason.get("message")?.as_str()?.to_owned())),
        submission: text("submission_path"),
        directory: text("run"),
        created_at: text("created_at"),
        submission_digest: digest("submission"),
        answers_digest: digest("answers"),
        rules_digest: digest("rules"),
        has_no_leaderboard: entry.get("gold_threshold") == Some(&JsonValue::Null),
        variant: text("variant"),
        is_answers: entry.get("submission_is_answers") == Some(&JsonValue::Bool(true)),
        is_not_comparable: entry.get("comparable_with_v1") == Some(&JsonValue::Bool(false)),
        looks: entry.get("log").and_then(looks),
    })
}

fn looks(log: &JsonValue) -> Option<(String, u64)> {
    let JsonValue::Int(earlier) = log.get("earlier")? else {
        return None;
    };
    let id = log.get("id")?.as_str()?.to_owned();
    Some((id, u64::try_from(*earlier).ok()? + 1))
}

fn flag(entry: &JsonObject, key: &str) -> Result<bool, String> {
    match entry.get(key) {
        Some(JsonValue::Bool(flag)) => Ok(*flag),
        // Some harnesses write numbers instead of booleans.
        Some(JsonValue::Int(0)) => Ok(false),
        Some(JsonValue::Int(1)) => Ok(true),
        Some(JsonValue::Float(number)) if [0.0, 1.0].contains(number) => Ok(*number == 1.0),
        Some(other) => {
            let json = other.to_json(&WriteOptions::default()).unwrap_or_default();
            let json = String::from_utf8_lossy(&json);
            Err(format!("`{key}` is {json}, expected true or false"))
        }
        None => Err(format!("it has no `{key}`")),
    }
}

/// A line of the file that assigns run groups to experiments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub experiment: String,
    pub run_group: String,
}

/// Reads the file that assigns run groups to experiments, one per line. A repeated line is an error.
pub fn experiments(path: &Path) -> Result<Vec<Group>, ExperimentsError> {
    let text = read(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut groups: Vec<Group> = Vec::new();
    for (line, found) in (1..).zip(text.lines()) {
        if found.trim().is_empty() || found.starts_with("experiment_id") {
            continue;
        }
        let Some((experiment, run_group)) = found.split_once(',') else {
            let problem = format!("expected `experiment_id,run_group`, found `{found}`");
            return Err(ExperimentsError::in_line(path, line, &problem));
        };
        if line == 1 && experiment.contains("experiment") && run_group.contains("group") {
            let problem =
                format!("expected the columns `experiment_id,run_group`, found `{found}`");
            return Err(ExperimentsError::in_line(path, line, &problem));
        }
        let group = Group {
            experiment: experiment.trim().to_owned(),
            run_group: run_group.trim().to_owned(),
        };
        if groups.contains(&group) {
            let problem = format!(
                "the run group `{}` of `{}` is listed twice; a run group is one seed, so list each run group only once",
                group.run_group, group.experiment
            );
            return Err(ExperimentsError::in_line(path, line, &problem));
        }
        groups.push(group);
    }
    match groups.is_empty() {
        true => Err(ExperimentsError::new(
            path,
            "names no run group; expected lines `experiment_id,run_group`",
        )),
        false => Ok(groups),
    }
}

/// Returns the reports of run groups, sorted by the name of the group, and the groups without a report. A name begins with a
/// date, so the reports are in the order of time. `runs` is the directory of all groups. A group with several reports is an
/// error.
pub fn reports_of_groups<'a>(
    groups: impl IntoIterator<Item = &'a str>,
    runs: &Path,
) -> Result<(Vec<PathBuf>, Vec<LeftOutGroup>), ExperimentsError> {
    let mut groups: Vec<&str> = groups.into_iter().collect();
    groups.sort_unstable();
    let (mut reports, mut left_out) = (Vec::new(), Vec::new());
    for group in groups {
        let directory = runs.join(group);
        let has_directory = directory.is_dir();
        let report = match has_directory {
            true => report_of(group, &directory)?,
            false => None,
        };
        match report {
            Some(report) => reports.push(report),
            None => left_out.push(LeftOutGroup {
                name: group.to_owned(),
                has_directory,
            }),
        }
    }
    Ok((reports, left_out))
}

/// Finds the grading reports in a directory and its subdirectories, sorted by path. Does not follow links to directories.
/// Fails if there is no report.
pub fn reports_in(directory: &Path) -> Result<Vec<PathBuf>, ExperimentsError> {
    let (mut reports, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(path) = directories.pop() {
        for (name, entry) in entries(&path)? {
            if entry.is_dir() && !entry.is_symlink() {
                directories.push(entry);
            } else if is_report(&name) && entry.is_file() {
                reports.push(entry);
            }
        }
    }
    reports.sort();
    match reports.is_empty() {
        true => Err(ExperimentsError::new(
            directory,
            "contains no file *grading_report*.json",
        )),
        false => Ok(reports),
    }
}

/// Returns `path` if it is a file, or the reports in the directory `path`.
pub fn reports_at(path: &Path) -> Result<Vec<PathBuf>, ExperimentsError> {
    match path.is_dir() {
        true => reports_in(path),
        false => Ok(vec![path.to_owned()]),
    }
}

pub(crate) fn entries(directory: &Path) -> Result<Vec<(String, PathBuf)>, ExperimentsError> {
    let entries = std::fs::read_dir(directory).and_then(|entries| {
        let entries = entries.map(|entry| {
            let entry = entry?;
            Ok((
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
            ))
        });
        entries.collect::<Result<Vec<_>, _>>()
    });
    let mut entries = entries.map_err(reading(directory))?;
    entries.sort();
    Ok(entries)
}

fn is_report(name: &str) -> bool {
    name.contains("grading_report") && name.ends_with(".json")
}

fn report_of(group: &str, directory: &Path) -> Result<Option<PathBuf>, ExperimentsError> {
    let mut found = entries(directory)?;
    found.retain(|(name, path)| is_report(name) && path.is_file());
    if found.len() > 1 {
        let modified = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
        found.sort_by_cached_key(|(_, path)| modified(path));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "the run group `{group}` has {} grading reports, expected one: {} (newest last); remove or rename the others",
            found.len(),
            names.join(", ")
        );
        return Err(ExperimentsError {
            message,
            source: None,
        });
    }
    Ok(found.pop().map(|(_, path)| path))
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExperimentsError {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ExperimentsError {
    pub(crate) fn new(path: &Path, problem: &str) -> ExperimentsError {
        ExperimentsError {
            message: format!("{} {problem}", path.display()),
            source: None,
        }
    }

    pub(crate) fn in_line(path: &Path, line: usize, problem: &str) -> ExperimentsError {
        ExperimentsError {
            message: format!("{}:{line}: {problem}", path.display()),
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = r#""gold_medal": true, "silver_medal": false, "bronze_medal": false, "above_median": true, "submission_exists": true, "valid_submission": true"#;

    #[test]
    fn runs_that_were_graded_twice_are_found() {
        // Path, digest and time of each entry. Upstream's reports have no digest.
        for (entries, expected) in [
            ("a:1:1 a:1:2", "a*2"),
            ("a:1:1 b:1:2 a:2:3", ""),
            ("b:1:1 a:1:1 b:1:2 a:1:3 a:1:4", "a*3 b*2"),
            ("a::1 a::1 a::2 :1:1 :1:1", "a*2"),
        ] {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let run = |entry: &str| GradedRun {
                exists: true,
                submission: entry.split(':').next().and_then(some),
                submission_digest: entry.split(':').nth(1).and_then(some),
                created_at: entry.split(':').nth(2).and_then(some),
                competition: "c".to_owned(),
                ..GradedRun::default()
            };
            let runs: Vec<GradedRun> = entries.split(' ').map(run).collect();
            let found = repeated_runs(&runs);
            let found = found
                .iter()
                .map(|one| format!("{}*{}", one.submission_path, one.gradings));
            assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{entries}");
        }
    }

    #[test]
    fn a_report_has_a_list_of_entries_or_is_a_single_entry() {
        let path = Path::new("r.json");
        let many = format!(
            r#"{{"total_runs": 2, "competition_reports": [{{"competition_id": "b", "score": 0.5, {ENTRY}, "reason": null}}, {{"competition_id": "a", "score": NaN, {ENTRY}}}]}}"#
        );
        let runs = parse(&many, path).unwrap().graded;
        assert_eq!((runs[0].competition.as_str(), runs[0].score), ("a", None));
        assert_eq!((runs[1].score, runs[1].gold), (Some(0.5), true));
        let one = format!(
            r#"{{"competition_id": "b", "score": null, {ENTRY}, "reason": {{"message": "no"}}}}"#
        );
        let runs = parse(&one, path).unwrap().graded;
        assert_eq!((runs.len(), runs[0].reason.as_deref()), (1, Some("no")));
    }

    #[test]
    fn ungraded_runs_are_read_unless_another_report_contains_their_grading() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let ungraded = |path: &str| {
            format!(
                r#"{{"competition_id": "a", "submission_path": "{path}", "message": "not prepared"}}"#
            )
        };
        let first = [ungraded("1.csv"), ungraded("2.csv")].join(", ");
        let first = format!(r#"{{"competition_reports": [], "not_graded": [{first}]}}"#);
        std::fs::write(path("first.json"), first).unwrap();
        let second = format!(
            r#"{{"competition_reports": [{{"competition_id": "a", "submission_path": "2.csv", "score": 1, {ENTRY}}}]}}"#
        );
        std::fs::write(path("second.json"), second).unwrap();
        let paths = |paths: &[&str]| {
            let runs = read_reports(&paths.iter().map(|name| path(name)).collect::<Vec<_>>());
            let ungraded = runs.unwrap().ungraded.into_iter();
            ungraded.map(|run| run.submission_path).collect::<Vec<_>>()
        };
        assert_eq!(paths(&["first.json"]), ["1.csv", "2.csv"]);
        assert_eq!(paths(&["first.json", "second.json"]), ["1.csv"]);
        // A report that is named twice, also by another path, is read once.
        std::os::unix::fs::symlink(path("second.json"), path("link.json")).unwrap();
        let twice = ["second.json", "first.json", "link.json"].map(path);
        let runs = read_reports(&twice).unwrap();
        assert_eq!((runs.graded.len(), runs.ungraded.len()), (1, 1));
        assert!(runs.repeated_reports.iter().eq([&path("link.json")]));
    }

    #[test]
    fn names_of_run_groups_contain_agents() {
        let mine = "runs/2026-01-31T12-00-00-GMT_run-group_mine/a_1/submission/submission.csv";
        for (other, expected) in [
            (mine.replace("a_1", "a_2"), vec!["mine"]),
            (mine.replace("mine", "theirs"), vec!["mine", "theirs"]),
            ("runs/theirs/a_1/submission.csv".to_owned(), vec!["mine"]),
            ("None".to_owned(), vec!["mine"]),
        ] {
            let found: Vec<String> = agents([mine, &other].into_iter()).into_iter().collect();
            assert_eq!(found, expected, "{other}");
        }
    }

    #[test]
    fn flags_may_be_numbers() {
        let text = r#"{"competition_id": "a", "score": 1, "gold_medal": 1, "silver_medal": 0, "bronze_medal": 0.0,
            "above_median": 1.0, "submission_exists": true, "valid_submission": true}"#;
        let runs = parse(text, Path::new("r.json")).unwrap().graded;
        let run = &runs[0];
        let flags = [run.gold, run.silver, run.bronze, run.above_median];
        assert_eq!(flags, [true, false, false, true]);
    }

    #[test]
    fn errors_name_the_report_and_the_entry() {
        for (text, expected) in [
            ("{", "r.json is not JSON"),
            ("[]", "not a JSON object"),
            ("{}", "no list `competition_reports`"),
            (
                r#"{"competition_reports": [1]}"#,
                "entry 1: it is not a JSON object",
            ),
            (
                r#"{"competition_id": "a"}"#,
                "entry 1: it has no `gold_medal`",
            ),
            (
                r#"{"competition_id": "a", "gold_medal": 2}"#,
                "`gold_medal` is 2, expected true or false",
            ),
        ] {
            let error = parse(text, Path::new("r.json")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[cfg(test)]
mod groups_tests {
    use super::*;

    #[test]
    fn run_group_file_is_parsed_or_its_error_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        std::fs::write(&path, "experiment_id,run_group\na, g2 \r\n\n b,g1,x\n").unwrap();
        let groups = experiments(&path).unwrap();
        let plain: Vec<(&str, &str)> = groups
            .iter()
            .map(|group| (group.experiment.as_str(), group.run_group.as_str()))
            .collect();
        assert_eq!(plain, [("a", "g2"), ("b", "g1,x")]);
        for (text, expected) in [
            ("x\n", ":1:"),
            ("version https://git-lfs.github.com/spec/v1\n", "LFS"),
            ("", "names no run group"),
            ("\u{feff}experiment_id,run_group\n\n", "names no run group"),
            (
                "a,g1\nb,g1\na, g1\n",
                ":3: the run group `g1` of `a` is listed twice",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = experiments(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn reports_are_found_in_subdirectories() {
        let dir = tempfile::tempdir().unwrap();
        let error = reports_in(dir.path()).unwrap_err().to_string();
        assert!(error.contains("no file *grading_report*.json"), "{error}");
        for name in [
            "b/x/1_grading_report.json",
            "a/grading_report.json",
            "a/notes.json",
        ] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), dir.path().join("b/again")).unwrap();
        let found = reports_in(dir.path()).unwrap();
        let expected = ["a/grading_report.json", "b/x/1_grading_report.json"];
        assert_eq!(found, expected.map(|name| dir.path().join(name)));
    }

    #[test]
    fn a_group_must_have_exactly_one_report() {
        let dir = tempfile::tempdir().unwrap();
        for (group, name) in [("b", "x_grading_report.json"), ("a", "notes.json")] {
            std::fs::create_dir(dir.path().join(group)).unwrap();
            std::fs::write(dir.path().join(group).join(name), "{}").unwrap();
        }
        let (reports, left_out) = reports_of_groups(["c", "b", "a"], dir.path()).unwrap();
        assert_eq!(reports, [dir.path().join("b/x_grading_report.json")]);
        let left_out = left_out.iter().map(|one| (&*one.name, one.has_directory));
        assert_eq!(left_out.collect::<Vec<_>>(), [("a", true), ("c", false)]);
        std::fs::write(dir.path().join("b/grading_report_2.json"), "{}").unwrap();
        let error = reports_of_groups(["b"], dir.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("2 grading reports"), "{error}");
    }
}
