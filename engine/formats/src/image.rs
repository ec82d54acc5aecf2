//! Reads the size of images from their headers: PNG, JPEG, GIF, BMP, TIFF and BigTIFF.
//!
//! - The size equals Pillow's `Image.open(file).size`. The Exif orientation is ignored.
//! - If a file contains several images, the size is that of the first.
//! - Files are read sequentially, because most images are compressed members of archives. Crates such as `imagesize` need to
//!   seek.
//!
//! Sources: ITU-T T.81, annex B; TIFF revision 6.0, section 2; libtiff's BigTIFF design.

use std::io;
use std::io::Read;

use crate::sniff::FileType;

/// A format of image files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF.
    Tiff,
}

/// Returns whether a path or pattern ends with the suffix of an image file, in upper or lower case.
pub fn is_image_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

/// Format and size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageHeader {
    /// The format, according to the first bytes of the file.
    pub format: ImageFormat,
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// An error when reading an image header.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file is not an image of a supported format.
    #[error("got {found}, expected an image (PNG, JPEG, GIF, BMP or TIFF)")]
    NotAnImage {
        /// The type that its first bytes indicate.
        found: FileType,
    },
    /// The file ends within its header.
    #[error("the image file ends within its header, at byte {position}; fetch it again")]
    Truncated {
        /// Offset in bytes at which the file ends.
        position: u64,
    },
    /// The header does not follow the format.
    #[error("the header of the image is damaged at byte {position}: {reason}")]
    Damaged {
        /// Offset of the violation.
        position: u64,
        /// The violated rule.
        reason: &'static str,
    },
    /// An I/O error.
    #[error("reading the image failed")]
    Io(#[from] io::Error),
}

impl ImageHeader {
    /// Reads the header at the beginning of `input`, until the size of the image is known.
    pub fn read(input: impl Read) -> Result<Self, ImageError> {
        let mut bytes = Bytes { input, position: 0 };
        let first: [u8; 2] = bytes.array()?;
        let (format, (width, height)) = match first {
            [0x89, b'P'] => (ImageFormat::Png, png(&mut bytes)?),
            [0xff, 0xd8] => (ImageFormat::Jpeg, jpeg_size(&mut bytes)?),
            [b'G', b'I'] => (ImageFormat::Gif, gif(&mut bytes)?),
            [b'B', b'M'] => (ImageFormat::Bmp, bmp(&mut bytes)?),
            [b'I', b'I'] => (ImageFormat::Tiff, tiff_size(&mut bytes, false)?),
            [b'M', b'M'] => (ImageFormat::Tiff, tiff_size(&mut bytes, true)?),
            _ => return Err(bytes.not_an_image(&first)),
        };
        Ok(ImageHeader {
            format,
            width,
            height,
        })
    }
}

/// The bytes of a file, read sequentially. `position` is the offset of the next byte.
struct Bytes<R> {
    input: R,
    position: u64,
}

