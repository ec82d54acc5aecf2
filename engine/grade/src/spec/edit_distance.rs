//! Levenshtein's distance: the least number of elements to insert, delete or replace.

/// Distance of two texts in code points.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    sequence_distance(&a, &b)
}

/// Distance of two sequences.
pub fn sequence_distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (
        a.get(start..).unwrap_or_default(),
        b.get(start..).unwrap_or_default(),
    );
    let end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (
        a.get(..a.len() - end).unwrap_or_default(),
        b.get(..b.len() - end).unwrap_or_default(),
    );
    let mut costs: Vec<usize> = (1..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let (mut left, mut diagonal) = (row + 1, row);
        for (cost, to) in costs.iter_mut().zip(b) {
            let cheapest = (diagonal + usize::from(from != to))
                .min(left + 1)
                .min(*cost + 1);
            diagonal = *cost;
            *cost = cheapest;
            left = cheapest;
        }
    }
    costs.last().copied().unwrap_or(a.len())
}
