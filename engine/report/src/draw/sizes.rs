//! Draws the widths and heights of images.

use plotters::style::text_anchor::HPos;
use prep_app::Error;

use super::{INK, Scale, TEST, THIRD, TRAIN, WIDTH, number, picture};
use crate::collect::ImageSize;

/// Width of the margin on the left, in pixels.
const LEFT_MARGIN: f64 = 44.0;
/// Height of the margin at the bottom, in pixels.
const BOTTOM_MARGIN: f64 = 34.0;
/// Height of the picture, in pixels.
const HEIGHT: u32 = 210;

/// Colours of the directories, in order. Their marks also differ in shape.
const COLORS: [plotters::style::RGBColor; 3] = [TRAIN, TEST, THIRD];

/// Draws a mark for each size of an image.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn sizes(title: &str, groups: &[(String, Vec<ImageSize>)]) -> Result<String, Error> {
    let all = || groups.iter().flat_map(|(_, sizes)| sizes);
    let most = |of: fn(&ImageSize) -> u32| f64::from(all().map(of).max().unwrap_or(1)) * 1.05;
    let x = Scale::new(
        (0.0, most(|size| size.width)),
        (LEFT_MARGIN, f64::from(WIDTH) - 14.0),
    );
    let bottom = f64::from(HEIGHT) - BOTTOM_MARGIN;
    let y = Scale::new((0.0, most(|size| size.height)), (bottom, 8.0));
    let described = groups.iter().map(|(name, sizes)| {
        let range = |of: fn(&ImageSize) -> u32| {
            let (low, high) = (
                sizes.iter().map(of).min().unwrap_or(0),
                sizes.iter().map(of).max().unwrap_or(0),
            );
            if low == high {
                low.to_string()
            } else {
                format!("{low} to {high}")
            }
        };
        format!(
            "{name}: {} wide, {} high",
            range(|size| size.width),
            range(|size| size.height)
        )
    });
    let description = described.collect::<Vec<_>>().join("; ");
    picture(title, &description, HEIGHT, |canvas| {
        canvas.grid(&x, &y, number)?;
        canvas.text(
            (f64::from(WIDTH) / 2.0, bottom + 26.0),
            HPos::Center,
            10,
            "width × height, pixels",
        )?;
        for (at, (_, sizes)) in groups.iter().enumerate() {
            let color = COLORS.get(at).copied().unwrap_or(INK);
            let mut seen: Vec<ImageSize> = Vec::new();
            for size in sizes {
                // Images of the same size share a mark.
                if seen.contains(size) {
                    continue;
                }
                seen.push(*size);
                let place = (
                    x.to_pixel(f64::from(size.width)),
                    y.to_pixel(f64::from(size.height)),
                );
                match at {
                    0 => canvas.dot(place, 4, color)?,
                    1 => canvas.ring(place, 6, color)?,
                    _ => canvas.triangle((place.0, place.1 + 5.0), 6.0, color)?,
                }
            }
        }
        Ok(())
    })
}
