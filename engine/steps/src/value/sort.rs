//! Sorts millions of items and can be cancelled at any time.

use std::cmp::Ordering;

use prep_core::{Cancel, StepError};

/// Number of items that are sorted or merged between two checks for cancellation.
const RUN_LENGTH: usize = 1 << 16;

/// Returns the first number below `count` for which `is_before` is false, or `count`. `is_before` must be true for all
/// smaller numbers and false for all larger ones.
pub(crate) fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// Returns the numbers below `count` in the order of `compare`. The sort is stable, and fast for items that are already
/// in order.
///
/// # Errors
/// If the run is cancelled.
pub(crate) fn sorted(
    count: u32,
    cancel: &Cancel,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Result<Vec<u32>, StepError> {
    let mut order: Vec<u32> = (0..count).collect();
    for run in order.chunks_mut(RUN_LENGTH) {
        cancel.check()?;
        run.sort_by(|a, b| compare(*a, *b));
    }
    let mut merged = Vec::new();
    let mut length = RUN_LENGTH;
    while length < order.len() {
        merged.reserve_exact(order.len());
        for pair in order.chunks(2 * length) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            merge(left, right, &mut merged, cancel, &compare)?;
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        length *= 2;
    }
    Ok(order)
}

/// Appends two sorted lists as one.
fn merge(
    mut left: &[u32],
    mut right: &[u32],
    out: &mut Vec<u32>,
    cancel: &Cancel,
    compare: &impl Fn(u32, u32) -> Ordering,
) -> Result<(), StepError> {
    cancel.check()?;
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && compare(*last, *first).is_gt()
    {
        while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
            if compare(*a, *b).is_le() {
                out.push(*a);
                left = left_rest;
            } else {
                out.push(*b);
                right = right_rest;
            }
            if out.len().is_multiple_of(RUN_LENGTH) {
                cancel.check()?;
            }
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn sorted_is_a_stable_sort(
            keys in prop::collection::vec(0_u8..20, 0..5),
            repeat in prop::sample::select(vec![1_usize, 1000, 70_000]),
            sorted_already: bool,
        ) {
            let mut keys: Vec<u8> = (0..repeat).flat_map(|_| keys.clone()).collect();
            if sorted_already {
                keys.sort_unstable();
            }
            let key = |number: u32| keys[number as usize];
            let count = u32::try_from(keys.len())?;
            let found = sorted(count, &Cancel::default(), |a, b| key(a).cmp(&key(b)))?;
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by_key(|number| key(*number));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn cancelling_the_run_stops_the_sort() {
        let cancel = Cancel::default();
        let compared = std::cell::Cell::new(0_u32);
        let found = sorted(1 << 20, &cancel, |a, b| {
            compared.set(compared.get() + 1);
            if compared.get() == 2 << 20 {
                cancel.cancel();
            }
            b.cmp(&a)
        });
        assert!(matches!(found, Err(StepError::Cancelled)));
        let more = compared.get() - (2 << 20);
        assert!(more < 2 << 16, "{more} further comparisons");
    }
}
