//! Why a file cannot be read, with the place.

use super::ColumnType;

/// A text that pandas would refuse, too, or a failure below it.
///
/// Rows count from 1 and leave the header out; offsets count bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// A row has more fields than the rows before it.
    #[error(
        "row {row} (byte {offset}) has {found} fields, but the rows before it have {expected}; \
         quote fields that contain the delimiter, or a line break too many was read as a row end"
    )]
    TooManyFields {
        /// The row, from 1.
        row: u64,
        /// Where it starts.
        offset: u64,
        /// Fields of the row before.
        expected: usize,
        /// Fields of this row.
        found: usize,
    },
    /// The file is not UTF-8.
    #[error(
        "byte {offset}, in row {row} or the rows after it, is not valid UTF-8; convert the file to UTF-8"
    )]
    InvalidUtf8 {
        /// The first row of the stretch that was checked, from 1; 0 is the header.
        row: u64,
        /// The first byte that is wrong.
        offset: u64,
    },
    /// The file ends inside a quoted field.
    #[error("row {row} (byte {offset}) opens a quote that is never closed")]
    UnclosedQuote {
        /// The row, from 1; 0 is the header.
        row: u64,
        /// Where it starts.
        offset: u64,
    },
    /// A row is longer than [`MAX_ROW`](super::MAX_ROW).
    #[error(
        "row {row} (byte {offset}) is longer than {limit} bytes; a quote is probably never closed"
    )]
    RowTooLong {
        /// The row, from 1; 0 is the header.
        row: u64,
        /// Where it starts.
        offset: u64,
        /// Longest row in bytes.
        limit: usize,
    },
    /// A row has more fields than any table has columns.
    #[error("row {row} (byte {offset}) has more than {limit} fields; is the delimiter right?")]
    TooManyColumns {
        /// The row, from 1; 0 is the header.
        row: u64,
        /// Where it starts.
        offset: u64,
        /// Most fields.
        limit: usize,
    },
    /// Short rows leave out more fields than are filled up.
    #[error(
        "up to row {row} (byte {offset}), rows with fewer fields than the {width} columns leave out {missing} fields, \
         more than the file has bytes; is the header that of another file?"
    )]
    TooManyMissing {
        /// The row, from 1.
        row: u64,
        /// Where it starts.
        offset: u64,
        /// Fields left out so far.
        missing: u64,
        /// Columns of the table.
        width: usize,
    },
    /// More cells than are read, those included that short rows leave out.
    #[error("the table has more than {most} cells")]
    TooManyCells {
        /// The limit.
        most: u64,
    },
    /// A cell does not fit the type that was asked for.
    #[error(
        "row {row}, column `{column}` (byte {offset}): `{cell}` is not {kind:?}; ask for another type or none"
    )]
    ForcedType {
        /// The row, from 1.
        row: u64,
        /// The column.
        column: String,
        /// Where the row starts.
        offset: u64,
        /// What stands in the cell.
        cell: String,
        /// The type that was asked for.
        kind: ColumnType,
    },
    /// The raw text of the second pass is not the one that was scanned.
    #[error(
        "the text ends after {found} rows, but {expected} were scanned; it changed between two readings"
    )]
    Changed {
        /// Rows of the first pass.
        expected: u64,
        /// Rows of the second pass.
        found: u64,
    },
    /// Stored text does not agree with its schema.
    #[error("stored table, row {row} (byte {offset}): {rule}")]
    NotCanonical {
        /// The row, from 1; 0 is the header.
        row: u64,
        /// Where the row starts.
        offset: u64,
        /// What is wrong.
        rule: String,
    },
    /// A row number beyond the end of the table.
    #[error("row {row} was asked for, but the table has {rows} rows")]
    NoSuchRow {
        /// The row, from 0.
        row: u64,
        /// Rows of the table.
        rows: u64,
    },
    /// A column number beyond the last column of the table.
    #[error("column {column} was asked for, but the table has {columns} columns")]
    NoSuchColumn {
        /// The column, from 0.
        column: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// Arrow refused an array.
    #[error("cannot build a record batch: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Reading or writing failed.
    #[error("reading or writing a table: {0}")]
    Io(#[from] std::io::Error),
}
