//! Values: the data that flow between steps. A value can be a cached object, a file outside the cache (a bundle), or a
//! directory outside the cache.

use std::collections::BTreeMap;

use prep_cache::{Digest, Store, StoreError, Stored};
use serde::{Deserialize, Serialize};

use super::key::canonical;
use crate::StepError;

/// The result of a step: a JSON body, and the cached objects that it refers to.
///
/// The value itself is stored as an object, and its digest is the value's identity. Two values are equal if and only if
/// their digests are equal, regardless of the step that produced them. If a step that ran again produces an equal value,
/// the steps that use it do not run.
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

    /// Returns the value's identity without storing the value.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(self.encode().as_bytes())
    }

    /// Stores the value and returns its identity.
    ///
    /// # Errors
    /// If the value cannot be written.
    pub fn save(&self, store: &Store) -> Result<Digest, StoreError> {
        store.put(self.encode().as_bytes())
    }

    /// Reads a value by its identity.
    ///
    /// # Errors
    /// If the value is not in the cache or is not valid.
    pub fn load(store: &Store, digest: &Digest) -> Result<Value, StepError> {
        let bytes = store.read(digest)?;
        serde_json::from_slice(&bytes).map_err(|cause| StepError::Value {
            digest: *digest,
            cause,
        })
    }

    /// Parses the body.
    ///
    /// # Errors
    /// If the body has a different structure.
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

/// A file as a value.
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
    /// Whether the content is outside the cache. Its location is registered in the `Context`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl FileValue {
    /// Returns the value of a cached object.
    pub fn stored(stored: Stored) -> FileValue {
        FileValue {
            digest: stored.digest,
            bytes: stored.len,
            rows: None,
            columns: Vec::new(),
            outside: false,
        }
    }

    /// Returns the value of a cached object that is a table.
    pub fn table(stored: Stored, rows: u64, columns: Vec<String>) -> FileValue {
        FileValue {
            rows: Some(rows),
            columns,
            ..FileValue::stored(stored)
        }
    }

    /// Returns the value of a file outside the cache: a bundle, or a file of another source.
    pub fn outside(digest: Digest, bytes: u64) -> FileValue {
        FileValue {
            outside: true,
            ..FileValue::stored(Stored { digest, len: bytes })
        }
    }

    /// Parses a value.
    ///
    /// # Errors
    /// If the value does not describe a file.
    pub fn from_value(value: &Value) -> Result<FileValue, StepError> {
        value.decode()
    }

    /// Returns the value to store.
    pub fn into_value(self) -> Value {
        let objects = if self.outside {
            Vec::new()
        } else {
            vec![self.digest]
        };
        Value::new(serde_json::json!(self), objects)
    }
}

/// The files of a directory outside the cache, as a value. Their locations are registered in the `Context`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "value", rename = "folder")]
pub struct DirectoryValue {
    /// The files by their paths in the directory, with `/` between the segments.
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
    /// Parses a value.
    ///
    /// # Errors
    /// If the value does not describe a directory.
    pub fn from_value(value: &Value) -> Result<DirectoryValue, StepError> {
        value.decode()
    }

    /// Returns the value to store.
    pub fn into_value(self) -> Value {
        Value::new(serde_json::json!(self), Vec::new())
    }
}
