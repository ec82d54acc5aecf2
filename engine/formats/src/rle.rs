//! Run-length codes of masks: pairs of a start, from 1, and a length, separated by blanks (`3 2 9 1`: pixels 3, 4 and 9).
//!
//! Which pixel has which number is the caller's: competitions count down the columns ([`column_major`]) or along the
//! rows.

use std::ops::Range;

/// A code that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RleError {
    /// A word that is no whole number.
    #[error("`{word}` in a run-length code is no whole number from 1")]
    NotANumber {
        /// The word.
        word: String,
    },
    /// A start without a length.
    #[error("the run-length code has {words} numbers; starts and lengths come in pairs")]
    OddLength {
        /// How many numbers there are.
        words: usize,
    },
    /// A run that begins before the end of the one before it.
    #[error("the run at pixel {start} of a run-length code begins before the one before it ends")]
    Overlap {
        /// Where it begins, from 1.
        start: u64,
    },
}

/// The runs of a code, as ranges of pixel numbers from 0, in ascending order; none for blanks only.
///
/// # Errors
/// [`RleError`].
pub fn decode(code: &str) -> Result<Vec<Range<u64>>, RleError> {
    let numbers = code.split_whitespace().map(|word| {
        let number = word.parse::<u64>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| RleError::NotANumber {
            word: word.to_owned(),
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

/// Number of pixels that a code sets.
///
/// # Errors
/// As [`decode`].
pub fn area(code: &str) -> Result<u64, RleError> {
    let runs = decode(code)?;
    Ok(runs
        .iter()
        .fold(0, |sum, run| sum.saturating_add(run.end - run.start)))
}

/// The code of the pixels that are set, in the order of their numbers; the empty text when none is.
pub fn encode(pixels: impl IntoIterator<Item = bool>) -> String {
    let mut code = String::new();
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
    };
    for is_set in pixels {
        match (run, is_set) {
            (None, true) => run = Some(count),
            (Some(start), false) => {
                push(start, count);
                run = None;
            }
            _ => {}
        }
        count += 1;
    }
    if let Some(start) = run {
        push(start, count);
    }
    code
}

/// The elements of an array in C order (the last index varies fastest), with the first index varying fastest: for a mask of
/// rows and columns, column by column from top to bottom. Nothing for values that do not fill the shape.
pub fn column_major<'a, T>(
    values: &'a [T],
    shape: &[usize],
) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let count = shape
        .iter()
        .try_fold(1usize, |count, size| count.checked_mul(*size));
    let total = count.filter(|count| *count == values.len()).unwrap_or(0);
    // Distance in memory of one step along each axis.
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    let axes: Vec<(usize, usize)> = shape.iter().copied().zip(strides).collect();
    (0..total).filter_map(move |number| {
        let mut rest = number;
        let place = axes.iter().fold(0, |place, (size, stride)| {
            let index = rest % size;
            rest /= size;
            place + index * stride
        });
        values.get(place)
    })
}
