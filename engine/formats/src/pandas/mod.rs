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

mod arrays;
mod batches;
mod concat;
mod content;
mod error;
mod floats;
mod frame;
mod gather;
mod header;
mod index;
mod infer;
mod integers;
mod join;
mod misfit;
mod normalise;
mod objects;
mod packed;
mod print;
mod projection;
mod quote;
mod rewrite;
mod rows;
mod scan;
mod schema;
mod shortest;
mod stops;
mod table;
mod tokens;
mod value;
mod words;
mod writer;

pub use batches::{Batches, RowSelection, arrow_type};
pub use concat::{Concatenation, NoColumn};
pub use content::{Content, Reader};
pub use error::CsvError;
pub use floats::parse_f64;
pub use frame::{ColumnData, Frame, FrameColumn, ScannedFrame, read_frame};
pub use gather::{GatherOptions, gather};
pub use index::RowIndex;
pub use misfit::{Misfit, first_misfit};
pub use normalise::normalise;
pub use objects::{Cell, Objects};
pub use packed::{Number, Packed};
pub use print::{push_bool, push_f32, push_f64, push_integer};
pub use projection::Projection;
pub use rewrite::{Rewriter, Rewritten};
pub use rows::MAX_ROW;
pub use scan::{Scan, Scanner};
pub use schema::{Column, ColumnType, FloatParser, ReadOptions, Schema};
pub use table::{AHEAD, Cells, MappedText, TextTable, cell_content};
pub use writer::{CsvWriter, Quoting};
