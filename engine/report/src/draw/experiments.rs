//! Draws the percentage of medals with its standard error, one row per experiment.

use plotters::style::text_anchor::HPos;
use prep_app::Error;
use prep_experiments::Estimate;

use super::{GRID, INK, Scale, TRAIN, WIDTH, number, picture, shorten};

/// Width of the names, in pixels.
const NAMES_WIDTH: f64 = 116.0;
/// Height of a row, in pixels.
const ROW_HEIGHT: f64 = 24.0;
/// Height of the scale below the rows, in pixels.
const SCALE_HEIGHT: f64 = 26.0;

/// Draws the percentage of competitions with a medal. The scale ends at `most`.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn experiments(
    title: &str,
    rows: &[(String, Option<Estimate>)],
    most: f64,
) -> Result<String, Error> {
    let described = rows.iter().map(|(name, estimate)| match estimate {
        Some(one) if one.standard_error > 0.0 => {
            format!("{name}: {:.1} % ± {:.1}", one.mean, one.standard_error)
        }
        Some(one) => format!("{name}: {:.1} %", one.mean),
        None => format!("{name}: no complete seed"),
    });
    let description = described.collect::<Vec<_>>().join("; ");
    let right = f64::from(WIDTH) - 16.0;
    let x = Scale::new((0.0, most.min(100.0) * 1.08), (NAMES_WIDTH, right));
    #[allow(clippy::cast_precision_loss)]
    let bottom = rows.len() as f64 * ROW_HEIGHT + 8.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let height = (bottom + SCALE_HEIGHT) as u32;
    picture(title, &description, height, |canvas| {
        for tick in x.ticks() {
            canvas.line((x.to_pixel(tick), 4.0), (x.to_pixel(tick), bottom), GRID, 1)?;
            canvas.text(
                (x.to_pixel(tick), bottom + 12.0),
                HPos::Center,
                10,
                &format!("{} %", number(tick)),
            )?;
        }
        canvas.line((NAMES_WIDTH, bottom), (right, bottom), INK, 1)?;
        let mut y = 4.0 + ROW_HEIGHT / 2.0;
        for (name, estimate) in rows {
            canvas.text((NAMES_WIDTH - 8.0, y), HPos::Right, 11, &shorten(name, 17))?;
            if let Some(one) = estimate {
                let (low, high) = (
                    x.to_pixel(one.mean - one.standard_error),
                    x.to_pixel(one.mean + one.standard_error),
                );
                if one.standard_error > 0.0 {
                    canvas.line((low, y), (high, y), TRAIN, 2)?;
                    canvas.line((low, y - 5.0), (low, y + 5.0), TRAIN, 2)?;
                    canvas.line((high, y - 5.0), (high, y + 5.0), TRAIN, 2)?;
                }
                canvas.dot((x.to_pixel(one.mean), y), 5, TRAIN)?;
            }
            y += ROW_HEIGHT;
        }
        Ok(())
    })
}
