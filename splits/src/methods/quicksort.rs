//! The order of NumPy's `argsort` with its default kind, for objects such as texts.
//!
//! It is a quicksort with the median of three as pivot, insertion sort for short ranges, and heapsort for ranges that are
//! divided too often. It is not stable: items with equal keys come in an order that depends on the whole table. NumPy
//! sorts numbers differently on some processors, and objects in the same way on all.

/// Ranges of at most this many items are sorted by insertion.
const SHORT: usize = 17;

/// Returns the indices of `keys` in the order in which NumPy's `argsort` returns them.
pub(crate) fn argsort(keys: &[u32]) -> Vec<u32> {
    let key = |item: u32| keys.get(item as usize).copied().unwrap_or_default();
    let mut items: Vec<u32> = (0..keys.len() as u32).collect();
    let divisions = 2 * i64::from(keys.len().checked_ilog2().unwrap_or(0));
    let mut pending = vec![(items.as_mut_slice(), divisions)];
    while let Some((mut range, mut divisions)) = pending.pop() {
        // Only ranges that waited are checked, not those with which the loop below continues.
        if divisions < 0 {
            heapsort(range, key);
            continue;
        }
        while range.len() > SHORT {
            let middle = divide(range, key);
            divisions -= 1;
            let (first, rest) = range.split_at_mut(middle);
            let second = rest.get_mut(1..).unwrap_or_default();
            let (shorter, longer) = match first.len() < second.len() {
                true => (first, second),
                false => (second, first),
            };
            pending.push((longer, divisions));
            range = shorter;
        }
        insertion_sort(range, key);
    }
    items
}

/// Moves the median of the first, the middle and the last item to its place, smaller items before and larger ones after
/// it. Returns its place.
fn divide(items: &mut [u32], key: impl Fn(u32) -> u32) -> usize {
    let last = items.len() - 1;
    let middle = last / 2;
    for (low, high) in [(0, middle), (middle, last), (0, middle)] {
        if key(items[high]) < key(items[low]) {
            items.swap(low, high);
        }
    }
    let pivot = key(items[middle]);
    items.swap(middle, last - 1);
    let (mut low, mut high) = (0, last - 1);
    // The first and the last item end both searches.
    loop {
        low += 1;
        while key(items[low]) < pivot {
            low += 1;
        }
        high -= 1;
        while pivot < key(items[high]) {
            high -= 1;
        }
        if low >= high {
            break;
        }
        items.swap(low, high);
    }
    items.swap(low, last - 1);
    low
}

fn insertion_sort(items: &mut [u32], key: impl Fn(u32) -> u32) {
    for end in 1..items.len() {
        let place = items[..end].partition_point(|item| key(*item) <= key(items[end]));
        items[place..=end].rotate_right(1);
    }
}

fn heapsort(items: &mut [u32], key: impl Fn(u32) -> u32) {
    for root in (0..items.len() / 2).rev() {
        sift_down(items, root, &key);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        sift_down(&mut items[..end], 0, &key);
    }
}

/// Moves the item at `root` down until no child is larger.
fn sift_down(items: &mut [u32], root: usize, key: &impl Fn(u32) -> u32) {
    let mut place = root;
    loop {
        let mut child = 2 * place + 1;
        if child + 1 < items.len() && key(items[child]) < key(items[child + 1]) {
            child += 1;
        }
        if child >= items.len() || key(items[child]) <= key(items[place]) {
            return;
        }
        items.swap(place, child);
        place = child;
    }
}
