//! JSON as Python 3.11's `json` module reads and writes it.
//!
//! The published files went through `json.load` and `json.dump`, so the value
//! model keeps what survives that way: the order of keys (of a repeated key the
//! first place and the last value), integers of any length, doubles (printed as
//! Python's `repr`), `NaN` and the infinities, and halves of surrogate pairs
//! that stand alone, which no Rust `str` can hold (see [`JsonString`]).
//!
//! Where Python refuses a text, so does this reader: control characters inside
//! strings, a byte order mark, integers of more than 4,300 digits, and nesting
//! deeper than its recursion limit.

mod cursor;
mod elements;
mod error;
mod escape;
mod frame;
mod inference;
mod lines;
mod number;
mod object;
mod pandas;
mod parse;
mod reprint;
mod scan;
mod string;
mod value;
mod write;

pub use elements::JsonElements;
pub use error::{JsonError, JsonErrorKind, Position};
pub use frame::{Columns, Frame, FrameError};
pub use inference::{Inference, Inferred, Typing};
pub use lines::{JsonLines, Line};
pub use object::Object;
pub use parse::{Grammar, MAX_DEPTH, Nested, parse, parse_within};
pub use reprint::{Printed, Printing, reprint};
pub use string::JsonString;
pub use value::Value;
pub use write::{JsonWriteError, WriteOptions};
