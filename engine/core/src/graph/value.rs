//! Defines values, which are the data that flow between steps, and the keys of steps.
//!
//! A key is the hash of a key record, which contains everything that a step's result depends on. The record does not
//! contain paths, times, thread counts or batch sizes. SQL is in parsed form, so its comments and formatting do not change
//! the key.
//!
//! The key record is stored with the result. If the step runs again, the reason is the difference between the old and the
//! new key record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prep_cache::{Digest, Store, StoreError, Stored};
use serde::{Deserialize, Serialize};

use crate::StepError;

/// The result of a step: a JSON body, and the cached objects that it refers to.
///
/// Values are stored by digest. If a step runs again and its new value has the same digest, steps that use this value do
/// not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The content, opaque to the engine.
    pub body: serde_json::Value,
    /// Objects that the body refers to, in a fixed order.
    pub objects: Vec<Digest>,
}

impl Value {
    /// Creates a value.
    pub fn new(body: serde_json::Value, objects: Vec<Digest>) -> Value {
        Value { body, objects }
    }

    /// Returns the digest that identifies the value. Does not store the value.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(self.encode().as_bytes())
    }

    /// Stores the value and returns its digest.
    pub fn save(&self, store: &Store) -> Result<Digest, StoreError> {
        store.put(self.encode().as_bytes())
    }

    /// Reads the value with this digest.
    pub fn load(store: &Store, digest: &Digest) -> Result<Value, StepError> {
        let bytes = store.read(digest)?;
        serde_json::from_slice(&bytes).map_err(|cause| StepError::Value {
            digest: *digest,
            cause,
        })
    }

    /// Parses the body as a `T`.
    pub fn decode<'v, T: Deserialize<'v>>(&'v self) -> Result<T, StepError> {
        T::deserialize(&self.body).map_err(|error| {
            StepError::internal(format!(
                "a stored value has an unexpected structure: {error}"
            ))
        })
    }

    fn encode(&self) -> String {
        let value = serde_json::json!({ "body": self.body, "objects": self.objects });
        canonical(&value)
    }
}

/// The body of a value that is one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "value", rename = "file")]
pub struct FileValue {
    /// BLAKE3 digest of its bytes.
    pub digest: Digest,
    /// Length in bytes.
    pub bytes: u64,
    /// Number of rows, if the file is a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Column names, if the file is a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Whether the content is outside the cache. Its location is in [`Context::outside`](crate::Context::outside).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl FileValue {
    /// Describes a cached object.
    pub fn stored(stored: Stored) -> FileValue {
        FileValue {
            digest: stored.digest,
            bytes: stored.len,
            rows: None,
            columns: Vec::new(),
            outside: false,
        }
    }

    /// Describes a cached object that contains a table.
    pub fn table(stored: Stored, rows: u64, columns: Vec<String>) -> FileValue {
        FileValue {
            rows: Some(rows),
            columns,
            ..FileValue::stored(stored)
        }
    }

    /// Describes a file outside the cache, such as a bundle.
    pub fn outside(digest: Digest, bytes: u64) -> FileValue {
        FileValue {
            outside: true,
            ..FileValue::stored(Stored { digest, len: bytes })
        }
    }

    /// Parses a value. Fails if it does not describe a file.
    pub fn from_value(value: &Value) -> Result<FileValue, StepError> {
        value.decode()
    }

    /// Converts the description into a value.
    pub fn into_value(self) -> Value {
        let objects = if self.outside {
            Vec::new()
        } else {
            vec![self.digest]
        };
        Value::new(serde_json::json!(self), objects)
    }
}

/// The body of a value that is a directory outside the cache. The locations of its files are in
/// [`Context::outside`](crate::Context::outside).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "value", rename = "folder")]
pub struct DirectoryValue {
    /// The files by path; segments are separated by `/`.
    pub files: BTreeMap<String, DirectoryFile>,
}

/// A file of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryFile {
    /// BLAKE3 digest of its bytes.
    pub digest: Digest,
    /// Length in bytes.
    pub bytes: u64,
}

impl DirectoryValue {
    /// Parses a value. Fails if it does not describe a directory.
    pub fn from_value(value: &Value) -> Result<DirectoryValue, StepError> {
        value.decode()
    }

    /// Converts the description into a value.
    pub fn into_value(self) -> Value {
        Value::new(serde_json::json!(self), Vec::new())
    }
}

/// Everything that the result of a step depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Kind of the step: `read`, `split`, `csv` ...
    pub step: String,
    /// Version of the kind, see [`Step::version`](crate::Step::version).
    pub version: u32,
    /// Normalised parameters: parameters with the same effect have the same JSON.
    pub params: serde_json::Value,
    /// Digests of the inputs by name.
    pub inputs: BTreeMap<String, Digest>,
}

impl KeyRecord {
    /// Returns the key: the BLAKE3 digest of the record's canonical JSON.
    pub fn key(&self) -> Digest {
        let members = self.members();
        let mut out = String::new();
        write_object(
            members.iter().map(|(name, value)| (*name, &**value)),
            &mut out,
        );
        Digest::of_bytes(out.as_bytes())
    }

    /// Returns the record as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let members = self.members().into_iter();
        let members = members.map(|(name, value)| (name.to_owned(), value.into_owned()));
        serde_json::Value::Object(members.collect())
    }

    /// Returns the members of the JSON object. The parameters, which can be long, are borrowed.
    fn members(&self) -> [(&'static str, Cow<'_, serde_json::Value>); 4] {
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|(name, digest)| (name.clone(), digest.to_string().into()));
        [
            ("step", Cow::Owned(self.step.as_str().into())),
            ("version", Cow::Owned(self.version.into())),
            ("params", Cow::Borrowed(&self.params)),
            (
                "inputs",
                Cow::Owned(serde_json::Value::Object(inputs.collect())),
            ),
        ]
    }
}

/// Formats JSON with sorted keys and without whitespace, so that equal values give equal strings.
pub fn canonical(value: &serde_json::Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            write_object(map.iter().map(|(key, member)| (key.as_str(), member)), out);
        }
        serde_json::Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                push_comma(position, out);
                write(item, out);
            }
            out.push(']');
        }
        serde_json::Value::String(value) => write_string(value, out),
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_object<'v>(
    members: impl Iterator<Item = (&'v str, &'v serde_json::Value)>,
    out: &mut String,
) {
    let mut sorted: Vec<(&str, &serde_json::Value)> = members.collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (position, (key, member)) in sorted.into_iter().enumerate() {
        push_comma(position, out);
        write_string(key, out);
        out.push(':');
        write(member, out);
    }
    out.push('}');
}

fn push_comma(position: usize, out: &mut String) {
    if position > 0 {
        out.push(',');
    }
}

/// Appends a JSON string. Only `"`, `\` and control characters are escaped.
fn write_string(value: &str, out: &mut String) {
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
        assert_eq!(base.key(), Digest::of_bytes(canonical(&written).as_bytes()));
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
