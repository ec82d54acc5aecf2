//! What can be wrong with a split or a draw, by meaning.

use thiserror::Error;

use crate::keys::Role;
use crate::size::Size;

/// A split that cannot be made. Where scikit-learn or pandas refuses, so does this crate, for the same reason.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SplitError {
    /// Positions are 32 bits.
    #[error("{rows} rows are more than a split can number ({max}); split keys instead of rows", max = u32::MAX)]
    TooManyRows {
        /// Rows of the table.
        rows: usize,
    },
    /// A fraction outside (0, 1), or a count that is not between 1 and rows - 1.
    #[error(
        "{name} {size} must be a fraction between 0 and 1 or a whole number from 1 up to below the {rows} rows"
    )]
    SizeOutOfRange {
        /// `test_size` or `train_size`.
        name: &'static str,
        /// As given.
        size: Size,
        /// What is split: rows, or distinct keys.
        rows: u32,
    },
    /// A size that no table has room for, whatever its rows.
    #[error(
        "{name} {size} fits no table: a share lies between 0 and 1, a number of rows is a whole number from 1"
    )]
    NeverFits {
        /// `test_size` or `train_size`.
        name: &'static str,
        /// As given.
        size: Size,
    },
    /// Two fractions that take more than everything.
    #[error(
        "test_size {test_size} and train_size {train_size} add up to more than 1; lower one or leave one out"
    )]
    FractionsExceedOne {
        /// As given.
        test_size: f64,
        /// As given.
        train_size: f64,
    },
    /// Both parts together want more rows than there are.
    #[error(
        "{test} test and {train} train rows are more than the {rows} rows there are; lower test_size or train_size"
    )]
    PartsExceedRows {
        /// Rows that the test part asks for.
        test: u64,
        /// Rows that the train part asks for.
        train: u64,
        /// What is split: rows, or distinct keys.
        rows: u32,
    },
    /// Rounding leaves nothing for a part.
    #[error("the {part} part of {rows} rows would be empty; choose other sizes or split more rows")]
    EmptyPart {
        /// `train` or `test`.
        part: &'static str,
        /// What is split: rows, or distinct keys.
        rows: u32,
    },
    /// A plain proportion outside its range.
    #[error("{name} is {value}, but must lie between {low} and {high}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// As given.
        value: f64,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// The method works on keys, and none were given.
    #[error("the method `{method}` needs a column of keys, and none was given")]
    KeysMissing {
        /// The method.
        method: &'static str,
    },
    /// Keys were given for something that the method does not do.
    #[error("the method `{method}` does not know `{role}`; leave it out")]
    KeysUnused {
        /// The method.
        method: &'static str,
        /// What the keys were given for.
        role: Role,
    },
    /// Not one key per row.
    #[error("{keys} keys were given for {rows} rows")]
    KeysLength {
        /// Keys given.
        keys: usize,
        /// Rows of the table.
        rows: usize,
    },
    /// Keys that are not numbered 0, 1, 2, ... without holes.
    #[error(
        "keys are not numbered without holes: {keys} numbers are below the largest, number {missing} has no row"
    )]
    SparseKeys {
        /// Largest key number, plus one.
        keys: u64,
        /// The first number without a row.
        missing: u32,
    },
    /// Stratified: a class of one row.
    #[error("class number {class} has a single row; a stratified split needs two of each class")]
    ClassTooSmall {
        /// Code of the class.
        class: u32,
    },
    /// Stratified: a part cannot hold a row of every class.
    #[error("{size} {part} rows cannot represent {classes} classes; make the {part} part larger")]
    TooFewForClasses {
        /// `train` or `test`.
        part: &'static str,
        /// Rows of the part.
        size: u32,
        /// Distinct classes.
        classes: u32,
    },
    /// A group that cannot be split for itself.
    #[error("group number {group}, of {rows} rows, cannot be split: {source}")]
    InGroup {
        /// Code of the group.
        group: u32,
        /// Its rows.
        rows: u32,
        /// Why.
        source: Box<SplitError>,
    },
    /// A draw that the generator refuses.
    #[error("{0}")]
    Random(#[from] RandomError),
}

impl SplitError {
    /// The parameter that is to blame, where it is a single one.
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

/// A draw that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RandomError {
    /// Nothing lies between the bounds.
    #[error("there is no integer to draw between {low} and {high}")]
    EmptyRange {
        /// Lower bound.
        low: i64,
        /// Upper bound, as the drawing function counts it.
        high: i64,
    },
    /// Bounds between which NumPy draws no double.
    #[error("there is no double to draw between {low} and {high}")]
    BadBounds {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// More than there is, without replacement.
    #[error("cannot draw {wanted} different items of {population}; draw fewer")]
    SampleTooLarge {
        /// Items asked for.
        wanted: u64,
        /// Items there are.
        population: u64,
    },
    /// NumPy's legacy generator takes seeds of 32 bits.
    #[error("the seed {seed} is too large; NumPy's `RandomState` takes 0 to 4294967295")]
    SeedTooLarge {
        /// As given.
        seed: u64,
    },
    /// The library's generator has no such function, or draws in a way that is not implemented.
    #[error("the generator `{generator}` does not draw `{draw}`")]
    Unsupported {
        /// The generator.
        generator: &'static str,
        /// What was to be drawn.
        draw: &'static str,
    },
}
