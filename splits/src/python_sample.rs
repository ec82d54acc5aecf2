//! Python's `random.sample` of the rows of a table.

use crate::error::SplitError;
use crate::python_random::PythonRandom;
use crate::sample::complement;
use crate::shuffle_split::Split;
use crate::size::Size;

/// `generator.sample(range(rows), k)`: the drawn rows are the test part, in the order drawn; the others are the train
/// part, in the order of the table. A share is rounded as Python's `round` does, halves to even.
///
/// # Errors
/// A share outside 0..=1, or more rows than there are.
pub fn python_sample(
    rows: u32,
    test_size: Size,
    generator: &mut PythonRandom,
) -> Result<Split, SplitError> {
    let test = generator.sample(rows, test_size.sampled(rows)?)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}
