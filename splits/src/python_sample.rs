//! The split by Python's `random.sample`: the sampled rows are the test part.

use crate::error::SplitError;
use crate::python_random::PythonRandom;
use crate::sample::complement;
use crate::shuffle_split::Split;
use crate::size::SplitSize;

/// `generator.sample(range(rows), k)`: the test part in the order drawn. The train part is the remaining rows in table
/// order.
///
/// A fraction of the rows is rounded to an integer as by Python's `round`, halves to even.
///
/// # Errors
/// A fraction outside 0..=1, or more rows than the table has.
pub fn python_sample(
    rows: u32,
    test_size: SplitSize,
    generator: &mut PythonRandom,
) -> Result<Split, SplitError> {
    let test = generator.sample(rows, test_size.sampled(rows)?)?;
    let train = complement(rows, &test);
    Ok(Split { train, test })
}
