//! Temporary directories of tests, in different parts of the disk.
//!
//! ext4 without a journal does not reuse an inode for a minute. The creation of a file searches past all freed
//! inodes of its block group.
//!
//! Directories directly below `/tmp` would share a block group, so each test would search past the files of all earlier tests.
//! ext4 spreads directories over block groups if their parent has the attribute `TOPDIR`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use tempfile::{Builder, TempDir};

/// Creates a directory, which the test removes at its end.
pub fn directory() -> TempDir {
    static PARENT: OnceLock<PathBuf> = OnceLock::new();
    let parent = PARENT.get_or_init(|| parent().unwrap_or_else(std::env::temp_dir));
    let directory = Builder::new().prefix("prep-test-").tempdir_in(parent);
    directory.expect("temporary directory")
}

/// Returns the parent of all temporary directories of this user's tests, or `None` if the parent belongs to somebody else.
fn parent() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let parent = std::env::temp_dir().join(format!("prep-tests-{user}"));
    // The parent exists if a test has run before.
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

/// Sets `TOPDIR`. File systems other than ext4 neither have nor need this attribute.
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
