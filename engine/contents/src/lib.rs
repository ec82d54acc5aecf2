//! Reads prepared data in any format: files, members of archives, rows of tables. The audit, the comparison of
//! directories and the search for leaks read data through this crate.
//!
//! ```text
//! error      errors by cause: content, limits, system
//! read       bytes in chunks: comparing, hashing
//! listing    the files of a directory                  entries   each file of a directory, and members of its archives
//! members    differences between the members of two archives
//! pixels     decoded images                            parallel  many items on several threads
//! table/     a file as rows of cells: CSV, lines, JSON, BSON, Parquet, arrays
//! pairing/   two tables: common columns, and pairs of rows
//! ```
//!
//! Content is not trusted: every number in it is compared with [`DecodingLimits`] before the code allocates memory,
//! loops or opens a nested archive because of it. Memory is bounded: files are read in chunks, a member that must be
//! read more than once is copied to a temporary file, and a table needs one hash per differing row. Unreadable content
//! is an error, never guessed.

pub mod entries;
mod error;
pub mod listing;
pub mod members;
pub mod pairing;
pub mod parallel;
pub mod pixels;
pub mod read;
pub mod table;

use std::path::Path;

pub use error::{ContentsError, Result};
pub use prep_formats::archive::ArchiveFormat;
pub use prep_formats::limits::DecodingLimits;
use prep_formats::limits::{ArchiveBudget, Limit};
pub use table::{Format, Row, Rows, TableReader};

/// A comparison reads an archive twice: for the hashes of its members, and for the members that differ.
const COMPARISON_PASSES: u64 = 2;

/// Limits for reading untrusted content.
#[derive(Debug, Clone, Copy)]
pub struct Resources<'a> {
    pub limits: DecodingLimits,
    /// A directory for copies of members that cannot be read in place.
    pub temp: &'a Path,
}

impl Resources<'_> {
    /// Creates the budget for comparing two files, which may be archives.
    ///
    /// # Errors
    /// If a file cannot be accessed.
    pub fn comparison_budget(&self, theirs: &Path, ours: &Path) -> Result<ArchiveBudget> {
        let length = |path: &Path| {
            let metadata = path.metadata().map_err(ContentsError::system_error(path))?;
            Ok::<u64, ContentsError>(metadata.len())
        };
        let both = length(theirs)?.saturating_add(length(ours)?);
        Ok(self.limits.budget(both.saturating_mul(COMPARISON_PASSES)))
    }
}

/// The context for reading a file and the archives nested in it.
///
/// All of these archives share one budget. With a budget for each archive, a few kilobytes of archives in archives
/// could demand any number of members.
#[derive(Debug, Clone, Copy)]
pub struct ReadContext<'a> {
    pub resources: &'a Resources<'a>,
    /// The members and bytes that all archives together may still produce.
    pub budget: &'a ArchiveBudget,
    /// Number of archives that contain the file.
    depth: u64,
}

impl<'a> ReadContext<'a> {
    /// Creates the context for a file that no archive contains.
    pub fn new(resources: &'a Resources<'a>, budget: &'a ArchiveBudget) -> Self {
        ReadContext {
            resources,
            budget,
            depth: 0,
        }
    }

    /// Returns the context for the members of the file.
    ///
    /// # Errors
    /// Returns [`ContentsError::Limit`] if archives are nested too deeply.
    pub fn inside(&self) -> Result<Self> {
        let depth = self.depth + 1;
        let checked = self.resources.limits.check(Limit::Nesting, depth);
        checked.map_err(ContentsError::Limit)?;
        Ok(ReadContext { depth, ..*self })
    }
}
