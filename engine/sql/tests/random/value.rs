//! Values, and the operations of SQL on them.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};

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

    /// Compares two values other than NULL.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        Some(match (self, other) {
            (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => in_number_order(*a, *b),
            (Value::Integer(a), Value::Number(b)) => in_number_order(*a as f64, *b),
            (Value::Number(a), Value::Integer(b)) => in_number_order(*a, *b as f64),
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

    /// Returns a string that is the same for equal values. NULL equals NULL.
    pub fn key(&self) -> String {
        match self {
            Value::Missing => "-".to_owned(),
            Value::Text(text) => format!("'{text}"),
            other => other.canonical().to_string(),
        }
    }

    /// Returns the value that represents all equal values.
    pub fn canonical(&self) -> Value {
        match self {
            Value::Number(value) if *value == 0.0 => Value::Number(0.0),
            Value::Number(value) if value.is_nan() => Value::Number(f64::NAN),
            other => other.clone(),
        }
    }

    /// Returns the value as a literal of SQL.
    pub fn literal(&self) -> String {
        match self {
            Value::Missing => "NULL".to_owned(),
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
            other => other.to_string(),
        }
    }

    /// Compares two values as GROUP BY and DISTINCT do, for which NULL equals NULL.
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

/// Compares numbers. NaN equals NaN and is the largest number, and -0.0 equals 0.0.
pub fn in_number_order(a: f64, b: f64) -> Ordering {
    let by_nan = a.is_nan().cmp(&b.is_nan());
    by_nan.then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
}

/// Numbers are added in units of `2^-UNIT_BITS`, the smallest positive double.
const UNIT_BITS: i64 = 1074;

/// Returns the exact sum of finite numbers, in units of `2^-UNIT_BITS`.
fn total(values: &[f64]) -> BigInt {
    let exact = values.iter().map(|value| {
        let bits = value.abs().to_bits();
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        let whole = match exponent {
            0 => BigInt::from(fraction),
            _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
        };
        if value.is_sign_negative() {
            -whole
        } else {
            whole
        }
    });
    exact.sum()
}

/// Returns the double nearest to `value * 2^-unit_bits`.
fn rounded(value: &BigInt, unit_bits: i64) -> f64 {
    let magnitude = value.magnitude();
    let excess = magnitude.bits().saturating_sub(64);
    let mut top = (magnitude >> excess).iter_u64_digits().next().unwrap_or(0);
    // The lowest bit of `top` only decides whether the value is halfway between two doubles.
    top |= u64::from((magnitude >> excess << excess) != *magnitude);
    let mut exponent = i32::try_from(excess as i64 - unit_bits).unwrap();
    let mut number = top as f64;
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        number *= 2_f64.powi(step);
        exponent -= step;
    }
    if value.sign() == Sign::Minus {
        -number
    } else {
        number
    }
}

/// Returns the numbers, or their sum if the sum is not finite.
fn finite(values: &[Value]) -> Result<Vec<f64>, Value> {
    let numbers = values.iter().map(|value| match value {
        Value::Number(value) => *value,
        _ => panic!("{value:?} in a sum of numbers"),
    });
    let numbers: Vec<f64> = numbers.collect();
    match numbers.iter().all(|number| number.is_finite()) {
        true => Ok(numbers),
        false => {
            let special = numbers.iter().filter(|number| !number.is_finite());
            Err(Value::Number(special.sum()))
        }
    }
}

/// Returns the sum of values other than NULL. For numbers, this is the double nearest to the exact sum.
///
/// Returns `None` if a sum of integers overflows.
pub fn checked_sum(values: &[Value]) -> Option<Value> {
    Some(match values.first() {
        None => Value::Missing,
        Some(Value::Integer(_)) => {
            let total: i128 = values.iter().map(|value| i128::from(value.integer())).sum();
            Value::Integer(i64::try_from(total).ok()?)
        }
        Some(_) => match finite(values) {
            Ok(numbers) => Value::Number(rounded(&total(&numbers), UNIT_BITS)),
            Err(special) => special,
        },
    })
}

pub fn sum(values: &[Value]) -> Value {
    checked_sum(values).expect("a sum of 64 bits")
}

pub fn average(values: &[Value]) -> Value {
    if values.is_empty() {
        return Value::Missing;
    }
    match finite(values) {
        // The remainder of the division is far below the last bit of a double.
        Ok(numbers) => {
            let shifted: BigInt = total(&numbers) << 128;
            Value::Number(rounded(&(shifted / numbers.len()), UNIT_BITS + 128))
        }
        Err(special) => special,
    }
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

/// Compares two values of one kind, or NULL, in the order of a key of ORDER BY.
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
