//! Draws values as SVG.
//!
//! Each picture is 360 pixels wide, so that its text is legible on a phone without scaling. Its colours are fixed and
//! also differ in lightness. If the page is dark, its style sheet replaces each colour. Series differ in shape or
//! dashes, not only in colour. Each picture has a title and a description for readers who cannot see it.

mod bars;
mod leaderboard;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use prep_app::Error;
use prep_core::Failure;

use crate::text::escape;

pub use bars::{classes, histogram, missing, sizes};
pub use leaderboard::{experiments, leaderboard};

/// Width of a picture in pixels.
pub const WIDTH: u32 = 360;

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x59, 0x59, 0x5a);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xe2, 0xe2, 0xe3);
/// Values of train. Blue of Okabe and Ito's palette.
pub const TRAIN: RGBColor = RGBColor(0x00, 0x72, 0xb2);
/// Values of test, and graded submissions. Vermilion of Okabe and Ito's palette.
pub const TEST: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
/// A third series. Bluish green of Okabe and Ito's palette.
pub const THIRD: RGBColor = RGBColor(0x00, 0x9e, 0x73);
/// The teams of a leaderboard.
pub const TEAMS: RGBColor = RGBColor(0xa9, 0xb4, 0xbf);
/// Thresholds of medals.
pub const GOLD: RGBColor = RGBColor(0xb8, 0x86, 0x0b);
pub const SILVER: RGBColor = RGBColor(0x7a, 0x7f, 0x85);
pub const BRONZE: RGBColor = RGBColor(0x9c, 0x4a, 0x1a);

/// A picture that is being drawn.
pub struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

type DrawResult = Result<(), String>;

fn error_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Draws a picture. Title and description are for screen readers.
///
/// # Errors
/// Returns an error if the picture cannot be drawn, which is a bug in this program.
pub fn picture(
    title: &str,
    description: &str,
    height: u32,
    draw: impl FnOnce(&Canvas<'_>) -> DrawResult,
) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let canvas = Canvas(root);
        let drawn = draw(&canvas).and_then(|()| canvas.0.present().map_err(error_message));
        drawn.map_err(|error| {
            let message = format!("cannot draw `{title}`: {error}");
            Error::new(Failure::Machine, message)
        })?;
    }
    // The page sets the font. Title and description are moved to the beginning.
    let svg = svg
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" opacity=\"1\"", "");
    let (head, rest) = svg.split_once('>').unwrap_or((&svg, ""));
    let head = head.replace("<svg ", "<svg class=\"plot\" role=\"img\" ");
    Ok(format!(
        "{head}><title>{}</title><desc>{}</desc>{}",
        escape(title),
        escape(description),
        rest.replace('\n', "")
    ))
}

impl Canvas<'_> {
    pub fn bar(&self, from: (f64, f64), to: (f64, f64), color: RGBColor) -> DrawResult {
        self.0
            .draw(&Rectangle::new([pixel(from), pixel(to)], color.filled()))
            .map_err(error_message)
    }

    pub fn line(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        color: RGBColor,
        width: u32,
    ) -> DrawResult {
        let points = vec![pixel(from), pixel(to)];
        self.0
            .draw(&PathElement::new(points, color.stroke_width(width)))
            .map_err(error_message)
    }

    pub fn path(&self, points: &[(f64, f64)], color: RGBColor) -> DrawResult {
        let points: Vec<(i32, i32)> = points.iter().map(|point| pixel(*point)).collect();
        self.0
            .draw(&PathElement::new(points, color.stroke_width(2)))
            .map_err(error_message)
    }

    pub fn dashes(&self, from: (f64, f64), to: (f64, f64), color: RGBColor) -> DrawResult {
        let (steps, mut at) = (((to.1 - from.1).abs() / 6.0).ceil(), 0.0);
        while at < steps {
            let y = |at: f64| from.1 + (to.1 - from.1) * (at / steps).min(1.0);
            self.line((from.0, y(at)), (to.0, y(at + 0.6)), color, 2)?;
            at += 1.0;
        }
        Ok(())
    }

    pub fn dot(&self, at: (f64, f64), radius: u32, color: RGBColor) -> DrawResult {
        self.0
            .draw(&Circle::new(pixel(at), radius, color.filled()))
            .map_err(error_message)
    }

    pub fn ring(&self, at: (f64, f64), radius: u32, color: RGBColor) -> DrawResult {
        self.0
            .draw(&Circle::new(pixel(at), radius, color.stroke_width(2)))
            .map_err(error_message)
    }

    pub fn triangle(&self, tip: (f64, f64), size: f64, color: RGBColor) -> DrawResult {
        let (x, y) = tip;
        let corners = [
            (x, y),
            (x - size, y - size * 1.4),
            (x + size, y - size * 1.4),
        ];
        self.0
            .draw(&Polygon::new(corners.map(pixel).to_vec(), color.filled()))
            .map_err(error_message)
    }

    /// Draws the lines and labels of both scales. `label` formats the values of the vertical scale.
    pub fn grid(&self, x: &Scale, y: &Scale, label: fn(f64) -> String) -> DrawResult {
        let (left, right) = (x.from.min(x.to), x.from.max(x.to));
        let bottom = y.from;
        for tick in y.ticks() {
            let at = y.to_pixel(tick);
            self.line((left, at), (right, at), GRID, 1)?;
            self.text((left - 5.0, at), HPos::Right, 10, &label(tick))?;
        }
        for tick in x.ticks() {
            let at = x.to_pixel(tick);
            self.line((at, bottom), (at, bottom + 4.0), INK, 1)?;
            self.text((at, bottom + 13.0), HPos::Center, 10, &number(tick))?;
        }
        self.line((left, bottom), (right, bottom), INK, 1)
    }

    pub fn text(&self, at: (f64, f64), side: HPos, size: u32, text: &str) -> DrawResult {
        let style = ("sans-serif", f64::from(size) * 1.24)
            .into_font()
            .color(&INK);
        let style = style.pos(Pos::new(side, VPos::Center));
        self.0
            .draw(&Text::new(text.to_owned(), pixel(at), style))
            .map_err(error_message)
    }
}

