//! Errors when reading and writing CSV files and stored tables.

use super::ColumnType;

/// Describes the place of an error in a chunk that begins with the row `row`. Returns an empty string for the first chunk,
/// which begins with row 0.
fn from_row(row: u64) -> String {
    match row {
        0 => String::new(),
        row => format!(" (row {row} or a later one)"),
    }
}

/// An error when reading or writing a table. Most of these errors also occur in pandas.
///
/// Rows are counted from 1, without the header. Offsets are in bytes from the beginning of the file.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// A row has more fields than the previous rows.
    #[error(
        "row {row} (byte {offset}) has {found} fields, but the rows before it have {expected}; \
         quote fields that contain the delimiter (for example, numbers with a decimal comma), or remove an extra line break"
    )]
    TooManyFields {
        /// The row, counted from 1.
        row: u64,
        /// Offset of the row.
        offset: u64,
        /// Number of fields of the previous rows.
        expected: usize,
        /// Number of fields of this row.
        found: usize,
    },
    /// The file is not UTF-8.
    #[error("byte {offset} is not valid UTF-8{}; convert the file to UTF-8", from_row(*row))]
    InvalidUtf8 {
        /// The first row of the checked chunk, counted from 1; 0 is the header.
        row: u64,
        /// Offset of the first invalid byte.
        offset: u64,
    },
    /// The file ends inside a quoted field.
    #[error("row {row} (byte {offset}) opens a quote that is never closed")]
    UnclosedQuote {
        /// The row, counted from 1; 0 is the header.
        row: u64,
        /// Offset of the row.
        offset: u64,
    },
    /// A row exceeds [`MAX_ROW_BYTES`](super::MAX_ROW_BYTES), or the header [`MAX_HEADER_BYTES`](super::MAX_HEADER_BYTES).
    #[error(
        "row {row} (byte {offset}) is longer than {limit} bytes; a quote is probably never closed"
    )]
    RowTooLong {
        /// The row, counted from 1; 0 is the header.
        row: u64,
        /// Offset of the row.
        offset: u64,
        /// Maximum length of a row in bytes.
        limit: usize,
    },
    /// A row has more fields than any ordinary table has columns.
    #[error(
        "row {row} (byte {offset}) has more than {limit} fields; the delimiter is probably wrong"
    )]
    TooManyColumns {
        /// The row, counted from 1; 0 is the header.
        row: u64,
        /// Offset of the row.
        offset: u64,
        /// Maximum number of fields.
        limit: usize,
    },
    /// Short rows lack more fields in total than the length of the file allows. Adding these fields would need too much
    /// memory.
    #[error(
        "the rows up to row {row} (byte {offset}) are too short: they lack {missing} fields of the {width} columns, \
         many more than these rows have bytes; the header may belong to another file"
    )]
    TooManyMissing {
        /// The row, counted from 1.
        row: u64,
        /// Offset of the row.
        offset: u64,
        /// Number of missing fields so far.
        missing: u64,
        /// Number of columns.
        width: usize,
    },
    /// The table has more cells than the limit, including those that short rows lack.
    #[error("the table has more than {most} cells")]
    TooManyCells {
        /// The maximum number of cells.
        most: u64,
    },
    /// A cell does not have the requested type.
    #[error(
        "row {row}, column `{column}` (byte {offset}): `{cell}` is not of type `{}`; request another type or none", .kind.dtype()
    )]
    ForcedType {
        /// The row, counted from 1.
        row: u64,
        /// Name of the column.
        column: String,
        /// Offset of the row.
        offset: u64,
        /// Content of the cell.
        cell: String,
        /// The requested type.
        kind: ColumnType,
    },
    /// A second pass over the file found a different content than the first pass.
    #[error(
        "the file changed while it was read: its content differs after {found} of {expected} rows"
    )]
    Changed {
        /// Number of rows in the first pass.
        expected: u64,
        /// Number of rows that the second pass read before it noticed the difference.
        found: u64,
    },
    /// A stored table does not match its schema, or is not canonical text.
    #[error("stored table, row {row} (byte {offset}): {rule}")]
    NotCanonical {
        /// The row, counted from 1; 0 is the header.
        row: u64,
        /// Offset of the row.
        offset: u64,
        /// The violated rule.
        rule: String,
    },
    /// A requested row does not exist.
    #[error("row {row}, counted from 0, was requested, but the table has {rows} rows")]
    NoSuchRow {
        /// The requested row, counted from 0.
        row: u64,
        /// Number of rows.
        rows: u64,
    },
    /// A requested column does not exist.
    #[error("column {column}, counted from 0, was requested, but the table has {columns} columns")]
    NoSuchColumn {
        /// The requested column, counted from 0.
        column: usize,
        /// Number of columns.
        columns: usize,
    },
    /// Arrow rejected an array.
    #[error("cannot build a record batch")]
    Arrow(#[from] arrow::error::ArrowError),
    /// An I/O error.
    #[error("reading or writing a table failed")]
    Io(#[from] std::io::Error),
}
