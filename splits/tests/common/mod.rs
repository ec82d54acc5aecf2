//! Reads the values in `tests/data`, which were recorded from the original libraries.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Length, CRC-32 of the little-endian words, and the first ten entries of a list.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Digest {
    len: usize,
    pub crc: u32,
    head: Vec<u32>,
}

pub fn digest(values: &[u32]) -> Digest {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Digest {
        len: values.len(),
        crc: crc32fast::hash(&bytes),
        head: values.iter().take(10).copied().collect(),
    }
}

/// Returns the entries of one section of a file in `tests/data`.
pub fn recorded(file: &str, section: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let sections: Value = serde_json::from_str(&text).unwrap();
    let rows: Vec<Value> = get(&sections, section);
    assert!(!rows.is_empty());
    rows
}

/// Returns a field of an entry. A missing field is read as null.
pub fn get<T: DeserializeOwned>(entry: &Value, field: &str) -> T {
    serde_json::from_value(entry[field].clone())
        .unwrap_or_else(|error| panic!("{field} of {entry}: {error}"))
}
