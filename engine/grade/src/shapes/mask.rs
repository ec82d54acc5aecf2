//! Masks in run-length encoding: `start length start length ...`, with starts from 1. Also reads columns of masks, and the
//! sizes of their images.
//!
//! A mask is stored as runs, so the time for areas and overlaps does not depend on the size of the image.

use prep_spec::words::{KeyType, SectionKey};
use serde::Deserialize;

use crate::python::{python_int_clamped, words};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{column, optional, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::numbers::number;
use crate::table::pair::Pair;

/// A set of pixels, as sorted half-open ranges that neither overlap nor touch each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    runs: Vec<(u64, u64)>,
}

impl Mask {
    /// Decodes a run-length code for an image with `pixels` pixels. Ignores the part of a run beyond the image. If the code is
    /// invalid, the error describes valid codes, and completes a message that ends with `expected`.
    ///
    /// Irregular codes are read as in NumPy:
    ///
    /// - A single number is an empty mask.
    /// - In a code with two starts and one length, both runs have this length.
    /// - If the end of a run exceeds 64 bits, the sum of start and length wraps around, and the run is empty.
    pub fn decode(code: &str, pixels: u64) -> Result<Self, &'static str> {
        // A code may contain many millions of numbers, so they are parsed twice instead of stored.
        let (mut starts, mut lengths) = (NumberSummary::default(), NumberSummary::default());
        for (index, word) in words(code).enumerate() {
            let number = python_int_clamped(word);
            let number = number.ok_or("integers, separated by whitespace")?;
            match index % 2 {
                0 => starts.take(number),
                _ => lengths.take(number),
            }
        }
        if !starts.is_sorted {
            return Err("runs in the order of their starts");
        }
        if starts.smallest.min(lengths.smallest) < 1 {
            return Err("starts and lengths of at least 1");
        }
        // NumPy broadcasts a single length over two starts.
        let is_length_broadcast = starts.count == 2 && lengths.count == 1;
        if lengths.count != starts.count && starts.count > 2 {
            return Err("a length after each start");
        }
        // Whether NumPy's sum of a start and a length wraps around depends on the types of both arrays.
        let wraps = match (NumPyType::infer(&starts), NumPyType::infer(&lengths)) {
            (_, None) => false,
            (Some(NumPyType::Unlimited), Some(other))
            | (Some(other), Some(NumPyType::Unlimited))
                if other != NumPyType::Double =>
            {
                false
            }
            (Some(NumPyType::Signed), Some(NumPyType::Signed)) => true,
            (Some(NumPyType::Unsigned), Some(NumPyType::Unsigned)) => true,
            _ => return Err("starts and lengths below 2^63"),
        };
        let mut numbers = words(code).filter_map(python_int_clamped);
        let mut mask = Mask::default();
        while let Some(start) = numbers.next() {
            let length = match numbers.next() {
                Some(length) => length,
                None if is_length_broadcast => lengths.smallest,
                None => break,
            };
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

    /// Appends a range, which must not begin before the start of the last range.
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

    pub fn area(&self) -> u64 {
        self.runs.iter().map(|(low, high)| high - low).sum()
    }

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

    /// Returns the pixels that are in at least one mask.
    #[must_use]
    pub fn union<'a>(masks: impl Iterator<Item = &'a Mask>) -> Mask {
        Mask::of_ranges(masks.flat_map(|mask| &mask.runs).copied().collect())
    }

    /// Returns the pixels that are in at least one half-open range.
    #[must_use]
    pub fn of_ranges(mut ranges: Vec<(u64, u64)>) -> Mask {
        ranges.sort_unstable();
        let mut mask = Mask::default();
        for (low, high) in ranges {
            mask.push(low, high);
        }
        mask
    }
}

fn clamp(value: i128, pixels: u64) -> u64 {
    u64::try_from(value).map_or(pixels, |value| value.min(pixels))
}

/// The type of the array to which NumPy converts a list of positive integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumPyType {
    Signed,
    Unsigned,
    /// Doubles, for integers both below and above 2^63. They cannot be indices.
    Double,
    /// Python objects, for integers beyond 64 bits.
    Unlimited,
}

/// The properties of a list of numbers that determine whether and how NumPy uses the list.
#[derive(Debug)]
struct NumberSummary {
    count: usize,
    smallest: i128,
    largest: i128,
    last: i128,
    is_sorted: bool,
}

impl Default for NumberSummary {
    fn default() -> Self {
        NumberSummary {
            count: 0,
            smallest: i128::MAX,
            largest: i128::MIN,
            last: i128::MIN,
            is_sorted: true,
        }
    }
}

impl NumberSummary {
    fn take(&mut self, number: i128) {
        self.count += 1;
        self.smallest = self.smallest.min(number);
        self.largest = self.largest.max(number);
        self.is_sorted &= self.last <= number;
        self.last = number;
    }
}

