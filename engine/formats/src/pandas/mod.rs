//! Reads and writes CSV files with the same results as pandas 2.2.3, byte by byte.
//!
//! *Canonical text* is the output of `to_csv(index=False)` for the frame that `read_csv` creates from a raw file.
//!
//! - Canonical text has a header and LF line endings. Cells are quoted only if necessary, and missing cells are empty. In a
//!   table with one column, a missing cell is `""`.
//! - A row ends only at an LF outside quotes. A CR without LF is part of a cell, because Python 3.11 does not quote it.
//! - Most raw files differ from canonical text at most in quotes and line endings. A [`Rewriter`] converts them in one pass.
//! - If the text of a cell changes (for example `1.50` to `1.5`), a second pass, [`normalise`], writes the canonical text.
//! - A [`TextTable`] is an opened canonical text. Its cells are slices of the text. [`gather`] copies rows in a new order.
//! - A [`CsvWriter`] writes computed values and copied slices. For grading, [`read_frame`] reads a table into memory.
//!
//! ```
//! use prep_formats::pandas::{CellValue, ColumnData, ReadOptions, read_frame};
//!
//! let frame = read_frame(b"id,name\n1,a\n2,\n", &ReadOptions::default())?;
//! let ColumnData::Object(names) = &frame.columns[1].data else { unreachable!() };
//! assert_eq!(names.iter().collect::<Vec<_>>(), [CellValue::Text("a"), CellValue::Missing]);
//! # Ok::<(), prep_formats::pandas::CsvError>(())
//! ```
//!
//! ```text
//! read/      raw files: fields, rows, types, canonical text
//! types/     the type of a column, the values of its cells
//! numbers/   parsing and formatting numbers, booleans and missing values
//! stored/    tables that are stored as canonical text
//! write      formatting computed values
//! frame/     entire tables in memory
//! ```

mod argsort;
mod error;
mod frame {
    pub(in crate::pandas) mod guess;
    pub(in crate::pandas) mod objects;
    pub(in crate::pandas) mod table;
}
mod numbers {
    pub(in crate::pandas) mod parse;
    pub(in crate::pandas) mod print;
}
mod read {
    pub(in crate::pandas) mod content;
    pub(in crate::pandas) mod normalise;
    pub(in crate::pandas) mod rewrite;
    pub(in crate::pandas) mod rows;
    pub(in crate::pandas) mod scan;
    pub(in crate::pandas) mod tokens;
}
mod stored {
    pub(in crate::pandas) mod arrays;
    pub(in crate::pandas) mod batches;
    pub(in crate::pandas) mod gather;
    pub(in crate::pandas) mod projection;
    pub(in crate::pandas) mod table;
}
mod types {
    pub(in crate::pandas) mod infer;
    pub(in crate::pandas) mod schema;
}
mod write;

pub use argsort::argsort;
pub use error::CsvError;
pub use frame::objects::{CellValue, ObjectColumn, PackedNumber, PackedNumbers};
pub use frame::table::{ColumnData, Frame, FrameColumn, FrameLimits, ScannedFrame, read_frame};
pub use numbers::parse::parse_f64;
pub use numbers::print::{push_bool, push_f32, push_f64, push_integer};
pub use read::content::FileContent;
pub use read::normalise::{
    Concatenation, MissingColumn, TypeMismatch, first_type_mismatch, normalise,
};
pub use read::rewrite::{RewriteResult, Rewriter};
pub use read::rows::{MAX_COLUMNS, MAX_HEADER_BYTES, MAX_ROW_BYTES};
pub use read::scan::{CsvScan, CsvScanner};
pub use stored::batches::{Batches, RowSelection, arrow_type};
pub use stored::gather::{GatherOptions, gather};
pub use stored::projection::Projection;
pub use stored::table::{Cells, MappedText, PREFETCH_ROWS, RowIndex, TextTable, cell_content};
pub use types::schema::{ColumnSchema, ColumnType, FloatParser, ReadOptions, Schema};
pub use write::{CsvDialect, CsvWriter, LineEnding, Quoting, push_quoted};
