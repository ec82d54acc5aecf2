//! Writes and reads the serialization that identifies a query.
//!
//! An operator of an expression is three levels of JSON, so a query can be nested more deeply than `serde_json` reads.
//! Such a key is converted to a value without recursion, and the tree is created on a thread with a larger stack.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::tree::QueryTree;

/// Maximum nesting of JSON in a key. It exceeds that of every query that can be loaded, because their nesting is limited.
const MAX_KEY_DEPTH: usize = 2000;

/// Maximum nesting that `serde_json` reads.
const MAX_PLAIN_DEPTH: usize = 120;

/// Size of the stack that creates a tree with [`MAX_KEY_DEPTH`] levels.
const STACK_BYTES: usize = 64 << 20;

impl QueryTree {
    /// Returns the serialization that identifies the query. Two queries are equal if and only if their keys are equal.
    pub fn key(&self) -> String {
        #[allow(
            clippy::expect_used,
            reason = "the tree contains no maps and no numbers that are not finite"
        )]
        let key = serde_json::to_string(self).expect("a tree can be serialized");
        key
    }

    /// Returns the tree with this key. `None` if the text is not a key.
    pub fn from_key(key: &str) -> Option<QueryTree> {
        match depth(key) {
            depth if depth <= MAX_PLAIN_DEPTH => serde_json::from_str(key).ok(),
            depth if depth <= MAX_KEY_DEPTH => {
                let read = || QueryTree::deserialize(value(key)?).ok();
                std::thread::scope(|scope| {
                    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
                    thread.spawn_scoped(scope, read).ok()?.join().ok()?
                })
            }
            _ => None,
        }
    }
}

/// A token of JSON.
enum Token<'t> {
    /// One of `{`, `}`, `[`, `]`, `:` and `,`.
    Mark(u8),
    /// A text, a number or a constant.
    Scalar(&'t str),
}

/// Returns the tokens of a text. A text that is not JSON has other tokens, or fewer.
fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let bytes = rest.as_bytes();
        let is_mark = |byte: &u8| b"{}[]:,".contains(byte);
        let end = match bytes.first()? {
            mark if is_mark(mark) => {
                rest = rest.get(1..)?;
                return Some(Token::Mark(*mark));
            }
            b'"' => {
                let mut is_escaped = false;
                let end = bytes.iter().skip(1).position(|byte| {
                    let is_end = *byte == b'"' && !is_escaped;
                    is_escaped = *byte == b'\\' && !is_escaped;
                    is_end
                });
                end? + 2
            }
            _ => bytes.iter().position(is_mark).unwrap_or(bytes.len()),
        };
        let token = rest.get(..end)?;
        rest = rest.get(end..)?;
        Some(Token::Scalar(token))
    })
}

/// Returns the nesting of a JSON text.
fn depth(text: &str) -> usize {
    let (mut depth, mut max) = (0_usize, 0);
    for token in tokens(text) {
        match token {
            Token::Mark(b'{' | b'[') => depth += 1,
            Token::Mark(b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        max = max.max(depth);
    }
    max
}

/// An object or a list that is being read.
enum Open {
    Object(Map<String, Value>, Option<String>),
    List(Vec<Value>),
}

impl Open {
    /// Adds a value. The first one of an object's pair is its name. Returns `None` if that is not a text.
    fn push(&mut self, value: Value) -> Option<()> {
        match self {
            Open::List(items) => items.push(value),
            Open::Object(members, name) => match (name.take(), value) {
                (Some(name), value) => {
                    members.insert(name, value);
                }
                (None, Value::String(text)) => *name = Some(text),
                (None, _) => return None,
            },
        }
        Some(())
    }

    fn close(self) -> Value {
        match self {
            Open::Object(members, _) => Value::Object(members),
            Open::List(items) => Value::Array(items),
        }
    }
}

/// Reads JSON of any nesting without recursion. Marks between values are not verified.
fn value(text: &str) -> Option<Value> {
    let mut open: Vec<Open> = Vec::new();
    for token in tokens(text) {
        let value = match token {
            Token::Mark(b'{') => {
                open.push(Open::Object(Map::new(), None));
                continue;
            }
            Token::Mark(b'[') => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Token::Mark(b'}' | b']') => open.pop()?.close(),
            Token::Mark(_) => continue,
            Token::Scalar(text) => serde_json::from_str(text).ok()?,
        };
        match open.last_mut() {
            Some(outer) => outer.push(value)?,
            None => return Some(value),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Query;

    /// The deepest expressions that can be loaded, and a query in each of many conditions.
    #[test]
    fn every_query_that_can_be_loaded_can_be_read_from_its_key() {
        let chain = |operator: &str, count: usize| format!("a{}", operator.repeat(count));
        let mut nested = "SELECT a FROM t".to_owned();
        for _ in 0..12 {
            nested = format!("SELECT a FROM t WHERE a IN ({nested}) OR a = 'it''s \\ \"'");
        }
        for text in [
            format!("SELECT {} AS b FROM t", chain(" + 1", 240)),
            format!("SELECT {} AS b FROM t", chain(" || 'x\\\"{'", 240)),
            format!("SELECT a FROM t WHERE {}", chain(" = 1 OR a", 80) + " = 2"),
            format!(
                "SELECT {}a{} AS b FROM t",
                "abs(-".repeat(12),
                ")".repeat(12)
            ),
            nested,
        ] {
            let query = Query::parse(&text).expect(&text);
            let tree = QueryTree::from_key(&query.key);
            assert!(tree.as_ref() == Some(query.tree()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_keys() {
        for text in [
            "",
            "{",
            "{}",
            "SELECT a FROM t",
            &"[".repeat(500),
            &"{\"a\":".repeat(1_000_000),
            &format!("{}1{}", "[".repeat(1000), "]".repeat(1000)),
        ] {
            assert!(QueryTree::from_key(text).is_none());
        }
    }
}
