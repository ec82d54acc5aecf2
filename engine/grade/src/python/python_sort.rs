//! Reproduces Python's `sorted`, `min` and `max`, whose results depend on the order of the input if a value is NaN.

/// Sorts by a number, largest first, like `sorted(..., key=..., reverse=True)`: stable, and with NaN in the order that
/// Python's insertion sort produces. (Python merges sorted runs in lists of 64 and more elements. With NaN, the result
/// of that may differ.)
pub fn sort_descending<T>(items: &mut Vec<T>, key: impl Fn(&T) -> f64) {
    if !items.iter().any(|item| key(item).is_nan()) {
        // Without NaN, all numbers can be compared.
        items.sort_by(|a, b| {
            key(b)
                .partial_cmp(&key(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        return;
    }
    let mut rest = std::mem::take(items).into_iter().rev().peekable();
    let mut sorted: Vec<T> = rest.next().into_iter().collect();
    // A descending run at the start is reversed; a run that is not descending is kept.
    let falls = rest
        .peek()
        .zip(sorted.first())
        .is_some_and(|(next, first)| key(next) < key(first));
    while let Some(next) = rest.next_if(|next| {
        sorted
            .last()
            .is_some_and(|last| (key(next) < key(last)) == falls)
    }) {
        sorted.push(next);
    }
    if falls {
        sorted.reverse();
    }
    for item in rest {
        let place = key(&item);
        let (mut low, mut high) = (0, sorted.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if sorted.get(middle).is_some_and(|other| place < key(other)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        sorted.insert(low, item);
    }
    sorted.reverse();
    *items = sorted;
}

/// Python's `max` of two numbers: the first, unless the second is larger.
pub fn max(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Python's `min` of two numbers: the first, unless the second is smaller.
pub fn min(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}
