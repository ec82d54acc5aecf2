//! What differs between two folders: files, members of archives, rows and cells of tables.
//!
//! ```text
//! entries   all files of a folder, and the members of the archives among them
//! table     tables as texts: CSV, and records in JSON
//! tables    two tables: rows by a key, columns, cells, counts of values
//! folders   two folders
//! ```
//!
//! Tables are compared in two steps: rows are paired by a column that names them, then cells are compared. Values are shown
//! as they stand in the file, never rounded.

pub mod entries;
mod folders;
mod table;
mod tables;

pub use folders::{FileDifference, folders};
pub use table::{Table, is_missing, numbers};
pub use tables::{Cell, Counts, TableDifference, tables};
