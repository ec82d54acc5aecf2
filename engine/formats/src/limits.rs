//! Limits on the memory, disk space and time that untrusted bytes can demand.
//!
//! Bytes are untrusted if this project did not write them: bundles, submissions, other people's prepared directories,
//! responses of servers. A file of a few kilobytes can declare terabytes of content. Every decoder therefore checks
//! declared numbers against [`DecodingLimits`] before it allocates, loops or descends, and fails with
//! [`LimitExceeded`].
//!
//! A limit only decides whether bytes are decoded; it never changes the decoded values. Raising a limit can only turn
//! an error into a result.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, Read};

use crate::pandas::MAX_COLUMNS;

/// A quantity with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Depth of archives inside archives.
    Nesting,
    /// Number of members of an archive, to limit the memory of the list of members.
    Members,
    /// Number of members of an archive, in proportion to its length.
    MembersByLength,
    /// Uncompressed bytes of a compressed list of members (the header of a 7z archive).
    Listing,
    /// Uncompressed bytes of all members of an archive.
    Unpacked,
    /// Bytes of a member that is copied to a temporary file, because its format cannot be read in place.
    Spooled,
    /// Pixels of an image.
    Pixels,
    /// Cells of a table. A small file can result in many cells, because short rows are padded to the length of the
    /// header, and a column of identical values may be stored as one value.
    Cells,
    /// Columns of a table. Each of them takes about a kilobyte.
    Columns,
    /// Bytes of memory for one record, for example a line, a JSON value or a variable of a MATLAB file.
    Record,
}

/// The resource on which a limit depends. More of the resource raises the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The memory budget.
    Memory,
    /// The free disk space.
    Disk,
}

impl Limit {
    /// Returns the resource on which this limit depends. `None` for a constant limit, which no ordinary file exceeds.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Limit::Nesting
            | Limit::MembersByLength
            | Limit::Unpacked
            | Limit::Cells
            | Limit::Columns => None,
            Limit::Members | Limit::Listing | Limit::Pixels | Limit::Record => {
                Some(Resource::Memory)
            }
            Limit::Spooled => Some(Resource::Disk),
        }
    }
}

/// Untrusted bytes demand more than a limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The value of the limit.
    pub allowed: u64,
    /// The amount that the bytes demand, or a lower bound of it.
    pub found: u64,
}

impl LimitExceeded {
    /// Searches the causes of an error for an exceeded limit, including causes inside an [`io::Error`].
    pub fn find_in<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a LimitExceeded> {
        prep_failure::causes(error).find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limit,
            allowed,
            found,
        } = self;
        match limit {
            Limit::Nesting => write!(f, "archives are nested {found} deep"),
            Limit::Members | Limit::MembersByLength => {
                write!(f, "the archive has {found} members or more")
            }
            Limit::Listing => write!(f, "the list of members unpacks to {found} bytes"),
            Limit::Unpacked => write!(f, "the archive unpacks to {found} bytes or more"),
            Limit::Spooled => write!(
                f,
                "a member of {found} bytes or more must be copied to disk"
            ),
            Limit::Pixels => write!(f, "the image has {found} pixels"),
            Limit::Cells => write!(f, "the table has {found} cells"),
            Limit::Columns => write!(f, "the table has {found} columns"),
            Limit::Record => write!(f, "one record takes {found} bytes of memory or more"),
        }?;
        write!(f, ", over the limit of {allowed}")?;
        match limit.resource() {
            Some(Resource::Memory) => f.write_str(", which follows from the memory budget"),
            Some(Resource::Disk) => f.write_str(", which follows from the free disk space"),
            None => Ok(()),
        }
    }
}

impl Error for LimitExceeded {}

