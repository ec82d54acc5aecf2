//! Converts a list of records to a table as pandas does.
//!
//! Each row of a table has all columns. The columns are the members of all records, in order of first appearance. Their
//! types depend on the entire list, so the caller passes every record twice: first to [`FrameBuilder::add`], then to
//! [`FrameColumns::record`].

use std::collections::HashMap;

use super::inference::{FrameFunction, JsonColumnType, JsonInference};
use super::object::SharedKeys;
use super::{FormattedObject, JsonObject, JsonString, JsonValue, parse};
use crate::pandas::ColumnType;
use crate::python::python_float;

/// A table that pandas would convert in a way that is not implemented.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A record is not an object but, for example, a list or a number.
    #[error("element {number} of the list is not an object, so it has no columns")]
    NoObject {
        /// Number of the record, counted from 1.
        number: u64,
    },
    /// `read_json` would convert the column to dates because of its name.
    #[error(
        "pandas would read the column `{name}` as dates because of its name, which is not supported; read the file in the dialect `dataframe`"
    )]
    Dates {
        /// Name of the column.
        name: String,
    },
    /// `read_json` would convert the names of the columns to numbers or dates.
    #[error(
        "pandas would convert the column names to numbers or dates, which is not supported; read the file in the dialect `dataframe`"
    )]
    Names,
    /// `to_json` would write a table without columns as a table without rows.
    #[error(
        "the records are empty, and pandas would write an empty list, which is not supported; read the file in the dialect `dataframe`"
    )]
    NoColumns,
}

/// Collects the columns of a list of records and infers their types.
#[derive(Debug)]
pub struct FrameBuilder {
    function: FrameFunction,
    columns: Vec<(JsonString, ColumnStats)>,
    indices: HashMap<JsonString, usize>,
    records: u64,
    /// Whether each record had all columns in the same order.
    in_order: bool,
}

/// The number of records that contain a column, and the observations that determine its type.
#[derive(Debug, Default)]
struct ColumnStats {
    members: u64,
    inference: JsonInference,
}

impl FrameBuilder {
    /// Creates a builder without records.
    pub fn new(function: FrameFunction) -> Self {
        Self {
            function,
            columns: Vec::new(),
            indices: HashMap::new(),
            records: 0,
            in_order: true,
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`FrameError::NoObject`] if the record is not an object.
    pub fn add(&mut self, record: &JsonValue) -> Result<(), FrameError> {
        self.records += 1;
        let JsonValue::Object(record) = record else {
            return Err(FrameError::NoObject {
                number: self.records,
            });
        };
        for (index, (key, value)) in record.iter().enumerate() {
            if let Some(inference) = self.column(key, index) {
                inference.add(Some(value));
            }
        }
        self.in_order &= record.len() == self.columns.len();
        Ok(())
    }

    /// Adds a record that is already formatted.
    pub fn add_formatted(&mut self, record: &FormattedObject) {
        self.records += 1;
        let members = record.members();
        let count = members.len();
        for (index, (key, text)) in members.enumerate() {
            let Ok(JsonValue::String(key)) = parse(key.as_bytes()) else {
                continue;
            };
            let Some(inference) = self.column(&key, index) else {
                continue;
            };
            let value = match text.as_bytes().first() {
                Some(b'[') => JsonValue::List(Vec::new()),
                Some(b'{') => JsonValue::Object(JsonObject::new()),
                // More texts do not change the inferred type, so they are not parsed.
                Some(b'"') if inference.ignores_more_texts() => continue,
                _ => parse(text.as_bytes()).unwrap_or(JsonValue::Null),
            };
            inference.add(Some(&value));
        }
        self.in_order &= count == self.columns.len();
    }

    /// Whether the rows of the table equal the records added so far, so that [`FrameColumns::record`] changes none of
    /// them.
    pub fn keeps_records(&self) -> bool {
        let keeps = |seen: &ColumnStats| {
            seen.members == self.records && seen.inference.keeps_values(self.function)
        };
        self.in_order && self.columns.iter().all(|(_, seen)| keeps(seen))
    }

    /// Returns the number of cells of the table: each record has all columns.
    pub fn cells(&self) -> u64 {
        self.records.saturating_mul(self.columns.len() as u64)
    }

    /// Counts a member of a record. `guess` is its index in the record.
    fn column(&mut self, key: &JsonString, guess: usize) -> Option<&mut JsonInference> {
        let index = self.column_index(key, guess);
        self.in_order &= index == guess;
        let (_, seen) = self.columns.get_mut(index)?;
        seen.members += 1;
        Some(&mut seen.inference)
    }

    /// Returns the index of the column `key`. It is usually `guess`, because records have similar members.
    fn column_index(&mut self, key: &JsonString, guess: usize) -> usize {
        if self.columns.get(guess).is_some_and(|(name, _)| name == key) {
            return guess;
        }
        if let Some(index) = self.indices.get(key) {
            return *index;
        }
        let index = self.columns.len();
        self.columns.push((key.clone(), ColumnStats::default()));
        self.indices.insert(key.clone(), index);
        index
    }

    /// Returns the columns, after all records were added.
    ///
    /// # Errors
    /// [`FrameError`] if pandas would change the columns in a way that is not implemented.
    pub fn finish(self) -> Result<FrameColumns, FrameError> {
        let mut names = Vec::with_capacity(self.columns.len());
        let mut types = Vec::with_capacity(self.columns.len());
        for (name, mut seen) in self.columns {
            if seen.members < self.records {
                seen.inference.add(None);
            }
            if self.function == FrameFunction::ReadJson
                && is_called_like_dates(&name)
                && seen.inference.may_be_dates()
            {
                return Err(FrameError::Dates {
                    name: name.to_string_lossy().into_owned(),
                });
            }
            names.push(name);
            types.push(seen.inference.finish(self.function));
        }
        let changes = names.iter().all(looks_like_a_number);
        match self.function {
            FrameFunction::ReadJson if names.is_empty() && self.records > 0 => {
                return Err(FrameError::NoColumns);
            }
            FrameFunction::ReadJson if changes && !names.is_empty() => {
                return Err(FrameError::Names);
            }
            _ => {}
        }
        Ok(FrameColumns {
            names: SharedKeys::new(names),
            types,
        })
    }
}

/// The columns of a table and their types.
#[derive(Debug)]
pub struct FrameColumns {
    names: SharedKeys,
    types: Vec<JsonColumnType>,
}

impl FrameColumns {
    /// Converts a record to a row of the table, with all columns in order.
    pub fn record(&self, mut record: JsonObject) -> JsonObject {
        let value = |column: usize, name: &JsonString| match self.types.get(column) {
            Some(inferred) => inferred.value(record.take(name)),
            None => JsonValue::Null,
        };
        self.names.object(value)
    }

    /// Returns the type of a column. It is text if the values are unchanged (pandas' `object`).
    pub fn kind(&self, name: &str) -> Option<ColumnType> {
        let column = self.names.position(&JsonString::from(name))?;
        self.types.get(column).map(|inferred| inferred.kind)
    }
}

fn is_called_like_dates(name: &JsonString) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    name.ends_with("_at")
        || name.ends_with("_time")
        || name.starts_with("timestamp")
        || matches!(name.as_str(), "modified" | "date" | "datetime")
}

/// Whether `read_json` would convert a column name to a number or a date. Most dates begin with a digit. The empty name
/// would become a missing date.
fn looks_like_a_number(name: &JsonString) -> bool {
    name.as_str().is_some_and(|name| {
        name.is_empty()
            || python_float(name).is_some()
            || name.trim().starts_with(|c: char| c.is_ascii_digit())
    })
}
