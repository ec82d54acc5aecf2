//! Reproduces NumPy's and Python's arithmetic and Python's words, because the last digits of a score depend on it.

pub use prep_formats::python::{is_python_space, python_float, python_repr};

/// Returns the words of a text like Python's `str.split()`: separated by any amount of white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}

/// Number of elements that NumPy passes to a reduction at once (the default `bufsize`).
const BUFFER: usize = 8_192;

/// Sums a contiguous array of doubles in NumPy's order: buffers of 8,192 values are summed pairwise, and their sums
/// sequentially.
pub fn sum(values: &[f64]) -> f64 {
    values
        .chunks(BUFFER)
        .map(pairwise_sum)
        .reduce(|sum, next| sum + next)
        .unwrap_or(0.0)
}

/// Like [`sum`], for values that are never all in memory.
pub fn sum_of(mut values: impl Iterator<Item = f64>) -> f64 {
    let mut buffer = Vec::with_capacity(BUFFER);
    let sums = std::iter::from_fn(|| {
        buffer.clear();
        buffer.extend(values.by_ref().take(BUFFER));
        (!buffer.is_empty()).then(|| pairwise_sum(&buffer))
    });
    sums.reduce(|sum, next| sum + next).unwrap_or(0.0)
}

/// Sums one buffer like `pairwise_sum` in NumPy's `loops_utils.h`: recursively halves the buffer into blocks of up to
/// 128 values, and adds up each block with eight running sums.
fn pairwise_sum(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 8 {
        // NumPy starts from -0.0, so that a sum of negative zeros keeps its sign.
        return values.iter().fold(-0.0, |sum, value| sum + value);
    }
    if n <= 128 {
        let mut lanes = [0.0; 8];
        let chunks = values.chunks_exact(8);
        let rest = chunks.remainder();
        for (index, chunk) in chunks.enumerate() {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *lane = if index == 0 { *value } else { *lane + value };
            }
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
        return rest.iter().fold(sum, |sum, value| sum + value);
    }
    let half = n / 2;
    let (left, right) = values.split_at(half - half % 8);
    pairwise_sum(left) + pairwise_sum(right)
}

/// Returns NumPy's mean. NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// Returns the mean of the values that are not `None`. NumPy's sum treats the others as zeros, which change which values
/// are added pairwise.
pub fn mean_of_present(values: &[Option<f64>]) -> f64 {
    let present = values.iter().flatten().count();
    let values: Vec<f64> = values.iter().map(|value| value.unwrap_or(0.0)).collect();
    sum(&values) / present as f64
}

/// Rounds a double like NumPy's `round(x, decimals)`: multiplies by the power of ten, rounds to the nearest integer
/// (halves to even), and divides.
pub fn round_numpy(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round_ties_even() / scale
}

/// Rounds a double like Python's `round(x, decimals)`: returns the double nearest to the exactly rounded decimal
/// number.
pub fn round_python(value: f64, decimals: usize) -> f64 {
    if !value.is_finite() {
        return value;
    }
    format!("{value:.decimals$}").parse().unwrap_or(value)
}
