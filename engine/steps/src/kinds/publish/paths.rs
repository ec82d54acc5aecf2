//! A set of paths below a prepared directory, which may be too large for messages.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Maximum number of recorded paths, which messages show.
const MAX_RECORDED_PATHS: usize = 20;

/// Maximum number of paths in a message.
const MAX_SHOWN_PATHS: usize = 3;

/// The number of files and directories in a set, and the first of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSummary {
    /// Number of files and directories. A directory is counted once, regardless of its content.
    pub count: u64,
    /// The first paths in order, at most 20. Paths of directories end in `/`.
    pub paths: BTreeSet<String>,
}

impl PathSummary {
    /// Whether there are no such files or directories.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, path: &Path, is_directory: bool) {
        self.count += 1;
        let end = if is_directory { "/" } else { "" };
        self.paths.insert(format!("{}{end}", path.display()));
        if self.paths.len() > MAX_RECORDED_PATHS {
            self.paths.pop_last();
        }
    }
}

/// Writes the first paths and the number of the others: `a, b, c and 4 more`.
impl fmt::Display for PathSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let shown = shown.get(..MAX_SHOWN_PATHS).unwrap_or(&shown);
        f.write_str(&shown.join(", "))?;
        match self.count.saturating_sub(shown.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_paths_do_not_depend_on_the_order_of_addition() {
        let mut found = PathSummary::default();
        for number in (0..50).rev() {
            found.add(Path::new(&format!("public/{number:02}")), number % 2 == 1);
        }
        assert_eq!((found.count, found.paths.len()), (50, MAX_RECORDED_PATHS));
        assert_eq!(found.paths.first().map(String::as_str), Some("public/00"));
        assert_eq!(found.paths.last().map(String::as_str), Some("public/19/"));
        assert_eq!(
            found.to_string(),
            "public/00, public/01/, public/02 and 47 more"
        );
    }
}
