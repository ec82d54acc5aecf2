//! Errors when reading reports and summarizing experiments.

use std::path::PathBuf;

/// An error when reading a file.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentsError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} is a Git LFS pointer, not the file itself; run `git lfs pull` in its checkout to fetch the file",
        path.display()
    )]
    Pointer { path: PathBuf },
    #[error("{} is not JSON", path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{} is not a grading report: {problem}", path.display())]
    NoReport { path: PathBuf, problem: String },
    #[error("{} contains no file *grading_report*.json", path.display())]
    NoReports { path: PathBuf },
    #[error("{}:{line}: expected `experiment_id,run_group`, found `{found}`", path.display())]
    Table {
        path: PathBuf,
        line: usize,
        found: String,
    },
    #[error("{} names no run group; expected lines `experiment_id,run_group`", path.display())]
    EmptyTable { path: PathBuf },
    #[error(
        "{}:{line}: the run group `{run_group}` of `{experiment}` is listed twice, but a run group is only one seed",
        path.display()
    )]
    Repeated {
        path: PathBuf,
        line: usize,
        experiment: String,
        run_group: String,
    },
    #[error(
        "the run group `{group}` has {count} grading reports, expected one: {names}; remove or rename the others"
    )]
    SeveralReports {
        group: String,
        count: usize,
        names: String,
    },
    #[error("{} names no competition", path.display())]
    EmptySet { path: PathBuf },
    #[error("{} has no `runs`; expected the metadata.json of a run group", path.display())]
    NoRuns { path: PathBuf },
}

/// The reason why an experiment has no value for a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeedsError {
    #[error("no run of {}", list_names(.missing))]
    Missing { missing: Vec<String> },
    #[error("there is no run of any of the competitions")]
    Nothing,
    #[error("{there} complete seeds found, {wanted} requested")]
    TooFew { there: usize, wanted: usize },
}

/// Lists the first names, and the number of the others.
fn list_names(names: &[String]) -> String {
    const MAX_NAMES: usize = 5;
    let some: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    match names.len().checked_sub(MAX_NAMES) {
        Some(more @ 1..) => format!("{} and {more} more", some.join(", ")),
        _ => some.join(", "),
    }
}
