//! Finds the size of a TIFF or BigTIFF image in its first directory.
//!
//! Source: TIFF revision 6.0, section 2, and libtiff's BigTIFF design.

use std::io::Read;

use super::{Bytes, ImageError};

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;

/// Returns width and height in pixels. `bytes` is positioned after the two bytes that mark the byte order.
pub(super) fn size<R: Read>(
    bytes: &mut Bytes<R>,
    big_endian: bool,
) -> Result<(u32, u32), ImageError> {
    let mut numbers = Numbers { bytes, big_endian };
    let is_big = match numbers.read_integer(2)? {
        42 => false,
        43 => true,
        _ => {
            return Err(numbers.damaged("a TIFF file has the number 42 or 43 here"));
        }
    };
    if is_big && (numbers.read_integer(2)? != 8 || numbers.read_integer(2)? != 0) {
        return Err(numbers.damaged("offsets of a BigTIFF file have 8 bytes"));
    }
    // Size in bytes of offsets and of the count of values. The number of directory entries has a different size.
    let wide = if is_big { 8 } else { 4 };
    let directory = numbers.read_integer(wide)?;
    let gap = directory.checked_sub(numbers.bytes.position);
    let gap = gap.ok_or_else(|| numbers.damaged("the directory begins inside the header"))?;
    numbers.bytes.skip(gap)?;
    let entries = numbers.read_integer(if is_big { 8 } else { 2 })?;
    let (mut width, mut height) = (None, None);
    for _ in 0..entries {
        let tag = numbers.read_integer(2)? as u16;
        let kind = numbers.read_integer(2)?;
        let count = numbers.read_integer(wide)?;
        let start = numbers.bytes.position;
        if tag == WIDTH || tag == HEIGHT {
            let size = match (kind, count) {
                (1, 1) => 1,
                (3, 1) => 2,
                (4, 1) => 4,
                (16, 1) if is_big => 8,
                _ => {
                    return Err(numbers.damaged("the size of the image is not an integer"));
                }
            };
            let value = u32::try_from(numbers.read_integer(size)?)
                .map_err(|_| numbers.damaged("the image is too large"))?;
            let side = if tag == WIDTH {
                &mut width
            } else {
                &mut height
            };
            *side = Some(value);
        }
        if let (Some(width), Some(height)) = (width, height) {
            return Ok((width, height));
        }
        let read = numbers.bytes.position - start;
        numbers.bytes.skip(wide as u64 - read)?;
    }
    Err(numbers.damaged("the directory does not contain the size of the image"))
}

/// Reads integers in the byte order of the file.
struct Numbers<'a, R> {
    bytes: &'a mut Bytes<R>,
    big_endian: bool,
}

impl<R: Read> Numbers<'_, R> {
    fn damaged(&self, reason: &'static str) -> ImageError {
        self.bytes.damaged(reason)
    }

    /// Reads an integer of `size` bytes, at most 8.
    fn read_integer(&mut self, size: usize) -> Result<u64, ImageError> {
        let mut number = 0;
        for index in 0..size {
            let [byte] = self.bytes.array()?;
            number = match self.big_endian {
                true => number << 8 | u64::from(byte),
                false => number | u64::from(byte) << (8 * index),
            };
        }
        Ok(number)
    }
}
