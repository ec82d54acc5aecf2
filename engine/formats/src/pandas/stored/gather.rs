//! Copies selected rows and columns of a table, in a given order, as text without parsing.
//!
//! A small table is copied row by row. Rows of a large table are distributed in one pass to temporary files. Each file
//! receives the rows of one range of the output. Then the rows of each file are sorted in memory.
//!
//! Memory usage is [`GatherOptions::budget`] plus 12 bytes per row of the output.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::pandas::stored::table::PREFETCH_ROWS;
use crate::pandas::write::end_line;
use crate::pandas::{Cells, CsvError, TextTable};

/// Number of bytes that are buffered before they are written, small enough for the first-level cache.
const BUFFER_BYTES: usize = 1 << 14;

/// Resource limits of [`gather`].
#[derive(Debug, Clone, Copy)]
pub struct GatherOptions<'a> {
    /// A table whose text has at most this number of bytes is copied row by row. For a larger table, this number is the
    /// maximum size in bytes of the rows in one temporary file.
    pub budget: usize,
    /// Directory of the temporary files. They are unlinked when they are created.
    pub scratch: &'a Path,
}

impl<'a> GatherOptions<'a> {
    /// Creates options with the default budget of 256 MiB.
    #[must_use]
    pub fn new(scratch: &'a Path) -> Self {
        Self {
            budget: 256 << 20,
            scratch,
        }
    }
}

/// Copies the cells of the columns `columns` in the rows `rows`, in the given order. Writes canonical rows without a header.
/// Returns the number of rows.
///
/// Rows and columns are indices from 0 and may repeat.
///
/// # Errors
/// [`CsvError::NoSuchRow`], [`CsvError::NoSuchColumn`], and I/O errors.
pub fn gather(
    table: &TextTable,
    rows: impl IntoIterator<Item = u64>,
    columns: &[usize],
    out: &mut impl Write,
    options: &GatherOptions<'_>,
) -> Result<u64, CsvError> {
    let copier = Copier::new(table.schema().columns.len(), columns)?;
    // A row number of 32 bits and the position of the row in the output fit into one integer.
    let short = table.schema().rows <= u64::from(u32::MAX);
    if table.text().len() <= options.budget || !short {
        direct(table, rows, &copier, out)
    } else {
        let rows = rows.into_iter().map(|row| {
            let row_number = u32::try_from(row)
                .ok()
                .filter(|_| row < table.schema().rows);
            row_number.ok_or(CsvError::NoSuchRow {
                row,
                rows: table.schema().rows,
            })
        });
        bucketed(
            table,
            rows.collect::<Result<_, _>>()?,
            &copier,
            out,
            options,
        )
    }
}

/// Copies the rows one by one in the given order.
fn direct(
    table: &TextTable,
    rows: impl IntoIterator<Item = u64>,
    copier: &Copier,
    out: &mut impl Write,
) -> Result<u64, CsvError> {
    let mut rows = rows.into_iter();
    let mut chunk = Vec::with_capacity(PREFETCH_ROWS);
    let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
    let mut cells = Vec::new();
    let mut count = 0;
    loop {
        chunk.clear();
        chunk.extend(rows.by_ref().take(PREFETCH_ROWS));
        if chunk.is_empty() {
            break;
        }
        table.fetch(&chunk);
        for row in &chunk {
            copier.copy(table.row(*row)?, *row, &mut cells, &mut buffer)?;
        }
        count += chunk.len() as u64;
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    Ok(count)
}

/// A temporary file with the rows of a range of the output.
struct Bucket {
    /// Position in the output of the first row in the range.
    first: u32,
    file: BufWriter<File>,
}

/// Copies the rows with temporary files, in one pass over the table.
fn bucketed(
    table: &TextTable,
    rows: Vec<u32>,
    copier: &Copier,
    out: &mut impl Write,
    options: &GatherOptions<'_>,
) -> Result<u64, CsvError> {
    let count = u32::try_from(rows.len()).map_err(|_| CsvError::NoSuchRow {
        row: u64::MAX,
        rows: table.schema().rows,
    })?;
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut size = 0;
    for (position, row) in (0..count).zip(&rows) {
        let length = table.row(u64::from(*row))?.len();
        if buckets.is_empty() || size + length > options.budget {
            let file = BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(options.scratch)?);
            buckets.push(Bucket {
                first: position,
                file,
            });
            size = 0;
        }
        size += length;
    }
    // Row and position are combined into one integer, so sorting restores the order of the table.
    let mut jobs: Vec<u64> = (0..count)
        .zip(rows)
        .map(|(position, row)| u64::from(row) << 32 | u64::from(position))
        .collect();
    jobs.sort_unstable();
    distribute_rows(table, &jobs, copier, &mut buckets)?;
    drop(jobs);
    let mut ends: Vec<u32> = buckets.iter().skip(1).map(|bucket| bucket.first).collect();
    ends.push(count);
    for (bucket, end) in buckets.into_iter().zip(ends) {
        write_bucket(bucket, end, out)?;
    }
    Ok(u64::from(count))
}

