//! Assigns a number to each distinct value of a column.
//!
//! The groups of a split by groups are numbered in order of first appearance, as in pandas' `unique`. Rows without a value
//! are one group.
//!
//! Classes of a stratified split are numbered in sorted order, as by `numpy.unique`: numbers by value, text by code point. A
//! missing or infinite class is an error.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use prep_core::{Failure, StepError};
use prep_formats::pandas::{ColumnType, arrow_type};
use prep_spec::alternatives;
use prep_splits::KeyRole;
use prep_sql::Relation;
use thiserror::Error;

use crate::located::{Subject, error_at};
use crate::relation::BATCH_ROWS;

#[derive(Debug, Error)]
enum KeyError {
    #[error("the table has no column `{column}`; {}", alternatives(.column, "it", .found.iter().map(String::as_str)))]
    NoColumn { column: String, found: Vec<String> },
    #[error(
        "row {row} has no value in `{column}`, and `stratify` needs a class in every row; use a query to leave such rows out or to give them a class"
    )]
    NoClass { column: String, row: usize },
    #[error(
        "row {row} has the value {value} in `{column}`, but scikit-learn's `stratify` rejects this value as a class"
    )]
    NotFinite {
        column: String,
        value: String,
        row: usize,
    },
}

/// Returns, for each row, the number assigned to its value in `column`. `inferred` is the type that pandas infers for a text
/// column.
pub(super) fn codes(
    table: Arc<dyn Relation>,
    column: &str,
    role: KeyRole,
    inferred: Option<ColumnType>,
) -> Result<Vec<u32>, StepError> {
    let subject = Subject::Key(role.name());
    let mut columns = table.columns().iter().enumerate();
    let Some((index, found)) = columns.find(|(_, one)| one.name == column) else {
        let found = table.columns().iter().map(|one| one.name.clone());
        let error = KeyError::NoColumn {
            column: column.to_owned(),
            found: found.collect(),
        };
        return Err(error_at(Failure::Pipeline, subject, error));
    };
    let data_type = inferred.map_or_else(|| found.data_type.clone(), arrow_type);
    let mut keys = KeyNumbers {
        is_floating: data_type.is_floating(),
        ..KeyNumbers::default()
    };
    let mut codes = Vec::with_capacity(usize::try_from(table.rows()).unwrap_or(0));
    for values in table.scan(vec![index], BATCH_ROWS) {
        let values = values.map_err(StepError::input)?;
        let array = values.columns.first();
        let array = array.ok_or_else(|| StepError::internal("a scan returned no column"))?;
        let texts = cast(array, &DataType::Utf8).map_err(StepError::internal)?;
        let texts = texts.as_string::<i32>();
        for row in 0..texts.len() {
            if role.is_sorted() && texts.is_null(row) {
                let row = codes.len() + 1;
                let column = column.to_owned();
                return Err(error_at(
                    Failure::Input,
                    subject,
                    KeyError::NoClass { column, row },
                ));
            }
            codes.push(keys.number((!texts.is_null(row)).then(|| texts.value(row))));
        }
    }
    if role.is_sorted() {
        let positions = keys.sorted(&data_type).map_err(|key| {
            let row = codes.iter().position(|code| *code == key).unwrap_or(0) + 1;
            let value = keys.values.get(key as usize).cloned().unwrap_or_default();
            let error = KeyError::NotFinite {
                column: column.to_owned(),
                value: value.into(),
                row,
            };
            error_at(Failure::Input, subject, error)
        })?;
        for code in &mut codes {
            *code = positions.get(*code as usize).copied().unwrap_or(*code);
        }
    }
    Ok(codes)
}

/// Returns a cell for a message. Rows are counted from 0.
pub(super) fn value(
    table: &Arc<dyn Relation>,
    column: &str,
    row: usize,
) -> Result<String, StepError> {
    let index = table.columns().iter().position(|one| one.name == column);
    let mut before = 0;
    for values in Arc::clone(table).scan(vec![index.unwrap_or(0)], BATCH_ROWS) {
        let values = values.map_err(StepError::input)?;
        if let Some(array) = values.columns.first()
            && row < before + values.rows
        {
            if array.is_null(row - before) {
                return Ok("missing".to_owned());
            }
            let text = array_value_to_string(array, row - before);
            let text = text.map_err(StepError::internal)?;
            return Ok(format!("`{text}`"));
        }
        before += values.rows;
    }
    Ok("missing".to_owned())
}

/// The distinct values so far, numbered in order of first appearance.
#[derive(Default)]
struct KeyNumbers {
    /// Whether the values are texts of doubles.
    is_floating: bool,
    numbers: HashMap<Box<str>, u32>,
    /// The values by their number. The missing value is an empty string.
    values: Vec<Box<str>>,
    /// The number assigned to the missing value, if any.
    missing: Option<u32>,
}

impl KeyNumbers {
    /// Returns the number of a value. A new value gets the next number.
    fn number(&mut self, key: Option<&str>) -> u32 {
        let next = self.values.len() as u32;
        let Some(key) = key else {
            let number = *self.missing.get_or_insert(next);
            if number == next {
                self.values.push("".into());
            }
            return number;
        };
        // 0.0 and -0.0 are the same value.
        let key = match key {
            "-0.0" if self.is_floating => "0.0",
            key => key,
        };
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        self.numbers.insert(key.into(), next);
        self.values.push(key.into());
        next
    }

    /// Returns the position of each distinct value in sorted order. If a value is NaN or infinite, fails with the number
    /// assigned to this value.
    fn sorted(&self, data_type: &DataType) -> Result<Vec<u32>, u32> {
        let mut order: Vec<u32> = (0..self.values.len() as u32).collect();
        let text = |key: &u32| self.values.get(*key as usize).map_or("", |value| &**value);
        if data_type.is_integer() {
            order.sort_by_key(|key| text(key).parse::<i128>().unwrap_or_default());
        } else if data_type.is_floating() {
            let value = |key: &u32| text(key).parse::<f64>().unwrap_or(f64::NAN);
            if let Some(key) = order.iter().find(|key| !value(key).is_finite()) {
                return Err(*key);
            }
            order.sort_by(|a, b| value(a).partial_cmp(&value(b)).unwrap_or(Ordering::Equal));
        } else {
            // This sorts `False` before `True`.
            order.sort_by(|a, b| text(a).cmp(text(b)));
        }
        let mut positions = vec![0; order.len()];
        for (position, key) in (0u32..).zip(&order) {
            if let Some(slot) = positions.get_mut(*key as usize) {
                *slot = position;
            }
        }
        Ok(positions)
    }
}
