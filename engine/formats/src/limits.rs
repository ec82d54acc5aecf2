//! Limits on the memory, disk space and time that untrusted bytes can demand.
//!
//! Bytes are untrusted if this project did not write them. An archive of a few kilobytes can declare terabytes.
//!
//! Decoders compare declared numbers with [`DecodingLimits`] before they allocate, loop or descend. A limit never changes
//! decoded values.

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
    /// Number of members of an archive, because the list of members takes memory.
    Members,
    /// Number of members of an archive, relative to its length in bytes.
    MembersByLength,
    /// Uncompressed bytes of a compressed list of members: the header of a 7z archive.
    Listing,
    /// Uncompressed bytes of all members of an archive.
    Unpacked,
    /// Bytes of a member that is copied to a temporary file, because its format cannot be read in place.
    Spooled,
    /// Pixels of an image.
    Pixels,
    /// Cells of a table. A small file can have many cells: short rows are padded, and repeated values may be stored once.
    Cells,
    /// Columns of a table. Each takes about a kilobyte of memory.
    Columns,
    /// Bytes of memory for one record, for example a line, a JSON value or a variable of a MATLAB file.
    Record,
}

/// A resource that raises a limit if more of it is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The memory budget.
    Memory,
    /// The free disk space.
    Disk,
}

impl Limit {
    /// Returns the resource on which this limit depends, or `None` for a constant limit.
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
    /// The amount that the bytes demand, or a lower bound of the amount.
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
                "a member that must be copied to disk has {found} bytes or more"
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
    /// Converts the error for use in [`Read`]. [`LimitExceeded::find_in`] recovers it.
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
    /// [`Limit::Members`]. A long path counts like additional members, one for every 128 bytes of the path.
    pub members: u64,
    /// The part of [`Limit::Unpacked`] that does not depend on the archive, in bytes.
    pub unpacked: u64,
    /// The proportional part of [`Limit::Unpacked`]: uncompressed bytes for each byte of the archive.
    pub ratio: u64,
    /// [`Limit::Spooled`], in bytes.
    pub spooled: u64,
    /// [`Limit::Pixels`].
    pub pixels: u64,
    /// [`Limit::Record`], in bytes.
    pub record: u64,
}

/// More deeply nested archives are an error. Kaggle's archives have up to three levels.
const MAX_NESTING: u64 = 8;
/// Number of bytes to which even the shortest archive may unpack.
const MIN_UNPACKED_BYTES: u64 = 1 << 30;
/// Number of additional uncompressed bytes that each byte of an archive allows. Text tables reach a ratio of 20, and
/// decompression bombs about 1,000.
const MAX_RATIO: u64 = 100;
/// Number of members that even the shortest archive may have, if memory suffices.
const MIN_MEMBERS: u64 = 1 << 16;
/// Number of bytes of an archive that allow one more member. An empty member in a compressed archive takes about 12 bytes.
const BYTES_PER_MEMBER: u64 = 4;
/// Number of cells that even the table in the shortest file may have.
const MIN_CELLS: u64 = 1 << 24;
/// A longer file may have this number of cells for each of its bytes.
const CELLS_PER_BYTE: u64 = 64;
const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
const DEFAULT_DISK_BYTES: u64 = 16 << 30;
/// Bytes of memory for a member in a list of members, including its path.
const MEMBER_BYTES: u64 = 128;
/// Bytes of memory for a pixel during decoding: two copies of four samples of two bytes.
const PIXEL_BYTES: u64 = 16;

impl DecodingLimits {
    /// Computes limits from the memory for decoding and the free disk space, both in bytes.
    ///
    /// Lower bounds keep ordinary files readable on small systems. Upper bounds limit the cost of hostile files.
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

    /// Returns the value of a limit. If the limit also depends on the length of the file, returns only the constant part.
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

    /// Checks the compressed size `packed` and the uncompressed size `unpacked` of a record.
    ///
    /// # Errors
    /// [`LimitExceeded`] if `unpacked` exceeds both [`Limit::Record`] and [`DecodingLimits::ratio`] times `packed`.
    pub fn check_packed_record(&self, packed: u64, unpacked: u64) -> Result<(), LimitExceeded> {
        let allowed = self.ratio.saturating_mul(packed).max(self.record);
        check(Limit::Record, allowed, unpacked)
    }

    /// Creates the budget for the members of an archive of `archive` bytes. Inner archives may share the budget.
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

/// A sum that must not exceed `allowed`.
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

/// The number of members and bytes that an archive may still produce. See [`DecodingLimits::budget`].
#[derive(Debug, Clone)]
pub struct ArchiveBudget {
    members: Counter,
    unpacked: Counter,
}

impl ArchiveBudget {
    /// Counts a member. `bytes` is the uncompressed size that the member's header declares, or 0 for a directory.
    ///
    /// # Errors
    /// [`LimitExceeded`] if the number of members counted so far, or the sum of their uncompressed sizes, is too large.
    pub fn add(&self, path: &str, bytes: u64) -> Result<(), LimitExceeded> {
        self.members.add(1 + path.len() as u64 / 128)?;
        self.unpacked.add(bytes)
    }

    /// Counts bytes of a member whose header does not declare its size.
    pub fn add_bytes(&self, bytes: u64) -> Result<(), LimitExceeded> {
        self.unpacked.add(bytes)
    }

    /// Checks the size of a compressed list of members before it is decoded, because the decoder may allocate a record for
    /// each unpacked byte. `packed` and `unpacked` are the compressed and the uncompressed size in bytes.
    ///
    /// # Errors
    /// [`Limit::Listing`] if `unpacked` exceeds 256 KiB plus 24 times `packed`, or if `unpacked` exceeds both 16 MiB and 2
    /// bytes per allowed member.
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
    /// Number of bytes read so far.
    seen: u64,
}

impl<R: Read> BoundedReader<R> {
    /// Reads from `inner`. Fails after the number of bytes that `limits` allow for `limit`.
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
        // Reads one byte more than allowed, to distinguish the end of the input from an excess.
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
