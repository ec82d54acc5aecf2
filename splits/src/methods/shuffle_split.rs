//! scikit-learn's random split.

use crate::error::SplitError;
use crate::generators::numpy_legacy::RandomState;
use crate::keys::Split;
use crate::part_sizes::PartSizes;
use crate::size::SplitSize;

/// Splits rows like `train_test_split(range(rows), test_size=.., train_size=.., random_state=seed)`.
///
/// The first positions of a random permutation are the test part, the following positions the train part.
///
/// # Errors
/// An error for sizes that scikit-learn rejects, see [`PartSizes::new`].
pub fn shuffle_split(
    rows: u32,
    test_size: Option<SplitSize>,
    train_size: Option<SplitSize>,
    seed: u32,
) -> Result<Split, SplitError> {
    let sizes = PartSizes::new(rows, test_size, train_size)?;
    let mut test = RandomState::new(seed).permutation(rows);
    let mut train = test.split_off(sizes.test as usize);
    train.truncate(sizes.train as usize);
    Ok(Split { train, test })
}
