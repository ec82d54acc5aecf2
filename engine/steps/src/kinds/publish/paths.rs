//! Files and directories in a prepared directory that no publication wrote.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Maximum number of recorded paths, which messages show.
const MAX_RECORDED_PATHS: usize = 20;

/// Files and directories below `prepared` that no publication wrote. A directory is counted once, regardless of its
/// content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpublished {
    /// Number of files and directories.
    pub count: u64,
    /// The first paths in order, at most 20. Paths of directories end in `/`.
    pub paths: BTreeSet<String>,
}

impl Unpublished {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_paths_do_not_depend_on_the_order_of_addition() {
        let mut found = Unpublished::default();
        for number in (0..50).rev() {
            found.add(Path::new(&format!("public/{number:02}")), number % 2 == 1);
        }
        assert_eq!((found.count, found.paths.len()), (50, MAX_RECORDED_PATHS));
        assert_eq!(found.paths.first().map(String::as_str), Some("public/00"));
        assert_eq!(found.paths.last().map(String::as_str), Some("public/19/"));
    }
}
