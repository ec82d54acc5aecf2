//! Pairs equal rows of two tables at any position, and counts the rows that moved.
//!
//! `there` is the position of a row in the table `theirs`, and `here` is a position in `ours`.

#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Positions of equal rows: (in `theirs`, in `ours`).
    pub equal: Vec<(u64, u64)>,
    pub only_there: Vec<u64>,
    pub only_here: Vec<u64>,
}

/// Pairs rows with the same hash. Each table is a list of (hash of a row, its position). If rows repeat, the nth row with
/// this hash in `theirs` is paired with the nth in `ours`.
pub(super) fn pair(mut theirs: Vec<(u128, u64)>, mut ours: Vec<(u128, u64)>) -> Pairs {
    theirs.sort_unstable();
    ours.sort_unstable();
    let mut pairs = Pairs::default();
    let (mut there, mut here) = (theirs.iter().peekable(), ours.iter().peekable());
    loop {
        match (there.peek(), here.peek()) {
            (None, None) => break,
            (Some((_, place)), None) => {
                pairs.only_there.push(*place);
                there.next();
            }
            (None, Some((_, place))) => {
                pairs.only_here.push(*place);
                here.next();
            }
            (Some((a, one)), Some((b, two))) => match a.cmp(b) {
                std::cmp::Ordering::Equal => {
                    pairs.equal.push((*one, *two));
                    there.next();
                    here.next();
                }
                std::cmp::Ordering::Less => {
                    pairs.only_there.push(*one);
                    there.next();
                }
                std::cmp::Ordering::Greater => {
                    pairs.only_here.push(*two);
                    here.next();
                }
            },
        }
    }
    pairs.only_there.sort_unstable();
    pairs.only_here.sort_unstable();
    pairs
}

/// A bit per position: whether the rows of both tables at this position are equal.
#[derive(Debug, Default)]
pub(super) struct InPlace {
    bits: Vec<u64>,
    rows: u64,
}

impl InPlace {
    pub(super) fn push(&mut self, is_equal: bool) {
        if self.rows.is_multiple_of(64) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u64::from(is_equal) << (self.rows % 64);
        }
        self.rows += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.bits
            .iter()
            .map(|bits| u64::from(bits.count_ones()))
            .sum()
    }

    fn contains(&self, row: u64) -> bool {
        let word = usize::try_from(row / 64).ok();
        word.and_then(|word| self.bits.get(word))
            .is_some_and(|bits| bits >> (row % 64) & 1 == 1)
    }
}

/// Returns the number of rows that would have to move to give both tables the same order. This is the number of pairs minus
/// the length of the longest sequence of pairs in which both positions increase.
///
/// `in_place` contains the pairs of equal rows at the same position. `pairs` contains all other pairs.
pub(super) fn count_moves(pairs: &mut [(u64, u64)], in_place: &InPlace) -> u64 {
    pairs.sort_unstable();
    if pairs.is_empty() {
        return 0;
    }
    // The element n is the smallest end of an increasing subsequence of n + 1 positions.
    let mut tails: Vec<u64> = Vec::new();
    let mut add = |here: u64| {
        let place = tails.partition_point(|tail| *tail < here);
        match tails.get_mut(place) {
            Some(tail) => *tail = here,
            None => tails.push(here),
        }
    };
    let mut next = pairs.iter().peekable();
    for row in 0..in_place.rows {
        while let Some((_, here)) = next.next_if(|(there, _)| *there < row) {
            add(*here);
        }
        if in_place.contains(row) {
            add(row);
        }
    }
    next.for_each(|(_, here)| add(*here));
    let all = pairs.len() as u64 + in_place.count();
    all - tails.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_paired() {
        let numbered = |hashes: &[u128]| hashes.iter().copied().zip(0..).collect();
        let mut pairs = pair(numbered(&[5, 7, 7, 9]), numbered(&[7, 5, 1, 7]));
        assert_eq!(pairs.only_there, [3]);
        assert_eq!(pairs.only_here, [2]);
        let nothing = InPlace::default();
        assert_eq!(count_moves(&mut pairs.equal, &nothing), 1);
        assert_eq!(count_moves(&mut [(0, 0), (1, 5), (2, 7)], &nothing), 0);
        assert_eq!(count_moves(&mut [(0, 2), (1, 1), (2, 0)], &nothing), 2);
    }

    /// Two distant rows changed places. Both are counted as moved, because the rows between them did not move.
    #[test]
    fn unmoved_rows_are_part_of_the_order() {
        let mut in_place = InPlace::default();
        for row in 0..100 {
            in_place.push(![10, 90].contains(&row));
        }
        assert_eq!(in_place.count(), 98);
        assert_eq!(count_moves(&mut [(90, 10), (10, 90)], &in_place), 2);
        assert_eq!(count_moves(&mut [(100, 101)], &in_place), 0);
    }
}
