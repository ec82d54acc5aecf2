//! Collects the first rows of tables and JSON files of `public`, and the fractions of missing cells. Lists all outputs.
//!
//! Only the first [`MAX_TABLE_BYTES`] bytes of a table are read. The page states the number of rows that were read.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use prep_app::CatalogEntry;
use prep_contents::table::{DetectedFile, unquoted};
use prep_contents::{DecodingLimits, Format, Row};
use prep_digests::ChecksumStatus;
use prep_formats::pandas::{ColumnData, Frame, FrameColumn, ReadOptions, read_frame};
use prep_spec::{Pipeline, one_line};
use prep_steps::{Manifest, PublishedOutput};

const MAX_TABLE_BYTES: u64 = 16 << 20;
const MAX_TABLES: usize = 6;

pub struct PublicTable {
    /// Path relative to `prepared`, for example `public/train.csv`.
    pub path: String,
    /// Number of rows of the entire file.
    pub rows: Option<u64>,
    pub frame: Frame,
    /// Whether `frame` contains all rows of the file.
    pub is_complete: bool,
}

/// Reads the tables of `public`. Skips files that cannot be read as a table.
pub fn tables(prepared: &Path, manifest: &Manifest) -> Vec<PublicTable> {
    let outputs = manifest.outputs.iter();
    let outputs = outputs.filter(|output| {
        output.files == 1 && output.path.starts_with("public/") && output.path.ends_with(".csv")
    });
    let tables = outputs.filter_map(|output| {
        let (frame, is_complete) = frame(&prepared.join(&output.path))?;
        Some(PublicTable {
            path: output.path.clone(),
            rows: output.rows.or(is_complete.then_some(frame.rows as u64)),
            frame,
            is_complete,
        })
    });
    tables.take(MAX_TABLES).collect()
}

/// Reads the beginning of a CSV file. Returns its rows, and whether these are all rows.
pub fn frame(path: &Path) -> Option<(Frame, bool)> {
    let (bytes, is_complete) = read_beginning(path).ok()?;
    let end = match is_complete {
        true => bytes.len(),
        false => last_row_end(&bytes),
    };
    let frame = read_frame(bytes.get(..end)?, &ReadOptions::default()).ok()?;
    (frame.rows > 0).then_some((frame, is_complete))
}

fn read_beginning(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let wanted = usize::try_from(length.min(MAX_TABLE_BYTES)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(wanted + 1);
    file.take(MAX_TABLE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, length <= MAX_TABLE_BYTES))
}

/// Returns the end of the last complete row. A line break within quotes does not end a row.
fn last_row_end(bytes: &[u8]) -> usize {
    let mut quoted = memchr::memchr_iter(b'"', bytes).count() % 2 == 1;
    for at in memchr::memrchr2_iter(b'"', b'\n', bytes) {
        match bytes.get(at) {
            Some(b'"') => quoted = !quoted,
            _ if !quoted => return at + 1,
            _ => {}
        }
    }
    0
}

impl PublicTable {
    pub fn name(&self) -> &str {
        self.path.strip_prefix("public/").unwrap_or(&self.path)
    }

    /// Returns whether the name is that of a test table, for whose rows agents predict labels.
    pub fn is_test(&self) -> bool {
        self.name().to_ascii_lowercase().contains("test")
    }

    pub fn is_sample(&self) -> bool {
        let name = self.name().to_ascii_lowercase();
        name.contains("sample") || name.contains("submission")
    }

    fn missing(&self) -> MissingOfColumns {
        let fraction = |column: &FrameColumn| {
            #[allow(clippy::cast_precision_loss)] // the result is a fraction
            let fraction = column.data.missing() as f64 / self.frame.rows as f64;
            fraction
        };
        let columns = self.frame.columns.iter();
        let columns = columns.map(|column| (column.name.clone(), fraction(column)));
        columns.collect()
    }
}

/// Columns, each with its fraction of missing cells.
pub type MissingOfColumns = Vec<(String, f64)>;

#[derive(Default)]
pub struct MissingCells {
    pub train: Option<MissingOfColumns>,
    pub test: Option<MissingOfColumns>,
}

