//! Converts a list of records to a table as pandas does.
//!
//! The columns are the keys of all records, in order of first appearance. The type of a column depends on all records.
//! Therefore the caller passes each record twice: first to [`FrameBuilder::add`], then to [`FrameColumns::record`].

use std::collections::HashMap;

use super::value::SharedKeys;
use super::{FormattedObject, JsonObject, JsonString, JsonValue, parse};
use crate::pandas::ColumnType;
use crate::python::python_float;

/// Records that pandas would reject, or convert in a way that is not implemented.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A record is, for example, a list or a number.
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
        "the records have no members, and pandas would write an empty list for them, which is not supported; read the file in the dialect `dataframe`"
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
    /// Whether all records so far contain all columns in the same order.
    in_order: bool,
}

#[derive(Debug, Default)]
struct ColumnStats {
    /// Number of records that contain the column.
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
                // More strings cannot change the inferred type, so this one is not parsed.
                Some(b'"') if inference.ignores_more_strings() => continue,
                _ => parse(text.as_bytes()).unwrap_or(JsonValue::Null),
            };
            inference.add(Some(&value));
        }
        self.in_order &= count == self.columns.len();
    }

    /// Returns whether [`FrameColumns::record`] would return all records unchanged: the same keys, order and
    /// values.
    pub fn keeps_records(&self) -> bool {
        let keeps = |seen: &ColumnStats| {
            seen.members == self.records && seen.inference.keeps_values(self.function)
        };
        self.in_order && self.columns.iter().all(|(_, seen)| keeps(seen))
    }

    /// Returns the number of cells of the table.
    pub fn cells(&self) -> u64 {
        self.records.saturating_mul(self.columns.len() as u64)
    }

    /// Counts a member of a record. `guess` is the member's index in the record, and usually also the column's index.
    fn column(&mut self, key: &JsonString, guess: usize) -> Option<&mut JsonInference> {
        let index = self.column_index(key, guess);
        self.in_order &= index == guess;
        let (_, seen) = self.columns.get_mut(index)?;
        seen.members += 1;
        Some(&mut seen.inference)
    }

    /// Returns the index of the column `key`, which is usually `guess`, because records are similar.
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

    /// Returns the columns. All records must have been added.
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
        let are_converted = names.iter().all(looks_like_a_number);
        match self.function {
            FrameFunction::ReadJson if names.is_empty() && self.records > 0 => {
                return Err(FrameError::NoColumns);
            }
            FrameFunction::ReadJson if are_converted && !names.is_empty() => {
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
    /// Converts a record to a row that contains all columns in the order of the table.
    pub fn record(&self, mut record: JsonObject) -> JsonObject {
        let value = |column: usize, name: &JsonString| match self.types.get(column) {
            Some(inferred) => inferred.value(record.take(name)),
            None => JsonValue::Null,
        };
        self.names.object(value)
    }

    /// Returns the type of a column. A column of pandas' type `object` has the type text.
    pub fn kind(&self, name: &str) -> Option<ColumnType> {
        let column = self.names.position(&JsonString::from(name))?;
        self.types.get(column).map(|inferred| inferred.kind)
    }
}

/// Returns whether `read_json` may convert a column with this name to dates.
fn is_called_like_dates(name: &JsonString) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    name.ends_with("_at")
        || name.ends_with("_time")
        || name.starts_with("timestamp")
        || matches!(name.as_str(), "modified" | "date" | "datetime")
}