impl From<LimitExceeded> for io::Error {
    /// Converts the error to an I/O error, for use in [`Read`]. Its kind depends on [`Limit::resource`].
    /// [`LimitExceeded::find_in`] recovers the original error.
    fn from(error: LimitExceeded) -> Self {
        let kind = match error.limit.resource() {
            Some(Resource::Memory) => io::ErrorKind::OutOfMemory,
            Some(Resource::Disk) => io::ErrorKind::StorageFull,
            None => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// The limits for decoding untrusted bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodingLimits {
    /// [`Limit::Nesting`]: 1 is an archive, 2 is an archive in an archive.
    pub nesting: u64,
    /// [`Limit::Members`]. A path that is longer than 128 bytes is treated like additional members, one for every 128
    /// bytes. A short archive is allowed fewer members, see [`Limit::MembersByLength`].
    pub members: u64,
    /// The constant part of [`Limit::Unpacked`], in bytes.
    pub unpacked: u64,
    /// The part of [`Limit::Unpacked`] that is proportional to the archive: uncompressed bytes for each byte of the
    /// archive.
    pub ratio: u64,
    /// [`Limit::Spooled`], in bytes.
    pub spooled: u64,
    /// [`Limit::Pixels`].
    pub pixels: u64,
    /// [`Limit::Record`], in bytes.
    pub record: u64,
}

/// Maximum depth of nested archives. Kaggle's bundles have up to three levels.
const MAX_NESTING: u64 = 8;
/// Number of bytes to which every archive is allowed to unpack, however short the archive is.
const MIN_UNPACKED_BYTES: u64 = 1 << 30;
/// Additional bytes to which an archive is allowed to unpack, for each byte of its length. Text tables reach a ratio of 20,
/// decompression bombs about 1,000.
const MAX_RATIO: u64 = 100;
/// Number of members that every archive is allowed to have, if the memory budget allows it.
const MIN_MEMBERS: u64 = 1 << 16;
/// An archive is allowed one additional member for each 4 bytes of its length. Ordinary archives have fewer members,
/// because even an empty member in a compressed archive takes about 12 bytes.
const BYTES_PER_MEMBER: u64 = 4;
/// Number of cells that every table is allowed to have, however short its file is.
const MIN_CELLS: u64 = 1 << 24;
/// Number of cells that a table in a longer file is allowed to have, for each byte of the file.
const CELLS_PER_BYTE: u64 = 64;
/// Memory and disk budgets of [`DecodingLimits::default`], in bytes.
const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
const DEFAULT_DISK_BYTES: u64 = 16 << 30;
/// Bytes of memory for a member in a listing, including its path.
const MEMBER_BYTES: u64 = 128;
/// Bytes of memory for a pixel during decoding: two copies of four samples of two bytes.
const PIXEL_BYTES: u64 = 16;

impl DecodingLimits {
    /// Computes limits from the memory that decoding may use and the free disk space, both in bytes.
    ///
    /// One record or image may use a quarter of the memory, a list of members half of it, and the copy of a member a
    /// quarter of the disk. Lower bounds keep ordinary bundles readable on systems with little memory. Upper bounds
    /// limit the cost of hostile bundles on systems with much memory.
    pub fn from_budgets(memory: u64, disk: u64) -> Self {
        Self {
            nesting: MAX_NESTING,
            members: (memory / 2).clamp(256 << 20, 4 << 30) / MEMBER_BYTES,
            unpacked: MIN_UNPACKED_BYTES,
            ratio: MAX_RATIO,
            spooled: disk / 4,
            pixels: (memory / 4).clamp(256 << 20, 1 << 30) / PIXEL_BYTES,
            record: (memory / 4).clamp(64 << 20, 256 << 20),
        }
    }

    fn value(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Nesting => self.nesting,
            Limit::Members | Limit::Listing => self.members,
            Limit::MembersByLength => MIN_MEMBERS,
            Limit::Unpacked => self.unpacked,
            Limit::Spooled => self.spooled,
            Limit::Pixels => self.pixels,
            Limit::Cells => MIN_CELLS,
            Limit::Columns => MAX_COLUMNS as u64,
            Limit::Record => self.record,
        }
    }

    /// Checks a number that untrusted bytes declare.
    ///
    /// # Errors
    /// [`LimitExceeded`] if `found` is larger than the limit.
    pub fn check(&self, limit: Limit, found: u64) -> Result<(), LimitExceeded> {
        check(limit, self.value(limit), found)
    }

    /// Checks the number of cells of a table in a file of `bytes` bytes.
    ///
    /// # Errors
    /// [`Limit::Cells`] if the table has more than 16 million cells and more than 64 cells per byte.
    pub fn check_cells(&self, bytes: u64, cells: u64) -> Result<(), LimitExceeded> {
        let allowed = bytes.saturating_mul(CELLS_PER_BYTE).max(MIN_CELLS);
        check(Limit::Cells, allowed, cells)
    }

    /// Checks the number of columns of a table.
    ///
    /// # Errors
    /// [`Limit::Columns`] if the table has more than 262,144 columns.
    pub fn check_columns(&self, columns: usize) -> Result<(), LimitExceeded> {
        self.check(Limit::Columns, columns as u64)
    }

    /// Checks the size of a record that is stored compressed. It may have the size [`Limit::Record`], or
    /// [`DecodingLimits::ratio`] times its compressed size if that is larger.
    ///
    /// # Errors
    /// [`LimitExceeded`] if `unpacked` is larger than both.
    pub fn check_packed_record(&self, packed: u64, unpacked: u64) -> Result<(), LimitExceeded> {
        let allowed = self.ratio.saturating_mul(packed).max(self.record);
        check(Limit::Record, allowed, unpacked)
    }

    /// Creates the budget for all members of an archive of `archive` bytes. The archives inside this archive can share its
    /// budget, so that the length of the outer archive limits the members of all archives together.
    pub fn budget(&self, archive: u64) -> ArchiveBudget {
        let by_ratio = self.ratio.saturating_mul(archive);
        ArchiveBudget {
            members: match MIN_MEMBERS + archive / BYTES_PER_MEMBER {
                by_length if by_length < self.members => {
                    Counter::new(Limit::MembersByLength, by_length)
                }
                _ => Counter::new(Limit::Members, self.members),
            },
            unpacked: Counter::new(Limit::Unpacked, self.unpacked.saturating_add(by_ratio)),
        }
    }
}

impl Default for DecodingLimits {
    /// Returns the limits for a small computer: 1 GiB of memory, 16 GiB of disk.
    fn default() -> Self {
        Self::from_budgets(DEFAULT_MEMORY_BYTES, DEFAULT_DISK_BYTES)
    }
}

fn check(limit: Limit, allowed: u64, found: u64) -> Result<(), LimitExceeded> {
    if found > allowed {
        return Err(LimitExceeded {
            limit,
            allowed,
            found,
        });
    }
    Ok(())
}

/// A sum that must not exceed a limit.
#[derive(Debug, Clone)]
struct Counter {
    limit: Limit,
    allowed: u64,
    sum: Cell<u64>,
}

impl Counter {
    fn new(limit: Limit, allowed: u64) -> Self {
        Self {
            limit,
            allowed,
            sum: Cell::new(0),
        }
    }

