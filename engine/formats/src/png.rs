//! PNG images: size, and grey values as Pillow's `convert("L")` computes them.
//!
//! Colours become grey by ITU-R 601-2 in 16-bit fixed point,
//! `(19595 R + 38470 G + 7471 B + 32768) >> 16`; alpha is dropped, not applied.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Transformations};

use crate::limits::{Limit, LimitExceeded, Limits};
use crate::sniff::{HumanSize, Looks, SNIFF_LENGTH};

/// An image of one byte per pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreyImage {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Grey values from 0 (black) to 255, row by row.
    pub pixels: Vec<u8>,
}

/// Why an image is refused.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The bytes are something else.
    #[error("got {found}, {}, expected a PNG image", HumanSize(*.size))]
    NotAPng {
        /// What it looks like.
        found: Looks,
        /// Size in bytes.
        size: u64,
    },
    /// 16 bits per channel, for which Pillow's conversion clips instead of scaling.
    #[error("the PNG image has 16 bits per channel; only up to 8 are converted to grey")]
    SixteenBit,
    /// More pixels than allowed.
    #[error("the PNG image has {width} x {height} pixels: {cause}")]
    TooLarge {
        /// Pixels per row.
        width: u32,
        /// Rows.
        height: u32,
        /// The limit on their product.
        #[source]
        cause: LimitExceeded,
    },
    /// The header is damaged.
    #[error("the PNG image is damaged: the checksum of its header is wrong")]
    HeaderCrc,
    /// Damaged or cut off.
    #[error("the PNG image is damaged or cut off")]
    Damaged(#[source] DecodingError),
}

/// Width and height of an image, from its first bytes (33 suffice).
///
/// # Errors
/// [`PngError::NotAPng`], also when the header is incomplete.
pub fn size(head: &[u8]) -> Result<(u32, u32), PngError> {
    let number = |at: usize| {
        let four = head.get(at..at + 4)?;
        Some(
            four.iter()
                .fold(0, |value, byte| value << 8 | u32::from(*byte)),
        )
    };
    let is_header = Looks::of(head) == Looks::Png && head.get(12..16) == Some(b"IHDR");
    match (number(16), number(20)) {
        (Some(width), Some(height)) if is_header => Ok((width, height)),
        _ => Err(not_a_png(head)),
    }
}

/// Bytes of a decoded pixel: four samples of two bytes.
const PIXEL_BYTES: u64 = 8;
/// Bytes for palettes, rows, profiles and texts while an image is decoded.
const DECODER_BYTES: u64 = 1 << 20;

/// The decoder of an image whose size was checked.
///
/// # Errors
/// [`PngError`]: nothing is allocated for more pixels than the limits allow.
pub fn decoder<'a>(file: &'a [u8], limits: &Limits) -> Result<Decoder<Cursor<&'a [u8]>>, PngError> {
    let (width, height) = size(file)?;
    // A size that the header's checksum contradicts is damage, not a demand.
    if let (Some(header), Some(sum)) = (file.get(12..29), file.get(29..33))
        && crc32fast::hash(header).to_be_bytes() != sum
    {
        return Err(PngError::HeaderCrc);
    }
    let checked = limits.check(Limit::Pixels, u64::from(width) * u64::from(height));
    checked.map_err(|cause| PngError::TooLarge {
        width,
        height,
        cause,
    })?;
    let bytes = limits.pixels.saturating_mul(PIXEL_BYTES);
    let bytes = usize::try_from(bytes.saturating_add(DECODER_BYTES)).unwrap_or(usize::MAX);
    let limits = png::Limits { bytes };
    Ok(Decoder::new_with_limits(Cursor::new(file), limits))
}

/// Decodes an image to grey.
///
/// # Errors
/// [`PngError`].
pub fn decode_grey(file: &[u8], limits: &Limits) -> Result<GreyImage, PngError> {
    let mut decoder = decoder(file, limits)?;
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(PngError::Damaged)?;
    let (width, height) = reader.info().size();
    let (color, depth) = reader.output_color_type();
    if depth == BitDepth::Sixteen {
        return Err(PngError::SixteenBit);
    }
    let palette = reader.info().palette.as_deref().map(grey_palette);
    let length = reader.output_buffer_size().unwrap_or(0);
    let mut rows = vec![0; length];
    let frame = reader.next_frame(&mut rows).map_err(PngError::Damaged)?;
    // Everything up to the end is checked, as Pillow does when it loads.
    reader.finish().map_err(PngError::Damaged)?;
    let layout = Layout {
        color,
        depth,
        palette,
    };
    let mut pixels = Vec::with_capacity(width as usize * height as usize);
    for row in rows
        .chunks_exact(frame.line_size.max(1))
        .take(height as usize)
    {
        layout.push_row(row, width as usize, &mut pixels);
    }
    Ok(GreyImage {
        width,
        height,
        pixels,
    })
}

struct Layout {
    color: ColorType,
    depth: BitDepth,
    palette: Option<[u8; 256]>,
}

impl Layout {
    fn push_row(&self, row: &[u8], width: usize, pixels: &mut Vec<u8>) {
        match self.color {
            ColorType::Rgb => pixels.extend(row.as_chunks::<3>().0.iter().map(|rgb| grey(*rgb))),
            ColorType::Rgba => {
                pixels.extend(
                    row.as_chunks::<4>()
                        .0
                        .iter()
                        .map(|[r, g, b, _]| grey([*r, *g, *b])),
                );
            }
            ColorType::GrayscaleAlpha => {
                pixels.extend(row.as_chunks::<2>().0.iter().map(|[grey, _]| *grey));
            }
            ColorType::Grayscale => {
                let factor = match self.depth {
                    BitDepth::One => 255,
                    BitDepth::Two => 85,
                    BitDepth::Four => 17,
                    BitDepth::Eight | BitDepth::Sixteen => 1,
                };
                pixels.extend(self.samples(row, width).map(|sample| sample * factor));
            }
            ColorType::Indexed => {
                let palette = self.palette.unwrap_or([0; 256]);
                pixels.extend(
                    self.samples(row, width)
                        .map(|index| palette[usize::from(index)]),
                );
            }
        }
    }

    /// The samples of a row of one channel, of 1 to 8 bits each.
    fn samples(&self, row: &[u8], width: usize) -> impl Iterator<Item = u8> {
        let bits = (self.depth as usize).min(8);
        let mask = u8::MAX >> (8 - bits);
        (0..width).map_while(move |column| {
            let bit = column * bits;
            let byte = row.get(bit / 8)?;
            Some(byte >> (8 - bits - bit % 8) & mask)
        })
    }
}

/// Grey values of a palette of RGB triples. Entries that it lacks are black, as
/// for Pillow.
fn grey_palette(palette: &[u8]) -> [u8; 256] {
    let mut greys = [0; 256];
    for (entry, rgb) in greys.iter_mut().zip(palette.as_chunks::<3>().0) {
        *entry = grey(*rgb);
    }
    greys
}

fn grey([r, g, b]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(r) + 38_470 * u32::from(g) + 7471 * u32::from(b) + 0x8000;
    u8::try_from(sum >> 16).unwrap_or(u8::MAX)
}

fn not_a_png(head: &[u8]) -> PngError {
    let found = Looks::of(head.get(..SNIFF_LENGTH.min(head.len())).unwrap_or_default());
    PngError::NotAPng {
        found,
        size: head.len() as u64,
    }
}
