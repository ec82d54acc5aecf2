//! Infers the type of a column of JSON values, as `pandas.DataFrame` and `pandas.read_json` do.

use super::JsonValue;
use crate::pandas::ColumnType;
use crate::python::python_float;

/// The pandas function that converts records to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFunction {
    /// `pandas.DataFrame(records)`. Integers become doubles if the column also contains fractions, missing values or
    /// NaN. A column that contains anything but numbers is unchanged.
    DataFrame,
    /// `pandas.read_json`. In addition, a column that consists of numbers, booleans, missing values and texts that
    /// Python's `float` accepts becomes doubles. Doubles that are all integers become integers.
    ReadJson,
}

/// The observations of a column that determine its type.
#[derive(Debug, Clone, Default)]
pub struct JsonInference {
    null: bool,
    /// NaN, or a record without this member.
    nan: bool,
    boolean: bool,
    fraction: bool,
    integer: bool,
    /// An integer below 0.
    negative: bool,
    /// An integer above the range of `int64`.
    above_int64: bool,
    /// The values are unchanged (pandas' `object`).
    object: bool,
    /// A value that Python's `float` rejects.
    non_number: bool,
    /// A number that is not an integer in the range of `int64`.
    non_integer: bool,
    text: bool,
    /// Some number is at most [`MIN_DATE_SECONDS`]. pandas then converts no value of the column to a date.
    small: bool,
}

/// In columns whose name is that of a date, pandas interprets numbers above this as seconds since 1970.
const MIN_DATE_SECONDS: f64 = 31_536_000.0;

impl JsonInference {
    /// Adds a member of a record; `None` if the record does not contain it.
    pub fn add(&mut self, member: Option<&JsonValue>) {
        match member {
            Some(JsonValue::Null) => self.null = true,
            None => self.nan = true,
            Some(JsonValue::Float(value)) if value.is_nan() => self.nan = true,
            Some(JsonValue::Float(_)) => self.fraction = true,
            Some(JsonValue::Bool(_)) => self.boolean = true,
            Some(JsonValue::Int(value)) => {
                self.integer = true;
                self.bound(*value < 0, false);
            }
            Some(JsonValue::BigInt(digits)) => {
                self.integer = true;
                self.bound(false, true);
                self.object |= !self.null && digits.parse::<u64>().is_err();
            }
            Some(JsonValue::String(_)) => {
                self.object = true;
                self.text = true;
            }
            Some(JsonValue::List(_) | JsonValue::Object(_)) => self.object = true,
        }
        if self.ignores_more_texts() {
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

    /// Records whether an integer is below 0 or above the range of `int64`. After the first null the column consists of
    /// doubles, so pandas ignores the range of later integers.
    fn bound(&mut self, negative: bool, above_int64: bool) {
        if !self.null {
            self.negative |= negative;
            self.above_int64 |= above_int64;
            self.object |= self.negative && self.above_int64;
        }
    }

    /// Whether `read_json` would convert the column to dates if its name were that of a date.
    pub(super) fn may_be_dates(&self) -> bool {
        self.text || (self.integer || self.fraction) && !self.small
    }

    /// Whether the column contains texts and is not numeric. More texts then do not change the inferred type.
    pub(super) fn ignores_more_texts(&self) -> bool {
        self.text && self.non_number
    }

    /// Whether the conversion leaves all observed values unchanged.
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
    /// The type; text if the values are unchanged (pandas' `object`).
    pub kind: ColumnType,
    conversion: Conversion,
}

/// A conversion of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    None,
    Double,
    /// To a double and then to an integer.
    Integer,
}

impl JsonColumnType {
    /// Converts a member of a record; a missing one becomes NaN.
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

/// Converts a value to a double as NumPy does: null is NaN, a text is parsed by Python's `float`.
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

/// Whether a double is an integer in the range of `int64`.
fn is_integer(value: f64) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)
}
