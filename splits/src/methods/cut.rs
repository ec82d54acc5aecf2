//! Splits a table in the order of a column, for example by time. The largest values are the test part. No random numbers are
//! used.

use serde::{Deserialize, Serialize};

use super::groups::Groups;
use crate::error::SplitError;
use crate::keys::{Split, SplitOrder};
use crate::part_sizes::PartSizes;
use crate::size::SplitSize;

/// The part that gets the rows whose value equals the value at the cut of a [`CutPoint::Size`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutTies {
    /// The rows go to the test part.
    #[default]
    Test,
    /// The rows go to the train part.
    Train,
    /// The rows are divided in table order, so that the test part has exactly the requested size.
    Divide,
}

/// The place where the rows are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CutPoint {
    /// Rows with at least this rank are the test part.
    Rank(u32),
    /// The size of a part in rows or groups. At most one size should be given. The other part gets the rest.
    Size {
        /// Fraction or number of test rows.
        test_size: Option<SplitSize>,
        /// Fraction or number of train rows.
        train_size: Option<SplitSize>,
        /// The part that gets the rows whose value equals the value at the cut.
        ties: CutTies,
    },
}

/// Cuts the rows in the order of their ranks: the largest ranks are the test part.
///
/// - Equal values must have equal ranks, and a larger value must have a larger rank. Ranks may have gaps.
/// - `groups` contains one code per row. Rows of the same group go to the same part. The rank of a group is the largest rank
///   of its rows. Therefore a group with a row at or after the cut goes to the test part.
/// - [`CutTies::Divide`] without groups gives the same parts as a stable sort followed by
///   `train_test_split(sorted, shuffle=False)`.
/// - With the other values of [`CutTies`], rows with equal ranks are in the same part. The test part may be larger
///   ([`CutTies::Test`]) or smaller ([`CutTies::Train`]) than requested.
///
/// ```
/// use prep_splits::{CutPoint, CutTies, SplitOrder, SplitSize, cut};
///
/// let years = [2019, 2021, 2020, 2021];
/// let last_row = CutPoint::Size { test_size: Some(SplitSize::Rows(1)), train_size: None, ties: CutTies::Test };
/// // Two rows have the largest year. `CutTies::Test` puts both into the test part.
/// let parts = cut(&years, None, last_row, SplitOrder::File)?;
/// assert_eq!((parts.train, parts.test), (vec![0, 2], vec![1, 3]));
/// # Ok::<(), prep_splits::SplitError>(())
/// ```
///
/// # Errors
/// The errors of [`PartSizes::new`]; [`SplitError::EmptyPart`] or [`SplitError::Tie`] if a part would be empty;
/// [`SplitError::KeysLength`] or [`SplitError::SparseKeys`] for invalid groups.
pub fn cut(
    ranks: &[u32],
    groups: Option<&[u32]>,
    point: CutPoint,
    order: SplitOrder,
) -> Result<Split, SplitError> {
    let rows = ranks.len();
    if let Some(codes) = groups.filter(|codes| codes.len() != rows) {
        let keys = codes.len();
        return Err(SplitError::KeysLength { keys, rows });
    }
    let count = u32::try_from(rows).map_err(|_| SplitError::TooManyRows { rows })?;
    let Some(codes) = groups else {
        return Ok(cut_ranks(ranks, count, point)?.ordered(order));
    };
    let groups = Groups::new(codes)?;
    let mut largest = vec![0; groups.len() as usize];
    for (code, rank) in codes.iter().zip(ranks) {
        if let Some(slot) = largest.get_mut(*code as usize) {
            *slot = (*rank).max(*slot);
        }
    }
    let keys = cut_ranks(&largest, groups.len(), point)?;
    Ok(groups.rows_of_split(&keys, order))
}

/// Cuts `count` rows or groups. `ranks` contains the rank of each row or group. Both parts of the result are in the
/// order of the ranks.
fn cut_ranks(ranks: &[u32], count: u32, point: CutPoint) -> Result<Split, SplitError> {
    let rank = |item: &u32| ranks.get(*item as usize).copied().unwrap_or_default();
    let mut sorted: Vec<u32> = (0..count).collect();
    sorted.sort_by_key(rank);
    // `first` is the position of the first test item in `sorted`.
    let (first, by_rank) = match point {
        CutPoint::Rank(least) => (sorted.partition_point(|item| rank(item) < least), true),
        CutPoint::Size {
            test_size,
            train_size,
            ties,
        } => {
            let first = PartSizes::new(count, test_size, train_size)?.train as usize;
            let at_cut = sorted.get(first).map(rank).unwrap_or_default();
            let is_tie = first > 0 && sorted.get(first - 1).map(rank) == Some(at_cut);
            let first = match ties {
                CutTies::Test if is_tie => sorted.partition_point(|item| rank(item) < at_cut),
                CutTies::Train if is_tie => sorted.partition_point(|item| rank(item) <= at_cut),
                _ => first,
            };
            (first, false)
        }
    };
    let test = sorted.split_off(first);
    let part = match (sorted.is_empty(), test.is_empty()) {
        (true, _) => "train",
        (_, true) => "test",
        _ => {
            let train = sorted;
            return Ok(Split { train, test });
        }
    };
    let rows = count;
    Err(match by_rank {
        true => SplitError::EmptyPart { part, rows },
        false => SplitError::Tie { part, rows },
    })
}
