//! The value of a table: stored rows, and optionally a selection of them. Also writers for tables and for canonical text.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::{Read, Write};

use prep_cache::{Buffer, Digest, ObjectWriter, Stored};
use prep_core::{Claim, Context, StepError, Value};
use prep_formats::pandas::{ColumnSchema, ColumnType, CsvWriter, Schema};
use serde::{Deserialize, Serialize};

use super::positions::{RowPositions, StoredPositions};
use super::{StoredText, TextMetadata};

/// Creates the schema of a column.
pub(crate) fn column(name: &str, kind: ColumnType, nullable: bool) -> ColumnSchema {
    ColumnSchema {
        name: name.to_owned(),
        kind,
        nullable,
    }
}

/// The object with the stored rows of a table, and its format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "storage", rename_all = "snake_case")]
pub(crate) enum TableStorage {
    /// Canonical text, see `prep_formats::pandas`.
    Text {
        object: Digest,
    },
    Parquet {
        object: Digest,
    },
    Npy {
        object: Digest,
    },
    /// The files of a tree listing.
    Listing {
        object: Digest,
        /// The pattern that all paths match. It determines the columns.
        pattern: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "value", rename = "table")]
pub(crate) struct TableValue {
    /// Columns, and number of stored rows, regardless of the selection.
    pub schema: Schema,
    pub storage: TableStorage,
    /// Size in bytes of the cells of all stored rows: of their text, or of the decoded values, depending on `storage`.
    #[serde(default)]
    bytes: u64,
    /// The selection: positions of the table's rows among the stored rows. `None` for all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<StoredPositions>,
    /// The types that pandas infers for columns that queries read as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inferred: BTreeMap<String, ColumnType>,
    /// Indices of the columns `record` and `piece`, which `*` does not include.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hidden: BTreeSet<usize>,
    /// Indices of columns declared as numbers. Queries read them as doubles, even if all cells are integers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub numbers: BTreeSet<usize>,
}

impl TableValue {
    /// Creates a table of all stored rows. `bytes` is the size of their cells.
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

    /// Decodes a value. Fails if it is not a table.
    pub fn decode(value: &Value) -> Result<TableValue, StepError> {
        value.decode()
    }

    /// Returns the number of selected rows. Without a selection, these are all rows.
    pub fn len(&self) -> u64 {
        self.rows
            .as_ref()
            .map_or(self.schema.rows, |rows| rows.rows)
    }

    /// Estimates the size in bytes of the cells of the selected rows.
    pub fn cell_bytes(&self) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(self.len());
        u64::try_from(bytes / u128::from(self.schema.rows.max(1))).unwrap_or(u64::MAX)
    }

    /// Loads the positions of the selected rows. `None` if all rows are selected.
    pub fn positions(&self, context: &Context) -> Result<Option<RowPositions>, StepError> {
        self.rows
            .as_ref()
            .map(|rows| RowPositions::load(context, rows))
            .transpose()
    }

    /// Returns the table of the rows `chosen` of this table, in this order. Fails if a row does not exist.
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

    /// Returns the value of a step's output. It refers to the objects of the stored rows and of the selection.
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

/// Number of rows between two checks for cancellation.
const BETWEEN_CHECKS: u64 = 4096;

/// Writes a table as canonical text into the cache.
pub(crate) struct TableWriter<'a> {
    pub context: &'a Context,
    cells: CsvWriter<ObjectWriter>,
    pub schema: Schema,
}

