//! Text as pandas 2.2.3 reads and writes it, byte for byte.
//!
//! **Text stays text.** A table is stored as *canonical text*: what `to_csv(index=False)` prints for the frame that
//! `read_csv` made of a raw file. Most raw files are canonical as they are. So reading is one pass that checks
//! ([`Rewriter`]): it finds the types, and keeps the bytes, or quotes cells anew on the way. Only if cells themselves are
//! printed in another way than they stand, a second pass ([`normalise`]) does so. Where only types are asked for, a
//! [`Scanner`] finds them.
//!
//! Canonical text has a header line and LF line ends, quotes only where they are needed, and an empty cell for what is
//! missing. Inside it, a lone CR is data (Python 3.11 does not quote it), rows end only at an LF outside quotes, and
//! no line is skipped. In a table of one column a missing cell is `""`.
//!
//! A stored table is a [`TextTable`]: rows and cells are slices of its text, [`gather`] copies them in another order, and
//! columns that a query computes with come as Arrow arrays. A [`CsvWriter`] prints computed values beside copied slices.
//!
//! A grader needs values instead: [`read_frame`] holds a whole table in memory.
//!
//! ```text
//! read/      raw files: fields, rows, types, the same text as `to_csv` prints it
//! types/     the type of a column, the values of its cells
//! numbers/   numbers and words, as they are read and printed
//! stored/    tables that are stored as canonical text
//! write/     computed values
//! frame/     whole tables in memory
//! ```

mod error;
mod frame;
mod numbers;
mod read;
mod stored;
mod types;
mod write;

pub use error::CsvError;
pub use frame::objects::{Cell, Objects};
pub use frame::packed::{Number, Packed};
pub use frame::table::{ColumnData, Frame, FrameColumn, ScannedFrame, read_frame};
pub use numbers::floats::parse_f64;
pub use numbers::print::{push_bool, push_f32, push_f64, push_integer};
pub use read::concat::{Concatenation, NoColumn};
pub use read::content::{Content, Reader};
pub use read::misfit::{Misfit, first_misfit};
pub use read::normalise::normalise;
pub use read::rewrite::{Rewriter, Rewritten};
pub use read::rows::MAX_ROW;
pub use read::scan::{Scan, Scanner};
pub use stored::batches::{Batches, RowSelection, arrow_type};
pub use stored::gather::{GatherOptions, gather};
pub use stored::index::RowIndex;
pub use stored::projection::Projection;
pub use stored::table::{AHEAD, Cells, MappedText, TextTable, cell_content};
pub use types::schema::{Column, ColumnType, FloatParser, ReadOptions, Schema};
pub use write::writer::{CsvWriter, Quoting};