/// Writes each row to the file of its bucket, as position, length and bytes, in one pass over the table.
fn distribute_rows(
    table: &TextTable,
    jobs: &[u64],
    copier: &Copier,
    buckets: &mut [Bucket],
) -> Result<(), CsvError> {
    let (mut cells, mut line) = (Vec::new(), Vec::new());
    let mut released = 0;
    for job in jobs {
        let (row, position) = (job >> 32, *job as u32);
        let at = table.offset(row) as usize;
        if at > released + (8 << 20) {
            table.release(released, at);
            released = at;
        }
        line.clear();
        copier.copy(table.row(row)?, row, &mut cells, &mut line)?;
        let index = buckets
            .partition_point(|bucket| bucket.first <= position)
            .saturating_sub(1);
        if let Some(bucket) = buckets.get_mut(index) {
            bucket.file.write_all(&position.to_le_bytes())?;
            bucket.file.write_all(&(line.len() as u32).to_le_bytes())?;
            bucket.file.write_all(&line)?;
        }
    }
    Ok(())
}

/// Writes the rows of a bucket in the order of the output. `end` is the position in the output after its last row.
fn write_bucket(bucket: Bucket, end: u32, out: &mut impl Write) -> Result<(), CsvError> {
    let mut file = bucket
        .file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    let mut data = Vec::new();
    file.read_to_end(&mut data)?;
    drop(file);
    let mut spans = vec![(0usize, 0usize); (end - bucket.first) as usize];
    let mut at = 0;
    while let Some((head, _)) = data
        .get(at..)
        .and_then(|rest| rest.split_first_chunk::<8>())
    {
        let [a, b, c, d, e, f, g, h] = *head;
        let position = u32::from_le_bytes([a, b, c, d]).wrapping_sub(bucket.first) as usize;
        let length = u32::from_le_bytes([e, f, g, h]) as usize;
        if let Some(slot) = spans.get_mut(position) {
            *slot = (at + 8, length);
        }
        at += 8 + length;
    }
    let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
    for (start, length) in spans {
        buffer.extend_from_slice(data.get(start..start + length).unwrap_or_default());
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    Ok(())
}

/// Copies selected columns of lines.
pub(in crate::pandas) struct Copier {
    /// The columns, or `None` for the entire line.
    columns: Option<Vec<usize>>,
    /// Number of cells in a line.
    width: usize,
    /// Number of cells at the left of a line that must be found. Later cells are not copied.
    wanted: usize,
}

impl Copier {
    pub fn new(width: usize, columns: &[usize]) -> Result<Self, CsvError> {
        if let Some(column) = columns.iter().find(|column| **column >= width) {
            return Err(CsvError::NoSuchColumn {
                column: *column,
                columns: width,
            });
        }
        let all_columns = columns.iter().copied().eq(0..width);
        let wanted = columns.iter().max().map_or(0, |last| last + 1);
        Ok(Self {
            columns: (!all_columns).then(|| columns.to_vec()),
            width,
            wanted,
        })
    }

    /// Appends the selected cells of `line` as a line. `cells` is a reusable buffer.
    pub fn copy<'a>(
        &self,
        line: &'a [u8],
        row: u64,
        cells: &mut Vec<&'a [u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), CsvError> {
        let Some(columns) = &self.columns else {
            out.extend_from_slice(line);
            return Ok(());
        };
        cells.clear();
        cells.extend(Cells::split_line(line, self.width).take(self.wanted));
        let start = out.len();
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match cells.get(*column).copied() {
                // An empty cell is written as `""` only if it is the only cell of its row.
                Some(b"\"\"") => {}
                Some(cell) => out.extend_from_slice(cell),
                None => {
                    let rule = format!(
                        "the row has only {} cells, so it has no column {column}",
                        cells.len()
                    );
                    return Err(CsvError::NotCanonical {
                        row: row + 1,
                        offset: 0,
                        rule,
                    });
                }
            }
        }
        end_line(out, start, columns.len());
        Ok(())
    }
}
