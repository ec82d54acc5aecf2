//! Reads prepared data in any format: files, members of archives, rows of tables. The audit, the comparison of
//! directories and the search for leaks read data through this crate.
//!
//! ```text
//! error      errors by cause: content, limits, system
//! read       bytes in chunks: comparing, hashing
//! listing    the files of a directory                  entries   each file of a directory, and members of its archives
//! packing    how zip, tar and gzip archives store their members
//! archive    the members of zip, tar, 7z and gzip      members   differences between the members of two archives
//! pixels     decoded images
//! table/     a file as rows of cells: CSV, lines, JSON, BSON, Parquet, arrays
//! pairing/   two tables: common columns, and pairs of rows
//! ```
//!
//! Content is not trusted: every number in it is compared with [`DecodingLimits`] before the code allocates memory,
//! loops or opens a nested archive because of it. Memory is bounded: files are read in chunks, a member that must be
//! read more than once is copied to a temporary file, and a table needs one hash per differing row. Unreadable content
//! is an error, never guessed.

pub mod archive;
pub mod entries;
mod error;
pub mod listing;
pub mod members;
pub mod packing;
pub mod pairing;
pub mod pixels;
pub mod read;
pub mod table;

use std::path::Path;

pub use error::{ContentsError, Result};
pub use prep_formats::limits::DecodingLimits;
use prep_formats::limits::Limit;
pub use table::{Format, Row, Rows, TableReader};

/// Limits for reading untrusted content.
#[derive(Debug, Clone, Copy)]
pub struct Resources<'a> {
    pub limits: DecodingLimits,
    /// A directory for copies of members that cannot be read in place.
    pub temp: &'a Path,
}

impl Resources<'_> {
    /// Checks the nesting depth of an archive: 1 for an archive, 2 for an archive in an archive.
    ///
    /// # Errors
    /// Returns [`ContentsError::Limit`] if the depth exceeds the limit.
    pub fn check_nesting(&self, depth: u64) -> Result<()> {
        let checked = self.limits.check(Limit::Nesting, depth);
        checked.map_err(ContentsError::Limit)
    }
}
