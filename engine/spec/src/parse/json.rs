//! Converts nodes to JSON by YAML's core schema, for sections that other crates interpret.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::state::ParseState;
use crate::text::diagnostic::Span;
use crate::text::yaml::{Kind, Scalar, Style, YamlNode};

/// Converts a node to JSON. Reports duplicate keys.
pub fn tree(context: &mut ParseState, node: &YamlNode) -> Value {
    match &node.kind {
        Kind::Scalar(one) => scalar(one),
        Kind::Sequence(items) => items.iter().map(|item| tree(context, item)).collect(),
        Kind::Mapping(_) => {
            let entries = context.keys(node, "this").unwrap_or_default();
            if let [only] = entries.as_slice()
                && only.key == "list"
            {
                return list(context, &only.value);
            }
            let members = entries
                .into_iter()
                .map(|entry| (entry.key.clone(), tree(context, &entry.value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Converts `{ list: NAME }` to the strings of one of the pipeline's `lists`.
fn list(context: &mut ParseState, name: &YamlNode) -> Value {
    let text = match &name.kind {
        Kind::Scalar(scalar) => scalar.text.as_str(),
        _ => "",
    };
    let texts = context.texts_of_list(text, name.span).unwrap_or_default();
    Value::from(texts)
}

pub fn places(node: &YamlNode, pointer: &str, places: &mut BTreeMap<String, Span>) {
    places.insert(pointer.to_owned(), node.span);
    match &node.kind {
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                self::places(item, &format!("{pointer}/{index}"), places);
            }
        }
        Kind::Mapping(entries) => {
            for entry in entries {
                let key = entry.key.replace('~', "~0").replace('/', "~1");
                self::places(&entry.value, &format!("{pointer}/{key}"), places);
            }
        }
    }
}

/// Converts a scalar. Quoted scalars are always strings.
fn scalar(scalar: &Scalar) -> Value {
    let text = scalar.text.as_str();
    if scalar.style != Style::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

/// Parses a decimal number. Words such as `inf` are strings.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.bytes().find(|byte| *byte != b'.')?;
    if !first.is_ascii_digit() {
        return None;
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = unsigned.parse::<u64>() {
        return Some(Number::from(whole));
    }
    if let Ok(whole) = unsigned.parse::<i64>() {
        return Some(Number::from(whole));
    }
    Number::from_f64(unsigned.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::scalar;
    use crate::text::yaml::{Scalar, Style};

    #[test]
    fn plain_scalars_are_converted_by_their_text() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("true", json!(true)),
            ("True", json!("True")),
            ("12", json!(12)),
            ("-12", json!(-12)),
            ("+12", json!(12)),
            (
                "18446744073709551615",
                json!(18_446_744_073_709_551_615_u64),
            ),
            ("0.1", json!(0.1)),
            ("1e-3", json!(0.001)),
            (".5", json!(0.5)),
            ("inf", json!("inf")),
            ("nan", json!("nan")),
            ("1_000", json!("1_000")),
            ("12a", json!("12a")),
            ("1.2.3", json!("1.2.3")),
            (".", json!(".")),
            ("-", json!("-")),
        ] {
            let text = text.to_owned();
            let plain = Scalar {
                text: text.clone(),
                style: Style::Plain,
            };
            assert_eq!(scalar(&plain), value, "{text}");
            let quoted = Scalar {
                text: text.clone(),
                style: Style::SingleQuoted,
            };
            assert_eq!(scalar(&quoted), json!(text));
        }
    }
}