impl<R: Read> Bytes<R> {
    /// Reads the next `N` bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ImageError> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => {
                self.position += N as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(ImageError::Truncated {
                    position: self.position,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn skip(&mut self, count: u64) -> Result<(), ImageError> {
        let input = Read::by_ref(&mut self.input);
        let skipped = io::copy(&mut input.take(count), &mut io::sink())?;
        self.position += skipped;
        match skipped < count {
            true => Err(ImageError::Truncated {
                position: self.position,
            }),
            false => Ok(()),
        }
    }

    fn damaged(&self, reason: &'static str) -> ImageError {
        ImageError::Damaged {
            position: self.position,
            reason,
        }
    }

    /// Returns the error for a file that begins with `first`. Reads more bytes to determine the file's type.
    fn not_an_image(&mut self, first: &[u8]) -> ImageError {
        let mut head = first.to_vec();
        let input = Read::by_ref(&mut self.input);
        match input
            .take(crate::sniff::SNIFF_BYTES as u64)
            .read_to_end(&mut head)
        {
            Ok(_) => ImageError::NotAnImage {
                found: FileType::detect(&head),
            },
            Err(error) => error.into(),
        }
    }
}

// Each of the following functions returns width and height in pixels. `bytes` must begin after the first two bytes of the
// file.

fn png<R: Read>(bytes: &mut Bytes<R>) -> Result<(u32, u32), ImageError> {
    // The rest of the signature, and the length and type of the first chunk.
    let rest: [u8; 14] = bytes.array()?;
    if !rest.starts_with(b"NG\r\n\x1a\n") || !rest.ends_with(b"IHDR") {
        return Err(bytes.damaged("a PNG file must begin with the chunk IHDR"));
    }
    let width = u32::from_be_bytes(bytes.array()?);
    let height = u32::from_be_bytes(bytes.array()?);
    Ok((width, height))
}

fn gif<R: Read>(bytes: &mut Bytes<R>) -> Result<(u32, u32), ImageError> {
    let rest: [u8; 4] = bytes.array()?;
    if &rest != b"F87a" && &rest != b"F89a" {
        return Err(bytes.not_an_image(b"GI"));
    }
    let width = u16::from_le_bytes(bytes.array()?);
    let height = u16::from_le_bytes(bytes.array()?);
    Ok((width.into(), height.into()))
}

fn bmp<R: Read>(bytes: &mut Bytes<R>) -> Result<(u32, u32), ImageError> {
    // Skips the rest of the file header. The size of the image is in the next header, which begins with its length.
    bytes.skip(12)?;
    let header_length = u32::from_le_bytes(bytes.array()?);
    match header_length {
        12 => {
            let width = u16::from_le_bytes(bytes.array()?);
            let height = u16::from_le_bytes(bytes.array()?);
            Ok((width.into(), height.into()))
        }
        16.. => {
            let width = u32::from_le_bytes(bytes.array()?);
            // A negative height means that rows are stored from top to bottom.
            let height = i32::from_le_bytes(bytes.array()?);
            Ok((width, height.unsigned_abs()))
        }
        _ => Err(bytes.damaged("a BMP header must have 12 bytes, or 16 or more")),
    }
}

/// Returns width and height in pixels from the first frame header (SOFn). `bytes` must begin after the start-of-image
/// marker.
fn jpeg_size<R: Read>(bytes: &mut Bytes<R>) -> Result<(u32, u32), ImageError> {
    loop {
        match marker(bytes)? {
            // Frame headers. 0xc4, 0xc8 and 0xcc are markers of tables and extensions instead.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let _length_and_precision: [u8; 3] = bytes.array()?;
                let height = u16::from_be_bytes(bytes.array()?);
                let width = u16::from_be_bytes(bytes.array()?);
                return Ok((width.into(), height.into()));
            }
            // Markers without a segment.
            0x01 | 0xd0..=0xd8 => {}
            // The end of the image, or the start of its data.
            0xd9 | 0xda => {
                return Err(bytes.damaged("the image data begin before the frame header"));
            }
            _ => {
                let length = u64::from(u16::from_be_bytes(bytes.array()?));
                let rest = length.checked_sub(2);
                let rest =
                    rest.ok_or_else(|| bytes.damaged("the length of a segment is less than 2"))?;
                bytes.skip(rest)?;
            }
        }
    }
}

/// Reads the next marker. Fill bytes of 0xff may precede it.
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

/// Tags of the entries in a TIFF directory.
const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;

/// Returns width and height in pixels from the first TIFF directory. `bytes` must begin after the two bytes of the byte
/// order.
fn tiff_size<R: Read>(bytes: &mut Bytes<R>, big_endian: bool) -> Result<(u32, u32), ImageError> {
    let mut numbers = Numbers { bytes, big_endian };
    let is_big = match numbers.read_integer(2)? {
        42 => false,
        43 => true,
        _ => {
            return Err(numbers.damaged("a TIFF file must have the number 42 or 43 here"));
        }
    };
    if is_big && (numbers.read_integer(2)? != 8 || numbers.read_integer(2)? != 0) {
        return Err(numbers.damaged("offsets of a BigTIFF file must have 8 bytes"));
    }
    // Size in bytes of an offset, and of the field with the number of values in a directory entry.
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
            // The types of a single integer: 1 (one byte), 3 (two bytes), 4 (four bytes), and in BigTIFF 16 (eight bytes).
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

    /// Reads an integer of `size` bytes.
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