impl MissingCells {
    pub fn of(tables: &[PublicTable]) -> MissingCells {
        let tables = tables.iter().filter(|table| !table.is_sample());
        let (tests, others): (Vec<_>, Vec<&PublicTable>) =
            tables.partition(|table| table.is_test());
        let named_train = others.iter().find(|table| table.name().contains("train"));
        let train = named_train.or(others.first());
        MissingCells {
            train: train.map(|table| table.missing()),
            test: tests.first().map(|table| table.missing()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputComparison {
    /// The output has the published MD5. The time of the comparison is in seconds since 1970.
    Equal { when: Option<i64> },
    /// The output has a different MD5.
    Differs,
    /// There is a published checksum, but it was not compared.
    Skipped,
    /// No checksum is published.
    NotPublished,
    /// Checksums are published only for a different variant.
    OtherVariant,
}

/// One output: a file, or a directory of files.
pub struct OutputFile {
    pub output: PublishedOutput,
    pub md5: Option<String>,
    pub compared: OutputComparison,
}

pub fn files(
    manifest: &Manifest,
    pipeline: Option<&Pipeline>,
    entry: &CatalogEntry,
) -> Vec<OutputFile> {
    let published = entry.published_checksums().ok().flatten();
    let is_base = pipeline.is_none_or(|pipeline| !pipeline.variant.differs);
    let md5_of = |path: &str| published.as_ref()?.of_output(path).map(str::to_owned);
    let status = manifest.origin.as_ref().map(|origin| &origin.checksums);
    let preparation = manifest.preparation.as_ref();
    let when = preparation.and_then(|one| i64::try_from(one.compared_at?).ok());
    let outputs = manifest.outputs.iter();
    let outputs = outputs.map(|output| {
        let md5 = md5_of(&output.path);
        let compared = match &md5 {
            _ if !is_base && published.is_some() => OutputComparison::OtherVariant,
            None => OutputComparison::NotPublished,
            Some(_) => match status {
                Some(ChecksumStatus::Passed) => OutputComparison::Equal { when },
                Some(ChecksumStatus::Differ { outputs }) if outputs.contains(&output.path) => {
                    OutputComparison::Differs
                }
                _ => OutputComparison::Skipped,
            },
        };
        OutputFile {
            output: output.clone(),
            md5: md5.filter(|_| is_base),
            compared,
        }
    });
    outputs.collect()
}

/// Maximum number of JSON files whose first rows are shown.
const MAX_FILES: usize = 4;
const MAX_ROWS: usize = 4;
const MAX_COLUMNS: usize = 10;
pub const MAX_CHARACTERS: usize = 60;
const MAX_JSON_BYTES: u64 = 16 << 20;

pub struct FileSample {
    /// Path relative to `prepared`, for example `public/train.csv`.
    pub path: String,
    /// Number of rows of the entire file.
    pub rows: Option<u64>,
    pub header: Vec<String>,
    pub is_number: Vec<bool>,
    /// The first rows. A missing cell is `None`.
    pub first: Vec<Vec<Option<String>>>,
    pub more_columns: usize,
    /// Number of rows that the charts use. `None` for all rows.
    pub read_rows: Option<u64>,
}

/// Returns the first rows of the tables and JSON files of `public`. Skips files that cannot be read as rows.
pub fn samples(prepared: &Path, manifest: &Manifest, tables: &[PublicTable]) -> Vec<FileSample> {
    let mut samples: Vec<FileSample> = tables.iter().map(table_sample).collect();
    let outputs = manifest.outputs.iter();
    let outputs = outputs.filter(|output| output.files == 1 && output.path.starts_with("public/"));
    let json = outputs.filter_map(|output| json_sample(&output.path, &prepared.join(&output.path)));
    samples.extend(json.take(MAX_FILES));
    samples
}

fn table_sample(table: &PublicTable) -> FileSample {
    let columns = || table.frame.columns.iter().take(MAX_COLUMNS);
    let row = |row: usize| {
        let cells =
            columns().map(|column| column.text(row).map(|text| one_line(&text, MAX_CHARACTERS)));
        cells.collect()
    };
    let is_text = |data: &ColumnData| matches!(data, ColumnData::Object(_) | ColumnData::Bool(_));
    FileSample {
        path: table.path.clone(),
        rows: table.rows,
        header: columns().map(|column| column.name.clone()).collect(),
        is_number: columns().map(|column| !is_text(&column.data)).collect(),
        first: (0..table.frame.rows.min(MAX_ROWS)).map(row).collect(),
        more_columns: table.frame.columns.len().saturating_sub(MAX_COLUMNS),
        read_rows: (!table.is_complete).then_some(table.frame.rows as u64),
    }
}

/// Reads the first rows of a JSON file. Returns `None` for another format, a file that is too long, or a file without rows.
fn json_sample(path: &str, place: &Path) -> Option<FileSample> {
    let format = Format::from_path(path)?;
    let is_json = matches!(format, Format::Json | Format::JsonLines);
    if !is_json || place.metadata().ok()?.len() > MAX_JSON_BYTES {
        return None;
    }
    let opened = DetectedFile::open(place, format, &DecodingLimits::default()).ok()?;
    let table = opened.table();
    let names = table.columns();
    let shown = names.len().min(MAX_COLUMNS);
    let (mut rows, mut row) = (table.rows().ok()?, Row::default());
    let (mut first, mut count): (Vec<Vec<Option<String>>>, u64) = (Vec::new(), 0);
    while rows.next(&mut row).ok()? {
        if first.len() < MAX_ROWS {
            let cells = (0..shown).map(|at| unquoted(row.cell(at)));
            let cells = cells
                .map(|cell| Some(one_line(&cell, MAX_CHARACTERS)).filter(|cell| !is_missing(cell)));
            first.push(cells.collect());
        }
        count += 1;
    }
    let is_number = |at: usize| {
        let mut cells = first.iter().filter_map(|row| row.get(at)?.as_ref());
        cells.all(|cell| cell.parse::<f64>().is_ok())
    };
    let is_number = (0..shown).map(is_number).collect();
    (count > 0 && shown > 0).then(|| FileSample {
        path: path.to_owned(),
        rows: Some(count),
        is_number,
        header: names
            .iter()
            .take(shown)
            .map(|name| one_line(name, MAX_CHARACTERS))
            .collect(),
        more_columns: names.len() - shown,
        read_rows: None,
        first,
    })
}

fn is_missing(cell: &str) -> bool {
    cell.is_empty() || cell == "null"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_last_row_is_dropped() {
        for (text, expected) in [
            ("a,b\n1,2\n3", "a,b\n1,2\n"),
            ("a\n\"x\ny", "a\n"),
            ("a\n\"x\ny\"\n", "a\n\"x\ny\"\n"),
            ("", ""),
        ] {
            assert_eq!(&text[..last_row_end(text.as_bytes())], expected);
        }
    }

    #[test]
    fn missing_cells_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        std::fs::write(&path, "x,y,z\n1,,a\n,,é\n").unwrap();
        let (frame, is_complete) = frame(&path).unwrap();
        let table = PublicTable {
            path: "public/a.csv".into(),
            rows: None,
            frame,
            is_complete,
        };
        let expected = [("x", 0.5), ("y", 1.0), ("z", 0.0)];
        assert_eq!(
            table.missing(),
            expected.map(|(name, fraction)| (name.to_owned(), fraction))
        );
    }
}

#[cfg(test)]
mod samples_tests {
    use super::*;

    fn sample_of(name: &str, content: &str) -> Option<FileSample> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        json_sample(name, &path)
    }

    #[test]
    fn members_of_json_lines_are_columns() {
        let found = sample_of(
            "a.jsonl",
            "{\"id\": 7, \"text\": \"x\\ny\"}\n{\"id\": 8, \"tags\": [1, 2]}\n",
        );
        let found = found.unwrap();
        assert_eq!(found.header, ["id", "text", "tags"]);
        assert_eq!(found.is_number, [true, false, false]);
        let cell = |text: &str| Some(text.to_owned());
        assert_eq!(found.first[0], [cell("7"), cell("x y"), None]);
        assert_eq!(found.first[1], [cell("8"), None, cell("[1, 2]")]);
    }

    #[test]
    fn only_a_list_is_a_table() {
        let found = sample_of("a.json", "[{\"a\": 1}, {\"a\": 2}]").unwrap();
        assert_eq!((found.rows, found.first.len()), (Some(2), 2));
        for content in ["{\"a\": 1}", "[", ""] {
            assert!(sample_of("a.json", content).is_none(), "{content}");
        }
    }
}
