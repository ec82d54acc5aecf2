//! Reads grading reports of upstream and of `prep grade`, and the table that assigns run groups to experiments.
//!
//! Upstream's reports are written by Python's `json`, which writes `NaN` and `Infinity` although JSON has no such numbers. Such
//! a score is read as `None`, because medals do not depend on it. The table is a CSV with the columns
//! `experiment_id,run_group`. A run group is a directory with one file `*grading_report*.json`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// One graded submission, or a run without a submission.
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
    /// Path of the submission, if the report names it.
    pub submission: Option<String>,
    /// Time of the grading, if the report names it.
    pub created_at: Option<String>,
    /// Variant of the answers, if the report names it.
    pub variant: Option<String>,
}

impl GradedRun {
    /// Returns a run without a submission.
    pub fn failed(competition: &str) -> GradedRun {
        GradedRun {
            competition: competition.to_owned(),
            ..GradedRun::default()
        }
    }

    pub fn any_medal(&self) -> bool {
        self.gold || self.silver || self.bronze
    }
}

/// Reads the runs of the report in a file, sorted by competition. Runs of one competition keep the report's order.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a report.
pub fn read_report(path: &Path) -> Result<Vec<GradedRun>, ExperimentsError> {
    parse(&read(path)?, path)
}

/// Reads a text file. A Git LFS pointer is an error.
pub(crate) fn read(path: &Path) -> Result<String, ExperimentsError> {
    let text = std::fs::read_to_string(path).map_err(reading(path))?;
    if text.starts_with("version https://git-lfs") {
        let problem = "is a Git LFS pointer, not the file itself; run `git lfs pull` in its checkout to fetch the file";
        return Err(ExperimentsError::new(path, problem));
    }
    Ok(text)
}

/// Returns the error for a file or directory that cannot be read.
fn reading(path: &Path) -> impl Fn(std::io::Error) -> ExperimentsError {
    let message = format!("cannot read {}", path.display());
    move |source| ExperimentsError {
        message: message.clone(),
        source: Some(source.into()),
    }
}

/// Parses a JSON file.
pub(crate) fn parse_json(text: &str, path: &Path) -> Result<Value, ExperimentsError> {
    serde_json::from_str(text).map_err(|source| ExperimentsError {
        source: Some(source.into()),
        ..ExperimentsError::new(path, "is not JSON")
    })
}

