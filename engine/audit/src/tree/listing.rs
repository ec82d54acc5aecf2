//! The files of a tree.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::AuditError;

/// Files that are not compared: what they say is completed here from what is prepared.
pub const IGNORED: [&str; 1] = ["public/description.md"];

/// Paths with `/` between segments, and sizes.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub files: BTreeMap<String, u64>,
}

impl Listing {
    pub(crate) fn read(root: &Path) -> Result<Listing, AuditError> {
        if !root.is_dir() {
            return Err(AuditError::NoFolder {
                path: root.to_owned(),
            });
        }
        let mut listing = Listing::default();
        listing.add(root, "")?;
        Ok(listing)
    }

    fn add(&mut self, folder: &Path, prefix: &str) -> Result<(), AuditError> {
        for entry in std::fs::read_dir(folder).map_err(AuditError::reading(folder))? {
            let entry = entry.map_err(AuditError::reading(folder))?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().map_err(AuditError::reading(&path))?;
            // A link to a file is a file; a link to a folder could lead in a circle.
            let is_folder = kind.is_dir();
            if is_folder {
                self.add(&path, &format!("{name}/"))?;
            } else if let Ok(metadata) = std::fs::metadata(&path)
                && metadata.is_file()
                && !IGNORED.contains(&name.as_str())
            {
                self.files.insert(name, metadata.len());
            }
        }
        Ok(())
    }
}

/// Paths that both sides have.
pub(super) fn common_paths(theirs: &Listing, ours: &Listing) -> Vec<String> {
    let common = ours
        .files
        .keys()
        .filter(|path| theirs.files.contains_key(*path));
    common.cloned().collect()
}
