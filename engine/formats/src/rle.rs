//! Run-length codes of masks, that is, their run-length encodings as text.
//!
//! A code consists of pairs of a start and a length, separated by spaces. The first pixel has the number 1. For example,
//! `3 2 9 1` sets the pixels 3, 4 and 9.
//!
//! Some competitions number the pixels down the columns ([`column_major`]), others along the rows. COCO's run-length
//! encoding is a different format, which this module does not read.

use std::ops::Range;

/// An invalid run-length code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RleError {
    /// A token is not a positive integer.
    #[error("`{token}` in a run-length code is not a positive integer")]
    NotANumber {
        /// The token.
        token: String,
    },
    /// The last start has no length.
    #[error(
        "the run-length code has {words} numbers, but must consist of pairs of a start and a length"
    )]
    OddLength {
        /// Number of integers in the code.
        words: usize,
    },
    /// A run begins before the end of the previous run.
    #[error("the run at pixel {start} of a run-length code begins before the previous run ends")]
    Overlap {
        /// First pixel of the run, counted from 1.
        start: u64,
    },
}

/// Decodes a code to ascending ranges of pixel numbers, counted from 0. An empty code has no ranges.
pub fn decode(code: &str) -> Result<Vec<Range<u64>>, RleError> {
    let numbers = code.split_whitespace().map(|token| {
        let number = token.parse::<u64>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| RleError::NotANumber {
            token: token.to_owned(),
        })
    });
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(RleError::OddLength {
            words: numbers.len(),
        });
    }
    let mut end = 0;
    let run = |[start, length]: &[u64; 2]| {
        let first = start - 1;
        if first < end {
            return Err(RleError::Overlap { start: *start });
        }
        end = first.saturating_add(*length);
        Ok(first..end)
    };
    pairs.iter().map(run).collect()
}

/// Returns the number of pixels that a code sets.
pub fn area(code: &str) -> Result<u64, RleError> {
    let runs = decode(code)?;
    Ok(runs
        .iter()
        .fold(0, |sum, run| sum.saturating_add(run.end - run.start)))
}

/// Encodes a mask. `pixels` contains whether each pixel is set, in the order of the pixel numbers.
///
/// The code is empty if no pixel is set. Returns `None` if the code is longer than `max_bytes`.
pub fn encode(pixels: impl IntoIterator<Item = bool>, max_bytes: usize) -> Option<String> {
    let mut code = String::new();
    // The first pixel of the current run, counted from 0.
    let mut run: Option<u64> = None;
    let mut count = 0;
    let mut push = |start: u64, end: u64| {
        if !code.is_empty() {
            code.push(' ');
        }
        let mut buffer = itoa::Buffer::new();
        code.push_str(buffer.format(start + 1));
        code.push(' ');
        code.push_str(buffer.format(end - start));
        (code.len() <= max_bytes).then_some(())
    };
    for is_set in pixels {
        match (run, is_set) {
            (None, true) => run = Some(count),
            (Some(start), false) => {
                push(start, count)?;
                run = None;
            }
            _ => {}
        }
        count += 1;
    }
    if let Some(start) = run {
        push(start, count)?;
    }
    Some(code)
}

/// Iterates over the indices of an array's elements in column-major order: the first index varies fastest.
///
/// `shape` contains the length of each dimension. The elements must be stored in C order, in which the last index varies
/// fastest. The iterator is empty if an array of this shape does not have `length` elements.
pub fn column_major(length: usize, shape: &[usize]) -> impl Iterator<Item = usize> + use<> {
    let count = shape
        .iter()
        .try_fold(1usize, |count, size| count.checked_mul(*size));
    let total = count.filter(|count| *count == length).unwrap_or(0);
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    let axes: Vec<(usize, usize)> = shape.iter().copied().zip(strides).collect();
    (0..total).map(move |number| {
        let mut rest = number;
        axes.iter().fold(0, |offset, (size, stride)| {
            let index = rest % size;
            rest /= size;
            offset + index * stride
        })
    })
}
