//! Facts about the machine and its file systems: identity, free space, and stamps of files.
//!
//! A *stamp* consists of a file's length, times and inode, and shows cheaply whether the file is unchanged.
//!
//! The clock of a file system has ticks: some milliseconds on most file systems, one second on ext3 and HFS+, two seconds
//! on FAT. Two writes within one tick give the same stamp. Therefore a stamp is reliable only if it was taken after the
//! tick of the last write ([`time_until_settled`]).

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use serde::{Deserialize, Serialize};

/// Returns the host name, if the system provides it.
pub fn host() -> Option<String> {
    line("/proc/sys/kernel/hostname")
}

/// Returns the identifier of the current boot, if the system provides it.
pub fn boot() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

/// Returns the only line of a file, without spaces around it. `None` if the line is empty.
fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Magic numbers (in `statfs`) of file systems that only one machine at a time can mount.
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

/// Returns whether other machines may see the file system of `path`. A lock on such a file system may apply to one machine
/// only. Returns `true` for an unknown file system.
#[cfg(target_os = "linux")]
pub fn is_shared(path: &Path) -> bool {
    let number = rustix::fs::statfs(path).map(|stat| stat.f_type);
    // Architectures differ in the type of `f_type`, but its lower 32 bits are always defined.
    number.map_or(true, |number| {
        let number = number as u64 & u64::from(u32::MAX);
        !LOCAL_FILE_SYSTEMS
            .iter()
            .any(|one| u64::from(*one) == number)
    })
}

#[cfg(not(target_os = "linux"))]
/// Always returns `true`, because this operating system does not report the file system's type.
pub fn is_shared(_: &Path) -> bool {
    true
}

/// Creates a directory and its parents if they do not exist.
///
/// # Errors
/// Same as for [`fs::create_dir_all`]. If a dangling symbolic link is in the way, the error names the link.
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

/// Returns the number of bytes that an ordinary user can still write to the file system of `path` or of its nearest
/// existing ancestor. `None` if the system does not report them.
pub fn free_space(path: &Path) -> Option<u64> {
    let stat = file_system(path)?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

/// Returns whether the file system of `path`, or of its nearest existing ancestor, cannot hold another file. Some file
/// systems limit the number of inodes, and therefore of files.
pub fn lacks_inodes(path: &Path) -> bool {
    file_system(path).is_some_and(|stat| stat.f_files > 0 && stat.f_favail == 0)
}

fn file_system(path: &Path) -> Option<rustix::fs::StatVfs> {
    // The parent of a relative path with one component is the empty path, which cannot be examined.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find(|path| path.exists())?;
    rustix::fs::statvfs(found).ok()
}

/// A duration that is longer than the clock tick of any kernel.
pub const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The coarsest resolution of a file system: that of FAT.
const COARSEST_RESOLUTION: Duration = Duration::from_secs(2);

/// The state of a file at one time. If length, times and inode are unchanged, the bytes are assumed to be unchanged.
///
/// Programs can set the modification time, but not the change time. Renaming, linking and `chmod` update the change time,
/// so the file is read again although its bytes are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub(crate) len: u64,
    /// Nanoseconds since 1970, negative for earlier times.
    pub(crate) modified: i64,
    pub(crate) inode: u64,
    /// Change time in nanoseconds since 1970. `None` for the store's own files, because hard links to an object update this
    /// time. Also `None` in records of old versions of `prep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<i64>,
}

impl Stamp {
    pub(crate) fn without_file(len: u64) -> Self {
        Self {
            len,
            modified: 0,
            inode: 0,
            changed: None,
        }
    }

    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: modification_time(metadata),
            inode: metadata.ino(),
            changed: None,
        }
    }

    /// Returns the stamp of a file outside the store.
    pub fn of_outside(metadata: &Metadata) -> Self {
        Self {
            changed: Some(nanoseconds(metadata.ctime(), metadata.ctime_nsec())),
            ..Self::from_metadata(metadata)
        }
    }

    /// Returns the time from `now` until every later write is certain to change this stamp.
    pub fn time_until_settled(&self, now: SystemTime) -> Duration {
        match self.changed {
            Some(changed) => time_until_settled(&[self.modified, changed], now),
            None => time_until_settled(&[self.modified], now),
        }
    }

    /// Returns whether a file with the earlier stamp `self` is unchanged. Ignores an unknown change time.
    pub(crate) fn agrees_with(self, now: Stamp) -> bool {
        let now = match self.changed {
            Some(_) => now,
            None => Stamp {
                changed: None,
                ..now
            },
        };
        self == now
    }
}

