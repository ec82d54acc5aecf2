//! Lists the files of a directory tree.

use std::collections::BTreeMap;
use std::path::Path;

use crate::{ContentsError, Result};

/// The size of each file by path, with `/` between path segments.
#[derive(Debug, Default)]
pub struct Listing {
    pub files: BTreeMap<String, u64>,
}

/// Visits all files below a directory, depth first, sorted by name. `visit` gets the path relative to the directory, the
/// full path, and the length in bytes.
///
/// Entries other than files and directories are errors: a link could lead out of an untrusted tree, and a pipe never ends.
pub fn walk(root: &Path, visit: &mut dyn FnMut(&str, &Path, u64) -> Result<()>) -> Result<()> {
    // The paths that are still to be visited, and the lengths of files. A directory has no length.
    let mut stack = vec![(String::new(), None)];
    while let Some((path, length)) = stack.pop() {
        let place = root.join(&path);
        if let Some(length) = length {
            visit(&path, &place, length)?;
            continue;
        }
        let prefix = match path.as_str() {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let begin = stack.len();
        for entry in place
            .read_dir()
            .map_err(ContentsError::system_error(&place))?
        {
            let entry = entry.map_err(ContentsError::system_error(&place))?;
            let refused = |reason| {
                let path = entry.path();
                Err(ContentsError::Refused { path, reason })
            };
            // For a link, this returns the metadata of the link itself, not of its target.
            let metadata = entry
                .metadata()
                .map_err(ContentsError::system_error(&place))?;
            let length = match metadata.file_type() {
                kind if kind.is_dir() => None,
                kind if kind.is_file() => Some(metadata.len()),
                kind if kind.is_symlink() => {
                    return refused("is a symbolic link, which is not followed");
                }
                _ => return refused("is neither a file nor a directory"),
            };
            let Ok(name) = entry.file_name().into_string() else {
                return refused("has a name that is not UTF-8");
            };
            stack.push((format!("{prefix}{name}"), length));
        }
        // Reverse order, so that the first name is on top of the stack.
        let children = stack.get_mut(begin..).unwrap_or_default();
        children.sort_by(|(one, _), (other, _)| other.cmp(one));
    }
    Ok(())
}

impl Listing {
    /// Lists all files below a directory, see [`walk`].
    pub fn read(root: &Path) -> Result<Listing> {
        let mut listing = Listing::default();
        walk(root, &mut |path, _, length| {
            listing.files.insert(path.to_owned(), length);
            Ok(())
        })?;
        Ok(listing)
    }

    /// Returns the paths that both listings contain.
    pub fn common(&self, other: &Listing) -> Vec<String> {
        let common = self.files.keys();
        common
            .filter(|path| other.files.contains_key(*path))
            .cloned()
            .collect()
    }

    /// Returns the files that `other` does not contain.
    pub fn missing_from(&self, other: &Listing) -> BTreeMap<String, u64> {
        let own = self.files.iter();
        own.filter(|(path, _)| !other.files.contains_key(*path))
            .map(|(path, size)| (path.clone(), *size))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_visited_in_order_of_names_depth_first() {
        let root = tempfile::tempdir().unwrap();
        for path in ["b/2", "b/1", "a.txt", "b-1", "c/d/e"] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "12").unwrap();
        }
        let mut found = Vec::new();
        walk(root.path(), &mut |path, place, length| {
            assert!(place.is_file() && length == 2);
            found.push(path.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(found, ["a.txt", "b/1", "b/2", "b-1", "c/d/e"]);
        assert_eq!(Listing::read(root.path()).unwrap().files.len(), 5);
    }

    #[test]
    fn links_and_pipes_are_errors() {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::net::UnixListener;

        for kind in ["link", "folder", "dangling", "socket", "name"] {
            let root = tempfile::tempdir().unwrap();
            let other = tempfile::tempdir().unwrap();
            std::fs::write(other.path().join("secret"), "x").unwrap();
            let place = root.path().join("public");
            let link = |to: &Path| std::os::unix::fs::symlink(to, &place).unwrap();
            match kind {
                "link" => link(&other.path().join("secret")),
                "folder" => link(other.path()),
                "dangling" => link(Path::new("nowhere")),
                "socket" => drop(UnixListener::bind(&place).unwrap()),
                _ => {
                    let name = std::ffi::OsStr::from_bytes(b"\xff");
                    std::fs::write(root.path().join(name), "x").unwrap();
                }
            }
            let error = Listing::read(root.path()).unwrap_err();
            assert!(
                matches!(error, ContentsError::Refused { .. }),
                "{kind}: {error}"
            );
        }
    }
}
