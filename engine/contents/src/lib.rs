//! What prepared data hold, whatever they are packed in: files, members of archives, rows of tables. Auditing, comparing
//! and looking for leaks all open data through this crate.
//!
//! ```text
//! read       bytes in pieces: comparing, hashing
//! listing    the files of a folder                     entries   each file of a folder, archives entered
//! archive    the members of zip, tar, 7z and gzip      members   two archives: which members differ
//! pixels     images, decoded
//! table/     a file as rows of cells: CSV, lines, JSON, BSON, Parquet, arrays
//! pairing/   two tables: common columns, and which row belongs to which
//! ```
//!
//! Memory is bounded: files are read in pieces, a member that must be read more than once is put into a file of its own
//! below a folder that the caller names, and of a table a hash per row that differs is kept. Nothing is guessed: what
//! cannot be read is an error that says so.

pub mod archive;
pub mod entries;
pub mod listing;
pub mod members;
pub mod pairing;
pub mod pixels;
pub mod read;
pub mod table;

pub use table::{Format, Row, Rows, Table};
