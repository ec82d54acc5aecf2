//! Python's and NumPy's number formats, arithmetic, words and sort order. The last digits of a score depend on them.

use prep_formats::python::{decimal_digit, trim_number};

pub use prep_formats::python::{is_python_space, python_float, python_repr};

/// Maximum number of digits of an integer that Python parses (`sys.set_int_max_str_digits`).
const MAX_DIGITS: usize = 4_300;

/// Modulus of Python's hash of integers.
const HASH_MODULUS: u64 = (1 << 61) - 1;

/// An integer of any size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BigInteger {
    negative: bool,
    /// Decimal digits without leading zeros. Empty for zero, which is never negative.
    digits: Vec<u8>,
}

impl BigInteger {
    /// Parses an integer like Python's `int`. Accepts surrounding whitespace, a sign, decimal digits of any script, and `_`
    /// between digits.
    pub fn parse(text: &str) -> Option<Self> {
        let text = trim_number(text);
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let mut digits = Vec::with_capacity(text.len());
        let mut after_digit = false;
        for c in text.chars() {
            if c == '_' && after_digit {
                after_digit = false;
                continue;
            }
            digits.push(u8::try_from(decimal_digit(c)?).ok()?);
            after_digit = true;
        }
        if !after_digit || digits.len() > MAX_DIGITS {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        Some(BigInteger {
            negative: negative && !digits.is_empty(),
            digits,
        })
    }

    /// Returns the integer if it fits into 128 bits.
    pub fn value(&self) -> Option<i128> {
        let value = self.digits.iter().try_fold(0i128, |value, digit| {
            value.checked_mul(10)?.checked_add(i128::from(*digit))
        })?;
        Some(if self.negative { -value } else { value })
    }

    fn clamped(&self) -> i128 {
        const LIMIT: i128 = 1 << 120;
        let beyond = if self.negative { -LIMIT } else { LIMIT };
        self.value()
            .map_or(beyond, |value| value.clamp(-LIMIT, LIMIT))
    }

    /// Returns the number by which the Python library Levenshtein compares integers: Python's `hash`, except for -1.
    ///
    /// The hash is the remainder of the absolute value modulo 2^61 - 1, with the sign of the integer. If this number is -1,
    /// the hash is -2 instead. Levenshtein makes one exception: it compares the integer -1 by the number -1, and therefore
    /// distinguishes -1 from -2.
    pub fn hash(&self) -> i64 {
        let remainder = self.digits.iter().fold(0u64, |value, digit| {
            let next = u128::from(value) * 10 + u128::from(*digit);
            (next % u128::from(HASH_MODULUS)) as u64
        });
        let value = remainder as i64;
        match if self.negative { -value } else { value } {
            -1 if self.digits != [1] => -2,
            value => value,
        }
    }
}

/// Parses an integer like [`BigInteger::parse`]. Returns `None` for integers beyond 128 bits.
pub fn python_int(text: &str) -> Option<i128> {
    BigInteger::parse(text)?.value()
}

/// Like [`python_int`], but clamps integers to 120 bits.
pub fn python_int_clamped(text: &str) -> Option<i128> {
    Some(BigInteger::parse(text)?.clamped())
}

/// Returns the words of a text like Python's `str.split()`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}

/// Number of elements that NumPy passes to a reduction at once (the default `bufsize`).
const BUFFER: usize = 8_192;

/// Sums doubles in NumPy's order: each buffer of 8,192 values pairwise, and the sums of buffers sequentially.
pub fn sum(values: &[f64]) -> f64 {
    values
        .chunks(BUFFER)
        .map(pairwise_sum)
        .reduce(|sum, next| sum + next)
        .unwrap_or(0.0)
}

/// Like [`sum`], for values that are not all in memory at the same time.
pub fn sum_of(mut values: impl Iterator<Item = f64>) -> f64 {
    let mut buffer = Vec::with_capacity(BUFFER);
    let sums = std::iter::from_fn(|| {
        buffer.clear();
        buffer.extend(values.by_ref().take(BUFFER));
        (!buffer.is_empty()).then(|| pairwise_sum(&buffer))
    });
    sums.reduce(|sum, next| sum + next).unwrap_or(0.0)
}

/// Sums one buffer like `pairwise_sum` in NumPy's `loops_utils.h`: recursively halves the buffer into blocks of up to 128
/// values, and adds up each block with eight running sums.
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

/// Returns NumPy's mean, which is NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// Returns NumPy's `average` of values with weights.
pub fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let products: Vec<f64> = values.iter().zip(weights).map(|(a, b)| a * b).collect();
    sum(&products) / sum(weights)
}

/// Returns the mean of the values that are not `None`.
///
/// As in NumPy, `None` is summed as 0. A zero shifts the values after it to other running sums of the pairwise sum, which
/// changes the last digits of the result.
pub fn mean_of_present(values: &[Option<f64>]) -> f64 {
    let present = values.iter().flatten().count();
    let values: Vec<f64> = values.iter().map(|value| value.unwrap_or(0.0)).collect();
    sum(&values) / present as f64
}

/// Rounds like NumPy's `round(x, decimals)`: multiplies by a power of ten, rounds to the nearest integer (halves to
/// even), and divides.
pub fn round_numpy(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round_ties_even() / scale
}

/// Rounds like Python's `round(x, decimals)`: returns the double nearest to the exactly rounded decimal number.
pub fn round_python(value: f64, decimals: usize) -> f64 {
    if !value.is_finite() {
        return value;
    }
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Sorts by the number that `key` returns, largest first, like Python's `sorted(..., key=..., reverse=True)`. The sort is
/// stable.
///
/// The position of NaN depends on the algorithm. This function reproduces Python's insertion sort, which Python uses for
/// fewer than 64 elements. In longer lists with NaN, the order may differ from Python's.
pub fn sort_descending<T>(items: &mut Vec<T>, key: impl Fn(&T) -> f64) {
    if !items.iter().any(|item| key(item).is_nan()) {
        items.sort_by(|a, b| {
            key(b)
                .partial_cmp(&key(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        return;
    }
    let mut rest = std::mem::take(items).into_iter().rev().peekable();
    let mut sorted: Vec<T> = rest.next().into_iter().collect();
    // If the list begins with a descending run, the run is reversed. A run that does not descend is kept.
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
