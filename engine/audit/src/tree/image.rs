//! Two images: equal pixels or not.

use std::io::{self, Cursor};
use std::path::Path;

use png::Transformations;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use crate::causes::images;
use crate::finding::Finding;

/// Size and bytes of an image, in a form that depends on its pixels only.
#[derive(PartialEq, Eq)]
struct Pixels {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

pub(super) fn compare(path: &str, theirs: &Path, ours: &Path) -> io::Result<Vec<Finding>> {
    let (a, b) = (std::fs::read(theirs)?, std::fs::read(ours)?);
    let finding = match (decode(&a), decode(&b)) {
        (Ok(a), Ok(b)) if a == b => {
            Finding::new(&images::IMAGE_BYTES, path).proof("all pixels are equal")
        }
        (Ok(a), Ok(b)) => {
            let finding = Finding::new(&images::IMAGE_PIXELS, path);
            match (a.width, a.height) == (b.width, b.height) {
                true => {
                    let differ = a.bytes.iter().zip(&b.bytes).filter(|(x, y)| x != y).count();
                    finding.example(format!("{differ} of {} samples differ", b.bytes.len()))
                }
                false => finding.example(format!(
                    "{}x{} there, {}x{} here",
                    a.width, a.height, b.width, b.height
                )),
            }
        }
        (Err(reason), Ok(_)) => Finding::new(&images::IMAGE_DAMAGED, path).example(reason),
        (_, Err(reason)) => Finding::new(&crate::causes::NOT_CLASSIFIED, path)
            .proof(format!("ours cannot be decoded: {reason}")),
    };
    Ok(vec![finding])
}

fn decode(file: &[u8]) -> Result<Pixels, String> {
    if file.starts_with(b"\x89PNG") {
        return decode_png(file).map_err(|error| error.to_string());
    }
    if file.starts_with(b"\xff\xd8") {
        let mut decoder = JpegDecoder::new(ZCursor::new(file));
        let bytes = decoder.decode().map_err(|error| format!("{error:?}"))?;
        let (width, height) = decoder.dimensions().ok_or("no size")?;
        return Ok(Pixels {
            width,
            height,
            bytes,
        });
    }
    Err("neither PNG nor JPEG".to_owned())
}

fn decode_png(file: &[u8]) -> Result<Pixels, png::DecodingError> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    // Palettes, few bits and transparency are forms of the same pixels.
    decoder.set_transformations(Transformations::EXPAND | Transformations::ALPHA);
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let bytes = match info.color_type {
        // Grey as three equal colours.
        png::ColorType::GrayscaleAlpha => {
            let sample = info.bit_depth as usize / 8;
            let pixels = bytes.chunks_exact(2 * sample.max(1));
            let wide = pixels.flat_map(|pixel| {
                let (grey, alpha) = pixel.split_at(sample.max(1));
                [grey, grey, grey, alpha].concat()
            });
            wide.collect()
        }
        _ => bytes,
    };
    Ok(Pixels {
        width: info.width as usize,
        height: info.height as usize,
        bytes,
    })
}
