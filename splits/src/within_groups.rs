//! Splits every group for itself, so that each key keeps its share on both sides.

use crate::error::SplitError;
use crate::groups::Groups;
use crate::python_random::PythonRandom;
use crate::shuffle_split::{Split, shuffle_split};
use crate::size::{PartSizes, Size};

/// How [`within_groups`] treats small groups and the finished test part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WithinGroups {
    /// Groups with fewer rows are not shuffled: the last rows are test, at least one, their share rounded down; a single
    /// row is train. 0: every group is shuffled, and one that is too small to split is an error.
    pub hold_last_below: u32,
    /// Seed of a final shuffle of the whole test part by Python's `random`.
    pub shuffle_test: Option<u64>,
}

/// A shuffle split inside every group, each with a generator seeded afresh; the parts of the groups follow one another in
/// the order of the keys.
///
/// # Errors
/// [`SplitError::InGroup`] with the group that cannot be split, keys with holes.
pub fn within_groups(
    keys: &[u32],
    test_size: Option<Size>,
    seed: u32,
    rules: WithinGroups,
) -> Result<Split, SplitError> {
    let groups = Groups::new(keys)?;
    let mut split = Split::default();
    for (group, rows) in (0u32..).zip(groups.iter()) {
        let in_group = |source| SplitError::InGroup {
            group,
            rows: rows.len() as u32,
            source: Box::new(source),
        };
        if (rows.len() as u32) < rules.hold_last_below {
            let held = held_back(rows.len() as u32, test_size).map_err(in_group)?;
            let (train, test) = rows.split_at(rows.len() - held as usize);
            split.train.extend(train);
            split.test.extend(test);
        } else {
            let drawn =
                shuffle_split(rows.len() as u32, test_size, None, seed).map_err(in_group)?;
            split
                .train
                .extend(drawn.train.iter().map(|&at| rows[at as usize]));
            split
                .test
                .extend(drawn.test.iter().map(|&at| rows[at as usize]));
        }
    }
    if let Some(seed) = rules.shuffle_test {
        PythonRandom::new(seed).shuffle(&mut split.test);
    }
    Ok(split)
}

/// A [`shuffle_split`] of every `chunk_size` successive rows for itself; the last chunk may be shorter.
///
/// # Errors
/// [`SplitError::InGroup`] with the chunk that cannot be split; [`SplitError::OutOfRange`] for chunks of no rows.
pub fn chunk_split(
    rows: u32,
    chunk_size: u32,
    test_size: Option<Size>,
    seed: u32,
) -> Result<Split, SplitError> {
    if chunk_size == 0 {
        return Err(SplitError::OutOfRange {
            name: "chunk_size",
            value: 0.0,
            low: 1.0,
            high: u32::MAX.into(),
        });
    }
    let chunks: Vec<u32> = (0..rows).map(|row| row / chunk_size).collect();
    within_groups(&chunks, test_size, seed, WithinGroups::default())
}

/// Rows at the end of a small group that are test.
fn held_back(rows: u32, test_size: Option<Size>) -> Result<u32, SplitError> {
    if rows < 2 {
        return Ok(0);
    }
    match test_size.unwrap_or_default() {
        Size::Fraction(fraction) if fraction > 0.0 && fraction < 1.0 => {
            Ok(((fraction * f64::from(rows)) as u32).clamp(1, rows - 1))
        }
        size => PartSizes::new(rows, Some(size), None).map(|sizes| sizes.test),
    }
}
