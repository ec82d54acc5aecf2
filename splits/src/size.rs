//! Sizes of the two parts, rounded as scikit-learn and pandas round them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use crate::error::SplitError;

/// A share of the rows or a number of rows. In YAML and JSON the spelling decides: `0.1` is a share, `9914` a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// A share of what is split.
    Fraction(f64),
    /// A number of rows (or of keys, where keys are split).
    Rows(u32),
}

/// scikit-learn's default test size: a quarter.
impl Default for Size {
    fn default() -> Self {
        Size::Fraction(0.25)
    }
}

impl Size {
    /// The share that `part` has of `part + rest`, as a division of doubles: splits like another, existing split.
    pub fn share(part: u32, rest: u32) -> Self {
        Size::Fraction(f64::from(part) / (f64::from(part) + f64::from(rest)))
    }

    /// The size that a computed number stands for: an integer from 1 is a number of rows, any other number is a fraction.
    /// Whether the fraction fits a table is for the split to check.
    ///
    /// # Errors
    /// [`SplitError::NeverFits`] if the number is not finite, or is an integer of more than 32 bits.
    pub fn from_number(number: f64) -> Result<Size, SplitError> {
        let is_integer = number.fract() == 0.0 && number >= 1.0;
        match is_integer {
            true if number <= f64::from(u32::MAX) => Ok(Size::Rows(number as u32)),
            false if number.is_finite() => Ok(Size::Fraction(number)),
            _ => Err(SplitError::NeverFits {
                name: "test_size",
                size: Size::Fraction(number),
            }),
        }
    }

    /// pandas' size of `sample(n=..)` or `sample(frac=..)`: a fraction is rounded to the nearest, halves to even.
    ///
    /// # Errors
    /// [`SplitError::OutOfRange`] for a fraction outside 0..=1; [`SplitError::Random`] for more rows than there are.
    pub fn sampled(self, rows: u32) -> Result<u32, SplitError> {
        match self {
            Size::Fraction(value) if !(0.0..=1.0).contains(&value) => Err(SplitError::OutOfRange {
                name: "test_size",
                value,
                low: 0.0,
                high: 1.0,
            }),
            Size::Fraction(fraction) => Ok((fraction * f64::from(rows)).round_ties_even() as u32),
            Size::Rows(wanted) if wanted > rows => {
                let (wanted, population) = (wanted.into(), rows.into());
                Err(crate::RandomError::SampleTooLarge { wanted, population }.into())
            }
            Size::Rows(wanted) => Ok(wanted),
        }
    }
}

/// Rows of the two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSizes {
    /// Rows of the train part.
    pub train: u32,
    /// Rows of the test part.
    pub test: u32,
}

impl PartSizes {
    /// scikit-learn's rule (`train_test_split`, 1.5): the test share is rounded up, the train share down, both in
    /// doubles; a size that is not given is what the other leaves; with neither, a quarter is test.
    ///
    /// ```
    /// use prep_splits::{PartSizes, Size};
    /// // 0.14 * 100 is a hair above 14 in doubles.
    /// let sizes = PartSizes::new(100, Some(Size::Fraction(0.14)), None);
    /// assert_eq!(sizes, Ok(PartSizes { train: 85, test: 15 }));
    /// ```
    ///
    /// # Errors
    /// As scikit-learn: a size out of range, sizes that exceed the rows, an empty part.
    pub fn new(
        rows: u32,
        test_size: Option<Size>,
        train_size: Option<Size>,
    ) -> Result<Self, SplitError> {
        let test_size = match (test_size, train_size) {
            (None, None) => Some(Size::default()),
            (given, _) => given,
        };
        check("test_size", test_size, rows)?;
        check("train_size", train_size, rows)?;
        check_sum(test_size, train_size)?;
        let test = test_size.map(|size| count(size, rows, f64::ceil));
        let train = train_size.map(|size| count(size, rows, f64::floor));
        let rest = |taken: Option<u64>| u64::from(rows).saturating_sub(taken.unwrap_or_default());
        let (test, train) = (
            test.unwrap_or_else(|| rest(train)),
            train.unwrap_or_else(|| rest(test)),
        );
        if test + train > rows.into() {
            return Err(SplitError::PartsExceedRows { test, train, rows });
        }
        for (part, size) in [("train", train), ("test", test)] {
            if size == 0 {
                return Err(SplitError::EmptyPart { part, rows });
            }
        }
        // Both are at most `rows`.
        Ok(PartSizes {
            train: train as u32,
            test: test as u32,
        })
    }
}

impl PartSizes {
    /// Refuses sizes that [`new`](Self::new) refuses for any number of rows.
    pub(crate) fn check(
        test_size: Option<Size>,
        train_size: Option<Size>,
    ) -> Result<(), SplitError> {
        for (name, size) in [("test_size", test_size), ("train_size", train_size)] {
            if let Some(size) = size
                && check(name, Some(size), u32::MAX).is_err()
            {
                return Err(SplitError::NeverFits { name, size });
            }
        }
        check_sum(test_size, train_size)
    }
}

/// Two shares are at most the whole.
fn check_sum(test_size: Option<Size>, train_size: Option<Size>) -> Result<(), SplitError> {
    match (test_size, train_size) {
        (Some(Size::Fraction(test_size)), Some(Size::Fraction(train_size)))
            if train_size + test_size > 1.0 =>
        {
            Err(SplitError::FractionsExceedOne {
                test_size,
                train_size,
            })
        }
        _ => Ok(()),
    }
}

fn check(name: &'static str, size: Option<Size>, rows: u32) -> Result<(), SplitError> {
    let valid = match size {
        None => true,
        Some(Size::Fraction(fraction)) => fraction > 0.0 && fraction < 1.0,
        Some(Size::Rows(count)) => count > 0 && count < rows,
    };
    match size {
        Some(size) if !valid => Err(SplitError::SizeOutOfRange { name, size, rows }),
        _ => Ok(()),
    }
}

fn count(size: Size, rows: u32, round: fn(f64) -> f64) -> u64 {
    match size {
        Size::Fraction(fraction) => round(fraction * f64::from(rows)) as u64,
        Size::Rows(count) => count.into(),
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Fraction(fraction) => write!(f, "{fraction:?}"),
            Size::Rows(rows) => write!(f, "{rows}"),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Size::Fraction(fraction) => serializer.serialize_f64(fraction),
            Size::Rows(rows) => serializer.serialize_u32(rows),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction such as 0.1 or a number of rows such as 1000")
    }

    fn visit_f64<E: Error>(self, fraction: f64) -> Result<Size, E> {
        Ok(Size::Fraction(fraction))
    }

    fn visit_u64<E: Error>(self, rows: u64) -> Result<Size, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(rows), &self);
        u32::try_from(rows).map(Size::Rows).map_err(|_| wrong())
    }
}
