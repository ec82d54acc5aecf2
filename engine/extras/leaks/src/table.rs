//! Tables in memory, stored by column, so that detectors can access cells in any order.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use prep_contents::table::{DetectedFile, unquoted};
use prep_contents::{ContentsError, DecodingLimits, Format, Result, Row};
use prep_formats::limits::Limit;

use crate::cells::Cells;

/// A table, or an even sample of its rows. A missing cell is an empty string.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub names: Vec<String>,
    /// The cells of each column.
    pub columns: Vec<Cells>,
    /// Number of rows in the file.
    pub all_rows: u64,
    /// Row numbers in the file, if the table is a sample.
    numbers: Option<Vec<u64>>,
}

/// Memory of a cell in addition to its text: its place in the column, and what detectors need to compare it with others.
pub(crate) const CELL_BYTES: u64 = 48;

impl Table {
    /// Reads a table into at most `room` bytes of memory. If it needs more, every second row is dropped, then every
    /// second of the remaining rows, and so on. Rows are kept as long as there is memory if `wanted` returns true for
    /// one of their first cells.
    ///
    /// # Errors
    /// If the file cannot be read as a table of this format, or a row needs too much memory.
    pub(crate) fn read(
        path: &Path,
        format: Format,
        limits: &DecodingLimits,
        room: u64,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Table> {
        let limits = &DecodingLimits {
            record: limits.record.min(room),
            ..*limits
        };
        let opened = DetectedFile::open(path, format, limits)?;
        let table = opened.table();
        let names = table.columns().to_vec();
        let mut kept = RowSample::new(names.len());
        let (mut rows, mut row) = (table.rows()?, Row::default());
        while rows.next(&mut row)? {
            let is_in_turn = kept.next.is_multiple_of(kept.step);
            let cells = || (0..names.len()).map(|place| text(&row, place, format));
            let mut first = cells().take(MAX_KEY_COLUMNS);
            if is_in_turn || kept.has_room_for_wanted && first.any(|cell| wanted(&cell)) {
                kept.add(cells());
                while kept.bytes > room && kept.thin(wanted) {}
                let within = DecodingLimits {
                    record: room,
                    ..*limits
                };
                let checked = within.check(Limit::Record, kept.bytes);
                checked.map_err(ContentsError::Limit)?;
            }
            kept.next += 1;
        }
        for column in &mut kept.columns {
            column.shrink_to_fit();
        }
        Ok(Table {
            names,
            columns: kept.columns,
            all_rows: kept.next,
            numbers: (kept.step > 1).then_some(kept.numbers),
        })
    }

    /// Creates a table from columns of the same length.
    pub(crate) fn new(names: Vec<String>, columns: Vec<Cells>) -> Table {
        let all_rows = columns.first().map_or(0, Cells::len) as u64;
        Table {
            names,
            columns,
            all_rows,
            numbers: None,
        }
    }

    /// Returns the number of a row in the file.
    pub(crate) fn number(&self, row: usize) -> u64 {
        let number = self.numbers.as_ref().and_then(|numbers| numbers.get(row));
        number.copied().unwrap_or(row as u64)
    }

    /// Returns whether some rows of the file were dropped.
    pub(crate) fn is_sample(&self) -> bool {
        self.numbers.is_some()
    }

    /// Returns the memory of all cells, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        memory(&self.columns)
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Cells::len)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Cells> {
        let place = self.names.iter().position(|column| column == name)?;
        self.columns.get(place)
    }

    /// Returns the name and the cells of each column except the one with the ids.
    pub(crate) fn columns_except(&self, key: usize) -> impl Iterator<Item = (&str, &Cells)> {
        let columns = self.names.iter().zip(&self.columns).enumerate();
        let columns = columns.filter(move |(place, _)| *place != key);
        columns.map(|(_, (name, cells))| (name.as_str(), cells))
    }

    /// Returns the columns, except the one with the ids, that another table also has: the name, the cells, and the
    /// cells in the other table.
    pub(crate) fn shared_columns<'a>(
        &'a self,
        key: usize,
        other: &'a Table,
    ) -> impl Iterator<Item = (&'a str, &'a Cells, &'a Cells)> {
        let columns = other.names.iter().zip(&other.columns).rev();
        let others: HashMap<&str, &Cells> = columns
            .map(|(name, cells)| (name.as_str(), cells))
            .collect();
        let columns = self.columns_except(key);
        columns.filter_map(move |(name, own)| Some((name, own, *others.get(name)?)))
    }
}

fn memory(columns: &[Cells]) -> u64 {
    let of_column = |cells: &Cells| CELL_BYTES * cells.len() as u64 + cells.bytes() as u64;
    columns.iter().map(of_column).sum()
}

/// Returns a cell as text. A missing cell is an empty string.
fn text(row: &Row, place: usize, format: Format) -> Cow<'_, str> {
    let cell = row.cell(place);
    let text = match format {
        // In CSV, quotes in a cell are part of its text.
        Format::Csv(_) | Format::Lines => String::from_utf8_lossy(cell),
        _ => unquoted(cell),
    };
    match text.as_ref() {
        "null" if format != Format::Csv(b',') => Cow::Borrowed(""),
        _ => text,
    }
}

/// Number of first columns that may contain ids of items.
const MAX_KEY_COLUMNS: usize = 8;

/// The rows that are kept while a table is read.
struct RowSample {
    columns: Vec<Cells>,
    numbers: Vec<u64>,
    /// The number of the next row.
    next: u64,
    /// Rows whose number is a multiple of this are kept.
    step: u64,
    bytes: u64,
    has_room_for_wanted: bool,
}

