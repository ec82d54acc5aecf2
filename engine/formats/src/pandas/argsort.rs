//! NumPy's default `argsort`, which is not stable. It determines the order of equal keys in pandas' `sort_values`.
//!
//! NumPy sorts strings and other keys with this algorithm, but 64-bit numbers only on processors without AVX-512.

/// Up to this number of keys is sorted by insertion sort.
const MAX_INSERTION_SORT: usize = 16;

/// Sorts `indices` with NumPy's introsort (`npy_aquicksort`).
///
/// The pivot is the median of three. Small parts are sorted by insertion sort, and parts more than 2 * floor(log2 n) levels
/// deep by heap sort.
pub fn argsort(indices: &mut [u32], less: impl Fn(u32, u32) -> bool + Copy) {
    if indices.len() < 2 {
        return;
    }
    let depth = 2 * i64::from(indices.len().ilog2());
    introsort_part(indices, depth, less);
}

/// Sorts a part. `depth` is the number of levels that remain before heap sort is used.
fn introsort_part(mut piece: &mut [u32], mut depth: i64, less: impl Fn(u32, u32) -> bool + Copy) {
    if depth < 0 {
        heap_sort(piece, less);
        return;
    }
    while piece.len() > MAX_INSERTION_SORT {
        let split = partition(piece, less);
        depth -= 1;
        let (left, rest) = std::mem::take(&mut piece).split_at_mut(split);
        let Some((_, right)) = rest.split_first_mut() else {
            return;
        };
        let larger;
        (piece, larger) = if left.len() < right.len() {
            (left, right)
        } else {
            (right, left)
        };
        introsort_part(larger, depth, less);
    }
    insertion_sort(piece, less);
}

/// Partitions a part of more than 16 keys around the median of its first, middle and last key. Returns the pivot's position.
fn partition(piece: &mut [u32], less: impl Fn(u32, u32) -> bool) -> usize {
    let last = piece.len() - 1;
    let middle = last / 2;
    let order = |piece: &mut [u32], low: usize, high: usize| {
        if less(piece[high], piece[low]) {
            piece.swap(high, low);
        }
    };
    order(piece, 0, middle);
    order(piece, middle, last);
    order(piece, 0, middle);
    let pivot = piece[middle];
    let (mut i, mut j) = (0, last - 1);
    piece.swap(middle, j);
    loop {
        // Both inner loops stop inside the part. After the swaps above, the first key is not greater than the pivot, and the
        // pivot is at `last - 1`.
        loop {
            i += 1;
            if !less(piece[i], pivot) {
                break;
            }
        }
        loop {
            j -= 1;
            if !less(pivot, piece[j]) {
                break;
            }
        }
        if i >= j {
            break;
        }
        piece.swap(i, j);
    }
    piece.swap(i, last - 1);
    i
}

fn insertion_sort(piece: &mut [u32], less: impl Fn(u32, u32) -> bool) {
    for end in 1..piece.len() {
        let mut at = end;
        while at > 0 && less(piece[at], piece[at - 1]) {
            piece.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Reproduces NumPy's heap sort, which sifts down in a 1-based heap.
fn heap_sort(piece: &mut [u32], less: impl Fn(u32, u32) -> bool) {
    let sift = |piece: &mut [u32], start: usize, end: usize| {
        let moving = piece[start - 1];
        let (mut hole, mut child) = (start, start * 2);
        while child <= end {
            if child < end && less(piece[child - 1], piece[child]) {
                child += 1;
            }
            if !less(moving, piece[child - 1]) {
                break;
            }
            piece[hole - 1] = piece[child - 1];
            hole = child;
            child *= 2;
        }
        piece[hole - 1] = moving;
    };
    let n = piece.len();
    for start in (1..=n / 2).rev() {
        sift(piece, start, n);
    }
    for end in (1..n).rev() {
        piece.swap(0, end);
        sift(piece, 1, end);
    }
}
