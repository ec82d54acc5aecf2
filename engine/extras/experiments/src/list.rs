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

/// The runs in a directory.
#[derive(Debug, Default)]
pub struct RunGroup {
    pub runs: Vec<Submission>,
    /// Whether a file `metadata.json` lists the runs.
    pub has_metadata: bool,
    /// Subdirectories that contain a submission, but are not runs: `metadata.json` does not list them or, without this file,
    /// their names contain no `_`.
    pub others: Vec<PathBuf>,
}

/// Lists the submissions of a run group. `path` is the directory of the group, or its `metadata.json`.
pub fn list(path: &Path, places: &ListPlaces) -> Result<RunGroup, ExperimentsError> {
    let metadata = match path.is_dir() {
        true => path.join("metadata.json"),
        false => path.to_owned(),
    };
    let directory = metadata.parent().unwrap_or(Path::new(""));
    let has_metadata = !path.is_dir() || metadata.exists();
    let subdirectories = || -> Result<Vec<String>, ExperimentsError> {
        let mut entries = report::entries(directory)?;
        entries.retain(|(_, path)| path.is_dir());
        Ok(entries.into_iter().map(|(name, _)| name).collect())
    };
    let names = match has_metadata {
        true => runs(&metadata)?,
        false => subdirectories()?
            .into_iter()
            .filter(|name| name.contains('_'))
            .collect(),
    };
    let mut others = subdirectories().unwrap_or_default();
    others.retain(|name| {
        !names.contains(name) && directory.join(name).join(&places.submission).exists()
    });
    let runs = names.iter().map(|run| {
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
    });
    Ok(RunGroup {
        runs: runs.collect(),
        has_metadata,
        others: others
            .iter()
            .map(|name| normalized(&directory.join(name)))
            .collect(),
    })
}

/// Returns the names of the runs in `metadata.json`, in the order of the file: the keys of `runs`, or its elements.
fn runs(metadata: &Path) -> Result<Vec<String>, ExperimentsError> {
    let text = report::read(metadata)?;
    let names: Option<Vec<String>> = match report::parse_json(&text, metadata)?.get("runs") {
        Some(JsonValue::Object(runs)) => Some(
            runs.keys()
                .map(|name| name.to_string_lossy().into_owned())
                .collect(),
        ),
        Some(JsonValue::List(runs)) => runs
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    names.ok_or_else(|| {
        let problem =
            "has no `runs` with the names of the runs; expected the metadata.json of a run group";
        ExperimentsError::new(metadata, problem)
    })
}

/// Returns the first CSV file of a run, in this order:
///
/// 1. the file at the usual place
/// 2. a file with the name of the submission, anywhere in the directory of the run
/// 3. any file directly in the directory of the run, or in the directory that `submission` names
fn csv_file(run: &Path, submission: &Path) -> Option<PathBuf> {
    let usual = run.join(ListPlaces::default().submission);
    let place = run.join(submission);
    let rank = |path: &Path| match path.file_name() == submission.file_name() {
        _ if path == usual => Some(1),
        true => Some(2),
        false => [Some(run), place.parent()]
            .contains(&path.parent())
            .then_some(3),
    };
    let mut files = Vec::new();
    add_files(run, MAX_LEVELS, &mut files);
    files.retain(|path| path.extension().is_some_and(|end| end == "csv"));
    let ranked = files
        .iter()
        .filter_map(|path| Some((rank(path)?, path.components().count(), path)));
    ranked.min().map(|(.., path)| path.clone())
}

/// Maximum numbers of levels and of files in which the submission of a run is searched for. A run can contain the data of its
/// competition.
const MAX_LEVELS: usize = 4;
const MAX_FILES: usize = 10_000;

/// Adds the files in a directory to `files`, at most `levels` levels down.
fn add_files(directory: &Path, levels: usize, files: &mut Vec<PathBuf>) {
    for (_, path) in report::entries(directory).unwrap_or_default() {
        match path.is_dir() {
            _ if files.len() == MAX_FILES => return,
            false => files.push(path),
            true if levels > 1 && !path.is_symlink() => add_files(&path, levels - 1, files),
            true => {}
        }
    }
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
        let others = |path: &Path| list(path, &ListPlaces::default()).unwrap().others;
        assert_eq!(others(dir.path()), [at("b-3")]);
        std::fs::create_dir_all(at("a_2_x/logs")).unwrap();
        std::fs::write(at("a_2_x/logs/agent.log"), "").unwrap();
        let ids = |list: &[Submission]| -> Vec<String> {
            list.iter().map(|one| one.competition_id.clone()).collect()
        };
        let by_folder = list(dir.path(), &ListPlaces::default()).unwrap().runs;
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
        let found = list(dir.path(), &elsewhere).unwrap().runs;
        let usual = at("b_1/submission/submission.csv");
        assert_eq!(found[1].misplaced, Some(usual));
        std::fs::write(
            at("metadata.json"),
            r#"{"run_group": "g", "runs": {"b_1": {"success": true}, "a_2_x": {}, "gone_3": {}}}"#,
        )
        .unwrap();
        assert_eq!(others(dir.path()), [at("b-3")]);
        for path in [dir.path().to_owned(), at("metadata.json")] {
            let found = list(&path, &ListPlaces::default()).unwrap().runs;
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
