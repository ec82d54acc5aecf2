//! Limits on what foreign bytes may demand of memory, disk and time.
//!
//! Foreign bytes are all bytes that this project did not write: bundles, submissions, prepared directories of other people,
//! answers of servers. A few kilobytes of them can declare terabytes. Every decoder therefore checks the numbers that it reads
//! against [`Limits`] before it allocates, repeats or descends, and fails with [`LimitExceeded`].
//!
//! A limit decides whether bytes are decoded, never what they are decoded to: with more memory the same bytes give the same
//! result or an error less.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, Read};

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Archives inside archives.
    Nesting,
    /// Members of an archive.
    Members,
    /// Bytes of a list of members that is packed itself, in relation to its packed bytes.
    Listing,
    /// Bytes that an archive unpacks to.
    Unpacked,
    /// Bytes of a member that is copied to a temporary file, because it cannot be read in place.
    Spooled,
    /// Pixels of an image.
    Pixels,
    /// Cells of a table: a row that lacks columns, or a column that is stored as one value, has cells that take no bytes.
    Cells,
    /// Bytes of memory for one record: a line, a JSON value, a variable of a MATLAB file ...
    Record,
}

/// What raises a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A larger memory budget.
    Memory,
    /// More free disk space.
    Disk,
}

impl Limit {
    /// The budget that this limit is derived from. `None` for a constant, which only bytes that are made to do harm exceed.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Limit::Nesting | Limit::Unpacked | Limit::Cells => None,
            Limit::Members | Limit::Listing | Limit::Pixels | Limit::Record => {
                Some(Resource::Memory)
            }
            Limit::Spooled => Some(Resource::Disk),
        }
    }
}

/// Foreign bytes demand more than a limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Which limit.
    pub limit: Limit,
    /// Its value.
    pub allowed: u64,
    /// What the bytes demand, at least.
    pub found: u64,
}

