//! Compares two directories: files, members of archives, and rows and cells of tables.
//!
//! ```text
//! directories   two directories, or two archives
//! tables        two tables: columns, rows, cells, counts of values
//! ```
//!
//! `prep-contents` reads the files and pairs rows. Values are shown as they are in the file, never rounded.

mod directories;
mod tables;

pub use directories::{DiffOptions, FileDifference, directories, two_files};
pub use tables::{ChangedCell, Counts, TableDifference, tables};
