//! Decodes PNG images to grey values, exactly as Pillow's `convert("L")`.
//!
//! The formula is ITU-R 601-2 in 16-bit fixed point: `(19595 R + 38470 G + 7471 B + 32768) >> 16`. Alpha is dropped.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Transformations};
use prep_failure::units;

use crate::image::{ImageFormat, ImageHeader};
use crate::limits::{DecodingLimits, Limit, LimitExceeded};
use crate::sniff::{FileType, SNIFF_BYTES};

/// An image with one byte per pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreyImage {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Grey values from 0 (black) to 255, row by row.
    pub pixels: Vec<u8>,
}

/// An image that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The file is not a PNG image.
    #[error("got {found}, {}, expected a PNG image", units::bytes(*.size))]
    NotAPng {
        /// The type that its first bytes indicate.
        found: FileType,
        /// Size of the given bytes.
        size: u64,
    },
    /// The image has 16 bits per channel. Pillow's conversion clips such values instead of scaling them.
    #[error(
        "the PNG image has 16 bits per channel; only images with up to 8 bits per channel are converted to grey"
    )]
    SixteenBit,
    /// The image has more pixels than [`Limit::Pixels`].
    #[error("the PNG image has {width} x {height} pixels")]
    TooLarge {
        /// Pixels per row.
        width: u32,
        /// Rows.
        height: u32,
        /// The limit on the number of pixels.
        #[source]
        cause: LimitExceeded,
    },
    /// The checksum of the header does not match.
    #[error("the PNG image is damaged: the checksum of its header is wrong")]
    HeaderCrc,
    /// The image is damaged or truncated.
    #[error("the PNG image is damaged or truncated")]
    Damaged(#[source] DecodingError),
}

/// Bytes of a decoded pixel: four samples of two bytes.
const PIXEL_BYTES: u64 = 8;
/// Bytes of memory for palettes, rows, color profiles and texts during decoding.
const DECODER_BYTES: u64 = 1 << 20;

/// Creates a decoder after checking the size of the image.
pub fn decoder<'a>(
    file: &'a [u8],
    limits: &DecodingLimits,
) -> Result<Decoder<Cursor<&'a [u8]>>, PngError> {
    let header = ImageHeader::read(file).ok();
    let header = header.filter(|header| header.format == ImageFormat::Png);
    let Some(ImageHeader { width, height, .. }) = header else {
        let head = file.get(..SNIFF_BYTES).unwrap_or(file);
        return Err(PngError::NotAPng {
            found: FileType::detect(head),
            size: file.len() as u64,
        });
    };
    // If the checksum of the header is wrong, the declared size may be wrong, too. In this case, the error reports the
    // damage, not the size.
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

/// Decodes an image to grey values.
pub fn decode_grey(file: &[u8], limits: &DecodingLimits) -> Result<GreyImage, PngError> {
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
    // Like Pillow, checks the rest of the file, too.
    reader.finish().map_err(PngError::Damaged)?;
    let layout = RowLayout {
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

/// How the bytes of a decoded row encode pixels.
struct RowLayout {
    color: ColorType,
    /// Bits per sample.
    depth: BitDepth,
    /// The grey value of each palette index, if the image has a palette.
    palette: Option<[u8; 256]>,
}

impl RowLayout {
    /// Appends the grey values of one row of `width` pixels to `pixels`.
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
                // The highest sample becomes 255.
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

    /// Iterates over the samples of a row with one sample per pixel. Samples of fewer than 8 bits are packed into bytes, the
    /// leftmost pixel in the highest bits.
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

/// Converts a palette of RGB triples to grey values. Missing entries are black, as in Pillow.
fn grey_palette(palette: &[u8]) -> [u8; 256] {
    let mut greys = [0; 256];
    for (entry, rgb) in greys.iter_mut().zip(palette.as_chunks::<3>().0) {
        *entry = grey(*rgb);
    }
    greys
}

/// Converts a color to its grey value, with the formula of this module.
fn grey([r, g, b]: [u8; 3]) -> u8 {
    let sum = 19_595 * u32::from(r) + 38_470 * u32::from(g) + 7471 * u32::from(b) + 0x8000;
    u8::try_from(sum >> 16).unwrap_or(u8::MAX)
}
