//! Temporary directories of tests, in different parts of the disk.
//!
//! ext4 without a journal does not use an inode again for a minute after it was freed. A new file searches for another one,
//! past all inodes that were freed in its group of blocks. Directories of tests would all be in the group of `/tmp`, so each
//! test would search past the files of all tests before it. ext4 puts the directories in a directory with the attribute
//! `TOPDIR` into different groups.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use tempfile::{Builder, TempDir};

/// Creates a directory that is removed when the test ends.
pub fn directory() -> TempDir {
    static PARENT: OnceLock<PathBuf> = OnceLock::new();
    let parent = PARENT.get_or_init(|| parent().unwrap_or_else(std::env::temp_dir));
    let directory = Builder::new().prefix("prep-test-").tempdir_in(parent);
    directory.expect("temporary directory")
}

/// Returns the directory that contains those of all tests of this user. `None` if it belongs to somebody else.
fn parent() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let parent = std::env::temp_dir().join(format!("prep-tests-{user}"));
    // It exists if a test has run before.
    let _ = fs::create_dir(&parent);
    let metadata = fs::symlink_metadata(&parent).ok()?;
    if !metadata.is_dir() || metadata.uid() != user {
        return None;
    }
    // Some tests start processes of other users.
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).ok()?;
    #[cfg(target_os = "linux")]
    spread(&parent);
    Some(parent)
}

/// Sets the attribute. Other file systems do not have it, and do not need it.
#[cfg(target_os = "linux")]
fn spread(directory: &std::path::Path) {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let Ok(directory) = fs::File::open(directory) else {
        return;
    };
    if let Ok(flags) = ioctl_getflags(&directory) {
        let _ = ioctl_setflags(&directory, flags | IFlags::TOPDIR);
    }
}