impl<'a> TableWriter<'a> {
    pub fn new(
        context: &'a Context,
        columns: Vec<ColumnSchema>,
    ) -> Result<TableWriter<'a>, StepError> {
        let mut cells = CsvWriter::new(context.store.writer()?).with_index();
        cells
            .header(columns.iter().map(|column| column.name.as_str()))
            .map_err(StepError::machine)?;
        Ok(TableWriter {
            context,
            cells,
            schema: Schema { columns, rows: 0 },
        })
    }

    /// Returns the writer for the cells of a row, from left to right.
    pub fn cells(&mut self) -> &mut CsvWriter<ObjectWriter> {
        &mut self.cells
    }

    pub fn end_row(&mut self) -> Result<(), StepError> {
        if self.schema.rows.is_multiple_of(BETWEEN_CHECKS) {
            self.context.check()?;
        }
        self.schema.rows += 1;
        self.cells.end_row().map_err(StepError::machine)
    }

    pub fn finish(mut self) -> Result<TableValue, StepError> {
        let index = self.cells.take_index();
        let out = self.cells.finish().map_err(StepError::machine)?;
        let stored = out.commit()?;
        if let Some(index) = index {
            let metadata = TextMetadata {
                index,
                projection: None,
            };
            StoredText::cache(self.context, stored, &self.schema, metadata)?;
        }
        let storage = TableStorage::Text {
            object: stored.digest,
        };
        Ok(TableValue::new(self.schema, storage, stored.len))
    }
}

/// The text of a CSV file with fewer bytes is always written to the cache, so that later runs do not read the file
/// again. The text of a larger file may be kept only in memory.
const MIN_IN_MEMORY_BYTES: u64 = 4 << 20;

/// Canonical text may have more quotes than the CSV file. Therefore the buffer for a text in memory is larger than the
/// file. The difference is the size of the file divided by [`EXTRA_DIVISOR`], plus this constant.
const EXTRA_BYTES: u64 = 1 << 16;
const EXTRA_DIVISOR: u64 = 64;

/// Writes the canonical text of a table, to memory or to the cache.
pub(crate) struct TextWriter {
    out: ObjectWriter,
    claim: Option<Claim>,
}

/// A canonical text in memory, and the claim of this memory.
pub(crate) struct InMemoryText {
    pub buffer: Buffer,
    pub claim: Claim,
}

impl TextWriter {
    /// Creates a writer for the text of a CSV file of `bytes` bytes.
    pub fn new(context: &Context, bytes: u64) -> Result<TextWriter, StepError> {
        // If the store computes SHA-256, the text may be published unchanged, and then needs a file anyway.
        let in_memory = match bytes >= MIN_IN_MEMORY_BYTES && !context.store.computes_sha256() {
            true => InMemoryText::new(context, bytes),
            false => None,
        };
        Ok(match in_memory {
            Some(InMemoryText { buffer, claim }) => TextWriter {
                out: context.store.writer_in_memory(buffer),
                claim: Some(claim),
            },
            None => TextWriter {
                out: context.store.writer()?,
                claim: None,
            },
        })
    }

    /// Appends a chunk. Returns a buffer for reuse, if one is free.
    pub fn push(&mut self, chunk: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        self.out.push(chunk)
    }

    /// Ends the text, for callers that do not use it as a table. Returns a reader of the text, and the claim of its
    /// memory.
    pub fn read_back(self) -> Result<(impl Read, Option<Claim>), StepError> {
        Ok((self.out.read_back()?, self.claim))
    }

    /// Returns the text's object, and the text if it is not in the cache.
    pub fn finish(self) -> Result<(Stored, Option<InMemoryText>), StepError> {
        let (object, buffer) = self.out.finish()?;
        let in_memory = buffer.zip(self.claim);
        let in_memory = in_memory.map(|(buffer, claim)| InMemoryText { buffer, claim });
        Ok((object, in_memory))
    }
}

impl Write for TextWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl InMemoryText {
    /// Allocates memory for the text of a file of `bytes` bytes. Returns `None` if this memory is not free.
    fn new(context: &Context, bytes: u64) -> Option<InMemoryText> {
        let bytes = bytes.checked_add(bytes / EXTRA_DIVISOR + EXTRA_BYTES)?;
        let claim = context.objects.try_claim_for_result(bytes)?;
        let buffer = Buffer::with_capacity(usize::try_from(bytes).ok()?).ok()?;
        Some(InMemoryText { buffer, claim })
    }
}