/// Returns whether `read_json` might convert a name to a number or a date. It converts an empty name to a missing date.
fn looks_like_a_number(name: &JsonString) -> bool {
    name.as_str().is_some_and(|name| {
        name.is_empty()
            || python_float(name).is_some()
            || name.trim().starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The pandas function that converts records to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFunction {
    /// `pandas.DataFrame(records)`. Integers become doubles if the column also contains fractions, missing values or NaN.
    ///
    /// A column is unchanged if it contains strings, booleans, lists or objects.
    DataFrame,
    /// `pandas.read_json`. Also converts these columns to numbers: columns with strings, with missing values, or with both
    /// booleans and numbers.
    ///
    /// The type is `int64` if all values are integers, otherwise `float64`. A column is not converted if it contains a list,
    /// an object, or a string that Python's `float` rejects.
    ReadJson,
}

/// The kinds of values that a column contains so far. They determine its type.
#[derive(Debug, Clone, Default)]
pub struct JsonInference {
    null: bool,
    /// The column contains NaN, or a record lacks the column.
    nan: bool,
    boolean: bool,
    fraction: bool,
    integer: bool,
    negative: bool,
    above_int64: bool,
    /// pandas keeps the values as they are (`object`).
    object: bool,
    /// The column contains a value that Python's `float` rejects.
    non_number: bool,
    /// The column contains a number that is not an integer in the range of `int64`.
    non_integer: bool,
    text: bool,
    /// The column contains a number up to [`MIN_DATE_SECONDS`], so pandas converts no value to a date.
    small: bool,
}

/// In a column with a name such as `date` or `created_at`, numbers above this bound become dates. The unit is seconds
/// since 1970.
const MIN_DATE_SECONDS: f64 = 31_536_000.0;

impl JsonInference {
    /// Adds a member of a record. It is `None` if the record does not contain the member.
    pub fn add(&mut self, member: Option<&JsonValue>) {
        match member {
            Some(JsonValue::Null) => self.null = true,
            None => self.nan = true,
            Some(JsonValue::Float(value)) if value.is_nan() => self.nan = true,
            Some(JsonValue::Float(_)) => self.fraction = true,
            Some(JsonValue::Bool(_)) => self.boolean = true,
            Some(JsonValue::Int(value)) => {
                self.integer = true;
                self.add_range(*value < 0, false);
            }
            Some(JsonValue::BigInt(digits)) => {
                self.integer = true;
                self.add_range(false, true);
                self.object |= !self.null && digits.parse::<u64>().is_err();
            }
            Some(JsonValue::String(_)) => {
                self.object = true;
                self.text = true;
            }
            Some(JsonValue::List(_) | JsonValue::Object(_)) => self.object = true,
        }
        if self.ignores_more_strings() {
            return;
        }
        match member.map_or(Some(f64::NAN), as_number) {
            Some(value) => {
                self.non_integer |= !is_integer(value);
                self.small |= value <= MIN_DATE_SECONDS;
            }
            None => self.non_number = true,
        }
    }

    /// Records whether an integer is below 0 or above `int64`. If the column already contains a null, its integers become
    /// doubles, so their range does not matter.
    fn add_range(&mut self, negative: bool, above_int64: bool) {
        if !self.null {
            self.negative |= negative;
            self.above_int64 |= above_int64;
            self.object |= self.negative && self.above_int64;
        }
    }

    /// Returns whether `read_json` would convert the column to dates if its name were that of a date.
    pub(super) fn may_be_dates(&self) -> bool {
        self.text || (self.integer || self.fraction) && !self.small
    }

    /// Returns whether the column contains a string and a value that `float` rejects. More strings cannot change its type.
    pub(super) fn ignores_more_strings(&self) -> bool {
        self.text && self.non_number
    }

    /// Returns whether `function` leaves all values of the column unchanged.
    pub(super) fn keeps_values(&self, function: FrameFunction) -> bool {
        match self.finish(function).conversion {
            Conversion::None => true,
            Conversion::Double => !(self.null || self.boolean || self.integer || self.text),
            Conversion::Integer => false,
        }
    }

    /// Returns the inferred type of the column.
    pub fn finish(&self, function: FrameFunction) -> JsonColumnType {
        let kind = self.kind();
        match function {
            FrameFunction::ReadJson if kind == ColumnType::Text && self.non_number => {}
            FrameFunction::ReadJson if matches!(kind, ColumnType::Text | ColumnType::Float64) => {
                let (kind, conversion) = match self.non_integer {
                    true => (ColumnType::Float64, Conversion::Double),
                    false => (ColumnType::Int64, Conversion::Integer),
                };
                return JsonColumnType { kind, conversion };
            }
            _ => {}
        }
        let conversion = match kind {
            ColumnType::Float64 => Conversion::Double,
            _ => Conversion::None,
        };
        JsonColumnType { kind, conversion }
    }

    /// Returns the type of the column in `pandas.DataFrame(records)`.
    fn kind(&self) -> ColumnType {
        let has_numbers = self.integer || self.fraction;
        if self.object {
            ColumnType::Text
        } else if self.boolean {
            match has_numbers || self.null || self.nan {
                true => ColumnType::Text,
                false => ColumnType::Bool,
            }
        } else if self.fraction || self.nan || self.null && has_numbers {
            ColumnType::Float64
        } else if self.above_int64 {
            ColumnType::UInt64
        } else if self.integer {
            ColumnType::Int64
        } else {
            ColumnType::Text
        }
    }
}

/// The type of a column, and how its values are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonColumnType {
    /// The type. A column of pandas' type `object` has the type text.
    pub kind: ColumnType,
    conversion: Conversion,
}

/// The conversion of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    None,
    Double,
    /// To a double, and from the double to an integer.
    Integer,
}

impl JsonColumnType {
    /// Converts a member of a record. A missing member becomes NaN.
    pub fn value(self, member: Option<JsonValue>) -> JsonValue {
        let number = |member: &Option<JsonValue>| {
            let number = member.as_ref().and_then(as_number);
            number.unwrap_or(f64::NAN)
        };
        match self.conversion {
            Conversion::None => member.unwrap_or(JsonValue::Float(f64::NAN)),
            Conversion::Double => JsonValue::Float(number(&member)),
            Conversion::Integer => JsonValue::Int(number(&member) as i64),
        }
    }
}

/// Converts a value to a double as NumPy does. Null becomes NaN, and Python's `float` parses strings.
fn as_number(value: &JsonValue) -> Option<f64> {
    match value {
        JsonValue::Null => Some(f64::NAN),
        JsonValue::Bool(value) => Some(f64::from(u8::from(*value))),
        JsonValue::Int(value) => Some(*value as f64),
        JsonValue::BigInt(digits) => digits.parse().ok(),
        JsonValue::Float(value) => Some(*value),
        JsonValue::String(text) => python_float(text.as_str()?),
        JsonValue::List(_) | JsonValue::Object(_) => None,
    }
}

/// Returns whether a double is an integer in the range of `i64`.
fn is_integer(value: f64) -> bool {
    /// 2^63.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)
}
