//! Notes for the user that are not errors.

use std::fmt;

use prep_core::units;

/// A note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// The machine was restarted since this competition was prepared: its files are read once.
    ReadsAgain { id: &'a str, bytes: u64 },
    /// Some published files were damaged, and are written again. `files` is their number.
    Damaged { id: &'a str, files: u64 },
    /// Competitions that are left out, because a bundle or source of them is missing.
    NotAvailable(&'a [String]),
    /// The disk may not suffice.
    LittleDisk(&'a str),
}

impl Note<'_> {
    /// Returns whether the note is a warning.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Note::ReadsAgain { .. } | Note::NotAvailable(_))
    }
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::ReadsAgain { id, bytes } => write!(
                f,
                "{id}: the machine was restarted since; reading {} once to see that it is whole",
                units::bytes(*bytes)
            ),
            Note::Damaged { id, files: 1 } => {
                write!(f, "{id}: 1 published file is not whole; it is made again")
            }
            Note::Damaged { id, files } => write!(
                f,
                "{id}: {files} published files are not whole; it is made again"
            ),
            Note::NotAvailable(ids) => write!(
                f,
                "{} left out, whose bundle or source is not here: {}",
                units::count(ids.len() as u64, "competition"),
                ids.join(", ")
            ),
            Note::LittleDisk(text) => f.write_str(text),
        }
    }
}
