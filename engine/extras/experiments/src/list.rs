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

/// Returns a CSV file of a run: the file at the usual place, one with the name of the submission in the directory of the run
/// or in its subdirectories, or another one in the directory of the run or in that of the submission.
fn csv_file(run: &Path, submission: &Path) -> Option<PathBuf> {
    let entries = |one: &Path| report::entries(one).unwrap_or_default();
    let own = entries(run);
    let inner = own.iter().map(|(_, path)| path);
    let inner = inner.filter_map(|path| Some(path.join(submission.file_name()?)));
    let usual = run.join(ListPlaces::default().submission);
    let named = inner.chain(submission.file_name().map(|name| run.join(name)));
    let parent = submission
        .parent()
        .filter(|parent| *parent != Path::new(""));
    let siblings = parent.map_or(Vec::new(), |parent| entries(&run.join(parent)));
    let others = own.iter().chain(&siblings).map(|(_, path)| path.clone());
    let is_csv =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "csv") && path.is_file();
    std::iter::once(usual)
        .chain(named)
        .chain(others)
        .find(is_csv)
}

fn subdirectories(directory: &Path) -> Result<Vec<String>, ExperimentsError> {
    let mut entries = report::entries(directory)?;
    entries.retain(|(name, path)| path.is_dir() && name.contains('_'));
    Ok(entries.into_iter().map(|(name, _)| name).collect())
}

/// Returns the subdirectories that contain a submission, but are not runs because their names contain no `_`. Returns nothing
/// if the runs are listed in `metadata.json`.
pub fn unnamed_runs(directory: &Path, places: &ListPlaces) -> Vec<PathBuf> {
    if directory.join("metadata.json").exists() {
        return Vec::new();
    }
    let entries = report::entries(directory).unwrap_or_default();
    let unnamed = entries.into_iter().filter(|(name, path)| {
        !name.contains('_') && path.is_dir() && path.join(&places.submission).exists()
    });
    unnamed.map(|(_, path)| path).collect()
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
        for (other, name) in [
            ("c_2/output", "submission.csv"),
            ("c_2", "data.csv"),
            ("c_3/code", "data.csv"),
        ] {
            std::fs::create_dir_all(at(other)).unwrap();
            std::fs::write(at(other).join(name), "").unwrap();
        }
        std::fs::create_dir_all(at("b-3/submission")).unwrap();
        std::fs::write(at("b-3/submission/submission.csv"), "").unwrap();
        std::fs::create_dir_all(at("logs")).unwrap();
        let unnamed = |path: &Path| unnamed_runs(path, &ListPlaces::default());
        assert_eq!(unnamed(dir.path()), [at("b-3")]);
        std::fs::create_dir_all(at("a_2_x/logs")).unwrap();
        std::fs::write(at("a_2_x/logs/agent.log"), "").unwrap();
        let ids = |list: &[Submission]| -> Vec<String> {
            list.iter().map(|one| one.competition_id.clone()).collect()
        };
        let by_folder = list(dir.path(), &ListPlaces::default()).unwrap();
        assert_eq!(ids(&by_folder), ["a", "b", "b", "c", "c", "c"]);
        let misplaced: Vec<_> = by_folder.iter().map(|one| one.misplaced.clone()).collect();
        let expected = [
            "b_2/submission/ok.csv",
            "c_1/ok.csv",
            "c_2/output/submission.csv",
        ];
        assert_eq!(misplaced[..2], [None, None]);
        assert_eq!(misplaced[2..5], expected.map(|name| Some(at(name))));
        assert_eq!(misplaced[5], None);
        let elsewhere = ListPlaces {
            submission: "output/x.csv".into(),
            ..ListPlaces::default()
        };
        let found = list(dir.path(), &elsewhere).unwrap();
        let usual = at("b_1/submission/submission.csv");
        assert_eq!(found[1].misplaced, Some(usual));
        std::fs::write(
            at("metadata.json"),
            r#"{"run_group": "g", "runs": {"b_1": {"success": true}, "a_2_x": {}, "gone_3": {}}}"#,
        )
        .unwrap();
        assert_eq!(unnamed(dir.path()), Vec::<PathBuf>::new());
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
