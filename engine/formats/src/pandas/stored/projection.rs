//! Keeps selected columns of a table in memory while the entire table is written.
//!
//! Queries compute mostly with short columns. In a table with long rows, each cell of a short column is in a different page
//! of memory. Therefore reading the column would load the entire table.

use std::collections::BTreeSet;

use crate::pandas::read::rows::RawRow;
use crate::pandas::stored::gather::Copier;
use crate::pandas::stored::table::{IndexRecorder, RowIndex};
use crate::pandas::write::push_header;
use crate::pandas::{Cells, CsvError, Schema, TextTable};

/// Columns are dropped if the number of kept bytes, multiplied by this factor, exceeds the number of bytes written so
/// far for the entire table.
const MIN_TEXT_RATIO: u64 = 8;
/// [`MIN_TEXT_RATIO`] is not checked while at most this number of bytes is kept, because the first rows may have
/// another ratio.
const ALWAYS_BYTES: usize = 1 << 16;
/// The kept columns have at most this number of bytes.
const MAX_BYTES: usize = 1 << 24;
/// Rows are long if their average length is at least this number of bytes. If the kept columns of long rows exceed a
/// limit, only the widest columns are dropped. If rows are shorter, all columns are dropped.
const LONG_ROW_BYTES: u64 = 256;

/// Some columns of a table, stored as a table with the same number of rows.
#[derive(Debug)]
pub struct Projection {
    columns: Vec<usize>,
    text: Vec<u8>,
    index: RowIndex,
}

impl Projection {
    /// Returns the indices of the columns in the table, in ascending order.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Converts the columns to a table. `schema` is the schema of the entire table.
    ///
    /// # Errors
    /// [`CsvError::NotCanonical`] if the number of rows is not that of the schema.
    pub fn into_table(self, schema: &Schema) -> Result<TextTable, CsvError> {
        TextTable::from_indexed(self.text, schema.of_columns(&self.columns), self.index)
    }
}

/// Collects columns while rows are written. Drops columns that turn out to be a large part of the table.
#[derive(Debug, Default)]
pub(in crate::pandas) struct ProjectionBuilder {
    /// The names of the requested columns.
    names: BTreeSet<String>,
    /// Number of columns of the entire table.
    width: usize,
    /// The indices of the columns that are collected.
    columns: Vec<usize>,
    text: Vec<u8>,
    index: IndexRecorder,
}

