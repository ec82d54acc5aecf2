//! Draws the distributions of public data: fractions of classes and of missing cells as horizontal bars, numbers as
//! histograms, with train as bars and test as a line over them, and the widths and heights of images.

use plotters::style::text_anchor::HPos;
use prep_app::Error;

use super::{GRID, INK, Scale, TEST, THIRD, TRAIN, WIDTH, number, percent, picture, shorten};
use crate::collect::{ImageSize, Shares};

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

/// Margins of the plot, in pixels.
const LEFT: f64 = 40.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
/// Height of the picture, in pixels.
pub const HISTOGRAM_HEIGHT: u32 = 190;
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
    picture(title, &description, HISTOGRAM_HEIGHT, |canvas| {
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
        Scale::new(
            (0.0, most.max(1e-9)),
            (f64::from(HISTOGRAM_HEIGHT) - BOTTOM, TOP),
        ),
    )
}

/// Width of the margin on the left, in pixels.
const LEFT_MARGIN: f64 = 44.0;
/// Height of the margin at the bottom, in pixels.
const BOTTOM_MARGIN: f64 = 34.0;
/// Height of the picture, in pixels.
const SIZES_HEIGHT: u32 = 210;

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
    let bottom = f64::from(SIZES_HEIGHT) - BOTTOM_MARGIN;
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
    picture(title, &description, SIZES_HEIGHT, |canvas| {
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
