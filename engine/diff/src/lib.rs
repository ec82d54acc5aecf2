//! What differs between two folders: files, members of archives, rows and cells of tables.
//!
//! ```text
//! folders   two folders, or two archives
//! tables    two tables: columns, rows, cells, counts of values
//! ```
//!
//! What files hold and which rows belong together is `prep-contents`. Values are shown as they stand in the file, never
//! rounded.

mod folders;
mod tables;

pub use folders::{FileDifference, Options, folders, two_files};
pub use tables::{Cell, Counts, TableDifference, tables};