impl LimitExceeded {
    /// The exceeded limit that is behind an error, if one is; also inside of an [`io::Error`].
    pub fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a LimitExceeded> {
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
            Limit::Members => write!(f, "the archive has {found} members or more"),
            Limit::Listing => write!(f, "the list of members unpacks to {found} bytes"),
            Limit::Unpacked => write!(f, "the archive unpacks to {found} bytes or more"),
            Limit::Spooled => write!(f, "a member has {found} bytes or more to be copied to disk"),
            Limit::Pixels => write!(f, "the image has {found} pixels"),
            Limit::Cells => write!(f, "the table has {found} cells"),
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
    /// For implementations of [`Read`]. The kind says what raises the limit; [`LimitExceeded::behind`] finds the error again.
    fn from(error: LimitExceeded) -> Self {
        let kind = match error.limit.resource() {
            Some(Resource::Memory) => io::ErrorKind::OutOfMemory,
            Some(Resource::Disk) => io::ErrorKind::StorageFull,
            None => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// Limits for everything that decodes foreign bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// [`Limit::Nesting`]: 1 is an archive, 2 an archive in an archive.
    pub nesting: u64,
    /// [`Limit::Members`], those with a path of 128 bytes or more counted once for every 128 bytes of it.
    pub members: u64,
    /// [`Limit::Unpacked`], as far as it does not depend on the archive's length ...
    pub unpacked: u64,
    /// ... and how many times the archive's length is added.
    pub ratio: u64,
    /// [`Limit::Spooled`].
    pub spooled: u64,
    /// [`Limit::Pixels`].
    pub pixels: u64,
    /// [`Limit::Record`].
    pub record: u64,
}

/// Kaggle's bundles have up to three levels.
const MAX_NESTING: u64 = 8;
/// An archive may unpack to this, whatever its length ...
const ALWAYS_UNPACKED: u64 = 1 << 30;
/// ... and to as many times its length more. Tables of text reach 20; archives made to fill disks 1,000.
const MAX_RATIO: u64 = 100;
/// A table may have this many cells, whatever the length of its file ...
const ALWAYS_CELLS: u64 = 1 << 24;
/// ... and for each byte of a longer one so many.
const CELLS_PER_BYTE: u64 = 64;
/// The budgets of [`Limits::default`].
const DEFAULT_MEMORY: u64 = 1 << 30;
const DEFAULT_DISK: u64 = 16 << 30;
/// Bytes of memory for a member of a listing, its path included.
const MEMBER_BYTES: u64 = 128;
/// Bytes of memory for a pixel while it is decoded: four samples of two bytes, twice.
const PIXEL_BYTES: u64 = 16;

impl Limits {
    /// Limits from the memory that decoding may take and the free disk space, both in bytes.
    ///
    /// One record and one image may take a quarter of the memory, a listing of members half of it, a copy of a member a
    /// quarter of the disk. Lower and upper bounds keep ordinary bundles readable with little memory, and hostile ones cheap
    /// with much.
    pub fn from_budgets(memory: u64, disk: u64) -> Self {
        Self {
            nesting: MAX_NESTING,
            members: (memory / 2).clamp(256 << 20, 4 << 30) / MEMBER_BYTES,
            unpacked: ALWAYS_UNPACKED,
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
            Limit::Unpacked => self.unpacked,
            Limit::Spooled => self.spooled,
            Limit::Pixels => self.pixels,
            Limit::Cells => ALWAYS_CELLS,
            Limit::Record => self.record,
        }
    }

    /// Checks a number that foreign bytes declare.
    ///
    /// # Errors
    /// `found` is larger than the limit.
    pub fn check(&self, limit: Limit, found: u64) -> Result<(), LimitExceeded> {
        check(limit, self.value(limit), found)
    }

    /// Checks the number of cells of a table in a file of `bytes` bytes.
    ///
    /// # Errors
    /// [`Limit::Cells`], when it has more than 16 million, and more than 64 for each byte.
    pub fn check_cells(&self, bytes: u64, cells: u64) -> Result<(), LimitExceeded> {
        let allowed = bytes.saturating_mul(CELLS_PER_BYTE).max(ALWAYS_CELLS);
        check(Limit::Cells, allowed, cells)
    }

    /// Checks the size of a record that is stored in `packed` bytes: [`Limit::Record`], or the ratio of archives if that
    /// allows more.
    ///
    /// # Errors
    /// `unpacked` is larger than both.
    pub fn check_packed_record(&self, packed: u64, unpacked: u64) -> Result<(), LimitExceeded> {
        let allowed = self.ratio.saturating_mul(packed).max(self.record);
        check(Limit::Record, allowed, unpacked)
    }

    /// What the members of an archive of `archive` bytes may demand together. Archives inside it may share the budget.
    pub fn budget(&self, archive: u64) -> ArchiveBudget {
        let by_ratio = self.ratio.saturating_mul(archive);
        ArchiveBudget {
            members: Count::new(Limit::Members, self.members),
            unpacked: Count::new(Limit::Unpacked, self.unpacked.saturating_add(by_ratio)),
        }
    }
}

impl Default for Limits {
    /// Those for a small machine: 1 GiB of memory, 16 GiB of disk.
    fn default() -> Self {
        Self::from_budgets(DEFAULT_MEMORY, DEFAULT_DISK)
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

/// A sum that stays below a limit.
#[derive(Debug, Clone)]
struct Count {
    limit: Limit,
    allowed: u64,
    sum: Cell<u64>,
}

impl Count {
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

/// What the members of an archive may still demand. [`Limits::budget`] makes it.
#[derive(Debug, Clone)]
pub struct ArchiveBudget {
    members: Count,
    unpacked: Count,
}

impl ArchiveBudget {
    /// Adds a member with its declared size in bytes, 0 for a directory.
    ///
    /// # Errors
    /// The members seen so far are too many, or unpack to too many bytes.
    pub fn add(&self, path: &str, bytes: u64) -> Result<(), LimitExceeded> {
        self.members.add(1 + path.len() as u64 / 128)?;
        self.unpacked.add(bytes)
    }

    /// Adds bytes of a member whose size no header declares.
    ///
    /// # Errors
    /// The members unpack to too many bytes.
    pub fn add_bytes(&self, bytes: u64) -> Result<(), LimitExceeded> {
        self.unpacked.add(bytes)
    }

    /// Checks a list of members that is packed itself, before it is unpacked: the codec makes a record of each of its bytes
    /// if they say so. Real lists pack by 5 to 15.
    ///
    /// # Errors
    /// [`Limit::Listing`], when it unpacks to more than 256 KiB and 24 times its bytes, or to 2 bytes for each member that may
    /// be (16 MiB, if that is more).
    pub fn check_header(&self, packed: u64, unpacked: u64) -> Result<(), LimitExceeded> {
        let by_ratio = packed.saturating_mul(24).saturating_add(1 << 18);
        let by_members = self.members.allowed.saturating_mul(2).max(16 << 20);
        check(Limit::Listing, by_ratio.min(by_members), unpacked)
    }
}

/// Reads from `inner` until it has given more bytes than a limit allows; then reading fails with [`LimitExceeded`].
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    limit: Limit,
    allowed: u64,
    seen: u64,
}

impl<R: Read> Bounded<R> {
    /// At most as many bytes as `limits` allow for `limit`.
    pub fn new(inner: R, limits: &Limits, limit: Limit) -> Self {
        Self {
            inner,
            limit,
            allowed: limits.value(limit),
            seen: 0,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than allowed is read, to tell an end from an excess.
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
    fn an_excess_is_told_with_limit_value_and_resource() {
        let limits = Limits::default();
        assert_eq!(limits.check(Limit::Nesting, 8), Ok(()));
        let error = limits.check(Limit::Nesting, 9).unwrap_err();
        let message = "archives are nested 9 deep, over the limit of 8";
        assert_eq!(error.to_string(), message);
        let small = Limits::from_budgets(64 << 20, 1 << 30);
        let error = small.check(Limit::Record, 1 << 30).unwrap_err();
        assert_eq!((error.allowed, error.found), (64 << 20, 1 << 30));
        let inside = io::Error::from(error);
        assert_eq!(inside.kind(), io::ErrorKind::OutOfMemory);
        let outside = io::Error::other(inside);
        assert_eq!(LimitExceeded::behind(&outside), Some(&error));
        assert_eq!(LimitExceeded::behind(&io::Error::other("x")), None);
    }

    #[test]
    fn a_budget_counts_members_long_paths_and_bytes() {
        let limits = Limits {
            members: 4,
            unpacked: 100,
            ratio: 10,
            ..Limits::default()
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
    fn a_bounded_reader_fails_beyond_the_limit_and_not_at_it() {
        let limits = Limits {
            record: 5,
            ..Limits::default()
        };
        for (length, whole) in [(0, true), (4, true), (5, true), (6, false), (900, false)] {
            let content = vec![1; length];
            let mut bytes = Vec::new();
            let read =
                Bounded::new(content.as_slice(), &limits, Limit::Record).read_to_end(&mut bytes);
            assert_eq!(read.is_ok(), whole, "{length}");
            if let Err(error) = read {
                assert!(LimitExceeded::behind(&error).is_some());
                assert!(bytes.len() <= 6);
            }
        }
    }
}