    fn add(&self, more: u64) -> Result<(), LimitExceeded> {
        self.sum.set(self.sum.get().saturating_add(more));
        check(self.limit, self.allowed, self.sum.get())
    }
}

/// The number of members and bytes that an archive may still produce, made by [`DecodingLimits::budget`].
#[derive(Debug, Clone)]
pub struct ArchiveBudget {
    members: Counter,
    unpacked: Counter,
}

impl ArchiveBudget {
    /// Counts a member. `bytes` is the uncompressed size that its header declares, or 0 for a directory.
    ///
    /// # Errors
    /// [`LimitExceeded`] if there are too many members, or if all members so far unpack to too many bytes.
    pub fn add(&self, path: &str, bytes: u64) -> Result<(), LimitExceeded> {
        self.members.add(1 + path.len() as u64 / 128)?;
        self.unpacked.add(bytes)
    }

    /// Counts bytes of a member whose header does not declare its size.
    ///
    /// # Errors
    /// [`LimitExceeded`] if all members so far unpack to too many bytes.
    pub fn add_bytes(&self, bytes: u64) -> Result<(), LimitExceeded> {
        self.unpacked.add(bytes)
    }

    /// Checks the size of a compressed list of members before the codec unpacks it.
    ///
    /// This limits memory, because the codec may allocate one record per unpacked byte. Real lists have compression ratios
    /// of 5 to 15.
    ///
    /// # Errors
    /// [`Limit::Listing`] if `unpacked` exceeds one of two bounds, in bytes. The first is 256 KiB plus 24 times `packed`.
    /// The second is twice the number of allowed members, but at least 16 MiB.
    pub fn check_header(&self, packed: u64, unpacked: u64) -> Result<(), LimitExceeded> {
        let by_ratio = packed.saturating_mul(24).saturating_add(1 << 18);
        let by_members = self.members.allowed.saturating_mul(2).max(16 << 20);
        check(Limit::Listing, by_ratio.min(by_members), unpacked)
    }
}

/// A reader that fails with [`LimitExceeded`] after a limited number of bytes.
#[derive(Debug)]
pub struct BoundedReader<R> {
    inner: R,
    limit: Limit,
    allowed: u64,
    seen: u64,
}

impl<R: Read> BoundedReader<R> {
    /// Reads at most as many bytes from `inner` as `limits` allow for `limit`.
    pub fn new(inner: R, limits: &DecodingLimits, limit: Limit) -> Self {
        Self {
            inner,
            limit,
            allowed: limits.value(limit),
            seen: 0,
        }
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Reads up to one byte more than allowed, to distinguish the end of the input from an excess.
        let left = (self.allowed - self.seen).saturating_add(1);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = self
            .inner
            .read(buffer.get_mut(..length).unwrap_or_default())?;
        let seen = self.seen + count as u64;
        check(self.limit, self.allowed, seen)?;
        self.seen = seen;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_message_shows_limit_value_and_resource() {
        let limits = DecodingLimits::default();
        assert_eq!(limits.check(Limit::Nesting, 8), Ok(()));
        let error = limits.check(Limit::Nesting, 9).unwrap_err();
        let message = "archives are nested 9 deep, over the limit of 8";
        assert_eq!(error.to_string(), message);
        let small = DecodingLimits::from_budgets(64 << 20, 1 << 30);
        let error = small.check(Limit::Record, 1 << 30).unwrap_err();
        assert_eq!((error.allowed, error.found), (64 << 20, 1 << 30));
        let inside = io::Error::from(error);
        assert_eq!(inside.kind(), io::ErrorKind::OutOfMemory);
        let outside = io::Error::other(inside);
        assert_eq!(LimitExceeded::find_in(&outside), Some(&error));
        assert_eq!(LimitExceeded::find_in(&io::Error::other("x")), None);
    }

    #[test]
    fn archive_budget_counts_members_long_paths_and_bytes() {
        let limits = DecodingLimits {
            members: 4,
            unpacked: 100,
            ratio: 10,
            ..DecodingLimits::default()
        };
        let budget = limits.budget(5);
        assert_eq!(budget.add("a", 150), Ok(()));
        let error = budget.add("b", 1).unwrap_err();
        assert_eq!((error.limit, error.found), (Limit::Unpacked, 151));
        let budget = limits.budget(0);
        assert_eq!(budget.add(&"x".repeat(300), 0), Ok(()));
        assert_eq!(budget.add("a", 0), Ok(()));
        let error = budget.add("b", 0).unwrap_err();
        assert_eq!((error.limit, error.found), (Limit::Members, 5));
    }

    #[test]
    fn a_longer_archive_may_have_more_members() {
        let within = |archive, members: u64| {
            let budget = DecodingLimits::default().budget(archive);
            (0..members).find_map(|_| budget.add("a", 0).err())
        };
        let exceeded = |allowed| LimitExceeded {
            limit: Limit::MembersByLength,
            allowed,
            found: allowed + 1,
        };
        assert_eq!(within(0, 65_536), None);
        assert_eq!(within(0, 65_537), Some(exceeded(65_536)));
        assert_eq!(within(4_000, 66_537), Some(exceeded(66_536)));
    }

    #[test]
    fn bounded_reader_fails_only_beyond_the_limit() {
        let limits = DecodingLimits {
            record: 5,
            ..DecodingLimits::default()
        };
        for (length, is_complete) in [(0, true), (4, true), (5, true), (6, false), (900, false)] {
            let content = vec![1; length];
            let mut bytes = Vec::new();
            let read = BoundedReader::new(content.as_slice(), &limits, Limit::Record)
                .read_to_end(&mut bytes);
            assert_eq!(read.is_ok(), is_complete, "{length}");
            if let Err(error) = read {
                assert!(LimitExceeded::find_in(&error).is_some());
                assert!(bytes.len() <= 6);
            }
        }
    }
}
