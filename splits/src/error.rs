//! Errors of splits.

use thiserror::Error;

use crate::RandomError;
use crate::keys::KeyRole;
use crate::size::SplitSize;

/// The reason why a split is impossible. For most of these reasons, scikit-learn or pandas also raises an error.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SplitError {
    /// The table has more than 2^32 - 1 rows. Row positions have 32 bits.
    #[error("a table of {rows} rows cannot be split, because the maximum is {max} rows; split a table with one row per key instead", max = u32::MAX)]
    TooManyRows {
        /// Number of rows of the table.
        rows: usize,
    },
    /// A size that is a fraction outside (0, 1), or a number of rows that is not between 1 and `rows - 1`.
    #[error(
        "{name} {size} must be a fraction between 0 and 1 or a positive integer below the number of rows, {rows}"
    )]
    SizeOutOfRange {
        /// `test_size` or `train_size`.
        name: &'static str,
        /// The size as given.
        size: SplitSize,
        /// Number of rows, or of distinct keys if keys are split.
        rows: u32,
    },
    /// A size that is invalid for every number of rows.
    #[error(
        "{name} {size} is invalid for every table: use a fraction between 0 and 1, or a positive integer"
    )]
    NeverFits {
        /// `test_size` or `train_size`.
        name: &'static str,
        /// The size as given.
        size: SplitSize,
    },
    /// Two fractions whose sum exceeds 1.
    #[error(
        "test_size {test_size} and train_size {train_size} add up to more than 1; lower one or leave one out"
    )]
    FractionsExceedOne {
        /// The fraction as given.
        test_size: f64,
        /// The fraction as given.
        train_size: f64,
    },
    /// The requested parts have more rows than the table.
    #[error(
        "{test} test and {train} train rows exceed the {rows} rows available; lower test_size or train_size"
    )]
    PartsExceedRows {
        /// Requested number of test rows.
        test: u64,
        /// Requested number of train rows.
        train: u64,
        /// Number of rows, or of distinct keys if keys are split.
        rows: u32,
    },
    /// After rounding, one of the parts has no rows.
    #[error("the {part} part of {rows} rows would be empty; choose other sizes or split more rows")]
    EmptyPart {
        /// `train` or `test`.
        part: &'static str,
        /// Number of rows, or of distinct keys if keys are split.
        rows: u32,
    },
    /// Too many rows have the value at which the table is cut, so that a part has no rows.
    #[error(
        "the {part} part of {rows} rows would be empty, because too many rows have the same value at the cut; choose another size or another value for `ties`"
    )]
    Tie {
        /// `train` or `test`.
        part: &'static str,
        /// Number of rows, or of distinct keys if keys are split.
        rows: u32,
    },
    /// The method needs the ranks of the rows, which [`split`](crate::split) does not take. Call [`cut`](crate::cut).
    #[error("the method `{method}` needs the order of the rows, and none was given")]
    RanksMissing {
        /// The method.
        method: &'static str,
    },
    /// A parameter whose value is outside its bounds.
    #[error("{name} is {value}, but must be between {low} and {high}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// The value as given.
        value: f64,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// The method requires keys, and none were given.
    #[error("the method `{method}` needs a column of keys, and none was given")]
    KeysMissing {
        /// The method.
        method: &'static str,
    },
    /// Keys were given in a role that the method does not support.
    #[error("the method `{method}` does not support `{role}`; remove `{role}`")]
    KeysUnused {
        /// The method.
        method: &'static str,
        /// The role of the keys.
        role: KeyRole,
    },
    /// The number of keys differs from the number of rows.
    #[error("{keys} keys were given for {rows} rows")]
    KeysLength {
        /// Number of keys.
        keys: usize,
        /// Number of rows of the table.
        rows: usize,
    },
    /// The keys are not numbered 0, 1, 2, ... without gaps.
    #[error(
        "keys must be numbered from 0 without gaps, but no row has the key {missing}; each key below {keys} needs a row"
    )]
    SparseKeys {
        /// Largest key number in use, plus one.
        keys: u64,
        /// The first number that no row has.
        missing: u32,
    },
    /// A class has only one row, so a stratified split is impossible.
    #[error(
        "the class with code {class} has a single row; a stratified split needs two rows of each class"
    )]
    ClassTooSmall {
        /// Code of the class.
        class: u32,
    },
    /// A part has fewer rows than there are classes, so a stratified split is impossible.
    #[error("{size} {part} rows cannot represent {classes} classes; make the {part} part larger")]
    TooFewForClasses {
        /// `train` or `test`.
        part: &'static str,
        /// Number of rows of the part.
        size: u32,
        /// Number of distinct classes.
        classes: u32,
    },
    /// The keys have the role [`KeyRole::Within`], and the rows of one key cannot be split.
    #[error("the {rows} rows of the group with code {group} cannot be split")]
    InGroup {
        /// Code of the group.
        group: u32,
        /// Number of rows of the group.
        rows: u32,
        /// The reason why the group cannot be split.
        source: Box<SplitError>,
    },
    /// A random draw that is impossible, for example a sample that is larger than the table.
    #[error("{0}")]
    Random(#[from] RandomError),
}

impl SplitError {
    /// Returns the parameter that caused the error, if it is a single one.
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            SplitError::SizeOutOfRange { name, .. }
            | SplitError::NeverFits { name, .. }
            | SplitError::OutOfRange { name, .. } => Some(name),
            SplitError::FractionsExceedOne { .. } => Some("train_size"),
            _ => None,
        }
    }
}
