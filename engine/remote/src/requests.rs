//! Combines ranges of a bundle into requests.

use std::ops::Range;

/// Maximum size of a request in bytes.
pub(crate) const REQUEST_BYTES: u64 = 8 << 20;
/// Maximum size in bytes of a gap between two ranges that is fetched together with them.
const MAX_GAP_BYTES: u64 = 128 << 10;
/// Gaps are fetched as long as their total size is at most one part in this number of the useful bytes.
const MAX_GAP_FRACTION: u64 = 32;

/// Returns requests that cover all ranges. Adjacent ranges and small gaps are combined, and long requests are split.
pub(crate) fn combine(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    let (mut useful, mut waste) = (0, 0);
    for range in ranges {
        useful += range.end - range.start;
        if let Some(last) = joined.last_mut() {
            let gap = range.start.saturating_sub(last.end);
            if gap == 0 || (gap <= MAX_GAP_BYTES && (waste + gap) * MAX_GAP_FRACTION <= useful) {
                waste += gap;
                last.end = last.end.max(range.end);
                continue;
            }
        }
        joined.push(range);
    }
    let pieces = joined.into_iter().flat_map(|range| {
        let starts = (range.start..range.end).step_by(REQUEST_BYTES as usize);
        starts.map(move |start| start..(start + REQUEST_BYTES).min(range.end))
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "one range is expected")]
    fn adjacent_ranges_are_combined_and_large_gaps_are_skipped() {
        let k = 1u64 << 10;
        let m = 1u64 << 20;
        assert_eq!(combine(vec![]), Vec::<Range<u64>>::new());
        let touching = vec![32 * k..48 * k, 0..16 * k, 16 * k..32 * k];
        assert_eq!(combine(touching), [0..48 * k]);
        // A small gap is fetched together with large ranges, but a long gap is not.
        assert_eq!(combine(vec![0..4 * m, 4 * m + 64 * k..5 * m]), [0..5 * m]);
        assert_eq!(
            combine(vec![0..4 * m, 6 * m..7 * m]),
            [0..4 * m, 6 * m..7 * m]
        );
        let long = combine(vec![0..20 * m]);
        assert_eq!(long, [0..8 * m, 8 * m..16 * m, 16 * m..20 * m]);
    }
}
