//! Reads the table that assigns run groups to experiments, and finds the reports of run groups.
//!
//! The table is a CSV with the columns `experiment_id,run_group`. A run group is a directory with one file
//! `*grading_report*.json`.

use std::path::{Path, PathBuf};

use crate::error::ExperimentsError;
use crate::report;

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub experiment: String,
    pub run_group: String,
}

/// The reason why a run group is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The directory does not exist.
    Directory,
    /// The directory contains no report.
    Report,
}

/// The path of a run group's report, or the reason why the group is skipped.
pub type GroupReport = Result<PathBuf, SkipReason>;

/// Reads the table in a file. Run groups keep their order. A header and empty lines are skipped.
///
/// # Errors
/// Returns an error if the file cannot be read, is empty, has a line without a comma, or assigns a run group to an
/// experiment twice.
pub fn experiments(path: &Path) -> Result<Vec<Group>, ExperimentsError> {
    let text = report::read(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut groups: Vec<Group> = Vec::new();
    for (line, found) in (1..).zip(text.lines()) {
        if found.trim().is_empty() || found.starts_with("experiment_id") {
            continue;
        }
        let Some((experiment, run_group)) = found.split_once(',') else {
            return Err(ExperimentsError::Table {
                path: path.to_owned(),
                line,
                found: found.to_owned(),
            });
        };
        let group = Group {
            experiment: experiment.trim().to_owned(),
            run_group: run_group.trim().to_owned(),
        };
        if groups.contains(&group) {
            return Err(ExperimentsError::Repeated {
                path: path.to_owned(),
                line,
                experiment: group.experiment,
                run_group: group.run_group,
            });
        }
        groups.push(group);
    }
    match groups.is_empty() {
        true => Err(ExperimentsError::EmptyTable {
            path: path.to_owned(),
        }),
        false => Ok(groups),
    }
}

/// Finds the report of each run group in the directory `runs`. The results are sorted by the names of the groups, which
/// begin with dates.
///
/// # Errors
/// Returns an error if a group has more than one report or its directory cannot be read.
pub fn collect<'a>(
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
        let failed = |source| ExperimentsError::Read {
            path: path.clone(),
            source,
        };
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                directories.push(entry.path());
            } else if is_report(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
                reports.push(entry.path());
            }
        }
    }
    reports.sort();
    match reports.is_empty() {
        true => Err(ExperimentsError::NoReports {
            path: directory.to_owned(),
        }),
        false => Ok(reports),
    }
}

/// Returns whether a file is a grading report, according to its name.
fn is_report(name: &str) -> bool {
    name.contains("grading_report") && name.ends_with(".json")
}

fn report_of(group: &str, directory: &Path) -> Result<GroupReport, ExperimentsError> {
    if !directory.is_dir() {
        return Ok(Err(SkipReason::Directory));
    }
    let failed = |source| ExperimentsError::Read {
        path: directory.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_report(&name) && entry.path().is_file() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    if found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        return Err(ExperimentsError::SeveralReports {
            group: group.to_owned(),
            count: found.len(),
            names: names.join(", "),
        });
    }
    Ok(found.pop().map(|(_, path)| path).ok_or(SkipReason::Report))
}

#[cfg(test)]
mod tests {
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
        let found = collect(["c", "b", "a"], dir.path()).unwrap();
        assert_eq!(found[0], ("a".to_owned(), Err(SkipReason::Report)));
        assert!(
            found[1]
                .1
                .as_ref()
                .unwrap()
                .ends_with("b/x_grading_report.json")
        );
        assert_eq!(found[2].1, Err(SkipReason::Directory));
        std::fs::write(dir.path().join("b/grading_report_2.json"), "{}").unwrap();
        let error = collect(["b"], dir.path()).unwrap_err().to_string();
        assert!(error.contains("2 grading reports"), "{error}");
    }
}
