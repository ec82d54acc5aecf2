//! Draws horizontal bars: fractions of classes, and fractions of missing cells per column.

use plotters::style::text_anchor::HPos;
use prep_app::Error;

use super::{GRID, Scale, TEST, TRAIN, WIDTH, percent, picture, shorten};
use crate::collect::Shares;

/// Width of the names, in pixels.
const NAMES_WIDTH: f64 = 118.0;
/// Width of the margin on the right, in pixels.
const RIGHT_MARGIN: f64 = 46.0;
/// Height of a row, in pixels.
const ROW_HEIGHT: f64 = 26.0;

/// One row of bars: a name, and one or two fractions.
struct Row<'a> {
    name: &'a str,
    first: Option<f64>,
    second: Option<f64>,
}

/// Draws the fractions of classes in train and test.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn classes(title: &str, classes: &[Shares]) -> Result<String, Error> {
    let rows: Vec<Row<'_>> = classes
        .iter()
        .map(|class| Row {
            name: &class.name,
            first: class.train,
            second: Some(class.test),
        })
        .collect();
    bars(title, &rows, ["train", "test"])
}

/// Draws the fraction of missing cells per column, for one or two tables.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn missing(
    title: &str,
    columns: &[(String, Option<f64>, Option<f64>)],
    names: [&str; 2],
) -> Result<String, Error> {
    let rows: Vec<Row<'_>> = columns
        .iter()
        .map(|(name, first, second)| Row {
            name,
            first: *first,
            second: *second,
        })
        .collect();
    bars(title, &rows, names)
}

fn bars(title: &str, rows: &[Row<'_>], names: [&str; 2]) -> Result<String, Error> {
    let descriptions = rows.iter().map(|row| {
        let shares = [row.first, row.second].into_iter().zip(names);
        let shares =
            shares.filter_map(|(share, name)| Some(format!("{} of {name}", percent(share?))));
        format!("{}: {}", row.name, shares.collect::<Vec<_>>().join(", "))
    });
    let description = descriptions.collect::<Vec<_>>().join("; ");
    let most = rows
        .iter()
        .flat_map(|row| [row.first, row.second])
        .flatten()
        .fold(0.0, f64::max);
    let right = f64::from(WIDTH) - RIGHT_MARGIN;
    let scale = Scale::new((0.0, most.max(1e-6)), (NAMES_WIDTH, right));
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // there are only a few rows
    let height = (rows.len() as f64 * ROW_HEIGHT + 8.0) as u32;
    picture(title, &description, height, |canvas| {
        canvas.line(
            (NAMES_WIDTH, 2.0),
            (NAMES_WIDTH, f64::from(height) - 4.0),
            GRID,
            1,
        )?;
        let mut top = 4.0;
        for row in rows {
            canvas.text(
                (NAMES_WIDTH - 6.0, top + ROW_HEIGHT / 2.0 - 2.0),
                HPos::Right,
                11,
                &shorten(row.name, 17),
            )?;
            let both = row.first.is_some() && row.second.is_some();
            let thick = if both { 9.0 } else { 14.0 };
            let mut y = if both { top + 2.0 } else { top + 4.0 };
            for (share, color) in [(row.first, TRAIN), (row.second, TEST)] {
                let Some(share) = share else { continue };
                let end = scale.to_pixel(share).max(NAMES_WIDTH + 1.0);
                canvas.bar((NAMES_WIDTH, y), (end, y + thick), color)?;
                canvas.text((end + 4.0, y + thick / 2.0), HPos::Left, 9, &percent(share))?;
                y += thick + 1.0;
            }
            top += ROW_HEIGHT;
        }
        Ok(())
    })
}
