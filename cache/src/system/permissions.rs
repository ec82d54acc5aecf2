//! Owners and permissions of files in directories that several users share.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

const MODE_BITS: u32 = 0o7777;

/// After this number of directories, no further directories are examined, to limit the time.
const MAX_DIRECTORIES: usize = 20_000;

/// Describes the owner and mode of a file or directory, for example `/a belongs to user ann and group lab, and has mode
/// 755`. `None` if its metadata cannot be read.
pub fn ownership(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let (user, group) = (metadata.uid(), metadata.gid());
    Some(format!(
        "{} belongs to user {} and group {}, and has mode {:o}",
        path.display(),
        name_of(user, "/etc/passwd"),
        name_of(group, "/etc/group"),
        metadata.mode() & MODE_BITS
    ))
}

/// Returns the outermost of `directory` and its parents that the current user may not enter. `None` if the user may enter all
/// of them.
pub fn closed_directory(directory: &Path) -> Option<&Path> {
    let is_closed = |path: &&Path| access(*path, Access::EXEC_OK) == Err(Errno::ACCESS);
    // Inside of a closed directory, the metadata cannot be read.
    directory
        .ancestors()
        .find(|path| is_closed(path) && path.metadata().is_ok())
}

/// Returns the name of the user or group `id` in the file `list` (`/etc/passwd` or `/etc/group`), otherwise its number.
fn name_of(id: u32, list: &str) -> String {
    let id = id.to_string();
    let text = fs::read_to_string(list).unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    name.unwrap_or(id)
}

fn may_write(path: &Path) -> bool {
    let needed = match path.is_dir() {
        true => Access::WRITE_OK | Access::EXEC_OK,
        false => Access::WRITE_OK,
    };
    access(path, needed).is_ok()
}

/// Returns whether a file or directory cannot be written because its file system is mounted read-only.
pub fn is_read_only(path: &Path) -> bool {
    access(path, Access::WRITE_OK) == Err(Errno::ROFS)
}

/// Describes the owner and mode of `path`, or of its parent directory, if the current user cannot write it.
pub(crate) fn obstacle(path: &Path) -> Option<String> {
    let existing = path.ancestors().filter(|path| path.exists());
    let blocking = existing.take(2).find(|path| !may_write(path))?;
    ownership(blocking)
}

/// Directories and files that the current user cannot write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unwritable {
    /// Number of directories and files that cannot be written.
    pub count: usize,
    /// The first of them that was found.
    pub first: Option<PathBuf>,
}

impl Unwritable {
    /// Adds the unwritable directories at `root` and up to `depth` levels below it. Examines at most 20,000 directories.
    pub fn examine_directories(&mut self, root: &Path, depth: usize) {
        let mut open = vec![(root.to_owned(), depth)];
        let mut examined = 0;
        while let Some((directory, depth)) = open.pop() {
            examined += 1;
            if examined > MAX_DIRECTORIES {
                break;
            }
            self.examine(&directory);
            if depth > 0 {
                open.extend(subdirectories(&directory).map(|inner| (inner, depth - 1)));
            }
        }
    }

    /// Adds a file or directory, if it exists and the current user cannot write it.
    pub fn examine(&mut self, path: &Path) {
        if path.exists() && !may_write(path) {
            self.count += 1;
            self.first.get_or_insert_with(|| path.to_owned());
        }
    }
}

fn subdirectories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    // Links are not followed, so the walk ends.
    let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    inner.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn owners_and_modes_are_described() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2750)).unwrap();
        let text = ownership(dir.path()).unwrap();
        assert!(text.ends_with("has mode 2750"), "{text}");
        let root = name_of(0, "/etc/passwd");
        assert!(root == "root" || root == "0", "{root}");
        assert_eq!(name_of(u32::MAX - 7, "/etc/passwd"), "4294967288");
        assert_eq!(ownership(&dir.path().join("none")), None);
    }

    #[test]
    fn only_directories_up_to_the_depth_are_examined() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        let mut found = Unwritable::default();
        found.examine_directories(dir.path(), 9);
        assert_eq!(found, Unwritable::default());
    }
}