impl ProjectionBuilder {
    pub fn new(names: BTreeSet<String>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Selects the requested columns. `names` contains the names of all columns of the table.
    pub fn start<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<(), CsvError> {
        let mut selected = Vec::new();
        for (column, name) in names.enumerate() {
            self.width += 1;
            if self.names.contains(name) {
                selected.push(name);
                self.columns.push(column);
            }
        }
        if selected.is_empty() {
            self.drop_all();
            return Ok(());
        }
        push_header(&mut self.text, selected.into_iter());
        self.index = IndexRecorder::begin();
        self.index.push(0)
    }

    /// Adds the requested columns of a row. The first column begins after `skipped` fields. `so_far` is the number of bytes
    /// written so far for the entire table.
    #[inline]
    pub fn row(&mut self, row: &RawRow<'_>, skipped: usize, so_far: u64) -> Result<(), CsvError> {
        while !self.columns.is_empty() && self.exceeds_limits(row.text().len(), so_far) {
            self.drop_widest(so_far)?;
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        self.index.push(self.text.len() as u64)?;
        let fields = self.columns.iter().map(|column| skipped + column);
        row.push_row(fields, &mut self.text);
        Ok(())
    }

    /// Returns whether adding `more` bytes would exceed a limit. `so_far` is the number of bytes written so far
    /// for the entire table.
    fn exceeds_limits(&self, more: usize, so_far: u64) -> bool {
        let bytes = self.text.len();
        (bytes > ALWAYS_BYTES && MIN_TEXT_RATIO * bytes as u64 > so_far) || bytes + more > MAX_BYTES
    }

    /// Drops the column with the most bytes, or all columns if rows are short.
    fn drop_widest(&mut self, so_far: u64) -> Result<(), CsvError> {
        let count = self.columns.len();
        let index = self.index.take(self.text.len() as u64);
        let index =
            index.filter(|index| count > 1 && so_far / index.len() as u64 >= LONG_ROW_BYTES);
        let Some(index) = index else {
            self.drop_all();
            return Ok(());
        };
        let text = std::mem::take(&mut self.text);
        let lines = || {
            let spans = (0..index.len()).filter_map(|line| index.span(line));
            spans.filter_map(|(start, end)| text.get(start as usize..end as usize))
        };
        let mut widths = vec![0; count];
        for line in lines() {
            for (width, cell) in widths.iter_mut().zip(Cells::split_line(line, count)) {
                *width += cell.len();
            }
        }
        let widest = (0..count).max_by_key(|column| widths[*column]).unwrap_or(0);
        self.columns.remove(widest);
        let rest: Vec<usize> = (0..count).filter(|column| *column != widest).collect();
        let (copier, mut cells) = (Copier::new(count, &rest)?, Vec::new());
        self.index = IndexRecorder::begin();
        for (row, line) in (0..).zip(lines()) {
            self.index.push(self.text.len() as u64)?;
            copier.copy(line, row, &mut cells, &mut self.text)?;
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        *self = Self::default();
    }

    /// Returns the collected columns, or `None` if there are none or they are the entire table.
    pub fn take(&mut self) -> Option<Projection> {
        if self.columns.len() == self.width {
            self.drop_all();
        }
        let index = self.index.take(self.text.len() as u64)?;
        Some(Projection {
            columns: std::mem::take(&mut self.columns),
            text: std::mem::take(&mut self.text),
            index,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pandas::{ReadOptions, RewriteResult, Rewriter};

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Rewrites a raw file. Returns its table and the projection to the columns `wanted`.
    fn projected(raw: &str, wanted: &[&str], chunk: usize) -> (TextTable, Option<Projection>) {
        let mut rewriter = Rewriter::new(&ReadOptions::default()).with_projection(names(wanted));
        let (text, rewritten) = rewriter.text_of(raw.as_bytes(), chunk).unwrap();
        let RewriteResult::Canonical(scan) = rewritten else {
            panic!("all cells are texts");
        };
        let table = TextTable::from_bytes(text, scan.schema).unwrap();
        (table, rewriter.take_projection())
    }

    proptest! {
        /// The projection has the same cells as the text, whether rows were unchanged, copied, or both.
        #[test]
        fn projection_has_the_cells_of_the_text(
            kept in 0..40usize,
            rows in prop::collection::vec(
                r#"x[a-z]{0,5},("y[a-z,]{0,9}"|"y\nz"|"y""z"|),(z|"z"|)(\n|\r\n|\n\n)"#, 0..40),
            wanted in prop::sample::subsequence(vec!["a", "b", "c"], 1..3),
            chunk in 1..200usize,
        ) {
            let raw = format!("a,b,c\n{}{}", "x,\"y,\nz\",\n".repeat(kept), rows.concat());
            let (table, projection) = projected(&raw, &wanted, chunk);
            let Some(projection) = projection else {
                return Err(TestCaseError::fail("this number of bytes must be kept"));
            };
            let columns = projection.columns().to_vec();
            let selected = projection.into_table(table.schema())?;
            prop_assert_eq!(selected.schema().rows, table.schema().rows);
            for row in 0..table.schema().rows {
                let all: Vec<_> = table.cells(row)?.collect();
                let cells = selected.cells(row)?.map(|cell| if cell == b"\"\"" { b"" } else { cell });
                prop_assert!(cells.eq(columns.iter().map(|column| all[*column])));
            }
        }
    }

    #[test]
    fn columns_that_are_a_large_part_of_the_table_are_dropped() {
        let none = [].as_slice();
        for (cells, rows, kept) in [
            (&[10, 300][..], 20_000, &[0][..]),
            (&[50, 300], 20_000, none),
            // A small number of bytes is always kept.
            (&[50, 50], 1_000, &[0]),
            // A single cell may exceed the limit.
            (&[MAX_BYTES, 1], 1, none),
            // The short columns of long rows are kept.
            (&[10, 300, 10, 0], 20_000, &[0, 2]),
            (&[300, 0, 10, 300], 20_000, &[1, 2]),
            (&[300, 0, 200, 300], 20_000, &[1]),
            (&[10, 30, 10, 0], 20_000, none),
        ] {
            let names = &["a", "b", "c", "d"][..cells.len()];
            let wanted = &names[..cells.len() - 1];
            let line = cells.iter().map(|bytes| "x".repeat(*bytes));
            let line = line.collect::<Vec<_>>().join(",");
            let raw = format!("{}\n{}", names.join(","), format!("{line}\n").repeat(rows));
            let (table, projection) = projected(&raw, wanted, 1 << 18);
            let columns = projection.as_ref().map_or(none, Projection::columns);
            assert_eq!(columns, kept, "{cells:?}, {rows} times");
            let columns = columns.to_vec();
            let Some(projection) = projection else {
                continue;
            };
            let selected = projection.into_table(table.schema()).unwrap();
            for row in [0, rows as u64 / 2, rows as u64 - 1] {
                let all: Vec<_> = table.cells(row).unwrap().collect();
                let expected = columns.iter().map(|column| match (all[*column], kept) {
                    (b"", [_]) => b"\"\"".as_slice(),
                    (cell, _) => cell,
                });
                assert!(
                    selected.cells(row).unwrap().eq(expected),
                    "{cells:?}, row {row}"
                );
            }
        }
        assert!(
            projected("a,b\nx,y\n", &["a", "b"], 99).1.is_none(),
            "a projection must not be the entire table"
        );
        assert!(
            projected("a,b\nx,y\n", &["c"], 99).1.is_none(),
            "a projection must have columns"
        );
    }
}
