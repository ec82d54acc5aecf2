//! The type of a column of JSON values, as `pandas.DataFrame` and `pandas.read_json` infer it.

use super::Value;
use crate::pandas::ColumnType;
use crate::python::python_float;

/// Which of pandas' functions makes a table of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// `pandas.DataFrame(records)`: integers become doubles beside fractions, missing values and NaN; a column that holds
    /// anything but numbers keeps every value as it is.
    DataFrame,
    /// `pandas.read_json`: beyond that, a column that holds nothing but numbers, booleans, missing values and texts that
    /// Python takes for numbers becomes doubles, and doubles that are all whole become integers.
    ReadJson,
}

/// What was seen of a column so far.
#[derive(Debug, Clone)]
pub struct Inference {
    null: bool,
    /// NaN, or no member at all.
    nan: bool,
    boolean: bool,
    fraction: bool,
    integer: bool,
    /// An integer below 0, and one beyond `int64`.
    negative: bool,
    beyond: bool,
    /// Each value stays what it is.
    object: bool,
    /// Every value is a number for `float`.
    numbers: bool,
    /// Every value is a whole number that `int64` holds.
    whole: bool,
    text: bool,
    /// A number that is no date for pandas: less than a year after 1970.
    small: bool,
}

impl Default for Inference {
    fn default() -> Self {
        Self {
            null: false,
            nan: false,
            boolean: false,
            fraction: false,
            integer: false,
            negative: false,
            beyond: false,
            object: false,
            numbers: true,
            whole: true,
            text: false,
            small: false,
        }
    }
}

/// pandas takes numbers from here on for seconds since 1970, in columns that are called like dates.
const SMALLEST_DATE: f64 = 31_536_000.0;

impl Inference {
    /// Takes a record's member; none if the record has none.
    pub fn see(&mut self, member: Option<&Value>) {
        match member {
            Some(Value::Null) => self.null = true,
            None => self.nan = true,
            Some(Value::Float(value)) if value.is_nan() => self.nan = true,
            Some(Value::Float(_)) => self.fraction = true,
            Some(Value::Bool(_)) => self.boolean = true,
            Some(Value::Int(value)) => {
                self.integer = true;
                self.bound(*value < 0, false);
            }
            Some(Value::BigInt(digits)) => {
                self.integer = true;
                self.bound(false, true);
                self.object |= !self.null && digits.parse::<u64>().is_err();
            }
            Some(Value::String(_)) => {
                self.object = true;
                self.text = true;
            }
            Some(Value::List(_) | Value::Object(_)) => self.object = true,
        }
        if self.text && !self.numbers {
            return;
        }
        match member.map_or(Some(f64::NAN), as_number) {
            Some(value) => {
                self.whole &= is_whole(value);
                self.small |= value <= SMALLEST_DATE;
            }
            None => self.numbers = false,
        }
    }

    /// An integer's range. pandas looks at it until it meets the first null: from then on the column is of doubles.
    fn bound(&mut self, negative: bool, beyond: bool) {
        if !self.null {
            self.negative |= negative;
            self.beyond |= beyond;
            self.object |= self.negative && self.beyond;
        }
    }

    /// Whether `read_json` would try to make dates of the column, if its name is that of one.
    pub(super) fn may_be_dates(&self) -> bool {
        self.text || (self.integer || self.fraction) && !self.small
    }

    /// Whether there were texts, and further ones make no difference.
    pub(super) fn holds_texts(&self) -> bool {
        self.text && !self.numbers
    }

    /// Whether the column has every value, of those that were there, as it is.
    pub(super) fn keeps_values(&self, typing: Typing) -> bool {
        match self.finish(typing).conversion {
            Conversion::None => true,
            Conversion::Double => !(self.null || self.boolean || self.integer || self.text),
            Conversion::Whole => false,
        }
    }

    /// What the column is.
    pub fn finish(&self, typing: Typing) -> Inferred {
        let kind = self.kind();
        match typing {
            Typing::ReadJson if kind == ColumnType::Text && !self.numbers => {}
            Typing::ReadJson if matches!(kind, ColumnType::Text | ColumnType::Float64) => {
                return match self.whole {
                    true => Inferred {
                        kind: ColumnType::Int64,
                        conversion: Conversion::Whole,
                    },
                    false => Inferred {
                        kind: ColumnType::Float64,
                        conversion: Conversion::Double,
                    },
                };
            }
            _ => {}
        }
        let conversion = match kind {
            ColumnType::Float64 => Conversion::Double,
            _ => Conversion::None,
        };
        Inferred { kind, conversion }
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
        } else if self.beyond {
            ColumnType::UInt64
        } else if self.integer {
            ColumnType::Int64
        } else {
            ColumnType::Text
        }
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inferred {
    /// Text where each value stays what it is: `object`.
    pub kind: ColumnType,
    conversion: Conversion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    None,
    Double,
    /// To a double, then to an integer.
    Whole,
}

impl Inferred {
    /// A member as the table has it; one that is not there is NaN.
    pub fn value(self, member: Option<Value>) -> Value {
        let number = |member: &Option<Value>| {
            let number = member.as_ref().and_then(as_number);
            number.unwrap_or(f64::NAN)
        };
        match self.conversion {
            Conversion::None => member.unwrap_or(Value::Float(f64::NAN)),
            Conversion::Double => Value::Float(number(&member)),
            Conversion::Whole => Value::Int(number(&member) as i64),
        }
    }
}

/// A value as a double, as NumPy makes it of an object: null is NaN, texts are what Python's `float` takes them for.
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => Some(f64::NAN),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Int(value) => Some(*value as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(value) => Some(*value),
        Value::String(text) => python_float(text.as_str()?),
        Value::List(_) | Value::Object(_) => None,
    }
}

/// Whether a double is a whole number that `int64` holds.
fn is_whole(value: f64) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)
}
