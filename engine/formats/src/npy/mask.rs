//! Masks: the run-length code of the elements that equal a value.

use std::io::Read;

use super::{NpyError, NpyHeader};
use crate::rle;

/// Largest array that is read, in bytes.
const MAX_BYTES: u64 = 1 << 28;

/// The run-length code of a mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskCode {
    /// Dimensions of the array.
    pub shape: Vec<u64>,
    /// The code, down the columns (the first index varies fastest); empty when no element has the value.
    pub code: String,
}

/// Reads an array of numbers or booleans, of any byte order and in C or Fortran order, and encodes where it equals
/// `value`: `rle_encode(numpy.load(file).T.flatten() == value)`.
///
/// # Errors
/// [`NpyError`]; also for elements that are no numbers, and for arrays over 256 MiB.
pub fn mask_code(mut input: impl Read, value: f64) -> Result<MaskCode, NpyError> {
    let header = NpyHeader::read(&mut input)?;
    let needed = header.data_bytes();
    if needed > MAX_BYTES {
        return Err(NpyError::BadHeader {
            reason: format!("{needed} bytes are too many for a mask"),
        });
    }
    let mut data = Vec::new();
    let there = input.take(needed).read_to_end(&mut data)? as u64;
    if there < needed {
        return Err(NpyError::Truncated { there, needed });
    }
    let unsupported = || NpyError::UnsupportedType {
        descr: header.descr.clone(),
    };
    let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
    let kind = header.descr.chars().nth(1).ok_or_else(unsupported)?;
    if size == 0
        || !matches!(
            (kind, size),
            ('b', 1) | ('i' | 'u', 1 | 2 | 4 | 8) | ('f', 2 | 4 | 8)
        )
    {
        return Err(unsupported());
    }
    let is_big = header.descr.starts_with('>');
    let is_set: Vec<bool> = data
        .chunks_exact(size)
        .map(|item| {
            let bits = item.iter().enumerate().fold(0, |bits, (place, byte)| {
                let place = if is_big { size - 1 - place } else { place };
                bits | u64::from(*byte) << (8 * place)
            });
            number(kind, size, bits) == value
        })
        .collect();
    let shape: Option<Vec<usize>> = header
        .shape
        .iter()
        .map(|size| usize::try_from(*size).ok())
        .collect();
    let shape = shape.unwrap_or_default();
    let code = match header.fortran_order {
        true => rle::encode(is_set),
        false => rle::encode(rle::column_major(&is_set, &shape).copied()),
    };
    Ok(MaskCode {
        shape: header.shape,
        code,
    })
}

/// The value of an element, as a double.
fn number(kind: char, size: usize, bits: u64) -> f64 {
    let unused = 64 - 8 * size as u32;
    match (kind, size) {
        ('b', _) => f64::from(u8::from(bits != 0)),
        ('i', _) => ((bits << unused) as i64 >> unused) as f64,
        ('f', 8) => f64::from_bits(bits),
        ('f', 4) => f64::from(f32::from_bits(bits as u32)),
        ('f', _) => half(bits as u16),
        _ => bits as f64,
    }
}

/// A float of 16 bits (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match bits >> 10 & 0x1f {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
    }
}
