//! Reads and writes JSON exactly as Python 3.11's `json` module.
//!
//! The published files were made by `json.load` and `json.dump`. So [`Value`] keeps everything that these keep: the
//! order of keys (a repeated key has its first place and its last value), integers of any length, doubles (formatted
//! like Python's `repr`), `NaN` and the infinities, and unpaired surrogates, which a Rust `str` cannot contain (see
//! [`JsonString`]).
//!
//! The reader rejects the texts that Python rejects: control characters in strings, a byte order mark, integers of more
//! than 4,300 digits, nesting beyond the recursion limit.
//!
//! ```
//! use prep_formats::json::{WriteOptions, parse};
//!
//! let value = parse(br#"{"b": 1.0, "a": "\u00e9", "b": 2}"#)?;
//! let text = value.to_json(&WriteOptions::default()).unwrap();
//! assert_eq!(text, br#"{"b": 2, "a": "\u00e9"}"#);
//! # Ok::<(), prep_formats::json::JsonError>(())
//! ```

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
