//! A submission of which names of columns and the number of rows are known, and whose cells are read when they are wanted.

use std::io;
use std::sync::{Mutex, PoisonError};

use prep_formats::pandas::{CsvError, ScannedFrame};

use crate::refusal::{Refusal, RefusalKind};
use crate::table::frame::ColumnData;

/// A submission's file, looked through once.
#[derive(Debug)]
pub(crate) struct Unread<'a> {
    scanned: ScannedFrame<'a>,
    /// Why it could not be read: that is not the submission's fault.
    failed: Mutex<Option<io::Error>>,
}

impl<'a> Unread<'a> {
    pub fn new(scanned: ScannedFrame<'a>) -> Self {
        Unread {
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

    /// The first `rows` cells of the columns at these places.
    pub fn read(&self, columns: &[usize], rows: usize) -> Result<Vec<ColumnData>, Refusal> {
        self.scanned.read(columns, rows).map_err(|error| {
            if let CsvError::Io(error) = error {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                *failed = Some(error);
                return unreadable();
            }
            let message = format!("the file is no valid CSV: {error}");
            Refusal::new(RefusalKind::Unreadable, message)
        })
    }

    /// Why it could not be read, if that is so.
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
