//! The split with pandas' `DataFrame.sample`: a random sample without replacement is the test part.

use crate::error::SplitError;
use crate::generators::numpy_legacy::RandomState;
use crate::parts::Split;
use crate::size::SplitSize;

/// `frame.sample(n=.. or frac=.., random_state=seed)`: the sampled rows are the test part, in the order drawn. The
/// train part consists of the remaining rows, in table order.
///
/// # Errors
/// An error if the fraction is outside 0..=1, or if the table has fewer rows than requested.
pub fn sample(rows: u32, test_size: SplitSize, seed: u32) -> Result<Split, SplitError> {
    let wanted = test_size.sampled(rows)?;
    let test = RandomState::new(seed).choice(rows, wanted)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}

/// Returns the rows that were not drawn, in table order.
pub(crate) fn complement(rows: u32, drawn: &[u32]) -> Vec<u32> {
    let mut is_drawn = vec![false; rows as usize];
    for &row in drawn {
        is_drawn[row as usize] = true;
    }
    (0..rows)
        .zip(is_drawn)
        .filter(|(_, drawn)| !drawn)
        .map(|(row, _)| row)
        .collect()
}
