//! Gathering rows: `array[positions]`, saved.

use std::io::Write;
use std::ops::Range;

use super::{NpyError, NpyHeader};
use crate::read_at::{ReadAt, Section};

/// Rows are handed to the output in pieces of about this size.
const PIECE: usize = 256 * 1024;

/// Writes the rows at `positions` of the array that fills `range` of `base`, in
/// that order, as `numpy.save` writes the gathered array. Bytes of elements are
/// copied. Returns the new header.
///
/// # Errors
/// [`NpyError`]. The output is then incomplete.
pub fn gather_rows<R: ReadAt + ?Sized>(
    base: &R,
    range: Range<u64>,
    positions: impl ExactSizeIterator<Item = u64>,
    out: &mut impl Write,
) -> Result<NpyHeader, NpyError> {
    let section = Section::new(base, range);
    let header = NpyHeader::read(section.clone())?;
    let there = section.len().saturating_sub(header.data_offset);
    if there < header.data_bytes() {
        return Err(NpyError::Truncated {
            there,
            needed: header.data_bytes(),
        });
    }
    // In one dimension, both orders are the same.
    if header.fortran_order && header.shape.len() > 1 {
        return Err(NpyError::FortranOrder);
    }
    let Some((first, others)) = header.shape.split_first() else {
        return Err(NpyError::BadHeader {
            reason: "a single value has no rows".to_owned(),
        });
    };
    let mut shape = vec![positions.len() as u64];
    shape.extend(others);
    let mut gathered = NpyHeader {
        shape,
        fortran_order: false,
        ..header.clone()
    };
    let mut bytes = gathered.to_bytes()?;
    gathered.data_offset = bytes.len() as u64;
    let row_bytes = header.row_bytes();
    let row_length = usize::try_from(row_bytes).map_err(|_| NpyError::BadHeader {
        reason: format!("a row of {row_bytes} bytes"),
    })?;
    for row in positions {
        if row >= *first {
            return Err(NpyError::NoSuchRow { row, rows: *first });
        }
        let start = bytes.len();
        bytes.resize(start + row_length, 0);
        let target = bytes.get_mut(start..).unwrap_or_default();
        section.read_exact_at(target, header.data_offset + row * row_bytes)?;
        if bytes.len() >= PIECE {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)?;
    Ok(gathered)
}
