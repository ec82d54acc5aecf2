//! Draws scores: a leaderboard with the thresholds of medals and graded submissions, and the percentage of medals with
//! its standard error, one row per experiment.

use plotters::style::text_anchor::HPos;
use prep_app::Error;
use prep_experiments::Estimate;
use prep_grade::report::medals::Leaderboard;

use super::bars::{HISTOGRAM_HEIGHT, axes};
use super::{
    BRONZE, GOLD, GRID, INK, SILVER, Scale, TEAMS, TEST, TRAIN, WIDTH, number, percent, picture,
    shorten,
};
use crate::collect::SubmissionScore;

/// Number of bins of the histogram.
const BINS: usize = 40;
/// Height of the labels above the plot, in pixels.
const LABELS_HEIGHT: f64 = 46.0;

/// Draws the leaderboard, with the best teams on the right. Very bad scores are left out, because they would make the
/// other bars too narrow.
///
/// # Errors
/// Returns an error if the picture cannot be drawn.
pub fn leaderboard(
    title: &str,
    leaderboard: &Leaderboard,
    scores: &[SubmissionScore],
) -> Result<String, Error> {
    let lower = leaderboard.is_lower_better();
    let thresholds = leaderboard.thresholds();
    let all = leaderboard.scores();
    let mut sorted: Vec<f64> = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let place = ((sorted.len() - 1) as f64 * share).round() as usize;
        sorted.get(place).copied().unwrap_or(0.0)
    };
    // The range contains all medals and the median. Worse scores are in the range only if they are near the median.
    let spread = (at(0.8) - at(0.2))
        .abs()
        .max((thresholds.gold - thresholds.median).abs());
    let (mut low, mut high) = match lower {
        true => (at(0.0), (thresholds.median + 2.5 * spread).min(at(1.0))),
        false => ((thresholds.median - 2.5 * spread).max(at(0.0)), at(1.0)),
    };
    for score in scores.iter().filter_map(|score| score.score) {
        // A graded score just outside the range extends it. A score far outside is drawn at the edge.
        if score < low && score > low - spread {
            low = score;
        }
        if score > high && score < high + spread {
            high = score;
        }
    }
    if high <= low {
        high = low + low.abs().max(1.0) * 0.01;
    }
    let mut bins = [0.0; BINS];
    let mut outside = 0_usize;
    for score in all {
        if *score < low || *score > high {
            outside += 1;
            continue;
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let place =
            ((score - low) / (high - low) * BINS as f64).clamp(0.0, BINS as f64 - 1.0) as usize;
        if let Some(bin) = bins.get_mut(place) {
            #[allow(clippy::cast_precision_loss)]
            let one = 1.0 / all.len() as f64;
            *bin += one;
        }
    }
    let most = bins.iter().copied().fold(0.0, f64::max);
    let lines = [
        ("median", thresholds.median, INK),
        ("bronze", thresholds.bronze, BRONZE),
        ("silver", thresholds.silver, SILVER),
        ("gold", thresholds.gold, GOLD),
    ];
    let description = describe(leaderboard, scores, outside);
    // Better scores are always to the right.
    let (x, y) = axes((low, high), most);
    let x = if lower { x.reversed() } else { x };
    let y = y.with_end(LABELS_HEIGHT);
    picture(title, &description, HISTOGRAM_HEIGHT, |canvas| {
        canvas.grid(&x, &y, percent)?;
        #[allow(clippy::cast_precision_loss)]
        let edge = |at: usize| x.to_pixel(low + (high - low) * at as f64 / BINS as f64);
        for (at, share) in bins.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let (a, b) = (edge(at), edge(at + 1));
            canvas.bar(
                (a.min(b), y.to_pixel(*share)),
                (a.max(b) - 1.0, y.to_pixel(0.0)),
                TEAMS,
            )?;
        }
        let mut free = f64::NEG_INFINITY;
        let mut row = 0.0;
        for (name, value, color) in lines {
            let place = x.to_pixel(value);
            canvas.dashes(
                (place, y.to_pixel(0.0)),
                (place, LABELS_HEIGHT - 6.0),
                color,
            )?;
            // Names that would overlap are in separate rows.
            row = if place - free < 40.0 {
                (row + 1.0) % 4.0
            } else {
                0.0
            };
            free = place;
            let side = if place > 320.0 {
                HPos::Right
            } else {
                HPos::Center
            };
            canvas.text((place, 5.0 + row * 9.0), side, 9, name)?;
        }
        for score in scores.iter().filter_map(|score| score.score) {
            canvas.triangle((x.to_pixel(score), y.to_pixel(0.0)), 5.0, TEST)?;
        }
        Ok(())
    })
}

fn describe(leaderboard: &Leaderboard, scores: &[SubmissionScore], outside: usize) -> String {
    let thresholds = leaderboard.thresholds();
    let mut text = format!(
        "{} teams, {} is better. Gold from {}, silver from {}, bronze from {}; the median is {}.",
        leaderboard.teams(),
        if leaderboard.is_lower_better() {
            "lower"
        } else {
            "higher"
        },
        number(thresholds.gold),
        number(thresholds.silver),
        number(thresholds.bronze),
        number(thresholds.median),
    );
    if outside > 0 {
        text += &format!(" {outside} teams with worse scores are not drawn.");
    }
    for score in scores {
        let value = score.score.map_or_else(|| "no score".to_owned(), number);
        text += &format!(" {}: {value}, {}.", score.experiment, score.medal);
    }
    text
}

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
