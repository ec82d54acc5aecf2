//! A table: stored rows, and optionally a selection of them.

use std::collections::{BTreeMap, BTreeSet};

use prep_cache::Digest;
use prep_core::{Context, StepError, Value};
use prep_formats::pandas::{ColumnSchema, ColumnType, Schema};
use serde::{Deserialize, Serialize};

use super::positions::{RowPositions, StoredPositions};

/// A column of a table that a step writes.
pub(crate) fn column(name: &str, kind: ColumnType, nullable: bool) -> ColumnSchema {
    ColumnSchema {
        name: name.to_owned(),
        kind,
        nullable,
    }
}

/// How the rows are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "storage", rename_all = "snake_case")]
pub(crate) enum TableStorage {
    /// Canonical text: see `prep_formats::pandas`.
    Text {
        /// The object with the text.
        object: Digest,
    },
    /// A parquet file.
    Parquet {
        /// The object with the file.
        object: Digest,
    },
    /// A NumPy array.
    Npy {
        /// The object with the array.
        object: Digest,
    },
    /// The files of a tree listing.
    Listing {
        /// The object with the listing.
        object: Digest,
        /// The pattern that all paths match. It determines the columns.
        pattern: String,
    },
}

/// A table as a value. The schema contains the number of stored rows, before the selection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "value", rename = "table")]
pub(crate) struct TableValue {
    /// Columns, and number of stored rows.
    pub schema: Schema,
    /// The storage of the rows.
    pub storage: TableStorage,
    /// Size of the cells of all stored rows, in bytes, as text or as decoded values.
    #[serde(default)]
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<StoredPositions>,
    /// The types that pandas infers for columns that queries read as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inferred: BTreeMap<String, ColumnType>,
    /// Indices of columns that `*` does not include: `record` and `piece`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hidden: BTreeSet<usize>,
    /// Indices of columns that are declared as numbers. Queries read them as doubles, even if all cells are integers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub numbers: BTreeSet<usize>,
}

impl TableValue {
    /// Creates a table of all stored rows, whose cells have `bytes` bytes.
    pub fn new(schema: Schema, storage: TableStorage, bytes: u64) -> TableValue {
        TableValue {
            schema,
            storage,
            bytes,
            rows: None,
            inferred: BTreeMap::new(),
            hidden: BTreeSet::new(),
            numbers: BTreeSet::new(),
        }
    }

    /// Decodes a value.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn decode(value: &Value) -> Result<TableValue, StepError> {
        value.decode()
    }

    /// Number of rows after the selection.
    pub fn len(&self) -> u64 {
        self.rows
            .as_ref()
            .map_or(self.schema.rows, |rows| rows.rows)
    }

    /// Returns the size of the cells after the selection, in bytes. If rows differ in size, it is an estimate.
    pub fn cell_bytes(&self) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(self.len());
        u64::try_from(bytes / u128::from(self.schema.rows.max(1))).unwrap_or(u64::MAX)
    }

    /// Loads the selected rows. `None` if all are selected.
    ///
    /// # Errors
    /// If the positions cannot be read.
    pub fn positions(&self, context: &Context) -> Result<Option<RowPositions>, StepError> {
        self.rows
            .as_ref()
            .map(|rows| RowPositions::load(context, rows))
            .transpose()
    }

    /// Returns a table with the rows of this table at the indices `chosen`, in that order.
    ///
    /// # Errors
    /// If a row does not exist, or the positions cannot be stored.
    pub fn select_rows(
        &self,
        context: &Context,
        chosen: Vec<u32>,
    ) -> Result<TableValue, StepError> {
        let chosen = match self.positions(context)? {
            None => chosen,
            Some(positions) => {
                let stored = chosen.into_iter().map(|row| {
                    positions
                        .get(u64::from(row))
                        .and_then(|row| u32::try_from(row).ok())
                });
                stored
                    .collect::<Option<Vec<u32>>>()
                    .ok_or_else(|| StepError::internal("a selected row does not exist"))?
            }
        };
        let rows = Some(RowPositions::new(chosen).save(context)?);
        Ok(TableValue {
            rows,
            ..self.clone()
        })
    }

    /// Encodes the table as a value.
    pub fn into_value(self) -> Value {
        let (TableStorage::Text { object }
        | TableStorage::Parquet { object }
        | TableStorage::Npy { object }
        | TableStorage::Listing { object, .. }) = &self.storage;
        let mut objects = vec![*object];
        objects.extend(self.rows.as_ref().map(|rows| rows.object));
        Value::new(serde_json::json!(self), objects)
    }
}
