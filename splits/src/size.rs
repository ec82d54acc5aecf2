//! The size of the train or test part of a split, as a pipeline declares it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// A fraction or a number of rows. In YAML and JSON, `0.1` is a fraction and `9914` a number of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SplitSize {
    /// A fraction of the rows, or of the keys if keys are split.
    Fraction(f64),
    /// A number of rows, or of keys if keys are split.
    Rows(u32),
}

/// scikit-learn's default test size: a quarter.
impl Default for SplitSize {
    fn default() -> Self {
        SplitSize::Fraction(0.25)
    }
}

impl SplitSize {
    /// Returns the fraction `part / (part + rest)` in doubles, for a split with the proportions of an existing split.
    pub fn fraction_of_total(part: u32, rest: u32) -> Self {
        SplitSize::Fraction(f64::from(part) / (f64::from(part) + f64::from(rest)))
    }
}

impl fmt::Display for SplitSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitSize::Fraction(fraction) => write!(f, "{fraction:?}"),
            SplitSize::Rows(rows) => write!(f, "{rows}"),
        }
    }
}

impl Serialize for SplitSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            SplitSize::Fraction(fraction) => serializer.serialize_f64(fraction),
            SplitSize::Rows(rows) => serializer.serialize_u32(rows),
        }
    }
}

impl<'de> Deserialize<'de> for SplitSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = SplitSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction such as 0.1 or a number of rows such as 1000")
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<SplitSize, E> {
        Ok(SplitSize::Fraction(fraction))
    }

    fn visit_u64<E: Error>(self, rows: u64) -> Result<SplitSize, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(rows), &self);
        u32::try_from(rows)
            .map(SplitSize::Rows)
            .map_err(|_| wrong())
    }
}
