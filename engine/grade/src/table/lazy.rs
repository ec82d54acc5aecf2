//! A submission whose column names and number of rows were read. Its cells are read only when they are needed.

use std::io;
use std::sync::OnceLock;

use prep_formats::pandas::{ColumnData, CsvError, ScannedFrame};

use crate::refusal::{Refusal, RefusalKind};
use crate::table::submission::invalid;

/// A submission's file after a first pass.
#[derive(Debug)]
pub(crate) struct LazySubmission<'a> {
    scanned: ScannedFrame<'a>,
    /// The error from reading the file, if any. It does not mean that the submission is invalid.
    failed: OnceLock<io::Error>,
}

impl<'a> LazySubmission<'a> {
    pub fn new(scanned: ScannedFrame<'a>) -> Self {
        LazySubmission {
            scanned,
            failed: OnceLock::new(),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scanned.names()
    }

    pub fn rows(&self) -> usize {
        self.scanned.rows()
    }

    /// Reads the first `rows` cells of the columns with these indices.
    pub fn read(&self, columns: &[usize], rows: usize) -> Result<Vec<ColumnData>, Refusal> {
        self.scanned.read(columns, rows).map_err(|error| {
            if let CsvError::Io(error) = error {
                self.failed.get_or_init(|| error);
                return unreadable();
            }
            invalid(&error)
        })
    }

    /// Returns the error from reading the file, if there was one.
    pub fn failure(self) -> Option<io::Error> {
        self.failed.into_inner()
    }
}

/// Creates the error for a file that can no longer be read.
pub(crate) fn unreadable() -> Refusal {
    Refusal::new(RefusalKind::Unreadable, "the file cannot be read")
}
