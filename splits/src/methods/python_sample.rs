//! The split with Python's `random.sample`: the sampled rows are the test part.

use crate::error::SplitError;
use crate::generators::python_random::PythonRandom;
use crate::methods::sample::complement;
use crate::parts::Split;
use crate::size::SplitSize;

/// `generator.sample(range(rows), k)`: the test part is in the order drawn. The train part consists of the remaining
/// rows, in table order.
///
/// A fraction of the rows is rounded like Python's `round`: to the nearest integer, halves to even.
///
/// # Errors
/// An error if the fraction is outside 0..=1, or if the table has fewer rows than requested.
pub fn python_sample(
    rows: u32,
    test_size: SplitSize,
    generator: &mut PythonRandom,
) -> Result<Split, SplitError> {
    let test = generator.sample(rows, test_size.sampled(rows)?)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}
