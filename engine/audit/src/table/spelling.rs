//! Ids in another spelling, in rows that have no pair: codes that lost their leading zeros, integers that became `7.0` or were rounded by
//! double precision, spaces, other letters. The tables are compared once more, with all ids in one spelling.

use std::borrow::Cow;
use std::collections::HashSet;

use prep_contents::{Result, Row, Rows, TableReader};

use crate::causes::{Cause, text};

/// A spelling of ids that both tables get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Without leading zeros and without `.0`.
    Integers,
    Trimmed,
    LowerCase,
    /// As numbers of double precision.
    Doubles,
}

impl Spelling {
    /// All spellings, the most exact ones first.
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

    /// The cause of ids that are equal in this spelling only, of which `zeros` had leading zeros on one side.
    pub(super) fn cause(self, zeros: u64) -> &'static Cause {
        match self {
            Spelling::Integers if zeros > 0 => &text::LEADING_ZEROS,
            Spelling::Integers => &text::NUMBER_SPELLING,
            Spelling::Trimmed => &text::BLANKS,
            Spelling::LowerCase => &text::LETTER_CASE,
            Spelling::Doubles => &text::FLOAT_ROUNDED,
        }
    }

    pub(super) fn proof(self) -> &'static str {
        match self {
            Spelling::Integers => "with ids as numbers, every row has its pair",
            Spelling::Trimmed => "with ids without spaces around them, every row has its pair",
            Spelling::LowerCase => "with ids in lower case, every row has its pair",
            Spelling::Doubles => {
                "with ids as numbers of double precision, which are exact up to 2^53, every row has its pair"
            }
        }
    }
}

/// A table whose ids are in one spelling.
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
            ids: ids.map(|(_, place)| place).collect(),
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
            read: Row::default(),
        }))
    }
}

struct RespelledRows<'a> {
    inner: Box<dyn Rows + 'a>,
    ids: &'a [usize],
    spelling: Spelling,
    read: Row,
}

impl Rows for RespelledRows<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if !self.inner.next(&mut self.read)? {
            return Ok(false);
        }
        for place in 0..self.read.len() {
            let cell = self.read.cell(place);
            let cell = match self.ids.contains(&place) {
                true => self.spelling.apply(cell),
                false => Cow::Borrowed(cell),
            };
            row.open().extend_from_slice(&cell);
            row.end_cell();
        }
        Ok(true)
    }
}

/// An integer without leading zeros and `.0`; other cells as they are.
fn without_zeros(cell: &[u8]) -> &[u8] {
    let digits = cell.strip_suffix(b".0").unwrap_or(cell);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return cell;
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros.min(digits.len() - 1)..).unwrap_or(digits)
}

/// Numbers of ids that a spelling changes, and of those with leading zeros, if only one of the tables has such ids.
pub(super) fn changed(
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
    ids: &HashSet<String>,
    spelling: Spelling,
) -> Result<(u64, u64)> {
    let count = |table: &dyn TableReader| -> Result<(u64, u64)> {
        let Some(place) = table.columns().iter().position(|name| ids.contains(name)) else {
            return Ok((0, 0));
        };
        let (mut rows, mut row) = (table.rows()?, Row::default());
        let (mut changed, mut zeros) = (0, 0);
        while rows.next(&mut row)? {
            let cell = row.cell(place);
            let other = spelling.apply(cell);
            changed += u64::from(*other != *cell);
            zeros += u64::from(other.len() < cell.len() && cell.starts_with(b"0"));
        }
        Ok((changed, zeros))
    };
    let (there, here) = (count(theirs)?, count(ours)?);
    let zeros = match (there.1, here.1) {
        (0, count) | (count, 0) => count,
        _ => 0,
    };
    Ok((there.0.max(here.0), zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_get_one_spelling() {
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
