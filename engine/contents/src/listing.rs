//! The files of a tree.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Paths with `/` between segments, and sizes.
#[derive(Debug, Default)]
pub struct Listing {
    pub files: BTreeMap<String, u64>,
}

impl Listing {
    /// All files below a folder. A link to a file is a file; a link to a folder could lead in a circle and is left out.
    ///
    /// # Errors
    /// When a folder cannot be read: which one, and why.
    pub fn read(root: &Path) -> Result<Listing, (PathBuf, io::Error)> {
        let mut listing = Listing::default();
        listing.add(root, "")?;
        Ok(listing)
    }

    fn add(&mut self, folder: &Path, prefix: &str) -> Result<(), (PathBuf, io::Error)> {
        let failed = |error| (folder.to_owned(), error);
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                self.add(&entry.path(), &format!("{name}/"))?;
                continue;
            }
            // Of a link, what it leads to counts.
            let metadata = match kind.is_symlink() {
                true => std::fs::metadata(entry.path()),
                false => entry.metadata(),
            };
            if let Ok(metadata) = metadata
                && metadata.is_file()
            {
                self.files.insert(name, metadata.len());
            }
        }
        Ok(())
    }

    /// Paths that both have, in order.
    pub fn common(&self, other: &Listing) -> Vec<String> {
        let common = self.files.keys();
        common
            .filter(|path| other.files.contains_key(*path))
            .cloned()
            .collect()
    }

    /// Files that the other one does not have.
    pub fn beside(&self, other: &Listing) -> BTreeMap<String, u64> {
        let own = self.files.iter();
        own.filter(|(path, _)| !other.files.contains_key(*path))
            .map(|(path, size)| (path.clone(), *size))
            .collect()
    }
}
