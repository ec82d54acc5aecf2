//! Lists the submissions in a directory of runs, for grading.
//!
//! A run group is a directory with a file `metadata.json`, whose key `runs` names the runs in order. Without this file, the
//! runs are the subdirectories whose names contain `_`.
//!
//! A run has the name `ID_...`, where `ID` is the id of the competition. Its directory contains `submission/submission.csv`,
//! and optionally logs and code.

use std::path::{Component, Path, PathBuf};

use crate::report;
use crate::report::ExperimentsError;
use prep_formats::json::{JsonValue, WriteOptions};

/// A line of the list, with the same keys as in upstream, in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Directory of the run. The line does not contain it.
    pub directory: PathBuf,
    pub competition_id: String,
    pub submission_path: Option<String>,
    pub logs_path: Option<String>,
    pub code_path: Option<String>,
    /// A CSV file in the directory of a run without a submission. The file is probably the submission under another
    /// name. The line does not contain this path.
    pub misplaced: Option<PathBuf>,
}

impl Submission {
    pub fn line(&self) -> String {
        let path = |path: &Option<String>| JsonValue::from(path.as_deref());
        let line = JsonValue::from([
            ("competition_id", self.competition_id.as_str().into()),
            ("submission_path", path(&self.submission_path)),
            ("logs_path", path(&self.logs_path)),
            ("code_path", path(&self.code_path)),
        ]);
        // Writing cannot fail, because ASCII can represent every string.
        let line = line.to_json(&WriteOptions::default()).unwrap_or_default();
        String::from_utf8_lossy(&line).into_owned()
    }
}

/// The paths of a run's files, relative to the directory of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPlaces {
    pub submission: PathBuf,
    pub logs: PathBuf,
    pub code: PathBuf,
}

impl Default for ListPlaces {
    fn default() -> ListPlaces {
        ListPlaces {
            submission: "submission/submission.csv".into(),
            logs: "logs/agent.log".into(),
            code: "code/train.py".into(),
        }
    }
}

/// Lists the submissions of a run group. `path` is the directory of the group, or its `metadata.json`.
pub fn list(path: &Path, places: &ListPlaces) -> Result<Vec<Submission>, ExperimentsError> {
    let (directory, metadata) = match path.is_dir() {
        true => (path, path.join("metadata.json")),
        false => (path.parent().unwrap_or(Path::new("")), path.to_owned()),
    };
    let runs = match path.is_dir() && !metadata.exists() {
        true => subdirectories(directory)?,
        false => runs(&metadata)?,
    };
    Ok(runs
        .iter()
        .map(|run| {
            let directory = normalized(&directory.join(run));
            let existing = |place: &Path| {
                let path = normalized(&directory.join(place));
                path.exists().then(|| path.to_string_lossy().into_owned())
            };
            let submission_path = existing(&places.submission);
            let misplaced = match submission_path {
                Some(_) => None,
                None => csv_file(&directory, &places.submission),
            };
            Submission {
                competition_id: run.split('_').next().unwrap_or_default().to_owned(),
                submission_path,
                misplaced,
                logs_path: existing(&places.logs),
                code_path: existing(&places.code),
                directory,
            }
        })
        .collect())
}

/// Returns the names of the runs in `metadata.json`, in the order of the file.
fn runs(metadata: &Path) -> Result<Vec<String>, ExperimentsError> {
    let text = report::read(metadata)?;
    match report::parse_json(&text, metadata)?.get("runs") {
        Some(JsonValue::Object(runs)) => {
            let names = runs.keys().map(|name| name.to_string_lossy().into_owned());
            Ok(names.collect())
        }
        _ => Err(ExperimentsError::new(
            metadata,
            "has no `runs`; expected the metadata.json of a run group",
        )),
    }
}

/// Returns a CSV file in the directory of a run, or in the directory of its submission.
fn csv_file(run: &Path, submission: &Path) -> Option<PathBuf> {
    let inner = submission.parent().map(|parent| run.join(parent));
    let directories = [run].into_iter().chain(inner.as_deref());
    let mut files = directories
        .filter_map(|one| report::entries(one).ok())
        .flatten();
    let is_csv = |path: &Path| path.extension().is_some_and(|end| end == "csv") && path.is_file();
    files.find_map(|(_, path)| is_csv(&path).then_some(path))
}

fn subdirectories(directory: &Path) -> Result<Vec<String>, ExperimentsError> {
    let mut entries = report::entries(directory)?;
    entries.retain(|(name, path)| path.is_dir() && name.contains('_'));
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}

fn normalized(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_listed_in_the_order_of_the_metadata() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("b_1/submission")).unwrap();
        std::fs::write(at("b_1/submission/submission.csv"), "").unwrap();
        for misplaced in ["b_2/submission", "c_1"] {
            std::fs::create_dir_all(at(misplaced)).unwrap();
            std::fs::write(at(misplaced).join("ok.csv"), "").unwrap();
        }
        std::fs::create_dir_all(at("a_2_x/logs")).unwrap();
        std::fs::write(at("a_2_x/logs/agent.log"), "").unwrap();
        let ids = |list: &[Submission]| -> Vec<String> {
            list.iter().map(|one| one.competition_id.clone()).collect()
        };
        let by_folder = list(dir.path(), &ListPlaces::default()).unwrap();
        assert_eq!(ids(&by_folder), ["a", "b", "b", "c"]);
        let misplaced: Vec<_> = by_folder.iter().map(|one| one.misplaced.clone()).collect();
        let expected = ["b_2/submission/ok.csv", "c_1/ok.csv"].map(|name| Some(at(name)));
        assert_eq!(misplaced[..2], [None, None]);
        assert_eq!(misplaced[2..], expected);
        std::fs::write(
            at("metadata.json"),
            r#"{"run_group": "g", "runs": {"b_1": {"success": true}, "a_2_x": {}, "gone_3": {}}}"#,
        )
        .unwrap();
        for path in [dir.path().to_owned(), at("metadata.json")] {
            let found = list(&path, &ListPlaces::default()).unwrap();
            assert_eq!(ids(&found), ["b", "a", "gone"]);
            assert!(
                found[0]
                    .submission_path
                    .as_ref()
                    .unwrap()
                    .ends_with("b_1/submission/submission.csv")
            );
            assert_eq!(
                (&found[0].logs_path, &found[2].submission_path),
                (&None, &None)
            );
            assert!(found[1].logs_path.is_some());
        }
        std::fs::write(at("metadata.json"), "{}").unwrap();
        assert!(
            list(dir.path(), &ListPlaces::default())
                .unwrap_err()
                .to_string()
                .contains("`runs`")
        );
    }

    #[test]
    fn lines_equal_the_json_that_python_writes() {
        let line = Submission {
            directory: "runs/a_1".into(),
            competition_id: "a".into(),
            submission_path: Some("é\"\u{1f600}\u{7f}\u{1f}\n/".into()),
            logs_path: None,
            code_path: Some("c".into()),
            misplaced: None,
        }
        .line();
        let expected = r#"{"competition_id": "a", "submission_path": "\u00e9\"\ud83d\ude00\u007f\u001f\n/", "logs_path": null, "code_path": "c"}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn paths_are_normalized() {
        for (path, expected) in [("./a//b/./c", "a/b/c"), ("../a", "../a"), ("/a/b/", "/a/b")] {
            assert_eq!(normalized(Path::new(path)), Path::new(expected));
        }
    }
}
