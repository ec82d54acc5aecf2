//! Images, decoded: PNG and JPEG, known by how they begin.

use std::io::Cursor;

use png::Transformations;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

/// Size and samples of an image, in a form that depends on its pixels only: palettes, few bits, and grey instead of three
/// equal colours are forms of the same pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    /// Bytes of a sample: 1, or 2 with the higher one first.
    pub sample: usize,
    /// Pixel by pixel: red, green and blue or a single grey, and perhaps how much it covers.
    pub bytes: Vec<u8>,
}

impl Pixels {
    /// # Errors
    /// Why the file cannot be decoded, in words.
    pub fn decode(file: &[u8]) -> Result<Pixels, String> {
        if file.starts_with(b"\x89PNG") {
            return png(file).map_err(|error| error.to_string());
        }
        if file.starts_with(b"\xff\xd8") {
            let mut decoder = JpegDecoder::new(ZCursor::new(file));
            let bytes = decoder.decode().map_err(|error| format!("{error:?}"))?;
            let (width, height) = decoder.dimensions().ok_or("no size")?;
            return Ok(Pixels {
                width,
                height,
                sample: 1,
                bytes,
            });
        }
        Err("neither PNG nor JPEG".to_owned())
    }

    /// Bytes of a pixel.
    pub fn stride(&self) -> usize {
        self.bytes.len() / (self.width * self.height).max(1)
    }
}

fn png(file: &[u8]) -> Result<Pixels, png::DecodingError> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    // Palettes, few bits and transparency are forms of the same pixels.
    decoder.set_transformations(Transformations::EXPAND | Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let sample = (info.bit_depth as usize / 8).max(1);
    let bytes = match info.color_type {
        // Grey as three equal colours.
        png::ColorType::GrayscaleAlpha => {
            let pixels = bytes.chunks_exact(2 * sample);
            let wide = pixels.flat_map(|pixel| {
                let (grey, alpha) = pixel.split_at(sample);
                [grey, grey, grey, alpha].concat()
            });
            wide.collect()
        }
        _ => bytes,
    };
    Ok(Pixels {
        width: info.width as usize,
        height: info.height as usize,
        sample,
        bytes,
    })
}
