//! A list of records as a table of pandas.
//!
//! A table has all of its columns in every row: the members in order of first appearance over all records. Types are
//! decided over the whole list, so it is gone through twice: [`Frame::see`] for every record, then [`Columns::record`].

use std::collections::HashMap;

use super::inference::{Inference, Inferred, Typing};
use super::{JsonString, Object, Printed, Value, parse};
use crate::pandas::ColumnType;
use crate::python::python_float;

/// Why pandas' table is not one that can be made here.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A list, a text, a number instead of a record.
    #[error("element {number} of the list is no object, so that it has no columns")]
    NoObject {
        /// From 1.
        number: u64,
    },
    /// `read_json` guesses from a name that a column holds dates.
    #[error(
        "pandas would read the column `{name}` as dates, because of its name; this is not done here: read the file in the dialect `dataframe`"
    )]
    Dates {
        /// The column.
        name: String,
    },
    /// `read_json` makes numbers or dates of names.
    #[error(
        "all names of columns look like numbers or dates, and pandas would change them; this is not done here: read the file in the dialect `dataframe`"
    )]
    Names,
    /// `to_json` writes a table without columns as one without rows.
    #[error(
        "no record has a member, and pandas would write a table without columns as an empty list; this is not done here: read the file in the dialect `dataframe`"
    )]
    NoColumns,
}

/// What was seen of a list of records so far.
#[derive(Debug)]
pub struct Frame {
    typing: Typing,
    columns: Vec<(JsonString, Seen)>,
    places: HashMap<JsonString, usize>,
    records: u64,
    /// Every record had all columns, in their order.
    in_order: bool,
}

#[derive(Debug, Default)]
struct Seen {
    members: u64,
    inference: Inference,
}

impl Frame {
    /// No records yet.
    pub fn new(typing: Typing) -> Self {
        Self {
            typing,
            columns: Vec::new(),
            places: HashMap::new(),
            records: 0,
            in_order: true,
        }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// It is no object.
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

    /// Takes a record that is printed.
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
                // Long texts say nothing new.
                Some(b'"') if inference.holds_texts() => continue,
                _ => parse(text.as_bytes()).unwrap_or(Value::Null),
            };
            inference.see(Some(&value));
        }
        self.in_order &= count == self.columns.len();
    }

    /// Whether the table of the records so far has them as they are: then [`Columns::record`] changes none of them.
    pub fn keeps_records(&self) -> bool {
        let keeps =
            |seen: &Seen| seen.members == self.records && seen.inference.keeps_values(self.typing);
        self.in_order && self.columns.iter().all(|(_, seen)| keeps(seen))
    }

    /// Counts a member of a record, which stands at `guess` in it.
    fn column(&mut self, key: &JsonString, guess: usize) -> Option<&mut Inference> {
        let place = self.place(key, guess);
        self.in_order &= place == guess;
        let (_, seen) = self.columns.get_mut(place)?;
        seen.members += 1;
        Some(&mut seen.inference)
    }

    /// The column called `key`; mostly at `guess`, as records have much the same members.
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

    /// The columns, once every record was seen.
    ///
    /// # Errors
    /// pandas would change the columns in a way that is not known here.
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

/// The columns of a table, with their types.
#[derive(Debug)]
pub struct Columns {
    columns: Vec<(JsonString, Inferred)>,
}

impl Columns {
    /// A record as a row of the table: all columns, in order.
    pub fn record(&self, mut record: Object) -> Object {
        let columns = self.columns.iter();
        columns
            .map(|(name, inferred)| (name.clone(), inferred.value(record.take(name))))
            .collect()
    }

    /// The type of a column; text where each value stays what it is.
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

/// Numbers, dates, of which most begin with a digit, and the empty name, which pandas takes for a missing date.
fn looks_like_a_number(name: &JsonString) -> bool {
    name.as_str().is_some_and(|name| {
        name.is_empty()
            || python_float(name).is_some()
            || name.trim().starts_with(|c: char| c.is_ascii_digit())
    })
}
