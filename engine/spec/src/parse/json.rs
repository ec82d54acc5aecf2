//! Converts nodes to JSON by YAML's core schema, for sections that other crates interpret.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::state::ParseState;
use crate::text::diagnostic::Span;
use crate::text::yaml::{Kind, Scalar, Style, YamlNode};

/// Converts a node to JSON. Reports duplicate keys. Adds the position of each value to `places`, by the JSON pointer of
/// the value. `pointer` is the JSON pointer of the node.
pub fn tree(
    context: &mut ParseState,
    node: &YamlNode,
    pointer: &str,
    places: &mut BTreeMap<String, Span>,
) -> Value {
    places.insert(pointer.to_owned(), node.span);
    match &node.kind {
        Kind::Scalar(one) => scalar(one),
        Kind::Sequence(items) => {
            let mut values = Vec::new();
            for item in items {
                // In a list, `{ list: NAME }` stands for the strings of the list NAME.
                if let Some(name) = named_list(item) {
                    for text in list(context, name) {
                        places.insert(format!("{pointer}/{}", values.len()), item.span);
                        values.push(Value::from(text));
                    }
                } else {
                    let place = format!("{pointer}/{}", values.len());
                    values.push(tree(context, item, &place, places));
                }
            }
            Value::Array(values)
        }
        Kind::Mapping(_) => {
            if let Some(name) = named_list(node) {
                return list(context, name).into();
            }
            let entries = context.keys(node, "the value").unwrap_or_default();
            let members = entries.into_iter().map(|entry| {
                let key = entry.key.replace('~', "~0").replace('/', "~1");
                let place = format!("{pointer}/{key}");
                let value = tree(context, &entry.value, &place, places);
                (entry.key.clone(), value)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Returns the name in `{ list: NAME }`.
fn named_list(node: &YamlNode) -> Option<&YamlNode> {
    match &node.kind {
        Kind::Mapping(entries) => match entries.as_slice() {
            [only] if only.key == "list" => Some(&only.value),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the strings of one of the pipeline's `lists`.
fn list(context: &mut ParseState, name: &YamlNode) -> Vec<String> {
    let text = match &name.kind {
        Kind::Scalar(scalar) => scalar.text.as_str(),
        _ => "",
    };
    let texts = context.texts_of_list(text, name.span);
    texts.unwrap_or_default()
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
