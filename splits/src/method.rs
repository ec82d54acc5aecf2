//! The one entry point: a [`Method`] with its parameters, as a pipeline names it, and [`split`].

use serde::{Deserialize, Serialize};

use crate::error::SplitError;
use crate::first_fit::first_fit;
use crate::group_split::group_split;
use crate::keys::{Keys, Role, within};
use crate::python_random::PythonRandom;
use crate::python_sample::python_sample;
use crate::sample::sample;
use crate::shuffle_split::{Order, Split, shuffle_split};
use crate::size::{PartSizes, Size};
use crate::stratified::stratified_split;

/// How rows are split; parameters have the names that scikit-learn and pandas use.
///
/// | `method` | keys | `order` if not given |
/// |---|---|---|
/// | `shuffle` | none, or groups, classes (`stratify`), `within` | of groups: `file`; else `split` |
/// | `sample` | none, or `within` | `split` (test; train is in table order) |
/// | `python_sample` | none | as `sample` |
/// | `first_fit` | groups | `file` |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum Method {
    /// scikit-learn's `train_test_split`, of rows or (with keys) of whole groups. See [`shuffle_split`], [`group_split`].
    Shuffle {
        /// Share or number of test rows or keys.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// Share or number of train rows or keys.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        train_size: Option<Size>,
        /// `random_state`.
        seed: u32,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
    /// pandas' `sample`: the sampled rows are test. See [`sample`].
    Sample {
        /// `frac` or `n`; a share is rounded to the nearest, halves to even.
        test_size: Size,
        /// `random_state`.
        seed: u32,
        /// Order of the test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
    /// Python's `random.sample`: the sampled rows are test. See [`python_sample`].
    PythonSample {
        /// Share or number of test rows; a share is rounded to the nearest, halves to even.
        test_size: Size,
        /// Seed of `random.Random`.
        seed: u32,
        /// Order of the test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
    /// Whole groups, in the order of the table, as long as they fit into the test part. See [`first_fit`].
    FirstFit {
        /// Test rows.
        test_size: Size,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
}

impl Method {
    /// The name in a pipeline.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Shuffle { .. } => "shuffle",
            Method::Sample { .. } => "sample",
            Method::PythonSample { .. } => "python_sample",
            Method::FirstFit { .. } => "first_fit",
        }
    }

    /// The same method with another size of the test part.
    #[must_use]
    pub fn with_test_size(mut self, size: Size) -> Method {
        match &mut self {
            Method::Shuffle { test_size, .. } => *test_size = Some(size),
            Method::Sample { test_size, .. }
            | Method::PythonSample { test_size, .. }
            | Method::FirstFit { test_size, .. } => *test_size = size,
        }
        self
    }

    /// Refuses sizes that fit no table, so that nothing has to be read to find them.
    ///
    /// # Errors
    /// [`SplitError::NeverFits`], [`SplitError::FractionsExceedOne`], [`SplitError::OutOfRange`].
    pub fn check(&self) -> Result<(), SplitError> {
        match *self {
            Method::Shuffle {
                test_size,
                train_size,
                ..
            } => PartSizes::check(test_size, train_size),
            Method::FirstFit { test_size, .. } => PartSizes::check(Some(test_size), None),
            Method::Sample { test_size, .. } | Method::PythonSample { test_size, .. } => {
                test_size.sampled(u32::MAX).map(|_| ())
            }
        }
    }

    /// What keys may be for.
    pub fn roles(&self) -> &'static [Role] {
        match self {
            Method::Shuffle { .. } => &[Role::Groups, Role::Stratify, Role::Within],
            Method::Sample { .. } => &[Role::Within],
            Method::PythonSample { .. } => &[],
            Method::FirstFit { .. } => &[Role::Groups],
        }
    }

    /// Whether the method works on keys only.
    pub fn needs_keys(&self) -> bool {
        matches!(self, Method::FirstFit { .. })
    }
}

/// Splits `rows` rows.
///
/// # Errors
/// [`SplitError`]: missing, surplus or sparse keys, and whatever the method refuses.
pub fn split(method: &Method, rows: usize, keys: Option<Keys<'_>>) -> Result<Split, SplitError> {
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
    // Methods that may do without keys look at the role.
    let codes = keys.map(|keys| keys.codes).unwrap_or_default();
    let of_rows_or_within = |split_rows: &dyn Fn(u32) -> Result<Split, SplitError>| match role {
        Some(Role::Within) => within(codes, split_rows),
        _ => split_rows(count),
    };
    match *method {
        Method::Shuffle {
            test_size,
            train_size,
            seed,
            order,
        } => match role {
            Some(Role::Groups) => {
                let order = order.unwrap_or(Order::File);
                group_split(codes, test_size, train_size, seed, order)
            }
            Some(Role::Stratify) => stratified_split(codes, test_size, train_size, seed)
                .map(|split| split.ordered(order.unwrap_or(Order::Split))),
            _ => of_rows_or_within(&|rows| shuffle_split(rows, test_size, train_size, seed))
                .map(|split| split.ordered(order.unwrap_or(Order::Split))),
        },
        Method::Sample {
            test_size,
            seed,
            order,
        } => of_rows_or_within(&|rows| sample(rows, test_size, seed))
            .map(|split| split.ordered(order.unwrap_or(Order::Split))),
        Method::PythonSample {
            test_size,
            seed,
            order,
        } => python_sample(count, test_size, &mut PythonRandom::new(seed.into()))
            .map(|split| split.ordered(order.unwrap_or(Order::Split))),
        Method::FirstFit { test_size, order } => {
            first_fit(codes, test_size, order.unwrap_or(Order::File))
        }
    }
}
