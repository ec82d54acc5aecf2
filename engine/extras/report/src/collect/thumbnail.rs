//! Creates thumbnails of PNG and JPEG images. Each pixel is the mean of the pixels that it covers. Thumbnails are PNG
//! files.

use png::{ColorType, Encoder};
use prep_contents::DecodingLimits;
use prep_contents::pixels::Pixels;

/// Maximum length of the longer side, in pixels.
const MAX_SIDE: u32 = 72;
/// Maximum number of pixels of an image. Larger images have no thumbnail.
const MAX_PIXELS: u64 = 60_000_000;

/// A thumbnail.
pub struct Thumbnail {
    /// Path relative to `public`.
    pub path: String,
    /// Size of the image.
    pub image: super::ImageSize,
    /// Size of the thumbnail.
    pub width: u32,
    pub height: u32,
    pub png: Vec<u8>,
}

/// An image of three bytes per pixel.
struct Rgb {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// Creates the thumbnail of an image. Returns `None` if the image cannot be decoded.
pub fn thumbnail(path: &str, bytes: &[u8]) -> Option<Thumbnail> {
    let image = decode(bytes)?;
    let small = image.scaled();
    Some(Thumbnail {
        path: path.to_owned(),
        image: super::ImageSize {
            width: image.width,
            height: image.height,
        },
        width: small.width,
        height: small.height,
        png: small.encode()?,
    })
}

fn decode(bytes: &[u8]) -> Option<Rgb> {
    let limits = DecodingLimits {
        pixels: MAX_PIXELS,
        ..DecodingLimits::default()
    };
    let image = Pixels::decode(bytes, &limits).ok()?;
    // Samples are big-endian, so the first byte is the most significant one.
    let pixels = image.bytes.chunks_exact(image.stride().max(1));
    let pixels = pixels.flat_map(|pixel| {
        let mut samples = pixel.iter().copied().step_by(image.sample);
        match (samples.next(), samples.next(), samples.next()) {
            (Some(red), Some(green), Some(blue)) => [red, green, blue],
            (grey, ..) => [grey.unwrap_or_default(); 3],
        }
    });
    let side = |side: usize| u32::try_from(side).ok();
    Rgb::new(side(image.width)?, side(image.height)?, pixels.collect())
}

impl Rgb {
    fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Rgb> {
        let has_expected_length = u64::from(width) * u64::from(height) * 3 == pixels.len() as u64;
        (has_expected_length && width > 0 && height > 0).then_some(Rgb {
            width,
            height,
            pixels,
        })
    }

    /// Scales the image so that no side is longer than [`MAX_SIDE`].
    fn scaled(&self) -> Rgb {
        let longer = self.width.max(self.height);
        if longer <= MAX_SIDE {
            return Rgb {
                pixels: self.pixels.clone(),
                ..*self
            };
        }
        let scale = |side: u32| {
            u32::try_from(u64::from(side) * u64::from(MAX_SIDE) / u64::from(longer))
                .unwrap_or(MAX_SIDE)
                .max(1)
        };
        let (width, height) = (scale(self.width), scale(self.height));
        let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
        for y in 0..height {
            let rows = covered(y, height, self.height);
            for x in 0..width {
                pixels.extend(self.mean(covered(x, width, self.width), rows.clone()));
            }
        }
        Rgb {
            width,
            height,
            pixels,
        }
    }

    fn mean(&self, columns: std::ops::Range<u32>, rows: std::ops::Range<u32>) -> [u8; 3] {
        let (mut sum, mut count) = ([0_u64; 3], 0_u64);
        for y in rows {
            let row = y as usize * self.width as usize;
            let from = (row + columns.start as usize) * 3;
            let to = (row + columns.end as usize) * 3;
            for pixel in self
                .pixels
                .get(from..to)
                .unwrap_or_default()
                .as_chunks::<3>()
                .0
            {
                for (sum, channel) in sum.iter_mut().zip(pixel) {
                    *sum += u64::from(*channel);
                }
                count += 1;
            }
        }
        sum.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX))
    }

    fn encode(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        // The two lowest bits of a channel are invisible in a thumbnail, but they double the size of the file.
        let coarse: Vec<u8> = self.pixels.iter().map(|channel| channel & 0xfc).collect();
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&coarse).ok()?;
        writer.finish().ok()?;
        Some(out)
    }
}

/// Returns the range of the `large` pixels that pixel `at` of `small` pixels covers.
fn covered(at: u32, small: u32, large: u32) -> std::ops::Range<u32> {
    let edge = |at: u32| {
        u32::try_from(u64::from(at) * u64::from(large) / u64::from(small)).unwrap_or(large)
    };
    let from = edge(at);
    from..edge(at + 1).max(from + 1).min(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_is_small_and_has_the_mean_colours() {
        let (width, height) = (288, 144);
        let pixels = (0..width * height).flat_map(|at| {
            if at % 2 == 0 {
                [0, 100, 200]
            } else {
                [200, 100, 0]
            }
        });
        let image = Rgb::new(width, height, pixels.collect()).unwrap();
        let bytes = image.encode().unwrap();
        let found = thumbnail("a.png", &bytes).unwrap();
        assert_eq!((found.width, found.height), (72, 36));
        assert_eq!((found.image.width, found.image.height), (288, 144));
        let small = decode(&found.png).unwrap();
        assert!(
            small
                .pixels
                .as_chunks::<3>()
                .0
                .iter()
                .all(|pixel| *pixel == [100, 100, 100]),
            "{:?}",
            &small.pixels[..6]
        );
        assert!(thumbnail("a.txt", b"no image").is_none());
        assert!(thumbnail("a.png", &bytes[..bytes.len() / 2]).is_none());
    }
}
