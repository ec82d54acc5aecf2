//! Draws a leaderboard: the scores of teams, the thresholds of medals, and graded submissions.

use plotters::style::text_anchor::HPos;
use prep_app::Error;
use prep_grade::report::medals::Leaderboard;

use super::histogram::{HEIGHT, axes};
use super::{BRONZE, GOLD, INK, SILVER, TEAMS, TEST, number, percent, picture};
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
    picture(title, &description, HEIGHT, |canvas| {
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
