//! Decodes PNG and JPEG images.

use std::ops::Range;

use png::Transformations;
use prep_formats::limits::{DecodingLimits, Limit};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::{ContentsError, Result};

/// Size and samples of an image. Images with equal pixels have equal samples, even if only one of the images has a palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    /// Bytes per sample: 1, or 2 (big-endian).
    pub sample: usize,
    /// The samples, pixel by pixel. A pixel of a PNG image has red, green, blue and alpha. A pixel of a JPEG image has red,
    /// green and blue, or only grey.
    pub bytes: Vec<u8>,
}

const MAX_JPEG_SIDE: usize = 0xffff;

impl Pixels {
    /// Decodes a PNG or JPEG file, which it recognises by its first bytes.
    pub fn decode(file: &[u8], limits: &DecodingLimits) -> Result<Pixels> {
        if file.starts_with(b"\x89PNG") {
            return png(file, limits);
        }
        if file.starts_with(b"\xff\xd8") {
            return jpeg(file, limits);
        }
        Err(damaged("the image is neither PNG nor JPEG"))
    }

    /// Returns the number of bytes per pixel.
    pub fn stride(&self) -> usize {
        self.bytes.len() / (self.width * self.height).max(1)
    }

    /// Returns the mean red, green and blue of an area, with eight bits each.
    pub fn mean(&self, columns: Range<usize>, rows: Range<usize>) -> [u8; 3] {
        let stride = self.stride().max(1);
        // The first byte of a sample is the most significant one. A grey pixel has one sample for all three colours.
        let places = match stride < 3 * self.sample {
            true => [0; 3],
            false => [0, self.sample, 2 * self.sample],
        };
        let (mut sum, mut count) = ([0_u64; 3], 0_u64);
        for y in rows {
            let row = y * self.width;
            let row = (row + columns.start) * stride..(row + columns.end) * stride;
            let row = self.bytes.get(row).unwrap_or_default();
            for pixel in row.chunks_exact(stride) {
                for (sum, place) in sum.iter_mut().zip(places) {
                    *sum += pixel.get(place).copied().map_or(0, u64::from);
                }
                count += 1;
            }
        }
        sum.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX))
    }
}

fn damaged(reason: impl Into<String>) -> ContentsError {
    ContentsError::Damaged(reason.into())
}

fn check(limits: &DecodingLimits, width: u64, height: u64) -> Result<()> {
    let checked = limits.check(Limit::Pixels, width.saturating_mul(height));
    checked.map_err(ContentsError::Limit)
}

fn jpeg(file: &[u8], limits: &DecodingLimits) -> Result<Pixels> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_JPEG_SIDE)
        .set_max_height(MAX_JPEG_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let failed = |error: zune_jpeg::errors::DecodeErrors| damaged(error.to_string());
    decoder.decode_headers().map_err(failed)?;
    let (width, height) = decoder
        .dimensions()
        .ok_or_else(|| damaged("the image has no size"))?;
    check(limits, width as u64, height as u64)?;
    let bytes = decoder.decode().map_err(failed)?;
    Ok(Pixels {
        width,
        height,
        sample: 1,
        bytes,
    })
}

fn png(file: &[u8], limits: &DecodingLimits) -> Result<Pixels> {
    let mut decoder = prep_formats::png::decoder(file, limits).map_err(ContentsError::classify)?;
    // Palettes are expanded and alpha is added, so that images with equal pixels have equal bytes.
    decoder.set_transformations(Transformations::EXPAND | Transformations::ALPHA);
    decoder.set_ignore_text_chunk(true);
    let failed = |error: png::DecodingError| damaged(error.to_string());
    let mut reader = decoder.read_info().map_err(failed)?;
    // The decoder panics if a palette ends within a colour.
    let palette = reader.info().palette.as_deref().unwrap_or_default();
    if palette.len() % 3 != 0 {
        return Err(damaged("the palette ends within a colour"));
    }
    let mut bytes = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut bytes).map_err(failed)?;
    bytes.truncate(info.buffer_size());
    let sample = (info.bit_depth as usize / 8).max(1);
    // Repeat each grey sample for red, green and blue.
    if info.color_type == png::ColorType::GrayscaleAlpha {
        let mut wide = Vec::with_capacity(2 * bytes.len());
        for pixel in bytes.chunks_exact(2 * sample) {
            let (grey, alpha) = pixel.split_at(sample);
            for part in [grey, grey, grey, alpha] {
                wide.extend_from_slice(part);
            }
        }
        bytes = wide;
    }
    Ok(Pixels {
        width: info.width as usize,
        height: info.height as usize,
        sample,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PNG file that declares this size but contains no pixels.
    fn claim(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = b"IHDR".to_vec();
        header.extend(width.to_be_bytes());
        header.extend(height.to_be_bytes());
        header.extend([16, 6, 0, 0, 0]);
        let mut crc = flate2::Crc::new();
        for chunk in [header, b"IDATx".to_vec()] {
            file.extend(u32::try_from(chunk.len() - 4).unwrap().to_be_bytes());
            crc.reset();
            crc.update(&chunk);
            file.extend(&chunk);
            file.extend(crc.sum().to_be_bytes());
        }
        file
    }

    #[test]
    fn declared_sizes_without_data_allocate_no_memory() {
        let limits = DecodingLimits::default();
        for (width, height) in [
            (1 << 20, 1 << 20),
            (u32::MAX, 1),
            (1, u32::MAX),
            (1 << 16, 1 << 15),
        ] {
            let found = Pixels::decode(&claim(width, height), &limits);
            assert!(
                matches!(found, Err(ContentsError::Limit(_))),
                "{width} x {height}: {found:?}"
            );
        }
        let mut spoiled = claim(1 << 20, 1 << 20);
        spoiled[17] ^= 1;
        let spoiled = Pixels::decode(&spoiled, &limits);
        assert!(
            matches!(spoiled, Err(ContentsError::Damaged(_))),
            "{spoiled:?}"
        );
        let small = Pixels::decode(&claim(10, 10), &limits);
        assert!(matches!(small, Err(ContentsError::Damaged(_))), "{small:?}");
        let mut jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03".to_vec();
        jpeg.extend(
            b"\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0",
        );
        let found = Pixels::decode(&jpeg, &limits);
        assert!(matches!(found, Err(ContentsError::Limit(_))), "{found:?}");
    }

    #[test]
    fn palette_that_ends_within_a_colour_is_damage() {
        for length in [1, 2, 4, 5, 767] {
            let mut file = Vec::new();
            let mut encoder = png::Encoder::new(&mut file, 1, 1);
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(vec![7; length]);
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(&[0]).unwrap();
            writer.finish().unwrap();
            let found = Pixels::decode(&file, &DecodingLimits::default());
            assert!(
                matches!(found, Err(ContentsError::Damaged(_))),
                "palette of {length} bytes: {found:?}"
            );
        }
    }

    #[test]
    fn grey_equals_three_equal_colours() {
        let encoded = |color, data: &[u8]| {
            let mut file = Vec::new();
            let mut encoder = png::Encoder::new(&mut file, 2, 1);
            encoder.set_color(color);
            let mut writer = encoder.write_header().unwrap();
            writer.write_image_data(data).unwrap();
            writer.finish().unwrap();
            Pixels::decode(&file, &DecodingLimits::default()).unwrap()
        };
        let grey = encoded(png::ColorType::Grayscale, &[7, 9]);
        assert_eq!(grey.bytes, [7, 7, 7, 255, 9, 9, 9, 255]);
        assert_eq!(grey, encoded(png::ColorType::Rgb, &[7, 7, 7, 9, 9, 9]));
    }
}
