//! A split in which every key with two rows or more is seen on both sides.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::numpy_generator::{Generator, Weights};
use crate::numpy_legacy::RandomState;
use crate::shuffle_split::{Order, Split, shuffle_split};
use crate::size::Size;

/// Splits so that keys are represented on both sides as far as they can be; rows keep the order of the table.
///
/// 1. Of a key with two rows or more, `sample(2)` of its rows (seeded afresh) gives one to train and the next to test.
/// 2. The row of a key with a single one goes to train with probability `single_train`, decided by one draw of
///    `numpy.random.default_rng(seed)`; only these keys draw, in the order of their numbers.
/// 3. The remaining rows, in table order, are split as [`shuffle_split`] does it.
///
/// # Errors
/// Sizes that step 3 refuses for the remaining rows, a probability outside 0..=1, keys with holes.
pub fn both_sides(
    keys: &[u32],
    test_size: Option<Size>,
    seed: u32,
    single_train: f64,
) -> Result<Split, SplitError> {
    if !(0.0..=1.0).contains(&single_train) {
        return Err(SplitError::OutOfRange {
            name: "single_train",
            value: single_train,
            low: 0.0,
            high: 1.0,
        });
    }
    let weights = Weights::new(&[single_train, 1.0 - single_train])?;
    let groups = Groups::new(keys)?;
    let mut generator = Generator::new(seed.into());
    let mut split = Split::default();
    let mut assigned = vec![false; keys.len()];
    for rows in groups.iter() {
        if let &[row] = rows {
            let part = if generator.choice(&weights) == 0 {
                &mut split.train
            } else {
                &mut split.test
            };
            part.push(row);
            assigned[row as usize] = true;
            continue;
        }
        let pair = RandomState::new(seed).choice(rows.len() as u32, 2)?;
        for (at, part) in pair.into_iter().zip([&mut split.train, &mut split.test]) {
            let row = rows[at as usize];
            part.push(row);
            assigned[row as usize] = true;
        }
    }
    let rest: Vec<u32> = (0u32..)
        .zip(&assigned)
        .filter(|(_, assigned)| !**assigned)
        .map(|(row, _)| row)
        .collect();
    let drawn = shuffle_split(rest.len() as u32, test_size, None, seed)?;
    split
        .train
        .extend(drawn.train.iter().map(|&at| rest[at as usize]));
    split
        .test
        .extend(drawn.test.iter().map(|&at| rest[at as usize]));
    Ok(split.ordered(Order::File))
}
