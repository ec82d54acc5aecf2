//! The entry point of the crate: [`split`] applies a [`SplitAlgorithm`] to all rows. With the role
//! [`Within`](KeyRole::Within), [`split`] divides the rows of each key separately.

use serde::{Deserialize, Serialize};

use super::cut::CutTies;
use super::groups::{Groups, group_split};
use super::sample::{first_fit, python_sample, sample};
use super::shuffle_split::shuffle_split;
use super::stratified::stratified_split;
use crate::error::SplitError;
use crate::generators::python_random::PythonRandom;
use crate::keys::{KeyRole, Split, SplitKeys, SplitOrder};
use crate::part_sizes::PartSizes;
use crate::size::SplitSize;

/// A method of splitting rows, with parameters as in scikit-learn and pandas. The fields have the names that pipelines
/// use.
///
/// | `method` | supported roles ([`KeyRole`]) | default of `order` |
/// |---|---|---|
/// | `shuffle` | no keys, or `groups`, `stratify`, `within` | `file` with the role `groups`, otherwise `split` |
/// | `sample` | no keys, or `within` | `split` for test rows; train rows are in table order |
/// | `python_sample` | no keys | same as for `sample` |
/// | `first_fit` | `groups` | `file` |
/// | `cut` | no keys, or `groups`; [`cut`](crate::cut) also needs the ranks of the rows | `file` |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum SplitAlgorithm {
    /// scikit-learn's `train_test_split` of rows, or of groups if keys have the role `groups`. See [`shuffle_split`],
    /// [`group_split`], [`stratified_split`].
    Shuffle {
        /// Fraction or number of test rows. With the role `groups`, fraction or number of test groups.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<SplitSize>,
        /// Fraction or number of train rows. With the role `groups`, fraction or number of train groups.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        train_size: Option<SplitSize>,
        /// `random_state`.
        seed: u32,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<SplitOrder>,
    },
    /// pandas' `DataFrame.sample`: the sampled rows are the test part. See [`sample`].
    Sample {
        /// pandas' `frac` or `n`. A fraction of the rows is rounded to the nearest integer, halves to even.
        test_size: SplitSize,
        /// `random_state`.
        seed: u32,
        /// Order of the test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<SplitOrder>,
    },
    /// Python's `random.sample`: the sampled rows are the test part. See [`python_sample`].
    PythonSample {
        /// Fraction or number of test rows. A fraction of the rows is rounded to the nearest integer, halves to even.
        test_size: SplitSize,
        /// Seed of `random.Random`.
        seed: u32,
        /// Order of the test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<SplitOrder>,
    },
    /// Visits the groups in order of appearance. A group goes to the test part if all its rows still fit into `test_size`.
    /// See [`first_fit`].
    FirstFit {
        /// Fraction or maximum number of test rows.
        test_size: SplitSize,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<SplitOrder>,
    },
    /// The largest values of a column are the test part. See [`cut`](crate::cut).
    Cut {
        /// Fraction or number of test rows, or of test groups. If both sizes are missing, a value defines the cut
        /// ([`CutPoint::Rank`](crate::CutPoint::Rank)).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<SplitSize>,
        /// Fraction or number of train rows, or of train groups.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        train_size: Option<SplitSize>,
        /// The part that gets the rows whose value equals the value at the cut.
        #[serde(default)]
        ties: CutTies,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<SplitOrder>,
    },
}

impl SplitAlgorithm {
    /// Returns the name in a pipeline.
    pub fn name(&self) -> &'static str {
        match self {
            SplitAlgorithm::Shuffle { .. } => "shuffle",
            SplitAlgorithm::Sample { .. } => "sample",
            SplitAlgorithm::PythonSample { .. } => "python_sample",
            SplitAlgorithm::FirstFit { .. } => "first_fit",
            SplitAlgorithm::Cut { .. } => "cut",
        }
    }

    /// Returns the same method with a different size of the test part.
    #[must_use]
    pub fn with_test_size(mut self, size: SplitSize) -> SplitAlgorithm {
        match &mut self {
            SplitAlgorithm::Shuffle { test_size, .. } | SplitAlgorithm::Cut { test_size, .. } => {
                *test_size = Some(size);
            }
            SplitAlgorithm::Sample { test_size, .. }
            | SplitAlgorithm::PythonSample { test_size, .. }
            | SplitAlgorithm::FirstFit { test_size, .. } => *test_size = size,
        }
        self
    }

    /// Checks the sizes as far as possible without the number of rows, before any data are read.
    ///
    /// # Errors
    /// [`SplitError::NeverFits`], [`SplitError::FractionsExceedOne`], [`SplitError::OutOfRange`], [`SplitError::Random`].
    pub fn check(&self) -> Result<(), SplitError> {
        match *self {
            SplitAlgorithm::Shuffle {
                test_size,
                train_size,
                ..
            }
            | SplitAlgorithm::Cut {
                test_size,
                train_size,
                ..
            } => PartSizes::check(test_size, train_size),
            SplitAlgorithm::FirstFit { test_size, .. } => PartSizes::check(Some(test_size), None),
            SplitAlgorithm::Sample { test_size, .. }
            | SplitAlgorithm::PythonSample { test_size, .. } => {
                test_size.sampled(u32::MAX).map(|_| ())
            }
        }
    }

    /// Returns the roles of keys that the method supports.
    pub fn roles(&self) -> &'static [KeyRole] {
        match self {
            SplitAlgorithm::Shuffle { .. } => {
                &[KeyRole::Groups, KeyRole::Stratify, KeyRole::Within]
            }
            SplitAlgorithm::Sample { .. } => &[KeyRole::Within],
            SplitAlgorithm::PythonSample { .. } => &[],
            SplitAlgorithm::FirstFit { .. } | SplitAlgorithm::Cut { .. } => &[KeyRole::Groups],
        }
    }

    /// Returns whether the method requires keys.
    pub fn needs_keys(&self) -> bool {
        matches!(self, SplitAlgorithm::FirstFit { .. })
    }
}

