//! Notes and warnings for the user.

use std::fmt;

use prep_core::units;

use crate::bundles::BorrowedBundle;

/// A note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// The system was restarted since this competition was prepared, so its files are read once to verify them.
    ReadsAgain { id: &'a str, bytes: u64 },
    /// `files` published files are damaged, and will be written again.
    Damaged { id: &'a str, files: u64 },
    /// These competitions are left out, because their bundle or a source is missing.
    NotAvailable(&'a [String]),
    /// The results of a bundle are used that is neither here nor recorded in the data directory.
    Borrowed {
        id: &'a str,
        bundle: &'a BorrowedBundle,
    },
    /// The disk space may not be sufficient.
    LittleDisk(&'a str),
}

impl Note<'_> {
    /// Returns whether the note is a warning.
    pub fn is_warning(&self) -> bool {
        !matches!(
            self,
            Note::ReadsAgain { .. } | Note::NotAvailable(_) | Note::Borrowed { .. }
        )
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::ReadsAgain { id, bytes } => write!(
                f,
                "{id}: the system was restarted; reading {} once to check for damaged files",
                units::bytes(*bytes)
            ),
            Note::Damaged { id, files: 1 } => {
                write!(
                    f,
                    "{id}: 1 published file is damaged; it will be written again"
                )
            }
            Note::Damaged { id, files } => write!(
                f,
                "{id}: {files} published files are damaged; they will be written again"
            ),
            Note::NotAvailable(ids) => write!(
                f,
                "{} left out because a bundle or source is missing: {}",
                units::count(ids.len() as u64, "competition"),
                ids.join(", ")
            ),
            Note::Borrowed { id, bundle } => {
                write!(
                    f,
                    "{id}: no bundle is here; using the results of the bundle {bundle}"
                )
            }
            Note::LittleDisk(text) => f.write_str(text),
        }
    }
}
