//! Reads the rows of an array file and saves a selection of them.

use std::io::Write;
use std::ops::Range;

use super::{NpyError, NpyHeader};
use crate::read_at::{ByteSection, ReadAt};

/// Approximate size in bytes of the chunks in which rows are written.
const CHUNK_BYTES: u64 = 256 * 1024;

/// An array in a file, read row by row.
#[derive(Debug, Clone)]
pub struct NpyArray<R> {
    section: ByteSection<R>,
    header: NpyHeader,
}

impl<R: ReadAt + Clone> NpyArray<R> {
    /// Opens the array in the range `range` of `base`.
    ///
    /// # Errors
    /// [`NpyError`] if the bytes are not an array, or the data are shorter than the header declares.
    pub fn open(base: R, range: Range<u64>) -> Result<Self, NpyError> {
        let section = ByteSection::new(base, range);
        let header = NpyHeader::read(section.clone())?;
        let available = section.len().saturating_sub(header.data_offset);
        if available < header.data_bytes() {
            return Err(NpyError::Truncated {
                available,
                needed: header.data_bytes(),
            });
        }
        Ok(Self { section, header })
    }

    /// The header of the array.
    pub fn header(&self) -> &NpyHeader {
        &self.header
    }

    /// Writes the rows at `positions` in this order, with the same bytes as `numpy.save(out, array[positions])`.
    ///
    /// # Errors
    /// [`NpyError`] if reading or writing fails. The output is then incomplete.
    pub fn gather(
        &self,
        mut positions: impl ExactSizeIterator<Item = u64>,
        out: &mut impl Write,
    ) -> Result<(), NpyError> {
        let header = &self.header;
        // A one-dimensional array has the same bytes in C order and Fortran order.
        if header.fortran_order && header.shape.len() > 1 {
            return Err(NpyError::FortranOrder);
        }
        let Some((_, others)) = header.shape.split_first() else {
            return Err(NpyError::BadHeader {
                reason: "a single value has no rows".to_owned(),
            });
        };
        let mut shape = vec![positions.len() as u64];
        shape.extend(others);
        let gathered = NpyHeader {
            shape,
            fortran_order: false,
            ..header.clone()
        };
        let mut bytes = gathered.to_bytes()?;
        let at_once =
            usize::try_from(CHUNK_BYTES / header.row_bytes().clamp(1, CHUNK_BYTES)).unwrap_or(1);
        let mut rows = Vec::with_capacity(at_once);
        loop {
            rows.clear();
            rows.extend(positions.by_ref().take(at_once));
            self.read_rows(&rows, &mut bytes)?;
            out.write_all(&bytes)?;
            bytes.clear();
            if rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Appends the bytes of rows in the given order. Consecutive rows are read with one call.
    pub(super) fn read_rows(&self, rows: &[u64], bytes: &mut Vec<u8>) -> Result<(), NpyError> {
        let (rows_in_file, row_bytes) = (self.header.rows(), self.header.row_bytes());
        for run in rows.chunk_by(|row, next| row.checked_add(1) == Some(*next)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            if *last >= rows_in_file {
                return Err(NpyError::NoSuchRow {
                    row: *last,
                    rows: rows_in_file,
                });
            }
            // `open` verified that all rows are within the file.
            let length = row_bytes * run.len() as u64;
            let start = bytes.len();
            let end = usize::try_from(length)
                .ok()
                .and_then(|length| start.checked_add(length));
            let end = end.ok_or_else(|| NpyError::BadHeader {
                reason: format!("a row of {row_bytes} bytes"),
            })?;
            bytes.resize(end, 0);
            let target = bytes.get_mut(start..).unwrap_or_default();
            self.section
                .read_exact_at(target, self.header.data_offset + first * row_bytes)?;
        }
        Ok(())
    }
}