/// Splits a table of `rows` rows into train and test rows with `method`. `keys` contains one key per row.
///
/// Use [`cut`](crate::cut) for the method `cut`.
///
/// ```
/// use prep_splits::{SplitAlgorithm, SplitOrder, SplitSize, split};
///
/// let method = SplitAlgorithm::Sample { test_size: SplitSize::Rows(2), seed: 0, order: Some(SplitOrder::File) };
/// let parts = split(&method, 5, None)?;
/// assert_eq!((parts.train, parts.test), (vec![1, 3, 4], vec![0, 2]));
/// # Ok::<(), prep_splits::SplitError>(())
/// ```
///
/// # Errors
/// [`SplitError`] if the method is `cut`, or if it rejects the keys or sizes.
pub fn split(
    method: &SplitAlgorithm,
    rows: usize,
    keys: Option<SplitKeys<'_>>,
) -> Result<Split, SplitError> {
    let count = u32::try_from(rows).map_err(|_| SplitError::TooManyRows { rows })?;
    let name = method.name();
    if let Some(keys) = keys {
        if keys.codes.len() != rows {
            return Err(SplitError::KeysLength {
                keys: keys.codes.len(),
                rows,
            });
        }
        if !method.roles().contains(&keys.role) {
            return Err(SplitError::KeysUnused {
                method: name,
                role: keys.role,
            });
        }
    } else if method.needs_keys() {
        return Err(SplitError::KeysMissing { method: name });
    }
    let role = keys.map(|keys| keys.role);
    let codes = keys.map(|keys| keys.codes).unwrap_or_default();
    let split_all_or_each_key = |split_rows: &dyn Fn(u32) -> Result<Split, SplitError>| match role {
        Some(KeyRole::Within) => split_each_key(codes, split_rows),
        _ => split_rows(count),
    };
    match *method {
        SplitAlgorithm::Shuffle {
            test_size,
            train_size,
            seed,
            order,
        } => match role {
            Some(KeyRole::Groups) => {
                let order = order.unwrap_or(SplitOrder::File);
                group_split(codes, test_size, train_size, seed, order)
            }
            Some(KeyRole::Stratify) => stratified_split(codes, test_size, train_size, seed)
                .map(|split| split.ordered(order.unwrap_or(SplitOrder::Split))),
            _ => split_all_or_each_key(&|rows| shuffle_split(rows, test_size, train_size, seed))
                .map(|split| split.ordered(order.unwrap_or(SplitOrder::Split))),
        },
        SplitAlgorithm::Sample {
            test_size,
            seed,
            order,
        } => split_all_or_each_key(&|rows| sample(rows, test_size, seed))
            .map(|split| split.ordered(order.unwrap_or(SplitOrder::Split))),
        SplitAlgorithm::PythonSample {
            test_size,
            seed,
            order,
        } => python_sample(count, test_size, &mut PythonRandom::new(seed.into()))
            .map(|split| split.ordered(order.unwrap_or(SplitOrder::Split))),
        SplitAlgorithm::FirstFit { test_size, order } => {
            first_fit(codes, test_size, order.unwrap_or(SplitOrder::File))
        }
        SplitAlgorithm::Cut { .. } => Err(SplitError::RanksMissing { method: name }),
    }
}

/// Splits the rows of each key separately and concatenates the parts in the order of the keys' codes. `split_rows` gets
/// the number of rows of a key.
pub(crate) fn split_each_key(
    codes: &[u32],
    split_rows: impl Fn(u32) -> Result<Split, SplitError>,
) -> Result<Split, SplitError> {
    let groups = Groups::new(codes)?;
    let mut split = Split::default();
    for (group, rows) in (0u32..).zip(groups.iter()) {
        let count = rows.len() as u32;
        let drawn = split_rows(count).map_err(|source| SplitError::InGroup {
            group,
            rows: count,
            source: Box::new(source),
        })?;
        let row = |position: &u32| rows[*position as usize];
        split.train.extend(drawn.train.iter().map(row));
        split.test.extend(drawn.test.iter().map(row));
    }
    Ok(split)
}
