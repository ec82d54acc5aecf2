//! Detects ids that are spelled differently in the two tables, for example `7.0` and `007`. Rows can be paired only after
//! all ids are converted to the same spelling.

use std::borrow::Cow;
use std::collections::HashSet;

use prep_contents::{Result, Row, Rows, TableReader};

use crate::causes::Cause;

/// A spelling to which the ids of both tables are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Without leading zeros and without `.0`.
    Integers,
    Trimmed,
    LowerCase,
    Doubles,
}

impl Spelling {
    /// All spellings, in the order of trying: spellings that change less come first.
    pub(super) const ALL: [Spelling; 4] = [
        Spelling::Integers,
        Spelling::Trimmed,
        Spelling::LowerCase,
        Spelling::Doubles,
    ];

    fn apply(self, cell: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Spelling::Integers => Cow::Borrowed(without_zeros(cell)),
            Spelling::Trimmed => Cow::Borrowed(cell.trim_ascii()),
            Spelling::LowerCase => Cow::Owned(cell.to_ascii_lowercase()),
            Spelling::Doubles => {
                let text = std::str::from_utf8(cell).ok();
                let number = text.and_then(|text| text.trim().parse::<f64>().ok());
                match number {
                    Some(number) => Cow::Owned(number.to_string().into_bytes()),
                    None => Cow::Borrowed(cell),
                }
            }
        }
    }

    /// Returns the cause of a difference that disappears after all ids are converted to this spelling. `zeros` is the
    /// number of ids with leading zeros, if only one table has such ids. Otherwise it is 0.
    pub(super) fn cause(self, zeros: u64) -> Cause {
        match self {
            Spelling::Integers if zeros > 0 => Cause::LeadingZeros,
            Spelling::Integers => Cause::NumberSpelling,
            Spelling::Trimmed => Cause::Blanks,
            Spelling::LowerCase => Cause::LetterCase,
            Spelling::Doubles => Cause::FloatRounded,
        }
    }

    pub(super) fn proof(self) -> &'static str {
        match self {
            Spelling::Integers => "if ids are compared as numbers, each row is in both tables",
            Spelling::Trimmed => "if spaces around ids are removed, each row is in both tables",
            Spelling::LowerCase => "if ids are converted to lower case, each row is in both tables",
            Spelling::Doubles => {
                "if ids are rounded to double precision, each row is in both tables; double precision is exact only up to 2^53"
            }
        }
    }
}

pub(super) struct Respelled<'a> {
    inner: &'a dyn TableReader,
    ids: Vec<usize>,
    spelling: Spelling,
}

impl<'a> Respelled<'a> {
    pub(super) fn new(
        inner: &'a dyn TableReader,
        ids: &HashSet<String>,
        spelling: Spelling,
    ) -> Respelled<'a> {
        let names = inner.columns().iter().zip(0..);
        let ids = names.filter(|(name, _)| ids.contains(*name));
        Respelled {
            inner,
            ids: ids.map(|(_, position)| position).collect(),
            spelling,
        }
    }
}

impl TableReader for Respelled<'_> {
    fn columns(&self) -> &[String] {
        self.inner.columns()
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        Ok(Box::new(RespelledRows {
            inner: self.inner.rows()?,
            ids: &self.ids,
            spelling: self.spelling,
            buffer: Row::default(),
        }))
    }
}

/// The rows of a table, with ids converted to `spelling`.
struct RespelledRows<'a> {
    inner: Box<dyn Rows + 'a>,
    ids: &'a [usize],
    spelling: Spelling,
    buffer: Row,
}

impl Rows for RespelledRows<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if !self.inner.next(&mut self.buffer)? {
            return Ok(false);
        }
        for position in 0..self.buffer.len() {
            let cell = self.buffer.cell(position);
            let cell = match self.ids.contains(&position) {
                true => self.spelling.apply(cell),
                false => Cow::Borrowed(cell),
            };
            row.open().extend_from_slice(&cell);
            row.end_cell();
        }
        Ok(true)
    }
}

/// Returns an integer without leading zeros and without `.0`. Returns other cells unchanged.
fn without_zeros(cell: &[u8]) -> &[u8] {
    let digits = cell.strip_suffix(b".0").unwrap_or(cell);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return cell;
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros.min(digits.len() - 1)..).unwrap_or(digits)
}

/// Returns how many ids of both tables change if they are converted to `spelling`. Also returns how many ids have leading
/// zeros. The second number is 0 if both tables have leading zeros, because then the zeros are not a difference.
pub(super) fn count_changed(
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
    ids: &HashSet<String>,
    spelling: Spelling,
) -> Result<(u64, u64)> {
    let count = |table: &dyn TableReader| -> Result<(u64, u64)> {
        let Some(position) = table.columns().iter().position(|name| ids.contains(name)) else {
            return Ok((0, 0));
        };
        let (mut rows, mut row) = (table.rows()?, Row::default());
        let (mut changed, mut zeros) = (0, 0);
        while rows.next(&mut row)? {
            let cell = row.cell(position);
            let other = spelling.apply(cell);
            changed += u64::from(*other != *cell);
            zeros += u64::from(other.len() < cell.len() && cell.starts_with(b"0"));
        }
        Ok((changed, zeros))
    };
    let (theirs, ours) = (count(theirs)?, count(ours)?);
    let zeros = match (theirs.1, ours.1) {
        (0, count) | (count, 0) => count,
        _ => 0,
    };
    Ok((theirs.0.max(ours.0), zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_converted_to_each_spelling() {
        for (spelling, cell, expected) in [
            (Spelling::Integers, "0042", "42"),
            (Spelling::Integers, "42.0", "42"),
            (Spelling::Integers, "000", "0"),
            (Spelling::Integers, "0.5", "0.5"),
            (Spelling::Integers, "a01", "a01"),
            (Spelling::Integers, "", ""),
            (Spelling::Trimmed, " a1 ", "a1"),
            (Spelling::LowerCase, "A1b", "a1b"),
            (Spelling::Doubles, "20000000000000001", "20000000000000000"),
            (Spelling::Doubles, "x1", "x1"),
        ] {
            let found = spelling.apply(cell.as_bytes());
            assert_eq!(*found, *expected.as_bytes(), "{spelling:?} {cell}");
        }
    }
}