#[allow(clippy::cast_possible_truncation)] // coordinates of a picture are small
fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

/// A scale that maps values to pixels.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Creates a scale with `low` at pixel `from` and `high` at pixel `to`.
    pub fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale {
            low,
            high,
            from,
            to,
        }
    }

    pub fn to_pixel(self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + part * (self.to - self.from)
    }

    /// Reverses the scale.
    pub fn reversed(self) -> Scale {
        Scale {
            from: self.to,
            to: self.from,
            ..self
        }
    }

    /// Moves the high end to pixel `to`.
    pub fn with_end(self, to: f64) -> Scale {
        Scale { to, ..self }
    }

    /// Returns about five round values within the scale.
    pub fn ticks(&self) -> Vec<f64> {
        let raw = (self.high - self.low) / 4.0;
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .iter()
            .map(|one| one * power)
            .find(|step| *step >= raw * 0.999);
        let step = step.unwrap_or(raw);
        if !step.is_finite() || step <= 0.0 {
            return vec![self.low];
        }
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high - self.low) / step + 1e-9).floor();
        let mut ticks = Vec::new();
        let mut at = 0.0;
        while at <= count {
            let value = (first + at) * step;
            if value <= self.high + step * 1e-6 {
                ticks.push(value);
            }
            at += 1.0;
        }
        ticks
    }
}

/// Formats a number with about three significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if value == 0.0 => return "0".to_owned(),
        _ if !(1e-4..1e6).contains(&size) => return format!("{value:.1e}").replace(".0e", "e"),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Formats a fraction as a percentage.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.1 => "<0.1 %".to_owned(),
        some if some < 9.95 && (some - some.round()).abs() > 0.049 => format!("{some:.1} %"),
        much => format!("{much:.0} %"),
    }
}

/// Shortens a text to at most `max_length` characters.
fn shorten(text: &str, max_length: usize) -> String {
    match text.chars().count() > max_length {
        true => {
            text.chars()
                .take(max_length.saturating_sub(1))
                .collect::<String>()
                + "…"
        }
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        for (low, high, expected) in [
            (0.0, 100.0, vec![0.0, 25.0, 50.0, 75.0, 100.0]),
            (0.0, 1.0, vec![0.0, 0.25, 0.5, 0.75, 1.0]),
            (-3.0, 4.0, vec![-2.0, 0.0, 2.0, 4.0]),
        ] {
            assert_eq!(Scale::new((low, high), (0.0, 1.0)).ticks(), expected);
        }
        assert_eq!(Scale::new((5.0, 5.0), (0.0, 10.0)).to_pixel(5.0), 0.0);
    }

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (123_456.0, "123456"),
            (1e9, "1e9"),
            (2.0, "2"),
            (-0.001_23, "-0.0012"),
        ] {
            assert_eq!(number(value), expected);
        }
        assert_eq!(
            [percent(0.0), percent(0.0001), percent(0.034), percent(1.0)],
            ["0 %", "<0.1 %", "3.4 %", "100 %"]
        );
    }

    #[test]
    fn a_picture_has_a_description_and_its_text_is_escaped() {
        let svg = picture("a <b>", "c & d", 20, |canvas| {
            canvas.text((1.0, 1.0), HPos::Left, 11, "<script>")
        })
        .unwrap();
        assert!(
            svg.contains("<title>a &lt;b&gt;</title><desc>c &amp; d</desc>"),
            "{svg}"
        );
        assert!(
            svg.starts_with("<svg class=\"plot\" role=\"img\" ") && !svg.contains("<script"),
            "{svg}"
        );
    }
}