/// Parses the report of a list of submissions, or of a single submission.
///
/// # Errors
/// Returns an error if the text is not a report. The error names `path`.
pub fn parse(text: &str, path: &Path) -> Result<Vec<GradedRun>, ExperimentsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value = parse_json(&without_nan(text), path)?;
    let wrong =
        |problem: &str| ExperimentsError::new(path, &format!("is not a grading report: {problem}"));
    let entries = match &value {
        Value::Object(map) if map.contains_key("competition_id") => std::slice::from_ref(&value),
        Value::Object(map) => match map.get("competition_reports") {
            Some(Value::Array(entries)) => entries,
            _ => return Err(wrong("it has no list `competition_reports`")),
        },
        _ => return Err(wrong("it is not a JSON object")),
    };
    let mut runs = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            parse_run(entry).map_err(|problem| wrong(&format!("entry {}: {problem}", index + 1)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    runs.sort_by(|a, b| a.competition.cmp(&b.competition));
    Ok(runs)
}

fn parse_run(entry: &Value) -> Result<GradedRun, String> {
    let Value::Object(entry) = entry else {
        return Err("it is not a JSON object".to_owned());
    };
    let competition = match entry.get("competition_id") {
        Some(Value::String(id)) => id.clone(),
        _ => return Err("it has no `competition_id`".to_owned()),
    };
    Ok(GradedRun {
        competition,
        score: entry.get("score").and_then(Value::as_f64),
        gold: flag(entry, "gold_medal")?,
        silver: flag(entry, "silver_medal")?,
        bronze: flag(entry, "bronze_medal")?,
        above_median: flag(entry, "above_median")?,
        exists: flag(entry, "submission_exists")?,
        valid: flag(entry, "valid_submission")?,
        submission: text(entry, "submission_path"),
        created_at: text(entry, "created_at"),
        variant: text(entry, "variant"),
    })
}

fn text(entry: &Map<String, Value>, key: &str) -> Option<String> {
    entry.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn flag(entry: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match entry.get(key) {
        Some(Value::Bool(flag)) => Ok(*flag),
        // Some harnesses write numbers instead of booleans.
        Some(Value::Number(number)) if number.as_f64() == Some(0.0) => Ok(false),
        Some(Value::Number(number)) if number.as_f64() == Some(1.0) => Ok(true),
        Some(other) => Err(format!("`{key}` is {other}, expected true or false")),
        None => Err(format!("it has no `{key}`")),
    }
}

/// Replaces `NaN` and infinities, which Python writes but JSON does not allow, with `null`. Strings do not change.
fn without_nan(text: &str) -> String {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with('"') {
            string_length(from)
        } else if let Some(word) = WORDS.iter().find(|word| from.starts_with(**word)) {
            out.push_str("null");
            rest = from.get(word.len()..).unwrap_or_default();
            continue;
        } else {
            1
        };
        let (taken, after) = from.split_at(length);
        out.push_str(taken);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the length of the string at the start of `text`, including its quotes. If the closing quote is missing,
/// returns the length of `text`.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub experiment: String,
    pub run_group: String,
}

/// The path of a run group's report, or the reason why the group is skipped.
pub type GroupReport = Result<PathBuf, &'static str>;

/// Reads the table in a file. Run groups keep their order. A header and empty lines are skipped.
///
/// # Errors
/// Returns an error if the file cannot be read, is empty, has a line without a comma, or assigns a run group to an
/// experiment twice.
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
        let group = Group {
            experiment: experiment.trim().to_owned(),
            run_group: run_group.trim().to_owned(),
        };
        if groups.contains(&group) {
            let Group {
                experiment,
                run_group,
            } = group;
            let problem = format!(
                "the run group `{run_group}` of `{experiment}` is listed twice, but a run group is only one seed"
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

/// Finds the report of each run group in the directory `runs`. The results are sorted by the names of the groups, which
/// begin with dates.
///
/// # Errors
/// Returns an error if a group has more than one report or its directory cannot be read.
pub fn reports_of_groups<'a>(
    groups: impl IntoIterator<Item = &'a str>,
    runs: &Path,
) -> Result<Vec<(String, GroupReport)>, ExperimentsError> {
    let mut groups: Vec<&str> = groups.into_iter().collect();
    groups.sort_unstable();
    groups
        .into_iter()
        .map(|group| Ok((group.to_owned(), report_of(group, &runs.join(group))?)))
        .collect()
}

/// Finds the grading reports in a directory and its subdirectories, sorted by path. Links to directories are not
/// followed.
///
/// # Errors
/// Returns an error if a directory cannot be read, or if no report is found.
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

/// Returns the names and paths of a directory's entries, sorted by name.
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

/// Returns whether a file is a grading report, according to its name.
fn is_report(name: &str) -> bool {
    name.contains("grading_report") && name.ends_with(".json")
}

fn report_of(group: &str, directory: &Path) -> Result<GroupReport, ExperimentsError> {
    if !directory.is_dir() {
        return Ok(Err("there is no such directory"));
    }
    let mut found = entries(directory)?;
    found.retain(|(name, path)| is_report(name) && path.is_file());
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!(
            "the run group `{group}` has {} grading reports, expected one: {}; remove or rename the others",
            found.len(),
            names.join(", ")
        );
        return Err(ExperimentsError {
            message,
            source: None,
        });
    }
    let path = found.pop().map(|(_, path)| path);
    Ok(path.ok_or("it has no grading report"))
}

/// The reason why a file cannot be used.
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

    fn in_line(path: &Path, line: usize, problem: &str) -> ExperimentsError {
        ExperimentsError {
            message: format!("{}:{line}: {problem}", path.display()),
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_nan_and_infinity_become_null() {
        for (text, expected) in [
            (r#"{"a": NaN}"#, r#"{"a": null}"#),
            (r#"[Infinity, -Infinity, -1]"#, "[null, null, -1]"),
            (r#"{"NaN": "a \" NaN"}"#, r#"{"NaN": "a \" NaN"}"#),
            (r#""no end NaN"#, r#""no end NaN"#),
        ] {
            assert_eq!(without_nan(text), expected);
        }
    }

    const ENTRY: &str = r#""gold_medal": true, "silver_medal": false, "bronze_medal": false, "above_median": true, "submission_exists": true, "valid_submission": true"#;

    #[test]
    fn a_report_has_a_list_of_entries_or_is_a_single_entry() {
        let path = Path::new("r.json");
        let many = format!(
            r#"{{"total_runs": 2, "competition_reports": [{{"competition_id": "b", "score": 0.5, {ENTRY}, "reason": null}}, {{"competition_id": "a", "score": NaN, {ENTRY}}}]}}"#
        );
        let runs = parse(&many, path).unwrap();
        assert_eq!((runs[0].competition.as_str(), runs[0].score), ("a", None));
        assert_eq!((runs[1].score, runs[1].gold), (Some(0.5), true));
        let one = format!(r#"{{"competition_id": "b", "score": null, {ENTRY}}}"#);
        assert_eq!(parse(&one, path).unwrap().len(), 1);
    }

    #[test]
    fn flags_may_be_numbers() {
        let text = r#"{"competition_id": "a", "score": 1, "gold_medal": 1, "silver_medal": 0, "bronze_medal": 0.0,
            "above_median": 1.0, "submission_exists": true, "valid_submission": true}"#;
        let runs = parse(text, Path::new("r.json")).unwrap();
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
    fn the_table_is_parsed_or_rejected_with_its_line() {
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
        let found = reports_of_groups(["c", "b", "a"], dir.path()).unwrap();
        assert_eq!(found[0], ("a".to_owned(), Err("it has no grading report")));
        assert!(
            found[1]
                .1
                .as_ref()
                .unwrap()
                .ends_with("b/x_grading_report.json")
        );
        assert_eq!(found[2].1, Err("there is no such directory"));
        std::fs::write(dir.path().join("b/grading_report_2.json"), "{}").unwrap();
        let error = reports_of_groups(["b"], dir.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("2 grading reports"), "{error}");
    }
}
