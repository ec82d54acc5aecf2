//! Encodes a mask as the run-length code of the elements that are 1 or true.

use std::io::Read;

use super::{ElementKind, NpyError, NpyHeader};
use crate::rle;

/// Maximum size of an array in bytes.
const MAX_BYTES: u64 = 1 << 28;
/// Maximum length of a code in bytes. If all neighbours in a mask differ, the code is five times as long as the array.
const MAX_CODE_BYTES: usize = 1 << 26;

/// The run-length code of a mask, and the shape of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskCode {
    /// Dimensions of the array.
    pub shape: Vec<u64>,
    /// The code in column-major order (the first index varies fastest). Empty if no element is 1 or true.
    pub code: String,
}

/// Returns the run-length code of the elements that are 1 or true, as `rle_encode(numpy.load(file).T.flatten() == 1)`.
///
/// `input` is an array file of numbers or booleans in any byte order, in C or Fortran order.
///
/// # Errors
/// [`NpyError`] if the file is not an array, its elements are not numbers, it is larger than 256 MiB, or its code is
/// longer than 64 MiB.
pub fn mask_code(mut input: impl Read) -> Result<MaskCode, NpyError> {
    let header = NpyHeader::read(&mut input)?;
    let needed = header.data_bytes();
    if needed > MAX_BYTES {
        return Err(NpyError::BadHeader {
            reason: format!("a mask of {needed} bytes is over the limit"),
        });
    }
    let mut data = Vec::new();
    let available = input.take(needed).read_to_end(&mut data)? as u64;
    if available < needed {
        return Err(NpyError::Truncated { available, needed });
    }
    let unsupported = || NpyError::UnsupportedType {
        descr: header.descr.clone(),
    };
    let size = usize::try_from(header.item_size).map_err(|_| unsupported())?;
    let number = |item: &[u8]| header.value(item)?.to_f64();
    let is_half = header.descr.get(1..) == Some("f2");
    if matches!(header.element_kind(), None | Some(ElementKind::Text)) && !is_half || size == 0 {
        return Err(unsupported());
    }
    let is_set = |item: &[u8]| number(item) == Some(1.0);
    // Numbers of one byte are looked up, because they are most of the masks.
    let set_bytes: Vec<bool> = match size {
        1 => (0..=u8::MAX).map(|byte| is_set(&[byte])).collect(),
        _ => Vec::new(),
    };
    let is_set_at = |index: usize| match set_bytes.as_slice() {
        [] => data
            .get(index * size..(index + 1) * size)
            .is_some_and(is_set),
        set => {
            let byte = data.get(index).copied().unwrap_or(0);
            set.get(usize::from(byte)) == Some(&true)
        }
    };
    let count = data.len() / size;
    let shape: Option<Vec<usize>> = header
        .shape
        .iter()
        .map(|size| usize::try_from(*size).ok())
        .collect();
    let shape = shape.unwrap_or_default();
    let code = match header.fortran_order {
        true => rle::encode((0..count).map(is_set_at), MAX_CODE_BYTES),
        false => {
            let indices = rle::column_major(count, &shape);
            rle::encode(indices.map(is_set_at), MAX_CODE_BYTES)
        }
    };
    let code = code.ok_or(NpyError::LongCode {
        limit: MAX_CODE_BYTES,
    })?;
    Ok(MaskCode {
        shape: header.shape,
        code,
    })
}
