//! Ids that lost their leading zeros, in rows of another order: the tables are compared once more, with ids as numbers.

use std::collections::HashSet;

use prep_contents::{Result, Row, Rows, TableReader};

/// A table whose ids are written without leading zeros and without `.0`.
pub(super) struct WithoutZeros<'a> {
    inner: &'a dyn TableReader,
    ids: Vec<usize>,
}

impl<'a> WithoutZeros<'a> {
    pub(super) fn new(inner: &'a dyn TableReader, ids: &HashSet<String>) -> WithoutZeros<'a> {
        let names = inner.columns().iter().zip(0..);
        let ids = names.filter(|(name, _)| ids.contains(*name));
        WithoutZeros {
            inner,
            ids: ids.map(|(_, place)| place).collect(),
        }
    }
}

impl TableReader for WithoutZeros<'_> {
    fn columns(&self) -> &[String] {
        self.inner.columns()
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        Ok(Box::new(RowsWithoutZeros {
            inner: self.inner.rows()?,
            ids: &self.ids,
            read: Row::default(),
        }))
    }
}

struct RowsWithoutZeros<'a> {
    inner: Box<dyn Rows + 'a>,
    ids: &'a [usize],
    read: Row,
}

impl Rows for RowsWithoutZeros<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if !self.inner.next(&mut self.read)? {
            return Ok(false);
        }
        for place in 0..self.read.len() {
            let cell = self.read.cell(place);
            let cell = match self.ids.contains(&place) {
                true => without_zeros(cell),
                false => cell,
            };
            row.open().extend_from_slice(cell);
            row.end_cell();
        }
        Ok(true)
    }
}

/// An integer without leading zeros; other cells as they are.
pub(super) fn without_zeros(cell: &[u8]) -> &[u8] {
    let digits = cell.strip_suffix(b".0").unwrap_or(cell);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return cell;
    }
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros.min(digits.len() - 1)..).unwrap_or(digits)
}

/// The number of ids that the tables spell differently as numbers, if one of them has leading zeros and the other one does not.
pub(super) fn lost(
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
    ids: &HashSet<String>,
) -> Result<u64> {
    let zeros = |table: &dyn TableReader| -> Result<u64> {
        let Some(place) = table.columns().iter().position(|name| ids.contains(name)) else {
            return Ok(0);
        };
        let (mut rows, mut row, mut count) = (table.rows()?, Row::default(), 0);
        while rows.next(&mut row)? {
            let cell = row.cell(place);
            count += u64::from(cell.len() > without_zeros(cell).len() && cell.starts_with(b"0"));
        }
        Ok(count)
    };
    let (there, here) = (zeros(theirs)?, zeros(ours)?);
    Ok(match (there, here) {
        (0, count) | (count, 0) => count,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::without_zeros;

    #[test]
    fn only_integers_lose_zeros() {
        for (cell, expected) in [
            ("0042", "42"),
            ("42.0", "42"),
            ("000", "0"),
            ("0.5", "0.5"),
            ("a01", "a01"),
            ("", ""),
        ] {
            assert_eq!(without_zeros(cell.as_bytes()), expected.as_bytes());
        }
    }
}
