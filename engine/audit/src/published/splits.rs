//! Finds the split that produces a published file, by rendering the file for other seeds and test sizes.
//!
//! The prepared train table, test table and answers together contain all cells of the original table. The seed and test
//! size in the pipeline determine the original position of each item. Therefore other splits can be tried without the
//! bundle.

use std::path::Path;

use md5::{Digest as _, Md5};
use prep_contents::table::CsvTable;
use prep_contents::{ContentsError, DecodingLimits, Format, Result, Row, TableReader};
use prep_splits::SplitSize;

use super::forms::Rendering;
use crate::causes::Cause;
use crate::finding::AuditFinding;
use crate::read::hex;
use crate::tree::SplitSearch;
use crate::tree::split::{merged, parts, seeds};

/// At most this number of bytes is hashed in total. Therefore fewer seeds are tried for larger files.
const MAX_HASHED_BYTES: u64 = 8 << 30;
/// Approximate memory for a file, in bytes per byte of the file: rows, rendered lines, and a copy of these lines.
const ROW_MEMORY: u64 = 4;
const TEST_FRACTIONS: [f64; 9] = [0.1, 0.2, 0.25, 0.3, 0.15, 0.05, 0.33, 0.4, 0.5];

struct LoadedTable {
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl LoadedTable {
    /// Reads the CSV file at `path` below `home`. `None` if it is missing, too large, or not CSV.
    fn read(home: &Path, path: &str, limits: &DecodingLimits) -> Result<Option<LoadedTable>> {
        let place = home.join(path);
        let is_csv = Format::from_path(path) == Some(Format::Csv(b','));
        if !is_csv || !place.is_file() {
            return Ok(None);
        }
        let length = place
            .metadata()
            .map_err(ContentsError::system_error(&place))?
            .len();
        if length.saturating_mul(ROW_MEMORY) > limits.record {
            return Ok(None);
        }
        let table = CsvTable::open(&place, b',', limits)?;
        let (mut rows, mut row, mut all) = (table.rows()?, Row::default(), Vec::new());
        while rows.next(&mut row)? {
            all.push(row.clone());
        }
        drop(rows);
        Ok(Some(LoadedTable {
            columns: table.columns().to_vec(),
            rows: all,
        }))
    }

    fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }
}

/// Finds the split for which the file at `path` has this MD5. `path` is relative to `home`.
pub fn search(
    home: &Path,
    path: &str,
    md5: &str,
    search: &SplitSearch,
    limits: &DecodingLimits,
) -> Result<Option<AuditFinding>> {
    let answers = search.answers.as_deref().unwrap_or_default();
    let is_train = path == search.train;
    if !is_train && path != search.test && path != answers {
        return Ok(None);
    }
    let (Some(train), Some(test)) = (
        LoadedTable::read(home, &search.train, limits)?,
        LoadedTable::read(home, &search.test, limits)?,
    ) else {
        return Ok(None);
    };
    let answers = LoadedTable::read(home, answers, limits)?;
    let wanted = match path {
        _ if is_train => train.columns.clone(),
        _ if path == search.test => test.columns.clone(),
        _ => answers
            .as_ref()
            .map(|table| table.columns.clone())
            .unwrap_or_default(),
    };
    let Some(of_train) = lines(&wanted, &[Some(&train)]) else {
        return Ok(None);
    };
    let Some(of_test) = lines(&wanted, &[Some(&test), answers.as_ref()]) else {
        return Ok(None);
    };
    let count = of_train.len() + of_test.len();
    let Some(own) = parts(count, search.seed, search.test_size, None) else {
        return Ok(None);
    };
    if (own.0.len(), own.1.len()) != (of_train.len(), of_test.len()) {
        return Ok(None);
    }
    let header = Rendering::plain().header(&wanted);
    let bytes: u64 = of_train
        .iter()
        .chain(&of_test)
        .map(|line| line.len() as u64)
        .sum();
    let mut left = MAX_HASHED_BYTES / bytes.max(1);
    for in_file_order in [false, true] {
        let mut own = own.clone();
        if in_file_order {
            own.0.sort_unstable();
            own.1.sort_unstable();
        }
        let all = merged(&own, &of_train, &of_test, count);
        let sizes = std::iter::once(search.test_size)
            .chain(TEST_FRACTIONS.map(|fraction| Some(SplitSize::Fraction(fraction))));
        for size in sizes {
            for seed in seeds() {
                let Some(rest) = left.checked_sub(1) else {
                    return Ok(None);
                };
                left = rest;
                let Some((train, test)) = parts(count, seed, size, None) else {
                    continue;
                };
                let mut places = if is_train { train } else { test };
                if in_file_order {
                    places.sort_unstable();
                }
                let mut hasher = Md5::new();
                hasher.update(&header);
                for place in places {
                    hasher.update(all.get(place as usize).map_or(&[][..], Vec::as_slice));
                }
                if hex(hasher).eq_ignore_ascii_case(md5) {
                    let words = match size {
                        Some(SplitSize::Fraction(fraction)) => format!("test size {fraction}"),
                        Some(SplitSize::Rows(rows)) => format!("test size {rows}"),
                        None => "the default test size".to_owned(),
                    };
                    let proof = format!(
                        "if the rows are split with seed {seed} and {words}, the prepared content has the published MD5"
                    );
                    return Ok(Some(
                        AuditFinding::new(Cause::OtherSplit, path).proof(proof),
                    ));
                }
            }
        }
    }
    Ok(None)
}

/// Renders the lines of a file with the columns `columns`. Row `n` of each table describes the same item. Each cell is
/// taken from the first table that has its column. Returns `None` if a column is in none of the tables.
fn lines(columns: &[String], tables: &[Option<&LoadedTable>]) -> Option<Vec<Vec<u8>>> {
    let plain = Rendering::plain();
    let tables: Vec<&LoadedTable> = tables.iter().copied().flatten().collect();
    let rows = tables.first()?.rows.len();
    if columns.is_empty() || tables.iter().any(|table| table.rows.len() != rows) {
        return None;
    }
    let find = |column: &String| {
        tables
            .iter()
            .find_map(|table| Some((*table, table.position(column)?)))
    };
    let places: Vec<(&LoadedTable, usize)> = columns.iter().map(find).collect::<Option<_>>()?;
    let mut all = Vec::with_capacity(rows);
    for number in 0..rows {
        let mut row = Row::default();
        for (table, place) in &places {
            let cell = table
                .rows
                .get(number)
                .map_or(&[][..], |row| row.cell(*place));
            row.open().extend_from_slice(cell);
            row.end_cell();
        }
        let mut line = Vec::new();
        plain.row(0, &row, &[], &mut line);
        all.push(line);
    }
    Some(all)
}
