//! Owners and permissions of files in directories that several users share.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};

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
        user_name(user),
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

/// Returns the name of the user `id`. If the name is unknown, returns the number.
pub(crate) fn user_name(id: u32) -> String {
    name_of(id, "/etc/passwd")
}

/// Returns the name of the user or group `id` in the file `list` (`/etc/passwd` or `/etc/group`). If the file does not
/// contain the name, returns the number.
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

/// Returns the directory or file whose mode prevents the current user from reading `path`.
pub(crate) fn obstacle_to_reading(path: &Path) -> Option<&Path> {
    let is_unreadable = || access(path, Access::READ_OK) == Err(Errno::ACCESS);
    let directory = path.ancestors().find(|path| path.is_dir());
    let closed = directory.or(path.parent()).and_then(closed_directory);
    closed.or_else(|| is_unreadable().then_some(path))
}

/// Returns the directory or file whose mode prevents the current user from writing `path`.
///
/// To create, rename or remove a file, a user needs the permission to write its directory; the mode of the file has no
/// effect. If `opens_file` is true, the action writes to an existing file, so the mode of the file decides.
pub(crate) fn obstacle_to_writing(path: &Path, opens_file: bool) -> Option<&Path> {
    let mut existing = path.ancestors().filter(|path| path.exists());
    let (first, second) = (existing.next()?, existing.next());
    let is_target = first.is_dir() || opens_file;
    let order = match is_target {
        true => [Some(first), second],
        false => [second, Some(first)],
    };
    order.into_iter().flatten().find(|path| !may_write(path))
}

/// Returns an instruction for a user who is not in the group of `path`, if the group has more permissions than other users.
pub fn join_group(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let (user, group) = (geteuid().as_raw(), metadata.gid());
    let groups = getgroups().unwrap_or_default().into_iter();
    let is_member = groups.chain([getegid()]).any(|one| one.as_raw() == group);
    let more = (metadata.mode() >> 3) & !metadata.mode() & 0o7;
    (more != 0 && metadata.uid() != user && !is_member).then(|| {
        let (user, group) = (user_name(user), name_of(group, "/etc/group"));
        format!(
            "you are not in the group {group}: run `usermod -a -G {group} {user}` as root, then log in again"
        )
    })
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

    /// Replacing a file requires permission to write its directory, not the file. (Root may write everything.)
    #[test]
    fn the_directory_is_the_obstacle_of_a_replacement() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(obstacle_to_writing(&file, false), None);
        assert_eq!(obstacle_to_reading(&file), None);
        let is_root = geteuid().is_root();
        assert_eq!(obstacle_to_writing(&file, true).is_none(), is_root);
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let expected = (!is_root).then(|| dir.path());
        assert_eq!(obstacle_to_writing(&file, false), expected);
        // The owner of a file needs no group.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o060)).unwrap();
        assert_eq!(join_group(&file), None);
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
