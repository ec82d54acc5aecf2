//! Facts about the machine and its file systems: its identity, free space, and whether other machines may see a file
//! system. Creates directories.

use std::io::ErrorKind;
use std::path::Path;
use std::{fs, io};

/// Returns the host name, if the system provides it.
pub fn host() -> Option<String> {
    line("/proc/sys/kernel/hostname")
}

/// Returns the identifier of the current boot, if the system provides it.
pub fn boot() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// File systems that only one machine at a time can mount, by their magic number in `statfs`.
#[cfg(target_os = "linux")]
const LOCAL_FILE_SYSTEMS: [u32; 19] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x0102_1994, // tmpfs
    0x8584_58F6, // ramfs
    0x794C_7630, // overlayfs
    0x2FC1_2FC1, // ZFS
    0xF2F5_2010, // F2FS
    0xCA45_1A4E, // bcachefs
    0x5265_4973, // ReiserFS
    0x3153_464A, // JFS
    0x3434,      // NILFS
    0x2011_BAB0, // exFAT
    0x4D44,      // FAT
    0x5346_544E, // NTFS
    0x7366_746E, // NTFS3
    0x482B,      // HFS+
    0x9660,      // ISO 9660
    0x7371_7368, // squashfs
];

/// Returns whether other machines may see the file system of `path`. On such a file system, a lock of the operating
/// system may apply to one machine only. Returns `true` if the type of the file system is unknown.
#[cfg(target_os = "linux")]
pub fn is_shared(path: &Path) -> bool {
    let number = rustix::fs::statfs(path).map(|stat| stat.f_type);
    // The type of `f_type` differs between architectures, but its lower 32 bits are always defined.
    number.map_or(true, |number| {
        let number = number as u64 & u64::from(u32::MAX);
        !LOCAL_FILE_SYSTEMS
            .iter()
            .any(|one| u64::from(*one) == number)
    })
}

#[cfg(not(target_os = "linux"))]
/// Returns whether other machines may see the file system of `path`. Always `true`, because its type is unknown on this
/// system.
pub fn is_shared(_: &Path) -> bool {
    true
}

/// Creates a directory and its parents if they do not exist.
///
/// # Errors
/// Same as for [`fs::create_dir_all`]. If a dangling symbolic link is in the way, the error names the link, because the
/// system only reports that a file exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let created = fs::create_dir_all(path);
    created.map_err(|error| {
        let dangling = path.ancestors().find_map(|link| {
            let target = fs::read_link(link).ok()?;
            let is_dangling = link.metadata().is_err();
            is_dangling.then(|| {
                let (link, target) = (link.display(), target.display());
                format!("{link} is a link to {target}, which does not exist")
            })
        });
        dangling.map_or(error, |text| io::Error::new(ErrorKind::NotFound, text))
    })
}

/// Returns the number of bytes that an ordinary user can still write to the file system of `path`, or of its nearest
/// existing ancestor. `None` if the system does not report it.
pub fn free_space(path: &Path) -> Option<u64> {
    // The parent of a relative path with one component is the empty path, which cannot be examined.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(found).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn only_known_local_file_systems_are_not_shared() {
        assert!(is_shared(Path::new("/proc")));
        assert!(is_shared(Path::new("/no/such/directory")));
        if Path::new("/dev/shm").is_dir() {
            assert!(!is_shared(Path::new("/dev/shm")));
        }
    }

    #[test]
    fn missing_directory_has_the_space_of_its_ancestor() {
        for path in ["not-there", "not/there/either", ".", "/", "/not-there/a"] {
            assert!(free_space(Path::new(path)).is_some(), "{path}");
        }
    }
}
