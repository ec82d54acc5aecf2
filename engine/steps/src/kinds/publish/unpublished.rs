//! Files and directories in a prepared directory that no publication wrote.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The number of paths that are kept for messages.
const MAX_NAMED: usize = 20;

/// Files and directories of others below `prepared`. A directory counts once, with all that is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpublished {
    /// Number of files and directories.
    pub count: u64,
    /// The first paths in order, at most 20. Paths of directories end in `/`.
    pub paths: BTreeSet<String>,
}

impl Unpublished {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, path: &Path, is_folder: bool) {
        self.count += 1;
        let end = if is_folder { "/" } else { "" };
        self.paths.insert(format!("{}{end}", path.display()));
        if self.paths.len() > MAX_NAMED {
            self.paths.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paths_are_named_whatever_the_order_they_are_found_in() {
        let mut found = Unpublished::default();
        for number in (0..50).rev() {
            found.add(Path::new(&format!("public/{number:02}")), number % 2 == 1);
        }
        assert_eq!((found.count, found.paths.len()), (50, MAX_NAMED));
        assert_eq!(found.paths.first().map(String::as_str), Some("public/00"));
        assert_eq!(found.paths.last().map(String::as_str), Some("public/19/"));
    }
}
