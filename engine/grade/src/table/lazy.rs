//! A submission of which only column names and the number of rows were read. Cells are read when needed.

use std::io;
use std::sync::{Mutex, PoisonError};

use prep_formats::pandas::{CsvError, ScannedFrame};

use crate::refusal::{Refusal, RefusalKind};
use crate::table::frame::ColumnData;

/// A submission's file after a first pass.
#[derive(Debug)]
pub(crate) struct LazySubmission<'a> {
    scanned: ScannedFrame<'a>,
    /// The error of reading the file, which is not the submission's fault.
    failed: Mutex<Option<io::Error>>,
}

impl<'a> LazySubmission<'a> {
    pub fn new(scanned: ScannedFrame<'a>) -> Self {
        LazySubmission {
            scanned,
            failed: Mutex::new(None),
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
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                *failed = Some(error);
                return unreadable();
            }
            let message = format!("the file is not a valid CSV: {error}");
            Refusal::new(RefusalKind::Unreadable, message)
        })
    }

    /// Returns the error of reading the file, if there was one.
    pub fn failure(self) -> Option<io::Error> {
        self.failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file cannot be read any more.
pub(crate) fn unreadable() -> Refusal {
    Refusal::new(RefusalKind::Unreadable, "the file cannot be read")
}
