//! Tables in memory, in column-major order. The cells of a column are concatenated in one string, so short cells take
//! little more memory than their text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use prep_contents::table::{DetectedFile, unquoted};
use prep_contents::{ContentsError, DecodingLimits, Format, Result, Row, TableReader};
use prep_formats::limits::Limit;

/// A table, or an even sample of its rows. A missing cell is an empty string.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ColumnTable {
    pub names: Vec<String>,
    pub columns: Vec<CellTexts>,
    /// Number of rows in the file.
    pub all_rows: u64,
    /// Row numbers in the file, if the table is a sample.
    numbers: Option<Vec<u64>>,
}

/// Assumed memory of a cell in bytes, in addition to its text. This includes the memory that detectors need to compare the
/// cell with other cells.
const CELL_BYTES: u64 = 48;

impl ColumnTable {
    /// Reads a table into at most `room` bytes of memory. If the table needs more, only every second, fourth, ... row is
    /// kept.
    ///
    /// A row is also kept if `wanted` returns true for one of its first [`MAX_KEY_COLUMNS`] cells. If these additional rows
    /// need more than half of `room`, they are dropped.
    pub(crate) fn read(
        path: &Path,
        format: Format,
        limits: &DecodingLimits,
        room: u64,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<ColumnTable> {
        let limits = &DecodingLimits {
            record: limits.record.min(room),
            ..*limits
        };
        let opened = DetectedFile::open(path, format, limits)?;
        let table = opened.table();
        // A list of single values may have millions of rows, and no row can have both an id and a value.
        if table.columns().len() < 2 && format != Format::Array {
            return Ok(ColumnTable::default());
        }
        let (mut step, mut has_room_for_wanted) = (1, true);
        loop {
            let is_wanted = |cell: &str| has_room_for_wanted && wanted(cell);
            let (read, wanted_bytes) =
                ColumnTable::read_rows(table, format, (room, step), &is_wanted)?;
            if let Some(read) = read {
                return Ok(read);
            }
            if step >= 1 << 62 {
                let checked = limits.check(Limit::Record, room.saturating_add(1));
                checked.map_err(ContentsError::Limit)?;
            }
            has_room_for_wanted &= wanted_bytes * 2 < room;
            step *= 2;
        }
    }

    /// Reads every `step`-th row, and the rows for which `wanted` returns true. Returns `None` if these rows need more than
    /// `room` bytes. Also returns the memory of the rows that are kept only because of `wanted`.
    fn read_rows(
        table: &dyn TableReader,
        format: Format,
        (room, step): (u64, u64),
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(Option<ColumnTable>, u64)> {
        let names = table.columns().to_vec();
        let mut columns = vec![CellTexts::default(); names.len()];
        let (mut numbers, mut number, mut bytes, mut wanted_bytes) = (Vec::new(), 0_u64, 0, 0);
        let (mut rows, mut row) = (table.rows()?, Row::default());
        while rows.next(&mut row)? {
            let cells = || (0..names.len()).map(|place| text(&row, place, format));
            let is_in_turn = number.is_multiple_of(step);
            if is_in_turn || cells().take(MAX_KEY_COLUMNS).any(|cell| wanted(&cell)) {
                let before = bytes;
                for (column, cell) in columns.iter_mut().zip(cells()) {
                    bytes += CELL_BYTES + cell.len() as u64;
                    column.push(&cell);
                }
                numbers.push(number);
                wanted_bytes += if is_in_turn { 0 } else { bytes - before };
                if bytes > room {
                    return Ok((None, wanted_bytes));
                }
            }
            number += 1;
        }
        columns.iter_mut().for_each(CellTexts::shrink_to_fit);
        let table = ColumnTable {
            names,
            columns,
            all_rows: number,
            numbers: (step > 1).then_some(numbers),
        };
        Ok((Some(table), wanted_bytes))
    }

    pub(crate) fn new(names: Vec<String>, columns: Vec<CellTexts>) -> ColumnTable {
        let all_rows = columns.first().map_or(0, CellTexts::len) as u64;
        ColumnTable {
            names,
            columns,
            all_rows,
            numbers: None,
        }
    }

    pub(crate) fn number(&self, row: usize) -> u64 {
        let number = self.numbers.as_ref().and_then(|numbers| numbers.get(row));
        number.copied().unwrap_or(row as u64)
    }

    pub(crate) fn is_sample(&self) -> bool {
        self.numbers.is_some()
    }

    pub(crate) fn memory(&self) -> u64 {
        let of_column = |cells: &CellTexts| CELL_BYTES * cells.len() as u64 + cells.bytes() as u64;
        self.columns.iter().map(of_column).sum()
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, CellTexts::len)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&CellTexts> {
        let place = self.names.iter().position(|column| column == name)?;
        self.columns.get(place)
    }

    /// Returns the name and the cells of each column except the id column `key`.
    pub(crate) fn columns_except(&self, key: usize) -> impl Iterator<Item = (&str, &CellTexts)> {
        let columns = self.names.iter().zip(&self.columns).enumerate();
        let columns = columns.filter(move |(place, _)| *place != key);
        columns.map(|(_, (name, cells))| (name.as_str(), cells))
    }

    /// Returns the columns that are in both tables, except the id column `key`: the name, the cells in this table, and
    /// the cells in `other`.
    pub(crate) fn shared_columns<'a>(
        &'a self,
        key: usize,
        other: &'a ColumnTable,
    ) -> impl Iterator<Item = (&'a str, &'a CellTexts, &'a CellTexts)> {
        let columns = other.names.iter().zip(&other.columns).rev();
        let others: HashMap<&str, &CellTexts> = columns
            .map(|(name, cells)| (name.as_str(), cells))
            .collect();
        let columns = self.columns_except(key);
        columns.filter_map(move |(name, own)| Some((name, own, *others.get(name)?)))
    }
}

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

/// Number of leading columns that may contain ids of items.
const MAX_KEY_COLUMNS: usize = 8;

pub(crate) fn is_missing(cell: &str) -> bool {
    matches!(
        cell.trim().to_ascii_lowercase().as_str(),
        "" | "na" | "n/a" | "nan" | "null" | "none" | "unknown"
    )
}

/// Returns whether a word mixes Latin letters with Greek or Cyrillic ones, which may look the same.
pub(crate) fn is_mixed(word: &str) -> bool {
    let other = |c: char| matches!(u32::from(c), 0x0370..=0x052f);
    word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(other)
}

/// Returns the numbers of a column if at least nine of ten cells are numbers. Other cells are NaN.
pub(crate) fn numbers(cells: &CellTexts) -> Option<Vec<f64>> {
    let parsed: Vec<f64> = cells
        .iter()
        .map(|cell| cell.trim().parse().unwrap_or(f64::NAN))
        .collect();
    let numbers = parsed.iter().filter(|value| value.is_finite()).count();
    (numbers > 0 && numbers * 10 >= cells.len() * 9).then_some(parsed)
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CellTexts {
    text: String,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
}

impl CellTexts {
    pub(crate) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Adds empty cells until there are this many cells.
    pub(crate) fn fill_up_to(&mut self, cells: usize) {
        self.ends
            .resize(cells.max(self.ends.len()), self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        let begin = match row.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(begin..end)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let begin = std::mem::replace(&mut begin, *end);
            self.text.get(begin..*end).unwrap_or_default()
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<S: AsRef<str>> FromIterator<S> for CellTexts {
    fn from_iter<I: IntoIterator<Item = S>>(cells: I) -> CellTexts {
        let mut all = CellTexts::default();
        for cell in cells {
            all.push(cell.as_ref());
        }
        all
    }
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
            ColumnTable::read(&path, format, &DecodingLimits::default(), u64::MAX, &|_| {
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
        assert_eq!(csv.columns, columns.map(CellTexts::from_iter));
        let list = r#"[{"id": 1, "text": "a \"b\", c"}, {"id": "2", "text": null}]"#;
        assert_eq!(read(list, Format::Json).unwrap(), csv);
        let inside = format!(r#"{{"info": {{}}, "rows": {list}}}"#);
        assert_eq!(read(&inside, Format::Json).unwrap(), csv);
        let lines = "{\"id\": 1, \"text\": \"a \\\"b\\\", c\"}\n{\"id\": 2}\n";
        assert_eq!(read(lines, Format::JsonLines).unwrap(), csv);
        assert!(read("3", Format::Json).is_err());
        // The rows of a list of single values are not read.
        assert_eq!(
            read("[[],[1]]", Format::Json).unwrap(),
            ColumnTable::default()
        );
    }

    #[test]
    fn rows_of_a_large_table_are_dropped_evenly() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a,b\n".to_owned() + &",\n".repeat(10_000)).unwrap();
        let read = |room| {
            let format = Format::Csv(b',');
            ColumnTable::read(
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
        assert!(matches!(read(50), Err(ContentsError::Limit(_))));
    }

    #[test]
    fn wanted_rows_are_kept() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows: String = (0..10_000).map(|n| format!("id-{n},{n}\n")).collect();
        std::fs::write(file.path(), format!("id,v\n{rows}")).unwrap();
        let wanted = |cell: &str| cell.ends_with("77");
        let format = Format::Csv(b',');
        let some = ColumnTable::read(
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

    #[test]
    fn cells_are_those_that_were_added() {
        let texts = ["", "a", "", "h\u{e9}", "b c"];
        let cells: CellTexts = texts.iter().collect();
        assert_eq!((cells.len(), cells.iter().len()), (5, 5));
        assert_eq!(cells.iter().collect::<Vec<_>>(), texts);
        let by_row = (0..6).map(|row| cells.get(row));
        assert!(by_row.eq(texts.iter().map(|text| Some(*text)).chain([None])));
        assert_eq!(cells.bytes(), 7);
    }
}
