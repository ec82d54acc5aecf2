//! Values, and the operations of SQL on them.

use std::cmp::Ordering;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Missing,
    Integer(i64),
    Number(f64),
    Text(String),
    Boolean(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Number,
    Text,
    Boolean,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Missing => Ok(()),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value}"),
            Value::Boolean(value) => write!(f, "{value}"),
        }
    }
}

impl Value {
    fn integer(&self) -> i64 {
        match self {
            Value::Integer(value) => *value,
            _ => panic!("{self:?} in a sum of integers"),
        }
    }

    /// Compares two values that are not missing.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        Some(match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
            (Value::Integer(a), Value::Number(b)) => (*a as f64).total_cmp(b),
            (Value::Number(a), Value::Integer(b)) => a.total_cmp(&(*b as f64)),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            _ => return None,
        })
    }

    pub fn is_true(&self) -> bool {
        *self == Value::Boolean(true)
    }

    pub fn truth(&self) -> Option<bool> {
        match self {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a text that is unique to the value.
    pub fn key(&self) -> String {
        match self {
            Value::Missing => "-".to_owned(),
            Value::Text(text) => format!("'{text}"),
            other => other.to_string(),
        }
    }

    /// Compares two values as GROUP BY and DISTINCT do, which treat missing values as equal.
    pub fn same(&self, other: &Value) -> bool {
        matches!((self, other), (Value::Missing, Value::Missing))
            || self.compare(other) == Some(Ordering::Equal)
    }
}

impl From<Option<bool>> for Value {
    fn from(truth: Option<bool>) -> Value {
        truth.map_or(Value::Missing, Value::Boolean)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Boolean(truth)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Value {
        Value::Integer(i64::try_from(count).unwrap())
    }
}

/// The numbers in the tables and the results of expressions are multiples of `2^-FRACTION_BITS`.
const FRACTION_BITS: i32 = 30;

/// Returns the exact sum of numbers, in units of `2^-FRACTION_BITS`.
fn total(values: &[Value]) -> i128 {
    let whole = values.iter().map(|value| match value {
        Value::Number(value) => (value * 2_f64.powi(FRACTION_BITS)) as i128,
        _ => panic!("{value:?} in a sum of numbers"),
    });
    whole.sum()
}

/// Returns the sum of the values that are not missing. For numbers, this is the double nearest to the exact sum.
pub fn sum(values: &[Value]) -> Value {
    match values.first() {
        None => Value::Missing,
        Some(Value::Integer(_)) => Value::Integer(values.iter().map(Value::integer).sum()),
        Some(_) => Value::Number(total(values) as f64 / 2_f64.powi(FRACTION_BITS)),
    }
}

/// Returns the double nearest to the exact average of the numbers that are not missing.
pub fn average(values: &[Value]) -> Value {
    if values.is_empty() {
        return Value::Missing;
    }
    let (total, count) = (total(values), values.len() as u128);
    // With this number of bits, the remainder only decides whether the value is exactly halfway between two doubles.
    let shift = total
        .unsigned_abs()
        .leading_zeros()
        .min(127)
        .saturating_sub(2);
    let magnitude = total.unsigned_abs() << shift;
    let rounded = (magnitude / count) << 1 | u128::from(magnitude % count != 0);
    let average = rounded as f64 / 2_f64.powi(FRACTION_BITS + shift as i32 + 1);
    Value::Number(if total < 0 { -average } else { average })
}

pub fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

pub fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    and(a.map(|a| !a), b.map(|b| !b)).map(|both| !both)
}

/// Compares two values of an ORDER BY. Missing values come last, but first in descending order or if the query requests
/// it.
pub fn in_order(a: &Value, b: &Value, descending: bool, missing_first: bool) -> Ordering {
    match (a, b) {
        (Value::Missing, Value::Missing) => Ordering::Equal,
        (Value::Missing, _) if missing_first => Ordering::Less,
        (_, Value::Missing) if missing_first => Ordering::Greater,
        (Value::Missing, _) => Ordering::Greater,
        (_, Value::Missing) => Ordering::Less,
        _ => {
            let order = a.compare(b).expect("values of one kind");
            if descending { order.reverse() } else { order }
        }
    }
}
