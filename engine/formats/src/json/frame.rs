//! Converts a list of records to a table as pandas does.
//!
//! Each row of a table has all columns. The columns are the members of all records, in order of first appearance. Their
//! types depend on the entire list, so it is read twice: first every record is passed to [`Frame::see`], then to
//! [`Columns::record`].

use std::collections::HashMap;

use super::inference::{Inference, Inferred, Typing};
use super::{JsonString, Object, Printed, Value, parse};
use crate::pandas::ColumnType;
use crate::python::python_float;

/// A table for which pandas would do something that this module does not implement.
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
pub struct Frame {
    typing: Typing,
    columns: Vec<(JsonString, Seen)>,
    places: HashMap<JsonString, usize>,
    records: u64,
    /// Whether each record had all columns in their order.
    in_order: bool,
}

/// The observations of a column: the number of records that have it, and its type.
#[derive(Debug, Default)]
struct Seen {
    members: u64,
    inference: Inference,
}

impl Frame {
    /// Starts without records.
    pub fn new(typing: Typing) -> Self {
        Self {
            typing,
            columns: Vec::new(),
            places: HashMap::new(),
            records: 0,
            in_order: true,
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`FrameError::NoObject`].
    pub fn see(&mut self, record: &Value) -> Result<(), FrameError> {
        self.records += 1;
        let Value::Object(record) = record else {
            return Err(FrameError::NoObject {
                number: self.records,
            });
        };
        for (place, (key, value)) in record.iter().enumerate() {
            if let Some(inference) = self.column(key, place) {
                inference.see(Some(value));
            }
        }
        self.in_order &= record.len() == self.columns.len();
        Ok(())
    }

    /// Adds a record that is already formatted.
    pub fn see_printed(&mut self, record: &Printed) {
        self.records += 1;
        let members = record.members();
        let count = members.len();
        for (place, (key, text)) in members.enumerate() {
            let Ok(Value::String(key)) = parse(key.as_bytes()) else {
                continue;
            };
            let Some(inference) = self.column(&key, place) else {
                continue;
            };
            let value = match text.as_bytes().first() {
                Some(b'[') => Value::List(Vec::new()),
                Some(b'{') => Value::Object(Object::new()),
                // A further text does not change the inferred type, so it is not parsed.
                Some(b'"') if inference.holds_texts() => continue,
                _ => parse(text.as_bytes()).unwrap_or(Value::Null),
            };
            inference.see(Some(&value));
        }
        self.in_order &= count == self.columns.len();
    }

    /// Whether the rows equal the records added so far, so that [`Columns::record`] changes none of them.
    pub fn keeps_records(&self) -> bool {
        let keeps =
            |seen: &Seen| seen.members == self.records && seen.inference.keeps_values(self.typing);
        self.in_order && self.columns.iter().all(|(_, seen)| keeps(seen))
    }

    /// Counts a member of a record. `guess` is its index in the record.
    fn column(&mut self, key: &JsonString, guess: usize) -> Option<&mut Inference> {
        let place = self.place(key, guess);
        self.in_order &= place == guess;
        let (_, seen) = self.columns.get_mut(place)?;
        seen.members += 1;
        Some(&mut seen.inference)
    }

    /// Returns the index of the column `key`. It is usually `guess`, because records have similar members.
    fn place(&mut self, key: &JsonString, guess: usize) -> usize {
        if self.columns.get(guess).is_some_and(|(name, _)| name == key) {
            return guess;
        }
        if let Some(place) = self.places.get(key) {
            return *place;
        }
        let place = self.columns.len();
        self.columns.push((key.clone(), Seen::default()));
        self.places.insert(key.clone(), place);
        place
    }

    /// Returns the columns, after all records were added.
    ///
    /// # Errors
    /// [`FrameError`] if pandas would change the columns in a way that is not implemented.
    pub fn finish(self) -> Result<Columns, FrameError> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (name, mut seen) in self.columns {
            if seen.members < self.records {
                seen.inference.see(None);
            }
            if self.typing == Typing::ReadJson
                && is_called_like_dates(&name)
                && seen.inference.may_be_dates()
            {
                return Err(FrameError::Dates {
                    name: name.to_string_lossy().into_owned(),
                });
            }
            columns.push((name, seen.inference.finish(self.typing)));
        }
        let changes = columns.iter().all(|(name, _)| looks_like_a_number(name));
        match self.typing {
            Typing::ReadJson if columns.is_empty() && self.records > 0 => {
                return Err(FrameError::NoColumns);
            }
            Typing::ReadJson if changes && !columns.is_empty() => return Err(FrameError::Names),
            _ => {}
        }
        Ok(Columns { columns })
    }
}

/// The columns of a table and their types.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<(JsonString, Inferred)>,
}

impl Columns {
    /// Converts a record to a row of the table, with all columns in order.
    pub fn record(&self, mut record: Object) -> Object {
        let columns = self.columns.iter();
        columns
            .map(|(name, inferred)| (name.clone(), inferred.value(record.take(name))))
            .collect()
    }

    /// Returns the type of a column. It is text if the values are unchanged (pandas' `object`).
    pub fn kind(&self, name: &str) -> Option<ColumnType> {
        let name = JsonString::from(name);
        let found = self.columns.iter().find(|(column, _)| *column == name);
        found.map(|(_, inferred)| inferred.kind)
    }
}

fn is_called_like_dates(name: &JsonString) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    name.ends_with("_at")
        || name.ends_with("_time")
        || name.starts_with("timestamp")
        || matches!(name.as_str(), "modified" | "date" | "datetime")
}

/// Whether `read_json` would convert the name: to a number, to a date (most begin with a digit), or, if it is empty, to
/// a missing date.
fn looks_like_a_number(name: &JsonString) -> bool {
    name.as_str().is_some_and(|name| {
        name.is_empty()
            || python_float(name).is_some()
            || name.trim().starts_with(|c: char| c.is_ascii_digit())
    })
}
