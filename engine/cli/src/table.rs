//! Plain tables: columns as wide as their cells, two blanks between them.

use std::fmt::Write as _;

/// Where a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table with a header line.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are not given are empty.
    pub fn row(&mut self, mut cells: Vec<String>) {
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// The table as text, a newline after every line. Lines have no blanks at their end.
    pub fn render(&self) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let lines = || std::iter::once(&names).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                lines()
                    .filter_map(|line| line.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for line in lines() {
            let mut out = String::new();
            for ((cell, width), (_, align)) in line.iter().zip(&widths).zip(&self.columns) {
                let _ = match align {
                    Align::Left => write!(out, "{cell:<width$}  "),
                    Align::Right => write!(out, "{cell:>width$}  "),
                };
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters() {
        let mut table = Table::new(&[
            ("name", Align::Left),
            ("files", Align::Right),
            ("state", Align::Left),
        ]);
        table.row(vec!["é".into(), "1".into(), "ok".into()]);
        table.row(vec!["longer".into(), "12345678".into()]);
        assert_eq!(
            table.render(),
            "name       files  state\n\
             é              1  ok\n\
             longer  12345678\n"
        );
    }
}