/// Returns how long a caller must wait from `now`, so that every later write changes the times of a file. `times` are the
/// file's modification and change time, in nanoseconds since 1970.
///
/// The wait is one tick of the file system's clock, minus the time since the last write. Many trailing zeros in `times`
/// indicate a long tick. The time with the fewest zeros determines the tick, because a program may have set the modification
/// time to a full second.
///
/// A time in the future, from a machine whose clock is ahead, is treated as a write that happens now.
pub fn time_until_settled(times: &[i64], now: SystemTime) -> Duration {
    let resolution = times.iter().map(|time| resolution_of(*time)).min();
    let resolution = resolution.unwrap_or_default();
    let now = nanoseconds_of(now);
    let remaining = times.iter().map(|time| {
        let age = u64::try_from(now.saturating_sub(*time)).unwrap_or(0);
        resolution.saturating_sub(Duration::from_nanos(age))
    });
    remaining.max().unwrap_or_default()
}

/// Returns whether a time may come from a clock with a longer tick than [`CLOCK_TICK`].
pub fn is_coarse(time: i64) -> bool {
    resolution_of(time) > CLOCK_TICK
}

/// Estimates a clock's resolution from the trailing zeros of a time, at least [`CLOCK_TICK`].
fn resolution_of(time: i64) -> Duration {
    const SECOND: i64 = 1_000_000_000;
    if time % SECOND == 0 {
        return COARSEST_RESOLUTION;
    }
    let mut step = 1;
    while time % (step * 10) == 0 {
        step *= 10;
    }
    Duration::from_nanos(step.unsigned_abs()).max(CLOCK_TICK)
}

/// Returns the modification time of a file in nanoseconds since 1970.
pub fn modification_time(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

/// Converts a time to nanoseconds since 1970. Returns 0 for a time before 1970.
fn nanoseconds_of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
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

#[cfg(test)]
mod stamp_tests {
    use super::*;

    #[test]
    fn stamps_without_a_change_time_compare_the_other_fields() {
        let record = r#"{"len":1,"modified":2,"inode":3}"#;
        let record: Stamp = serde_json::from_str(record).unwrap();
        let now = Stamp {
            changed: Some(5),
            ..record
        };
        assert!(record.agrees_with(now));
        assert!(!record.agrees_with(Stamp { len: 2, ..now }));
        assert!(now.agrees_with(now));
        let later = Stamp {
            changed: Some(6),
            ..now
        };
        assert!(!now.agrees_with(later));
    }

    /// For each resolution of the clock, a write after the returned duration gets a different time.
    #[test]
    fn a_settled_stamp_changes_with_every_later_write() {
        const MILLISECOND: i64 = 1_000_000;
        let written = 1_700_000_001_234_567_891;
        for resolution in [
            1,
            100,
            1_000,
            MILLISECOND,
            10 * MILLISECOND,
            100 * MILLISECOND,
            1_000 * MILLISECOND,
            2_000 * MILLISECOND,
        ] {
            let on_disk = |time: i64| time - time % resolution;
            for delay in [
                0,
                3 * MILLISECOND,
                150 * MILLISECOND,
                900 * MILLISECOND,
                1_900 * MILLISECOND,
                5_000 * MILLISECOND,
            ] {
                let taken = written + delay;
                let now = UNIX_EPOCH + Duration::from_nanos(taken.unsigned_abs());
                let wait = time_until_settled(&[on_disk(written)], now);
                let settled = taken + i64::try_from(wait.as_nanos()).unwrap();
                assert_ne!(
                    on_disk(settled),
                    on_disk(written),
                    "resolution {resolution} ns, delay {delay} ns"
                );
                assert!(wait <= COARSEST_RESOLUTION);
            }
        }
    }

    /// Each case has the times of a file, and the remaining wait in milliseconds at the time `now`.
    #[test]
    fn the_finest_time_shows_the_resolution() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let (seconds, fine) = (999_000_000_000, 999_500_000_001);
        for (times, expected) in [
            (&[seconds][..], 1_000),
            (&[seconds, seconds], 1_000),
            // A program set the modification time.
            (&[seconds, fine], 0),
            (&[fine], 0),
            // The zeros suggest ticks of 10 ms, but a tick is assumed to take at least 20 ms, of which 10 ms have passed.
            (&[999_990_000_000], 10),
            // The time is from a clock that is ahead.
            (&[2_000_000_000_001], 20),
            (&[i64::MIN], 0),
            (&[i64::MAX], 20),
            (&[], 0),
        ] {
            let found = time_until_settled(times, now);
            assert_eq!(found, Duration::from_millis(expected), "{times:?}");
        }
    }
}
