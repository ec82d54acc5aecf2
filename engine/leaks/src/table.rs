//! Tables in memory, column by column, which detectors read in any order.

use std::path::Path;

use prep_contents::table::{DetectedFile, unquoted};
use prep_contents::{ContentsError, DecodingLimits, Format, Result, Row};
use prep_formats::limits::Limit;

/// Columns of cells; a missing one is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub names: Vec<String>,
    /// Column by column.
    pub columns: Vec<Vec<String>>,
}

/// Memory of a cell besides its text: the string, and what its allocation takes.
const CELL_BYTES: u64 = 48;

impl Table {
    /// `room` is the memory that it may take, in bytes.
    ///
    /// # Errors
    /// When the file cannot be read as a table of this format, or takes too much memory.
    pub(crate) fn read(
        path: &Path,
        format: Format,
        limits: &DecodingLimits,
        room: u64,
    ) -> Result<Table> {
        let limits = &DecodingLimits {
            record: limits.record.min(room),
            ..*limits
        };
        let opened = DetectedFile::open(path, format, limits)?;
        let table = opened.table();
        let names = table.columns().to_vec();
        let mut columns = vec![Vec::new(); names.len()];
        let (mut rows, mut row) = (table.rows()?, Row::default());
        let mut bytes = 0;
        while rows.next(&mut row)? {
            bytes += columns.len() as u64 * CELL_BYTES + row.bytes();
            let within = DecodingLimits {
                record: room,
                ..*limits
            };
            let checked = within.check(Limit::Record, bytes);
            checked.map_err(ContentsError::Limit)?;
            for (place, column) in columns.iter_mut().enumerate() {
                let cell = row.cell(place);
                // In CSV, quotes are part of the text.
                let cell = match format {
                    Format::Csv(_) | Format::Lines => String::from_utf8_lossy(cell).into_owned(),
                    _ => String::from_utf8_lossy(&unquoted(cell)).into_owned(),
                };
                column.push(match cell.as_str() {
                    "null" if format != Format::Csv(b',') => String::new(),
                    _ => cell,
                });
            }
        }
        Ok(Table { names, columns })
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let cells = self.columns.iter().flatten();
        cells.map(|cell| CELL_BYTES + cell.len() as u64).sum()
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub(crate) fn column(&self, name: &str) -> Option<&[String]> {
        let place = self.names.iter().position(|own| own == name)?;
        self.columns.get(place).map(Vec::as_slice)
    }
}

/// Cells that mean that there is no value.
pub(crate) fn is_missing(cell: &str) -> bool {
    matches!(
        cell.trim().to_ascii_lowercase().as_str(),
        "" | "na" | "n/a" | "nan" | "null" | "none" | "unknown"
    )
}

/// The numbers of a column, if nearly all cells are numbers; those that are not are NaN.
pub(crate) fn numbers(cells: &[String]) -> Option<Vec<f64>> {
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
    fn formats_are_read_alike() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str, format| {
            let path = folder.path().join("table");
            std::fs::write(&path, text).unwrap();
            Table::read(&path, format, &DecodingLimits::default(), u64::MAX)
        };
        let csv = read(
            "id,text\r\n1,\"a \"\"b\"\", c\"\r\n2,\r\n",
            Format::Csv(b','),
        );
        let csv = csv.unwrap();
        assert_eq!(csv.names, ["id", "text"]);
        assert_eq!(csv.columns, [vec!["1", "2"], vec!["a \"b\", c", ""]]);
        let list = r#"[{"id": 1, "text": "a \"b\", c"}, {"id": "2", "text": null}]"#;
        assert_eq!(read(list, Format::Json).unwrap(), csv);
        let inside = format!(r#"{{"info": {{}}, "rows": {list}}}"#);
        assert_eq!(read(&inside, Format::Json).unwrap(), csv);
        let lines = "{\"id\": 1, \"text\": \"a \\\"b\\\", c\"}\n{\"id\": 2}\n";
        assert_eq!(read(lines, Format::JsonLines).unwrap(), csv);
        assert!(read("3", Format::Json).is_err());
    }

    #[test]
    fn a_table_that_takes_more_memory_than_there_is_room_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a,b\n".to_owned() + &",\n".repeat(10_000)).unwrap();
        let read = |room| {
            Table::read(
                file.path(),
                Format::Csv(b','),
                &DecodingLimits::default(),
                room,
            )
        };
        assert_eq!(read(4 << 20).unwrap().rows(), 10_000);
        assert!(matches!(read(1 << 20), Err(ContentsError::Limit(_))));
    }
}
