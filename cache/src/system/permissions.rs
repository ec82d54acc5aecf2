//! Owners and permissions of files in directories that several users share.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};

const MODE_BITS: u32 = 0o7777;
/// Bit of a mode: the group may write.
pub const GROUP_MAY_WRITE: u32 = 0o020;
/// Bit of a mode. In a directory with this bit, new files and directories get its group. New directories also get the bit on Linux. On
/// other systems, the bit has no effect, because new files always get the group of the directory.
pub const SETGID: u32 = if cfg!(target_os = "linux") { 0o2000 } else { 0 };

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
        group_name(group),
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

/// Returns the name of the group `id`. If the name is unknown, returns the number.
pub fn group_name(id: u32) -> String {
    name_of(id, "/etc/group")
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

/// Returns an instruction for a user who may not use `path`, a file or directory of another user, but who can get the
/// permissions of a group: the group of `path`, or the group that shares a directory above `path`.
///
/// If a shared directory has no setgid bit, each directory in it belongs to the group of its creator. Joining such a group
/// would not give access to the directories of other users. Therefore the instruction is then to share all directories.
/// If the group has the name of the owner, it may be private to the owner. Then there is no instruction.
pub fn group_remedy(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let (user, group) = (geteuid().as_raw(), metadata.gid());
    if metadata.uid() == user {
        return None;
    }
    if let Some((root, shared)) = shared_parent(path, group) {
        let (root, shared) = (root.display().to_string(), group_name(shared));
        return Some(format!(
            "{}, because {root} had no setgid bit, so directories in it do not belong to its group {shared}",
            share_commands(&shared, &root)
        ));
    }
    let more = (metadata.mode() >> 3) & !metadata.mode() & 0o7;
    let (owner, user) = (user_name(metadata.uid()), user_name(user));
    let name = group_name(group);
    (more != 0 && !is_member(group) && name != owner).then(|| {
        format!(
            "you are not in the group {name}: run `usermod -a -G {name} {user}` as root, then log in again"
        )
    })
}

/// Returns the nearest directory above `path` with another group than `group`, and this other group, if its members can
/// write the directory and the current user is a member.
fn shared_parent(path: &Path, group: u32) -> Option<(&Path, u32)> {
    let mut parents = path.ancestors().skip(1);
    let found = parents.find_map(|parent| {
        let metadata = parent.metadata().ok()?;
        (metadata.gid() != group).then_some((parent, metadata))
    });
    let (parent, metadata) = found?;
    let is_shared = metadata.mode() & GROUP_MAY_WRITE != 0 && is_member(metadata.gid());
    is_shared.then(|| (parent, metadata.gid()))
}

fn is_member(group: u32) -> bool {
    let groups = getgroups().unwrap_or_default().into_iter();
    groups.chain([getegid()]).any(|one| one.as_raw() == group)
}

/// Returns the commands after which `group` shares all files and directories in `directory`.
pub fn share_commands(group: &str, directory: &str) -> String {
    format!(
        "run as root `chgrp -R {group} {directory}`, `chmod -R g=u {directory}` and \
         `find {directory} -type d -exec chmod g+s {{}} +`"
    )
}

/// Directories and files that the current user, or the group of a shared directory, cannot write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unwritable {
    /// Number of directories and files that cannot be written.
    pub count: usize,
    /// The first of them that was found.
    pub first: Option<PathBuf>,
    /// The group that shares the directories, and the mode bits that directories then need. `None` if the search is for the
    /// current user.
    sharing: Option<(u32, u32)>,
}

impl Unwritable {
    /// Creates a search for directories and files that do not belong to the group of `root`, and for directories that lack the
    /// setgid bit although `root` has it. Returns `None` if the group cannot write `root`.
    pub fn by_group_of(root: &Path) -> Option<Unwritable> {
        let metadata = root.metadata().ok()?;
        let sharing = (metadata.gid(), metadata.mode() & SETGID);
        (metadata.mode() & GROUP_MAY_WRITE != 0).then(|| Unwritable {
            sharing: Some(sharing),
            ..Unwritable::default()
        })
    }

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

    /// Adds a file or directory, if it exists and the current user, or the group, cannot write it.
    pub fn examine(&mut self, path: &Path) {
        let is_unwritable = match (self.sharing, path.metadata()) {
            (_, Err(_)) => false,
            (None, Ok(_)) => !may_write(path),
            (Some((group, bits)), Ok(found)) => {
                found.gid() != group || found.is_dir() && found.mode() & bits != bits
            }
        };
        if is_unwritable {
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
        assert_eq!(group_remedy(&file), None);
    }

    #[test]
    fn symbolic_links_to_directories_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        let mut found = Unwritable::default();
        found.examine_directories(dir.path(), 9);
        assert_eq!(found, Unwritable::default());
    }
}
