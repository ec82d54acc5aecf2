//! Values for files: a cached object, a file outside the cache (a bundle), and a directory outside the cache.

use std::collections::BTreeMap;

use prep_cache::{Digest, Stored};
use serde::{Deserialize, Serialize};

use crate::{StepError, Value};

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
