//! Draws histograms of numbers: train as bars, and test as a line over them.

use prep_app::Error;

use super::{Scale, TEST, TRAIN, WIDTH, number, percent, picture};
use crate::collect::Shares;

/// Margins of the plot, in pixels.
const LEFT: f64 = 40.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
/// Height of the picture, in pixels.
pub const HEIGHT: u32 = 190;
const BOTTOM: f64 = 24.0;

/// Draws a histogram with bins of equal width from `low` to `high`.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn histogram(title: &str, low: f64, high: f64, bins: &[Shares]) -> Result<String, Error> {
    let has_train = bins.iter().any(|bin| bin.train.is_some());
    let peak = |of: fn(&Shares) -> f64| {
        let at = bins
            .iter()
            .enumerate()
            .max_by(|a, b| of(a.1).total_cmp(&of(b.1)));
        #[allow(clippy::cast_precision_loss)]
        let middle = |at: usize| low + (high - low) * (at as f64 + 0.5) / bins.len() as f64;
        at.map_or(low, |(at, _)| middle(at))
    };
    let mut description = format!("Values from {} to {}; ", number(low), number(high));
    if has_train {
        description += &format!(
            "the most frequent training values are near {}, ",
            number(peak(|bin| bin.train.unwrap_or(0.0)))
        );
    }
    description += &format!(
        "the most frequent test values are near {}.",
        number(peak(|bin| bin.test))
    );
    let most = bins
        .iter()
        .flat_map(|bin| [bin.train.unwrap_or(0.0), bin.test])
        .fold(0.0, f64::max);
    let (x, y) = axes((low, high), most);
    picture(title, &description, HEIGHT, |canvas| {
        canvas.grid(&x, &y, percent)?;
        #[allow(clippy::cast_precision_loss)]
        let edge = |at: usize| x.to_pixel(low + (high - low) * at as f64 / bins.len() as f64);
        for (at, bin) in bins.iter().enumerate() {
            if let Some(train) = bin.train.filter(|share| *share > 0.0) {
                canvas.bar(
                    (edge(at), y.to_pixel(train)),
                    (edge(at + 1) - 1.0, y.to_pixel(0.0)),
                    TRAIN,
                )?;
            }
        }
        let mut points = Vec::new();
        for (at, bin) in bins.iter().enumerate() {
            points.push((edge(at), y.to_pixel(bin.test)));
            points.push((edge(at + 1), y.to_pixel(bin.test)));
        }
        canvas.path(&points, TEST)
    })
}

/// Returns the horizontal scale for values and the vertical scale for fractions.
pub fn axes(values: (f64, f64), most: f64) -> (Scale, Scale) {
    (
        Scale::new(values, (LEFT, f64::from(WIDTH) - RIGHT)),
        Scale::new((0.0, most.max(1e-9)), (f64::from(HEIGHT) - BOTTOM, TOP)),
    )
}