impl RowSample {
    fn new(columns: usize) -> RowSample {
        RowSample {
            columns: vec![Cells::default(); columns],
            numbers: Vec::new(),
            next: 0,
            step: 1,
            bytes: 0,
            has_room_for_wanted: true,
        }
    }

    fn add<'a>(&mut self, cells: impl Iterator<Item = Cow<'a, str>>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            self.bytes += CELL_BYTES + cell.len() as u64;
            column.push(&cell);
        }
        self.numbers.push(self.next);
    }

    /// Doubles `step` and drops rows accordingly. Returns false if no further rows can be dropped.
    fn thin(&mut self, wanted: &dyn Fn(&str) -> bool) -> bool {
        let before = self.numbers.len();
        self.step *= 2;
        let stays: Vec<bool> = self
            .numbers
            .iter()
            .enumerate()
            .map(|(row, number)| {
                if number.is_multiple_of(self.step) {
                    return true;
                }
                let first = self.columns.iter().take(MAX_KEY_COLUMNS);
                let mut first = first.filter_map(|column| column.get(row));
                self.has_room_for_wanted && first.any(wanted)
            })
            .collect();
        for column in &mut self.columns {
            *column = column.of_rows(&stays);
        }
        let mut stay = stays.iter();
        self.numbers.retain(|_| stay.next() == Some(&true));
        self.bytes = memory(&self.columns);
        // If `wanted` accepts most rows, keeping all of them would exceed the memory.
        if self.numbers.len() * 4 > before * 3 {
            self.has_room_for_wanted = false;
        }
        self.numbers.len() > 1 && self.step < 1 << 62
    }
}

/// Returns whether a cell is a text for a missing value.
pub(crate) fn is_missing(cell: &str) -> bool {
    matches!(
        cell.trim().to_ascii_lowercase().as_str(),
        "" | "na" | "n/a" | "nan" | "null" | "none" | "unknown"
    )
}

/// Returns whether a word has letters of two alphabets. This is a property of its spelling, not of its meaning.
pub(crate) fn is_mixed(word: &str) -> bool {
    let other = |c: char| matches!(u32::from(c), 0x0370..=0x052f);
    word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(other)
}

/// Returns the numbers of a column if at least nine of ten cells are numbers. Other cells are NaN.
pub(crate) fn numbers(cells: &Cells) -> Option<Vec<f64>> {
    let parsed: Vec<f64> = cells
        .iter()
        .map(|cell| cell.trim().parse().unwrap_or(f64::NAN))
        .collect();
    let numbers = parsed.iter().filter(|value| value.is_finite()).count();
    (numbers > 0 && numbers * 10 >= cells.len() * 9).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_formats_are_read_into_equal_tables() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str, format| {
            let path = folder.path().join("table");
            std::fs::write(&path, text).unwrap();
            Table::read(&path, format, &DecodingLimits::default(), u64::MAX, &|_| {
                false
            })
        };
        let csv = read(
            "id,text\r\n1,\"a \"\"b\"\", c\"\r\n2,\r\n",
            Format::Csv(b','),
        );
        let csv = csv.unwrap();
        assert_eq!(csv.names, ["id", "text"]);
        let columns = [["1", "2"], ["a \"b\", c", ""]];
        assert_eq!(csv.columns, columns.map(Cells::from_iter));
        let list = r#"[{"id": 1, "text": "a \"b\", c"}, {"id": "2", "text": null}]"#;
        assert_eq!(read(list, Format::Json).unwrap(), csv);
        let inside = format!(r#"{{"info": {{}}, "rows": {list}}}"#);
        assert_eq!(read(&inside, Format::Json).unwrap(), csv);
        let lines = "{\"id\": 1, \"text\": \"a \\\"b\\\", c\"}\n{\"id\": 2}\n";
        assert_eq!(read(lines, Format::JsonLines).unwrap(), csv);
        assert!(read("3", Format::Json).is_err());
    }

    #[test]
    fn rows_of_a_large_table_are_dropped_evenly() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a,b\n".to_owned() + &",\n".repeat(10_000)).unwrap();
        let read = |room| {
            let format = Format::Csv(b',');
            Table::read(
                file.path(),
                format,
                &DecodingLimits::default(),
                room,
                &|_| false,
            )
        };
        let whole = read(4 << 20).unwrap();
        assert_eq!((whole.rows(), whole.is_sample()), (10_000, false));
        let some = read(1 << 18).unwrap();
        assert_eq!((some.all_rows, some.is_sample()), (10_000, true));
        assert!((1000..4000).contains(&some.rows()) && some.memory() <= 1 << 18);
        assert_eq!(some.number(1), 4);
        // There is not enough memory for a single row.
        assert!(matches!(read(50), Err(ContentsError::Limit(_))));
    }

    #[test]
    fn wanted_rows_are_kept() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows: String = (0..10_000).map(|n| format!("id-{n},{n}\n")).collect();
        std::fs::write(file.path(), format!("id,v\n{rows}")).unwrap();
        let wanted = |cell: &str| cell.ends_with("77");
        let format = Format::Csv(b',');
        let some = Table::read(
            file.path(),
            format,
            &DecodingLimits::default(),
            1 << 17,
            &wanted,
        )
        .unwrap();
        let names = some.column("id").unwrap();
        assert_eq!(
            names.iter().filter(|cell| cell.ends_with("77")).count(),
            100
        );
        let at = names.iter().position(|cell| cell == "id-4577").unwrap();
        assert_eq!(
            (some.number(at), some.columns[1].get(at)),
            (4577, Some("4577"))
        );
    }
}
