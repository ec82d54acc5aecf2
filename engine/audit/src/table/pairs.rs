//! Rows that are equal wherever they stand, and whether they moved.

/// The rows of both sides: pairs of equal ones, and those without an equal.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// (place there, place here).
    pub equal: Vec<(u64, u64)>,
    pub only_there: Vec<u64>,
    pub only_here: Vec<u64>,
}

/// Pairs rows by their hashes: the first of a kind with the first of that kind.
pub(super) fn pair(theirs: &[u64], ours: &[u64]) -> Pairs {
    let sorted = |hashes: &[u64]| {
        let mut sorted: Vec<(u64, u64)> = hashes.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        sorted
    };
    let (theirs, ours) = (sorted(theirs), sorted(ours));
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

/// How many pairs would have to move for both sides to be in the same order: all but a longest rising sequence.
pub(super) fn moved(pairs: &mut [(u64, u64)]) -> u64 {
    pairs.sort_unstable();
    let mut tails: Vec<u64> = Vec::new();
    for (_, here) in pairs.iter() {
        let place = tails.partition_point(|tail| tail < here);
        match tails.get_mut(place) {
            Some(tail) => *tail = *here,
            None => tails.push(*here),
        }
    }
    pairs.len() as u64 - tails.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_find_each_other() {
        let mut pairs = pair(&[5, 7, 7, 9], &[7, 5, 1, 7]);
        assert_eq!(pairs.only_there, [3]);
        assert_eq!(pairs.only_here, [2]);
        assert_eq!(moved(&mut pairs.equal), 1);
        assert_eq!(moved(&mut [(0, 0), (1, 5), (2, 7)]), 0);
        assert_eq!(moved(&mut [(0, 2), (1, 1), (2, 0)]), 2);
    }
}
