//! One file: an object of the store, or a file outside it (a bundle). And a folder of files outside it.

use std::collections::BTreeMap;

use prep_cache::{Digest, Stored};
use serde::{Deserialize, Serialize};

use crate::{StepError, Value};

/// A file as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "value", rename = "file")]
pub struct FileValue {
    pub digest: Digest,
    pub bytes: u64,
    /// Number of rows, of files that are tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Names of columns, of files that are tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Not in the store: the run's context knows where it lies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl FileValue {
    /// A file that is an object of the store.
    pub fn stored(stored: Stored) -> FileValue {
        FileValue {
            digest: stored.digest,
            bytes: stored.len,
            rows: None,
            columns: Vec::new(),
            outside: false,
        }
    }

    /// An object of the store that is a table.
    pub fn table(stored: Stored, rows: u64, columns: Vec<String>) -> FileValue {
        FileValue {
            rows: Some(rows),
            columns,
            ..FileValue::stored(stored)
        }
    }

    /// A file outside the store: a bundle, or the file of a further source.
    pub fn outside(digest: Digest, bytes: u64) -> FileValue {
        FileValue {
            outside: true,
            ..FileValue::stored(Stored { digest, len: bytes })
        }
    }

    pub fn of(value: &Value) -> Result<FileValue, StepError> {
        serde_json::from_value(value.body.clone()).map_err(|error| {
            StepError::internal(format!(
                "a stored file value has another shape than expected: {error}"
            ))
        })
    }

    pub fn into_value(self) -> Value {
        let objects = if self.outside {
            Vec::new()
        } else {
            vec![self.digest]
        };
        Value::new(serde_json::json!(self), objects)
    }
}

/// Files below a folder outside the store, as a value: the run's context knows where they lie.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "value", rename = "folder")]
pub struct FolderValue {
    /// By their paths in the folder, with `/` between segments.
    pub files: BTreeMap<String, FolderFile>,
}

/// A file of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderFile {
    pub digest: Digest,
    pub bytes: u64,
}

impl FolderValue {
    /// # Errors
    /// When the value is another one.
    pub fn of(value: &Value) -> Result<FolderValue, StepError> {
        serde_json::from_value(value.body.clone()).map_err(|error| {
            StepError::internal(format!(
                "a stored folder has another shape than expected: {error}"
            ))
        })
    }

    pub fn into_value(self) -> Value {
        Value::new(serde_json::json!(self), Vec::new())
    }
}
