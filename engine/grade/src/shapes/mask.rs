//! Binary masks as run-length codes: `start length start length ...`, starts counted from 1.
//!
//! A mask stays a list of runs. Areas and overlaps are taken run by run, so that the size of an image costs nothing.

use crate::integer::python_int_clamped;
use crate::numeric::is_python_blank;

/// A set of pixels: half-open ranges, in order, which do not touch each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    runs: Vec<(u64, u64)>,
}

impl Mask {
    /// Decodes a code for an image of so many pixels. Runs beyond the end are cut off.
    ///
    /// A lone number is an empty mask, and one length serves two starts: NumPy's broadcasting. Integers beyond 64
    /// bits count as what they are, while sums that leave 64 bits wrap, so that their run paints nothing.
    ///
    /// # Errors
    /// In words, what was expected.
    pub fn decode(code: &str, pixels: u64) -> Result<Self, &'static str> {
        let numbers = code
            .split(is_python_blank)
            .filter(|word| !word.is_empty())
            .map(|word| python_int_clamped(word).ok_or("whole numbers, separated by blanks"))
            .collect::<Result<Vec<i128>, _>>()?;
        let starts: Vec<i128> = numbers.iter().step_by(2).copied().collect();
        let lengths: Vec<i128> = numbers.iter().skip(1).step_by(2).copied().collect();
        if !starts.is_sorted() {
            return Err("runs in the order of their starts");
        }
        if numbers.iter().any(|number| *number < 1) {
            return Err("starts and lengths of at least 1");
        }
        let length_of = |run: usize| match (starts.len(), lengths.as_slice()) {
            (2, [length]) => Some(*length),
            _ => lengths.get(run).copied(),
        };
        if lengths.len() != starts.len() && starts.len() > 2 {
            return Err("a length after each start");
        }
        let wraps = match (Store::of(&starts), Store::of(&lengths)) {
            (_, None) => false,
            (Some(Store::Unlimited), Some(store)) | (Some(store), Some(Store::Unlimited))
                if store != Store::Double =>
            {
                false
            }
            (Some(Store::Signed), Some(Store::Signed)) => true,
            (Some(Store::Unsigned), Some(Store::Unsigned)) => true,
            _ => return Err("numbers that fit one integer type of 64 bits"),
        };
        let mut mask = Mask::default();
        for (run, start) in starts.iter().enumerate() {
            let Some(length) = length_of(run) else { break };
            let low = start - 1;
            let mut high = low + length;
            if wraps && high > i128::from(i64::MAX) {
                high = low;
            }
            let low = clamp(low, pixels);
            let high = clamp(high, pixels);
            if low < high && mask.runs.last().is_some_and(|(_, end)| low < *end) {
                return Err("runs that do not overlap");
            }
            mask.push(low, high);
        }
        Ok(mask)
    }

    /// Appends a range that does not begin before the last one.
    fn push(&mut self, low: u64, high: u64) {
        if low >= high {
            return;
        }
        match self.runs.last_mut() {
            Some((_, end)) if low <= *end => *end = high.max(*end),
            _ => self.runs.push((low, high)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn runs(&self) -> &[(u64, u64)] {
        &self.runs
    }

    /// Number of pixels.
    pub fn area(&self) -> u64 {
        self.runs.iter().map(|(low, high)| high - low).sum()
    }

    /// Number of pixels that both have.
    pub fn overlap(&self, other: &Mask) -> u64 {
        let mut area = 0;
        let (mut left, mut right) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        while let (Some(&&(a, b)), Some(&&(c, d))) = (left.peek(), right.peek()) {
            area += b.min(d).saturating_sub(a.max(c));
            if b < d {
                left.next();
            } else {
                right.next();
            }
        }
        area
    }

    /// The pixels of either.
    #[must_use]
    pub fn union(&self, other: &Mask) -> Mask {
        let mut all: Vec<(u64, u64)> = self.runs.iter().chain(&other.runs).copied().collect();
        all.sort_unstable();
        let mut mask = Mask::default();
        for (low, high) in all {
            mask.push(low, high);
        }
        mask
    }
}

fn clamp(value: i128, pixels: u64) -> u64 {
    u64::try_from(value).map_or(pixels, |value| value.min(pixels))
}

/// What NumPy makes of a list of positive integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Signed,
    Unsigned,
    /// Integers on both sides of 2^63, which are of use as no index.
    Double,
    /// Python's own integers.
    Unlimited,
}

impl Store {
    /// `None` for an empty list.
    fn of(values: &[i128]) -> Option<Store> {
        let largest = *values.iter().max()?;
        let smallest = *values.iter().min()?;
        let signed = |value| value <= i128::from(i64::MAX);
        Some(match () {
            () if largest > i128::from(u64::MAX) => Store::Unlimited,
            () if signed(largest) => Store::Signed,
            () if signed(smallest) => Store::Double,
            () => Store::Unsigned,
        })
    }
}
