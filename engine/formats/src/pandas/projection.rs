//! A few columns of a table, kept in memory while the whole of it is written.
//!
//! Queries mostly compute with few columns, and short ones: identifiers, labels. In a text of long rows each of their cells
//! lies in a page of its own, which has to be mapped and fetched for it. Side by side, thousands of them fit into the
//! space of one comment.

use std::collections::BTreeSet;

use super::index::{Noted, RowIndex};
use super::quote::push_header;
use super::rows::RawRow;
use super::{CsvError, Schema, TextTable};

/// The columns take one byte in so many of the text, at most.
const SHARE: u64 = 8;
/// So many they may take whatever the text has, as little is known of it at its start.
const FEW: usize = 1 << 16;
/// And so many at most.
const MOST: usize = 1 << 24;

/// Some columns of a table: a table of its own, with as many rows.
#[derive(Debug)]
pub struct Projection {
    columns: Vec<usize>,
    text: Vec<u8>,
    index: RowIndex,
}

impl Projection {
    /// Places of the columns in the table, from left to right.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The columns as a table, by the schema of the whole.
    ///
    /// # Errors
    /// The table of that schema has not so many rows.
    pub fn into_table(self, schema: &Schema) -> Result<TextTable, CsvError> {
        TextTable::from_indexed(self.text, schema.of_columns(&self.columns), self.index)
    }
}

/// Takes the columns out of rows that go by, unless they turn out to be much of the table.
#[derive(Debug, Default)]
pub(super) struct Projecting {
    /// Names of the columns, as far as the table has them.
    names: BTreeSet<String>,
    columns: Vec<usize>,
    text: Vec<u8>,
    index: Noted,
}

impl Projecting {
    pub fn of(names: BTreeSet<String>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Begins with the header.
    pub fn start<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<(), CsvError> {
        let (mut width, mut held) = (0, Vec::new());
        for (place, name) in names.enumerate() {
            width += 1;
            if self.names.contains(name) {
                held.push(name);
                self.columns.push(place);
            }
        }
        if held.is_empty() || held.len() == width {
            self.give_up();
            return Ok(());
        }
        push_header(&mut self.text, held.into_iter());
        self.index = Noted::begin();
        self.index.push(0)
    }

    /// Takes the next row of a table, of which `so_far` bytes were written; columns count from the field `skipped`.
    #[inline]
    pub fn row(&mut self, row: &RawRow<'_>, skipped: usize, so_far: u64) -> Result<(), CsvError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let start = self.text.len();
        let is_much = start > FEW && SHARE * start as u64 > so_far;
        if is_much || start + row.text().len() > MOST {
            self.give_up();
            return Ok(());
        }
        self.index.push(start as u64)?;
        let fields = self.columns.iter().map(|column| skipped + column);
        row.push_row(fields, &mut self.text);
        Ok(())
    }

    fn give_up(&mut self) {
        *self = Self::default();
    }

    pub fn take(&mut self) -> Option<Projection> {
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

    use super::super::{ReadOptions, Rewriter, Rewritten};
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The text that a raw file becomes, and its columns of these names.
    fn projected(raw: &str, wanted: &[&str], piece: usize) -> (TextTable, Option<Projection>) {
        let mut rewriter = Rewriter::new(&ReadOptions::default()).with_projection(names(wanted));
        let (text, rewritten) = rewriter.text_of(raw.as_bytes(), piece).unwrap();
        let Rewritten::Canonical(scan) = rewritten else {
            panic!("all cells are texts");
        };
        let table = TextTable::from_bytes(text, scan.schema).unwrap();
        (table, rewriter.take_projection())
    }

    proptest! {
        /// The cells of the columns are those of the text, whether it was kept, written anew, or both.
        #[test]
        fn the_cells_are_those_of_the_text(
            kept in 0..40usize,
            rows in prop::collection::vec(
                r#"x[a-z]{0,5},("y[a-z,]{0,9}"|"y\nz"|"y""z"|),(z|"z"|)(\n|\r\n|\n\n)"#, 0..40),
            wanted in prop::sample::subsequence(vec!["a", "b", "c"], 1..3),
            piece in 1..200usize,
        ) {
            let raw = format!("a,b,c\n{}{}", "x,\"y,\nz\",\n".repeat(kept), rows.concat());
            let (table, projection) = projected(&raw, &wanted, piece);
            let Some(projection) = projection else {
                return Err(TestCaseError::fail("so few bytes are kept"));
            };
            let columns = projection.columns().to_vec();
            let few = projection.into_table(table.schema())?;
            prop_assert_eq!(few.schema().rows, table.schema().rows);
            for row in 0..table.schema().rows {
                let all: Vec<_> = table.cells(row)?.collect();
                // The only field of a row is marked when it is empty.
                let cells = few.cells(row)?.map(|cell| if cell == b"\"\"" { b"" } else { cell });
                prop_assert!(cells.eq(columns.iter().map(|column| all[*column])));
            }
        }
    }

    #[test]
    fn what_is_much_of_a_table_is_not_kept() {
        for (id, rest, rows, kept) in [
            (10, 300, 20_000, true),
            (50, 300, 20_000, false),
            // Few bytes are few, whatever the table has.
            (50, 50, 1_000, true),
            // One cell may be too much.
            (MOST, 1, 1, false),
        ] {
            let (id, rest) = ("i".repeat(id), "r".repeat(rest));
            let raw = format!("id,rest\n{}", format!("{id},{rest}\n").repeat(rows));
            let (_, projection) = projected(&raw, &["id", "none"], 1 << 18);
            assert_eq!(
                projection.is_some(),
                kept,
                "{rows} rows of {}, {}",
                id.len(),
                rest.len()
            );
        }
        assert!(
            projected("a,b\nx,y\n", &["a", "b"], 99).1.is_none(),
            "that is the table"
        );
        assert!(
            projected("a,b\nx,y\n", &["c"], 99).1.is_none(),
            "that is nothing"
        );
    }
}
