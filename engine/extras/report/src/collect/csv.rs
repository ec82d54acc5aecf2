//! Reads the tables of `public`, computes the fraction of missing cells per column, and lists the prepared outputs with
//! their published checksums.
//!
//! Only the first [`MAX_TABLE_BYTES`] bytes of a table are read. If a table is longer, the page mentions that.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use prep_app::CatalogEntry;
use prep_digests::ChecksumStatus;
use prep_formats::pandas::{CellValue, Frame, FrameColumn, ReadOptions, read_frame};
use prep_spec::Pipeline;
use prep_steps::Manifest;

/// Maximum number of bytes that are read per table.
const MAX_TABLE_BYTES: u64 = 16 << 20;
/// Maximum number of tables per competition.
const MAX_TABLES: usize = 6;

/// A table of `public`.
pub struct PublicTable {
    /// Path relative to `prepared`, for example `public/train.csv`.
    pub path: String,
    /// Number of rows of the entire file, if it is known.
    pub rows: Option<u64>,
    pub frame: Frame,
    /// Whether the frame is the entire file.
    pub is_complete: bool,
}

/// Reads the tables among the outputs of `public`. Files that cannot be read as a table are skipped.
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

/// Reads the beginning of a CSV file. Returns it, and whether it is the entire file.
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
    let mut bytes = Vec::new();
    file.take(MAX_TABLE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, length <= MAX_TABLE_BYTES))
}

/// Returns the end of the last complete row. Line breaks within quotes do not end a row.
fn last_row_end(bytes: &[u8]) -> usize {
    let (mut quoted, mut end) = (false, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => end = at + 1,
            _ => {}
        }
    }
    end
}

impl PublicTable {
    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        self.path.strip_prefix("public/").unwrap_or(&self.path)
    }

    /// Returns whether this is a test table, according to its name. Agents predict labels for its rows.
    pub fn is_test(&self) -> bool {
        self.name().to_ascii_lowercase().contains("test")
    }

    /// Returns whether this is a sample submission, according to its name.
    pub fn is_sample(&self) -> bool {
        let name = self.name().to_ascii_lowercase();
        name.contains("sample") || name.contains("submission")
    }

    /// Returns the fraction of missing cells of each column.
    pub fn missing(&self) -> Vec<(&str, f64)> {
        let columns = self.frame.columns.iter();
        #[allow(clippy::cast_precision_loss)] // the result is a fraction
        let fraction = |column: &FrameColumn| missing(column) as f64 / self.frame.rows as f64;
        columns
            .map(|column| (column.name.as_str(), fraction(column)))
            .collect()
    }
}

fn missing(column: &FrameColumn) -> usize {
    let cells = column.data.values();
    cells.filter(|cell| *cell == CellValue::Missing).count()
}

/// The result of comparing an output with its published checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputComparison {
    /// The output has the published MD5. The time of the comparison is in seconds since 1970.
    Equal { when: Option<i64> },
    /// The output has a different MD5.
    Differs,
    /// There is a published checksum, but it was not compared.
    Skipped,
    /// This output has no published checksum.
    NotPublished,
    /// The published checksums belong to a different variant.
    OtherVariant,
}

/// One output: a file, or a directory of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    pub path: String,
    pub files: u64,
    pub bytes: u64,
    pub rows: Option<u64>,
    pub columns: usize,
    /// BLAKE3 digest of the content, for a single file.
    pub digest: Option<String>,
    /// The published MD5.
    pub md5: Option<String>,
    pub compared: OutputComparison,
}

/// Returns the outputs of a competition, as its manifest describes them.
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
            // The comparison is part of the data directory. The cache may have one of another directory.
            Some(_) => match status {
                Some(ChecksumStatus::Passed) => OutputComparison::Equal { when },
                Some(ChecksumStatus::Differ { outputs }) if outputs.contains(&output.path) => {
                    OutputComparison::Differs
                }
                _ => OutputComparison::Skipped,
            },
        };
        OutputFile {
            path: output.path.clone(),
            files: output.files,
            bytes: output.bytes,
            rows: output.rows,
            columns: output.columns.len(),
            digest: output.digest.map(|digest| digest.to_string()),
            md5: md5.filter(|_| is_base),
            compared,
        }
    });
    outputs.collect()
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
        assert_eq!(table.missing(), [("x", 0.5), ("y", 1.0), ("z", 0.0)]);
    }
}
