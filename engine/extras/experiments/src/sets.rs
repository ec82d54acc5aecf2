//! Sets of competitions that a summary covers.

use std::path::Path;

use crate::error::ExperimentsError;
use crate::report;

/// A set of competitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub name: String,
    pub competitions: Vec<String>,
}

impl Set {
    /// Finds a named set: low, medium, high, all, dev, systemcard. Upstream's file names `split75` and `lite` are also
    /// valid.
    pub fn by_name(name: &str) -> Option<Set> {
        let known = if name == "split75" { "all" } else { name };
        let ids = prep_splits::set(known)?;
        Some(Set {
            name: name.to_owned(),
            competitions: ids.iter().map(|id| (*id).to_owned()).collect(),
        })
    }

    /// Returns the names of all named sets.
    pub fn names() -> impl Iterator<Item = &'static str> {
        prep_splits::set_names()
    }

    /// Reads a set from a text file with one id per line.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or contains no id.
    pub fn read(path: &Path) -> Result<Set, ExperimentsError> {
        let text = report::read(path)?;
        let lines = text.lines().map(str::trim);
        let competitions: Vec<String> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect();
        if competitions.is_empty() {
            return Err(ExperimentsError::EmptySet {
                path: path.to_owned(),
            });
        }
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Ok(Set {
            name: name.to_string_lossy().into_owned(),
            competitions,
        })
    }

    /// Returns the sets that are columns of the leaderboard.
    pub fn leaderboard() -> Vec<Set> {
        ["low", "medium", "high", "all"]
            .into_iter()
            .filter_map(Set::by_name)
            .collect()
    }
}
