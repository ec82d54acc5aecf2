//! Finds the size of a JPEG image in its first frame header (SOFn). Source: ITU-T T.81, annex B.

use std::io::Read;

use super::{Bytes, ImageError};

/// Returns width and height in pixels. `bytes` is positioned after the start-of-image marker.
pub(super) fn size<R: Read>(bytes: &mut Bytes<R>) -> Result<(u32, u32), ImageError> {
    loop {
        match marker(bytes)? {
            // Frame headers. 0xc4, 0xc8 and 0xcc are tables and extensions.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let _length_and_precision: [u8; 3] = bytes.array()?;
                let height = u16::from_be_bytes(bytes.array()?);
                let width = u16::from_be_bytes(bytes.array()?);
                return Ok((width.into(), height.into()));
            }
            // Markers without content.
            0x01 | 0xd0..=0xd8 => {}
            0xd9 | 0xda => return Err(bytes.damaged("the image begins before its frame header")),
            _ => {
                let length = u64::from(u16::from_be_bytes(bytes.array()?));
                let rest = length.checked_sub(2);
                let rest =
                    rest.ok_or_else(|| bytes.damaged("a segment is shorter than its length"))?;
                bytes.skip(rest)?;
            }
        }
    }
}

/// Reads the next marker, which fill bytes of 0xff may precede.
fn marker<R: Read>(bytes: &mut Bytes<R>) -> Result<u8, ImageError> {
    let [first] = bytes.array()?;
    if first != 0xff {
        return Err(bytes.damaged("a segment does not begin with a marker"));
    }
    loop {
        let [code] = bytes.array()?;
        if code != 0xff {
            return Ok(code);
        }
    }
}
