//! The one entry point: a [`Method`] with its parameters, as a pipeline names it, and [`split`].

use serde::{Deserialize, Serialize};

use crate::both_sides::both_sides;
use crate::error::SplitError;
use crate::first_fit::first_fit;
use crate::group_split::{fill_groups, group_split, ratio_repair};
use crate::keys::{Keys, Role, within};
use crate::python_random::PythonRandom;
use crate::python_sample::python_sample;
use crate::sample::sample;
use crate::shuffle_split::{Order, Split, shuffle_split};
use crate::size::Size;
use crate::stratified::stratified_split;
use crate::varied::varied_split;
use crate::within_groups::{WithinGroups, chunk_split, within_groups};

/// How rows are split; parameters have the names that scikit-learn and pandas use.
///
/// | `method` | keys | `order` if not given |
/// |---|---|---|
/// | `shuffle` | none, or groups, classes (`stratify`), `within` | of groups: `file`; else `split` |
/// | `stratified` | classes, numbered in sorted order | `split` |
/// | `sample`, `python_sample` | none, or `within` | `split` (test; train is in table order) |
/// | `first_fit` | groups | `file` |
/// | `chunks` | none | `split` |
/// | `within_groups` | groups | `split` |
/// | `fill` | groups | `split` |
/// | `ratio_repair` | groups | `file` |
/// | `both_sides` | groups | always `file` |
/// | `varied` | the label that must vary | `split` |
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
    /// scikit-learn's `train_test_split(stratify=keys)`. See [`stratified_split`].
    Stratified {
        /// Share or number of test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// Share or number of train rows.
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
    /// A shuffle split of every so many rows for itself. See [`chunk_split`].
    Chunks {
        /// Rows of a chunk.
        chunk_size: u32,
        /// Share or number of test rows of a chunk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// `random_state`, afresh for every chunk.
        seed: u32,
    },
    /// A shuffle split of every group for itself. See [`within_groups`].
    WithinGroups {
        /// Share or number of test rows of a group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// `random_state`, afresh for every group.
        seed: u32,
        /// Groups with fewer rows are not shuffled, their last rows are test.
        #[serde(default)]
        hold_last_below: u32,
        /// Seed of a last shuffle of the test part by Python's `random`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shuffle_test: Option<u64>,
    },
    /// Whole groups, in random order, until the test part is exactly full. See [`fill_groups`].
    Fill {
        /// Test rows.
        test_size: Size,
        /// `random_state`.
        seed: u32,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
    /// A shuffle split of whole groups, moved on until a share of rows is met. See [`ratio_repair`].
    RatioRepair {
        /// Share or number of test keys before the repair.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// `random_state`.
        seed: u32,
        /// Wanted test rows / (all rows + test rows).
        ratio: f64,
        /// Order of the rows inside the parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<Order>,
    },
    /// A row of every key on both sides, then the rest at random. See [`both_sides`].
    BothSides {
        /// Share or number of test rows of the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// Seed of all three steps.
        seed: u32,
        /// Probability that the row of a key with a single one goes to train.
        single_train: f64,
    },
    /// A shuffle split of rows whose test part shows two values of the key. See [`varied_split`].
    Varied {
        /// Share or number of test rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_size: Option<Size>,
        /// Share or number of train rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        train_size: Option<Size>,
        /// `random_state`.
        seed: u32,
    },
}

impl Method {
    /// The name in a pipeline.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Shuffle { .. } => "shuffle",
            Method::Stratified { .. } => "stratified",
            Method::Sample { .. } => "sample",
            Method::PythonSample { .. } => "python_sample",
            Method::FirstFit { .. } => "first_fit",
            Method::Chunks { .. } => "chunks",
            Method::WithinGroups { .. } => "within_groups",
            Method::Fill { .. } => "fill",
            Method::RatioRepair { .. } => "ratio_repair",
            Method::BothSides { .. } => "both_sides",
            Method::Varied { .. } => "varied",
        }
    }

    /// What keys may be for; empty for a method that only knows rows.
    pub fn roles(&self) -> &'static [Role] {
        match self {
            Method::Shuffle { .. } => &[Role::Groups, Role::Stratify, Role::Within],
            Method::Stratified { .. } => &[Role::Stratify],
            Method::Sample { .. } | Method::PythonSample { .. } | Method::WithinGroups { .. } => {
                &[Role::Within]
            }
            Method::Chunks { .. } => &[],
            _ => &[Role::Groups],
        }
    }

    /// Whether the method works on keys: `None` if it may.
    pub fn needs_keys(&self) -> Option<bool> {
        match self {
            Method::Shuffle { .. } => None,
            Method::Sample { .. } | Method::PythonSample { .. } | Method::Chunks { .. } => {
                Some(false)
            }
            _ => Some(true),
        }
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
    } else if method.needs_keys() == Some(true) {
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
        Method::Stratified {
            test_size,
            train_size,
            seed,
            order,
        } => stratified_split(codes, test_size, train_size, seed)
            .map(|split| split.ordered(order.unwrap_or(Order::Split))),
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
        } => of_rows_or_within(&|rows| {
            python_sample(rows, test_size, &mut PythonRandom::new(seed.into()))
        })
        .map(|split| split.ordered(order.unwrap_or(Order::Split))),
        Method::FirstFit { test_size, order } => {
            first_fit(codes, test_size, order.unwrap_or(Order::File))
        }
        Method::Chunks {
            chunk_size,
            test_size,
            seed,
        } => chunk_split(count, chunk_size, test_size, seed),
        Method::WithinGroups {
            test_size,
            seed,
            hold_last_below,
            shuffle_test,
        } => within_groups(
            codes,
            test_size,
            seed,
            WithinGroups {
                hold_last_below,
                shuffle_test,
            },
        ),
        Method::Fill {
            test_size,
            seed,
            order,
        } => fill_groups(codes, test_size, seed, order.unwrap_or(Order::Split)),
        Method::RatioRepair {
            test_size,
            seed,
            ratio,
            order,
        } => ratio_repair(codes, test_size, seed, ratio, order.unwrap_or(Order::File)),
        Method::BothSides {
            test_size,
            seed,
            single_train,
        } => both_sides(codes, test_size, seed, single_train),
        Method::Varied {
            test_size,
            train_size,
            seed,
        } => varied_split(codes, test_size, train_size, seed),
    }
}