impl NumPyType {
    /// Returns NumPy's type for a list of numbers, or `None` for an empty list.
    fn infer(numbers: &NumberSummary) -> Option<NumPyType> {
        let signed = |value| value <= i128::from(i64::MAX);
        (numbers.count > 0).then(|| match () {
            () if numbers.largest > i128::from(u64::MAX) => NumPyType::Unlimited,
            () if signed(numbers.largest) => NumPyType::Signed,
            () if signed(numbers.smallest) => NumPyType::Double,
            () => NumPyType::Unsigned,
        })
    }
}

pub const COLUMN: SectionKey = column("column", "The submission's column of masks.");

pub const TRUTH: SectionKey = optional(
    "truth",
    KeyType::Column,
    "The answers' column of masks; default: the column with the same name.",
);

pub const WIDTH: SectionKey = required(
    "width",
    KeyType::Operand,
    "The width of the images: a number, or the answers' column with the widths.",
);

pub const HEIGHT: SectionKey = required(
    "height",
    KeyType::Operand,
    "The height of the images: a number, or the answers' column with the heights.",
);

pub const EMPTY: SectionKey = optional(
    "empty",
    KeyType::String,
    "A cell with this text is treated as an empty mask.",
);

pub const SURPLUS_ROWS: SectionKey = optional(
    "surplus_rows",
    KeyType::Choice(&["refuse", "ignore"]),
    "`ignore`: rows beyond the end of the shorter table are left out; default: if the tables have different lengths, \
     the submission is invalid.",
);

/// The parameters of a metric that name the columns of masks and the sizes of images.
#[derive(Debug, Deserialize)]
pub struct MaskColumns {
    pub column: String,
    truth: Option<String>,
    width: Extent,
    height: Extent,
    empty: Option<String>,
    #[serde(default)]
    surplus_rows: SurplusRows,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of pixels or the name of a column"
)]
enum Extent {
    Pixels(u32),
    Column(String),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SurplusRows {
    #[default]
    Refuse,
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskSize {
    pub width: u64,
    pub height: u64,
}

impl MaskSize {
    pub fn pixels(self) -> u64 {
        self.width.saturating_mul(self.height)
    }
}

/// True and predicted masks, without surplus rows of the submission.
#[derive(Debug)]
pub struct Masks {
    pub predicted: Vec<Mask>,
    pub truth: Vec<Mask>,
    pub sizes: Vec<MaskSize>,
}

impl MaskColumns {
    pub fn read(&self, pair: &Pair<'_>) -> Result<Masks, Refusal> {
        if self.surplus_rows == SurplusRows::Refuse {
            pair.check_same_rows()?;
        }
        let (widths, heights) = (self.width.read(pair)?, self.height.read(pair)?);
        let sizes: Vec<MaskSize> = widths
            .into_iter()
            .zip(heights)
            .map(|(width, height)| MaskSize { width, height })
            .collect();
        let truth = pair.answers.column(self.truth())?;
        Ok(Masks {
            predicted: self.decode(&pair.submission.column(&self.column)?, &sizes)?,
            truth: self.decode(&truth, &sizes)?,
            sizes,
        })
    }

    pub fn rows(&self) -> RowPolicy {
        match self.surplus_rows {
            SurplusRows::Refuse => RowPolicy::Times(1),
            SurplusRows::Ignore => RowPolicy::First,
        }
    }

    fn truth(&self) -> &str {
        self.truth.as_deref().unwrap_or(&self.column)
    }

    fn decode(&self, column: &GradedColumn<'_>, sizes: &[MaskSize]) -> Result<Vec<Mask>, Refusal> {
        let mask = |(position, (value, size)): (usize, (CellValue<'_>, &MaskSize))| match value {
            CellValue::Text(text) if Some(text) == self.empty.as_deref() => Ok(Mask::default()),
            CellValue::Text(text) => Mask::decode(text, size.pixels())
                .map_err(|expected| column.refuse(RefusalKind::Range, position, expected)),
            CellValue::Missing => {
                Err(column.refuse(RefusalKind::Missing, position, "a run-length encoded mask"))
            }
            _ => Err(column.refuse(
                RefusalKind::Type,
                position,
                "a run-length encoded mask, as text",
            )),
        };
        column.values().zip(sizes).enumerate().map(mask).collect()
    }
}

impl Extent {
    fn read(&self, pair: &Pair<'_>) -> Result<Vec<u64>, Refusal> {
        let column = match self {
            Extent::Pixels(pixels) => return Ok(vec![u64::from(*pixels); pair.answers.len()]),
            Extent::Column(name) => pair.answers.column(name)?,
        };
        let extent = |(position, value): (usize, CellValue<'_>)| match number(value) {
            // Python's `int` rejects text with a decimal point.
            _ if matches!(value, CellValue::Text(text) if text.trim().parse::<u32>().is_err()) => {
                Err(column.refuse(RefusalKind::Answers, position, "a number of pixels"))
            }
            Some(number) if (0.0..=f64::from(u32::MAX)).contains(&number) => Ok(number as u64),
            _ => Err(column.refuse(RefusalKind::Answers, position, "a number of pixels")),
        };
        column.values().enumerate().map(extent).collect()
    }
}
