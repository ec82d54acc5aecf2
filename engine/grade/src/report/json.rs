//! JSON as Python's `json.dump` writes it: four blanks of indent, `NaN` and `Infinity` for what JSON has no number for.
//!
//! A score may be NaN, and readers of the benchmark's reports expect to find it so; `serde_json` would write `null`.

use std::fmt::Write;

use crate::numeric::python_repr;

/// A value of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Count(usize),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(&'static str, Json)>),
}

impl Json {
    /// The value over several lines, without a final line end.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Count(value) => out.push_str(&value.to_string()),
            Json::Number(value) => out.push_str(&number(*value)),
            Json::Text(text) => string(out, text),
            Json::List(items) => {
                block(out, depth, '[', ']', items, |out, item| {
                    item.write(out, depth + 1)
                });
            }
            Json::Map(entries) => {
                block(out, depth, '{', '}', entries, |out, (key, value)| {
                    string(out, key);
                    out.push_str(": ");
                    value.write(out, depth + 1);
                });
            }
        }
    }
}

fn block<T>(
    out: &mut String,
    depth: usize,
    open: char,
    close: char,
    items: &[T],
    each: impl Fn(&mut String, &T),
) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&"    ".repeat(depth + 1));
        each(out, item);
    }
    if !items.is_empty() {
        out.push('\n');
        out.push_str(&"    ".repeat(depth));
    }
    out.push(close);
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 {
            "Infinity".to_owned()
        } else {
            "-Infinity".to_owned()
        }
    } else {
        python_repr(value)
    }
}

/// Everything beyond ASCII is escaped, as Python does by default.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// A text as JSON, everything beyond ASCII escaped.
pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    string(&mut out, text);
    out
}
