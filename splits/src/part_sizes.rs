//! The number of rows of each part, rounded as in scikit-learn and pandas.

use crate::SplitSize;
use crate::error::SplitError;

impl SplitSize {
    /// Interprets a computed number as a size: an integer of at least 1 is a number of rows, any other number a fraction.
    ///
    /// The range of a fraction is checked when the table is split.
    ///
    /// # Errors
    /// [`SplitError::NeverFits`] if the number is not finite, or is an integer of more than 32 bits.
    pub fn from_number(number: f64) -> Result<SplitSize, SplitError> {
        let is_integer = number.fract() == 0.0 && number >= 1.0;
        match is_integer {
            true if number <= f64::from(u32::MAX) => Ok(SplitSize::Rows(number as u32)),
            false if number.is_finite() => Ok(SplitSize::Fraction(number)),
            _ => Err(SplitError::NeverFits {
                name: "test_size",
                size: SplitSize::Fraction(number),
            }),
        }
    }

    /// Returns the number of rows that pandas' `sample(n=..)` or `sample(frac=..)` draws. A fraction of the rows is rounded
    /// to the nearest integer, halves to even.
    ///
    /// # Errors
    /// [`SplitError::OutOfRange`] for a fraction outside 0..=1, and [`SplitError::Random`] if too many rows are requested.
    pub fn sampled(self, rows: u32) -> Result<u32, SplitError> {
        match self {
            SplitSize::Fraction(value) if !(0.0..=1.0).contains(&value) => {
                Err(SplitError::OutOfRange {
                    name: "test_size",
                    value,
                    low: 0.0,
                    high: 1.0,
                })
            }
            SplitSize::Fraction(fraction) => {
                Ok((fraction * f64::from(rows)).round_ties_even() as u32)
            }
            SplitSize::Rows(wanted) if wanted > rows => {
                let (wanted, population) = (wanted.into(), rows.into());
                Err(crate::RandomError::SampleTooLarge { wanted, population }.into())
            }
            SplitSize::Rows(wanted) => Ok(wanted),
        }
    }
}

/// The number of rows of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSizes {
    /// Rows of the train part.
    pub train: u32,
    /// Rows of the test part.
    pub test: u32,
}

impl PartSizes {
    /// Applies the rules of scikit-learn 1.5 (`train_test_split`) to `rows` rows.
    ///
    /// The test fraction is rounded up and the train fraction down, both computed in doubles. A part without a size gets the
    /// remaining rows. If both sizes are missing, a quarter of the rows is the test part.
    ///
    /// ```
    /// use prep_splits::{PartSizes, SplitSize};
    /// // 0.14 * 100 is slightly above 14 in doubles.
    /// let sizes = PartSizes::new(100, Some(SplitSize::Fraction(0.14)), None);
    /// assert_eq!(sizes, Ok(PartSizes { train: 85, test: 15 }));
    /// ```
    ///
    /// # Errors
    /// An error if a size is out of range, if the parts together have more than `rows` rows, or if a part would be
    /// empty.
    pub fn new(
        rows: u32,
        test_size: Option<SplitSize>,
        train_size: Option<SplitSize>,
    ) -> Result<Self, SplitError> {
        let test_size = match (test_size, train_size) {
            (None, None) => Some(SplitSize::default()),
            (test_size, _) => test_size,
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
        // Both numbers are at most `rows`.
        Ok(PartSizes {
            train: train as u32,
            test: test as u32,
        })
    }
}

impl PartSizes {
    /// Returns an error for sizes that [`new`](Self::new) rejects for every number of rows.
    pub(crate) fn check(
        test_size: Option<SplitSize>,
        train_size: Option<SplitSize>,
    ) -> Result<(), SplitError> {
        for (name, size) in [("test_size", test_size), ("train_size", train_size)] {
            // A size that is invalid for the largest table is invalid for every table.
            if let Some(size) = size
                && check(name, Some(size), u32::MAX).is_err()
            {
                return Err(SplitError::NeverFits { name, size });
            }
        }
        check_sum(test_size, train_size)
    }
}

/// Returns an error for two fractions whose sum exceeds 1.
fn check_sum(
    test_size: Option<SplitSize>,
    train_size: Option<SplitSize>,
) -> Result<(), SplitError> {
    match (test_size, train_size) {
        (Some(SplitSize::Fraction(test_size)), Some(SplitSize::Fraction(train_size)))
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

/// Returns an error for a fraction outside (0, 1), or a number of rows outside 1..rows.
fn check(name: &'static str, size: Option<SplitSize>, rows: u32) -> Result<(), SplitError> {
    let valid = match size {
        None => true,
        Some(SplitSize::Fraction(fraction)) => fraction > 0.0 && fraction < 1.0,
        Some(SplitSize::Rows(count)) => count > 0 && count < rows,
    };
    match size {
        Some(size) if !valid => Err(SplitError::SizeOutOfRange { name, size, rows }),
        _ => Ok(()),
    }
}

/// Converts a size to a number of rows. `round` rounds the product of a fraction and `rows`.
fn count(size: SplitSize, rows: u32, round: fn(f64) -> f64) -> u64 {
    match size {
        SplitSize::Fraction(fraction) => round(fraction * f64::from(rows)) as u64,
        SplitSize::Rows(count) => count.into(),
    }
}
