//! Reads and writes JSON exactly as Python 3.11's `json` module.
//!
//! MLE-bench creates its files with `json.load` and `json.dump`. To write the same bytes, [`JsonValue`] preserves:
//!
//! - the order of keys (a duplicate key has its first position and its last value)
//! - integers of any length, and doubles, which are formatted like Python's `repr`
//! - `NaN`, the infinities, and unpaired surrogates, see [`JsonString`]
//!
//! Texts that Python rejects are errors: control characters in strings, a byte order mark, integers of more than 4,300
//! digits, and nesting beyond the recursion limit.
//!
//! ```
//! use prep_formats::json::{WriteOptions, parse};
//!
//! let value = parse(br#"{"b": 1.0, "a": "\u00e9", "b": 2}"#)?;
//! let text = value.to_json(&WriteOptions::default()).unwrap();
//! assert_eq!(text, br#"{"b": 2, "a": "\u00e9"}"#);
//! # Ok::<(), prep_formats::json::JsonError>(())
//! ```

mod elements;
mod error;
mod escape;
mod frame;
mod lines;
mod number;
mod parse;
mod reformat;
mod scan;
mod value;
mod write;

pub use elements::JsonElements;
pub use error::{JsonError, JsonErrorKind, Position};
pub use frame::{
    FrameBuilder, FrameColumns, FrameError, FrameFunction, JsonColumnType, JsonInference,
};
pub use lines::{JsonLine, JsonLines};
pub use parse::{JsonGrammar, MAX_DEPTH, NestedValues, parse, parse_unique, parse_within};
pub use reformat::{FormattedObject, JsonStyle, reformat};
pub use value::{JsonObject, JsonString, JsonValue};
pub use write::{JsonWriteError, WriteOptions};
