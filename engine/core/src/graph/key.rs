//! Step keys: a record of everything that a step's result depends on, and its hash.
//!
//! A record contains no paths, times, thread counts or batch sizes. SQL is part of `params` in parsed form, so comments
//! and formatting do not change the key. The record is stored with the result, so comparing two records shows why a
//! step runs.

use std::collections::BTreeMap;

use prep_cache::Digest;
use serde::{Deserialize, Serialize};

/// Identifies one execution of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Kind of the step: `read`, `split`, `csv` ...
    pub step: String,
    /// Version of the kind's behaviour. It is raised when the output for equal input changes.
    pub version: u32,
    /// Normalised parameters.
    pub params: serde_json::Value,
    /// Digests of the inputs by name.
    pub inputs: BTreeMap<String, Digest>,
}

impl KeyRecord {
    /// Returns the key: the BLAKE3 digest of the record's canonical JSON.
    pub fn key(&self) -> Digest {
        Digest::of_bytes(canonical(&self.to_json()).as_bytes())
    }

    /// Returns the record as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|(name, digest)| (name.clone(), digest.to_string().into()));
        // Built without `json!`, which would serialise the parameters and parse them again.
        let members = [
            ("step", self.step.as_str().into()),
            ("version", self.version.into()),
            ("params", self.params.clone()),
            ("inputs", serde_json::Value::Object(inputs.collect())),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        serde_json::Value::Object(members.into_iter().collect())
    }
}

/// Formats JSON with sorted keys and without white space. Equal values have equal text, regardless of the order in
/// which they were built.
pub fn canonical(value: &serde_json::Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let mut sorted: Vec<(&String, &serde_json::Value)> = map.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (position, (key, member)) in sorted.into_iter().enumerate() {
                push_comma(position, out);
                text(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        serde_json::Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                push_comma(position, out);
                write(item, out);
            }
            out.push(']');
        }
        serde_json::Value::String(value) => text(value, out),
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Appends a comma unless the next element is the first.
fn push_comma(position: usize, out: &mut String) {
    if position > 0 {
        out.push(',');
    }
}

/// Writes a text in quotes. Only `"`, `\` and control characters are escaped.
fn text(value: &str, out: &mut String) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        out.push('"');
        out.push_str(value);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(value).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_ignores_the_order_of_keys() {
        let a = serde_json::json!({ "b": [1, { "d": null, "c": "x\"y" }], "a": true });
        let b = serde_json::json!({ "a": true, "b": [1, { "c": "x\"y", "d": null }] });
        assert_eq!(canonical(&a), canonical(&b));
        assert_eq!(canonical(&a), r#"{"a":true,"b":[1,{"c":"x\"y","d":null}]}"#);
    }

    #[test]
    fn every_field_of_a_record_is_part_of_the_key() {
        let base = KeyRecord {
            step: "csv".into(),
            version: 1,
            params: serde_json::json!({ "sql": "SELECT \"a\\\"\n\u{1}ü\u{7f}", "b": [null, 1.5] }),
            inputs: BTreeMap::from([("train".to_owned(), Digest::of_bytes(b"x"))]),
        };
        let written = serde_json::to_value(&base).unwrap_or_default();
        assert_eq!(base.to_json(), written);
        let mut others = vec![base.clone(); 4];
        others[0].step = "json".into();
        others[1].version = 2;
        others[2].params = serde_json::json!({ "sql": "SELECT 2" });
        others[3]
            .inputs
            .insert("train".into(), Digest::of_bytes(b"y"));
        for other in others {
            assert_ne!(base.key(), other.key());
        }
    }
}
