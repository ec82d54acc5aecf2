//! Draws values as SVG.
//!
//! Each picture is 360 pixels wide, so that its text is legible on a phone without scaling. A title and a description serve
//! readers who cannot see the picture.
//!
//! Colours differ not only in hue but also in lightness. Series differ in shape or dashes, too. If the page is dark, its
//! style sheet replaces each colour.

use maud::{Markup, PreEscaped, html};
use prep_experiments::Estimate;
use prep_grade::report::medals::Leaderboard;

use prep_spec::shortened;

use crate::collect::{ImageSize, Shares, SubmissionScore, bin_of};
use crate::text::escape;

const WIDTH: f64 = 360.0;

const INK: &str = "#59595A";
const GRID: &str = "#E2E2E3";
/// Colour of train: the blue of Okabe and Ito's palette.
const TRAIN: &str = "#0072B2";
/// Colour of test: the vermilion of Okabe and Ito's palette.
const TEST: &str = "#D55E00";
/// Colour of a third series: the bluish green of Okabe and Ito's palette.
const THIRD: &str = "#009E73";
const TEAMS: &str = "#A9B4BF";
const GOLD: &str = "#B8860B";
const SILVER: &str = "#7A7F85";
const BRONZE: &str = "#9C4A1A";

/// How many colours and shapes the style sheet has for experiments. The two counts have no common divisor, so the first
/// 15 experiments look different.
const COLORS: usize = 5;
const SHAPES: usize = 3;

/// Returns the CSS classes of an experiment.
pub fn series_class(series: usize) -> String {
    format!("series c{} m{}", series % COLORS, series % SHAPES)
}

type Point = (f64, f64);

struct Canvas(String);

fn picture(title: &str, description: &str, height: f64, draw: impl FnOnce(&mut Canvas)) -> Markup {
    let mut canvas = Canvas(String::new());
    draw(&mut canvas);
    html! {
        svg.plot role="img" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) }
            xmlns="http://www.w3.org/2000/svg" {
            title { (title) }
            desc { (description) }
            (PreEscaped(canvas.0))
        }
    }
}

impl Canvas {
    fn add(&mut self, element: &str) {
        self.0.push_str(element);
    }

    fn bar(&mut self, (x, y): Point, (right, bottom): Point, color: &str) {
        let (width, height) = (right.round() - x.round(), bottom.round() - y.round());
        self.add(&format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"/>"
        ));
    }

    /// Draws lines between points. `style` contains further attributes of the SVG element.
    fn lines(&mut self, points: &[Point], color: &str, style: &str) {
        self.add(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" {style}/>",
            coordinates(points)
        ));
    }

    fn line(&mut self, from: Point, to: Point, color: &str) {
        self.lines(&[from, to], color, "stroke-width=\"1\"");
    }

    fn thick_lines(&mut self, points: &[Point], color: &str) {
        self.lines(points, color, "stroke-width=\"2\"");
    }

    fn dashes(&mut self, from: Point, to: Point, color: &str) {
        let style = "stroke-width=\"2\" stroke-dasharray=\"4 2\"";
        self.lines(&[from, to], color, style);
    }

    fn circle(&mut self, (x, y): Point, radius: u32, paint: &str) {
        self.add(&format!(
            "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{radius}\" {paint}/>"
        ));
    }

    fn dot(&mut self, at: Point, radius: u32, color: &str) {
        self.circle(at, radius, &format!("fill=\"{color}\""));
    }

    /// Draws a polygon around a point. `paint` is the rest of the SVG element.
    fn polygon(&mut self, (x, y): Point, corners: &[Point], paint: &str) {
        let corners: Vec<Point> = corners.iter().map(|(a, b)| (x + a, y + b)).collect();
        let corners = coordinates(&corners);
        self.add(&format!("<polygon points=\"{corners}\" {paint}"));
    }

    /// Draws the mark of an experiment, whose shape and colour depend on `series`. A pointer shows `text`.
    fn mark(&mut self, at: Point, series: usize, text: &str) {
        let corners: &[Point] = match series % SHAPES {
            0 => &[(0.0, 5.0), (-5.0, -4.0), (5.0, -4.0)],
            1 => &[(0.0, 5.0), (-5.0, 0.0), (0.0, -5.0), (5.0, 0.0)],
            _ => &[(-4.0, 4.0), (-4.0, -4.0), (4.0, -4.0), (4.0, 4.0)],
        };
        let (class, text) = (series_class(series), escape(text));
        let paint = format!("class=\"{class}\"><title>{text}</title></polygon>");
        self.polygon(at, corners, &paint);
    }

    /// Draws a text. `anchor` is the part of the text that is at the position: `start`, `middle` or `end`.
    fn text(&mut self, (x, y): Point, anchor: &str, size: u32, text: &str) {
        self.add(&format!(
            "<text x=\"{x:.0}\" y=\"{y:.0}\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{INK}\">{}</text>",
            escape(text)
        ));
    }

    /// Draws the lines and labels of both scales. `label` formats the values of the vertical scale.
    fn grid(&mut self, x: &Scale, y: &Scale, label: fn(f64) -> String) {
        let (left, right) = (x.from.min(x.to), x.from.max(x.to));
        let bottom = y.from;
        for tick in y.ticks() {
            let at = y.to_pixel(tick);
            self.line((left, at), (right, at), GRID);
            self.text((left - 5.0, at), "end", 10, &label(tick));
        }
        for tick in x.ticks() {
            let at = x.to_pixel(tick);
            self.line((at, bottom), (at, bottom + 4.0), INK);
            self.text((at, bottom + 13.0), "middle", 10, &number(tick));
        }
        self.line((left, bottom), (right, bottom), INK);
    }
}

fn coordinates(points: &[Point]) -> String {
    let points = points.iter().map(|(x, y)| format!("{x:.0},{y:.0}"));
    points.collect::<Vec<_>>().join(" ")
}

/// A linear scale: the values `low` and `high` are at the pixels `from` and `to`.
#[derive(Debug, Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale {
            low,
            high,
            from,
            to,
        }
    }

    fn to_pixel(self, value: f64) -> f64 {
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + part * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        let raw = (self.high - self.low) / 4.0;
        let power = 10_f64.powf(raw.log10().floor());
        let mut steps = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|one| one * power)
            .into_iter();
        let step = steps.find(|step| *step >= raw * 0.999).unwrap_or(raw);
        if !step.is_finite() || step <= 0.0 {
            return vec![self.low];
        }
        let first = (self.low / step - 1e-9).ceil();
        let ticks = (0..=MAX_TICKS).map(|at| (first + f64::from(at)) * step);
        let ticks = ticks.take_while(|value| *value <= self.high + step * 1e-6);
        ticks.collect()
    }
}

const MAX_TICKS: u8 = 10;

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

const NAMES_WIDTH: f64 = 118.0;
/// Maximum number of characters of a name that fits into `NAMES_WIDTH`.
const MAX_NAME: usize = 17;
/// Maximum number of characters of the name of an experiment. Long names make the axis shorter.
const MAX_LONG_NAME: usize = 28;
const ROW_HEIGHT: f64 = 26.0;

/// Draws a row for each class or column, with a bar for train and a bar for test.
pub fn bars(title: &str, rows: &[Shares]) -> Markup {
    let descriptions = rows.iter().map(|row| {
        let shares = [(row.train, "train"), (row.test, "test")].into_iter();
        let shares =
            shares.filter_map(|(fraction, name)| Some(format!("{} of {name}", percent(fraction?))));
        format!("{}: {}", row.name, shares.collect::<Vec<_>>().join(", "))
    });
    let description = descriptions.collect::<Vec<_>>().join("; ");
    let most = largest(rows.iter().flat_map(|row| [row.train, row.test]).flatten());
    let scale = Scale::new((0.0, most.max(1e-6)), (NAMES_WIDTH, WIDTH - 46.0));
    #[allow(clippy::cast_precision_loss)] // there are only a few rows
    let height = rows.len() as f64 * ROW_HEIGHT + 8.0;
    picture(title, &description, height, |canvas| {
        canvas.line((NAMES_WIDTH, 2.0), (NAMES_WIDTH, height - 4.0), GRID);
        let mut top = 4.0;
        for row in rows {
            let middle = top + ROW_HEIGHT / 2.0 - 1.0;
            let name = shortened(&row.name, MAX_NAME);
            canvas.text((NAMES_WIDTH - 6.0, middle), "end", 11, &name);
            let (thick, mut y) = match row.train.is_some() && row.test.is_some() {
                true => (9.0, top + 2.0),
                false => (14.0, top + 4.0),
            };
            for (fraction, color) in [(row.train, TRAIN), (row.test, TEST)] {
                let Some(fraction) = fraction else { continue };
                let end = scale.to_pixel(fraction).max(NAMES_WIDTH + 1.0);
                canvas.bar((NAMES_WIDTH, y), (end, y + thick), color);
                canvas.text((end + 4.0, y + thick / 2.0), "start", 9, &percent(fraction));
                // The label of the second bar must not touch the first bar.
                y += thick + 3.0;
            }
            top += ROW_HEIGHT;
        }
    })
}

const HISTOGRAM_HEIGHT: f64 = 190.0;

/// Returns the scales of a histogram: a horizontal scale for `values`, and a vertical scale for fractions from 0 to
/// `max_fraction`. `top` is the vertical position of `max_fraction`.
fn axes(values: (f64, f64), max_fraction: f64, top: f64) -> (Scale, Scale) {
    let y = Scale::new(
        (0.0, max_fraction.max(1e-9)),
        (HISTOGRAM_HEIGHT - 24.0, top),
    );
    (Scale::new(values, (40.0, WIDTH - 12.0)), y)
}

/// Draws a histogram of values from `low` to `high`, with train as bars and test as a line.
pub fn histogram(title: &str, (low, high): (f64, f64), bins: &[Shares]) -> Markup {
    #[allow(clippy::cast_precision_loss)]
    let value = |at: f64| low + (high - low) * at / bins.len() as f64;
    let peak = |of: fn(&Shares) -> Option<f64>| {
        let shares = bins.iter().map(|bin| of(bin).unwrap_or(0.0)).enumerate();
        let at = shares.max_by(|a, b| a.1.total_cmp(&b.1));
        #[allow(clippy::cast_precision_loss)]
        number(at.map_or(low, |(at, _)| value(at as f64 + 0.5)))
    };
    let mut description = format!("Values from {} to {}; ", number(low), number(high));
    if bins.iter().any(|bin| bin.train.is_some()) {
        let peak = peak(|bin| bin.train);
        description += &format!("the most frequent training values are near {peak}, ");
    }
    let test_peak = peak(|bin| bin.test);
    description += &format!("the most frequent test values are near {test_peak}.");
    let most = largest(bins.iter().flat_map(|bin| [bin.train, bin.test]).flatten());
    let (x, y) = axes((low, high), most, 8.0);
    #[allow(clippy::cast_precision_loss)]
    let edge = |at: usize| x.to_pixel(value(at as f64));
    picture(title, &description, HISTOGRAM_HEIGHT, |canvas| {
        canvas.grid(&x, &y, percent);
        let mut points = Vec::new();
        for (at, bin) in bins.iter().enumerate() {
            if let Some(train) = bin.train.filter(|fraction| *fraction > 0.0) {
                let end = (edge(at + 1) - 1.0, y.to_pixel(0.0));
                canvas.bar((edge(at), y.to_pixel(train)), end, TRAIN);
            }
            let height = y.to_pixel(bin.test.unwrap_or(0.0));
            points.extend([(edge(at), height), (edge(at + 1), height)]);
        }
        canvas.thick_lines(&points, TEST);
    })
}

/// Draws a mark for each image size. The marks of each directory have their own colour and shape.
pub fn sizes(title: &str, groups: &[(String, Vec<ImageSize>)]) -> Markup {
    const HEIGHT: f64 = 210.0;
    let all = || groups.iter().flat_map(|(_, sizes)| sizes);
    let most = |of: fn(&ImageSize) -> u32| f64::from(all().map(of).max().unwrap_or(1)) * 1.05;
    let bottom = HEIGHT - 34.0;
    let x = Scale::new((0.0, most(|size| size.width)), (44.0, WIDTH - 14.0));
    let y = Scale::new((0.0, most(|size| size.height)), (bottom, 8.0));
    let described = groups.iter().map(|(name, sizes)| {
        let range = |of: fn(&ImageSize) -> u32| {
            let (low, high) = (sizes.iter().map(of).min(), sizes.iter().map(of).max());
            match (low.unwrap_or(0), high.unwrap_or(0)) {
                (low, high) if low == high => low.to_string(),
                (low, high) => format!("{low} to {high}"),
            }
        };
        let (width, height) = (range(|size| size.width), range(|size| size.height));
        format!("{name}: {width} wide, {height} high")
    });
    let description = described.collect::<Vec<_>>().join("; ");
    picture(title, &description, HEIGHT, |canvas| {
        canvas.grid(&x, &y, number);
        let units = "width × height, pixels";
        canvas.text((WIDTH / 2.0, bottom + 26.0), "middle", 10, units);
        for (at, (_, sizes)) in groups.iter().enumerate() {
            let mut seen: Vec<ImageSize> = Vec::new();
            for size in sizes {
                if seen.contains(size) {
                    continue;
                }
                seen.push(*size);
                let x = x.to_pixel(size.width.into());
                let y = y.to_pixel(size.height.into());
                match at {
                    0 => canvas.dot((x, y), 4, TRAIN),
                    1 => {
                        let paint = format!("fill=\"none\" stroke=\"{TEST}\" stroke-width=\"2\"");
                        canvas.circle((x, y), 6, &paint);
                    }
                    _ => {
                        let corners = [(0.0, 5.0), (-6.0, -3.0), (6.0, -3.0)];
                        canvas.polygon((x, y), &corners, &format!("fill=\"{THIRD}\"/>"));
                    }
                }
            }
        }
    })
}

/// Returns the range of scores to draw: from the best score of the leaderboard to scores near the median. The range
/// includes the thresholds of all medals.
///
/// The range is extended to include graded scores that are slightly outside. Graded scores that are far outside are drawn
/// at the edge of the range.
fn score_range(leaderboard: &Leaderboard, scores: &[SubmissionScore]) -> (f64, f64) {
    let thresholds = leaderboard.thresholds();
    let mut sorted: Vec<f64> = leaderboard.scores().to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |fraction: f64| {
        let place = bin_of(fraction, (0.0, 1.0), sorted.len());
        sorted.get(place).copied().unwrap_or(0.0)
    };
    let spread = (at(0.8) - at(0.2)).abs();
    let spread = spread.max((thresholds.gold - thresholds.median).abs());
    let (mut low, mut high) = match leaderboard.is_lower_better() {
        true => (at(0.0), (thresholds.median + 2.5 * spread).min(at(1.0))),
        false => ((thresholds.median - 2.5 * spread).max(at(0.0)), at(1.0)),
    };
    for score in scores.iter().filter_map(|one| one.run.score) {
        if score < low && score > low - spread {
            low = score;
        }
        if score > high && score < high + spread {
            high = score;
        }
    }
    match high > low {
        true => (low, high),
        false => (low, low + low.abs().max(1.0) * 0.01),
    }
}

pub fn scores_outside(leaderboard: &Leaderboard, scores: &[SubmissionScore]) -> Vec<String> {
    let (low, high) = score_range(leaderboard, scores);
    let outside = |score: &f64| *score < low || *score > high;
    let scores = scores.iter().filter_map(|one| one.run.score);
    scores.filter(outside).map(number).collect()
}

/// Draws a leaderboard, the thresholds of medals, and graded submissions. Leaves out very bad scores, which would make the
/// other bars too narrow.
pub fn leaderboard(title: &str, leaderboard: &Leaderboard, scores: &[SubmissionScore]) -> Markup {
    const BINS: usize = 40;
    const LABELS_HEIGHT: f64 = 46.0;
    let (low, high) = score_range(leaderboard, scores);
    let all = leaderboard.scores();
    let inside = all.iter().filter(|score| (low..=high).contains(*score));
    #[allow(clippy::cast_precision_loss)]
    let one = 1.0 / all.len() as f64;
    let mut bins = [0.0; BINS];
    for score in inside.clone() {
        if let Some(bin) = bins.get_mut(bin_of(*score, (low, high), BINS)) {
            *bin += one;
        }
    }
    let thresholds = leaderboard.thresholds();
    let lines = [
        ("median", thresholds.median, INK),
        ("bronze", thresholds.bronze, BRONZE),
        ("silver", thresholds.silver, SILVER),
        ("gold", thresholds.gold, GOLD),
    ];
    let description = describe(leaderboard, scores, all.len() - inside.count());
    let (mut x, y) = axes((low, high), largest(bins.into_iter()), LABELS_HEIGHT);
    if leaderboard.is_lower_better() {
        (x.from, x.to) = (x.to, x.from);
    }
    #[allow(clippy::cast_precision_loss)]
    let edge = |at: usize| x.to_pixel(low + (high - low) * at as f64 / BINS as f64);
    picture(title, &description, HISTOGRAM_HEIGHT, |canvas| {
        canvas.grid(&x, &y, percent);
        for (at, fraction) in bins
            .iter()
            .enumerate()
            .filter(|(_, fraction)| **fraction > 0.0)
        {
            let (a, b) = (edge(at), edge(at + 1));
            let end = (a.max(b) - 1.0, y.to_pixel(0.0));
            canvas.bar((a.min(b), y.to_pixel(*fraction)), end, TEAMS);
        }
        let (mut previous, mut row) = (f64::NEG_INFINITY, 0.0);
        for same in lines.chunk_by(|a, b| (x.to_pixel(a.1) - x.to_pixel(b.1)).abs() < 2.0) {
            let Some((_, value, color)) = same.last() else {
                continue;
            };
            let place = x.to_pixel(*value);
            let top = (place, LABELS_HEIGHT - 6.0);
            canvas.dashes((place, y.to_pixel(0.0)), top, color);
            // If names would overlap, write them in separate rows.
            let is_near = place - previous < 40.0 * same.len() as f64;
            row = if is_near { (row + 1.0) % 4.0 } else { 0.0 };
            previous = place;
            let names: Vec<&str> = same.iter().map(|(name, ..)| *name).collect();
            let room = 20.0 * names.len() as f64;
            let anchor = match place {
                place if place > WIDTH - room => "end",
                place if place < room => "start",
                _ => "middle",
            };
            canvas.text((place, 5.0 + row * 9.0), anchor, 9, &names.join(", "));
        }
        for one in scores {
            if let Some(score) = one.run.score {
                let at = (x.to_pixel(score), y.to_pixel(0.0) - 5.0);
                let text = format!("{}: {}, {}", one.experiment, number(score), one.medal);
                canvas.mark(at, one.series, &text);
            }
        }
    })
}

fn describe(leaderboard: &Leaderboard, scores: &[SubmissionScore], outside: usize) -> String {
    let thresholds = leaderboard.thresholds();
    let is_lower = leaderboard.is_lower_better();
    let better = if is_lower { "lower" } else { "higher" };
    let mut text = format!("{} teams, {better} is better.", leaderboard.teams());
    text += &format!(
        " Gold from {}, silver from {}, bronze from {}; the median is {}.",
        number(thresholds.gold),
        number(thresholds.silver),
        number(thresholds.bronze),
        number(thresholds.median)
    );
    if outside > 0 {
        text += &format!(" {outside} teams with worse scores are not drawn.");
    }
    for one in scores {
        let value = one.run.score.map_or_else(|| "no score".to_owned(), number);
        text += &format!(" {}: {value}, {}.", one.experiment, one.medal);
    }
    text
}

/// Draws, for each experiment, the percentage of competitions in which it won a medal, and the standard error of this
/// percentage. The scale ends near `most`.
pub fn experiments(title: &str, rows: &[(&str, Option<Estimate>)], most: f64) -> Markup {
    let described = rows.iter().map(|(name, estimate)| match estimate {
        Some(one) if one.standard_error > 0.0 => {
            format!("{name}: {:.1} % ± {:.1}", one.mean, one.standard_error)
        }
        Some(one) => format!("{name}: {:.1} %", one.mean),
        None => format!("{name}: no complete seed"),
    });
    let description = described.collect::<Vec<_>>().join("; ");
    let longest = rows.iter().map(|(name, _)| name.chars().count()).max();
    let longest = longest.unwrap_or(0).clamp(MAX_NAME, MAX_LONG_NAME);
    #[allow(clippy::cast_precision_loss)]
    let left = NAMES_WIDTH / MAX_NAME as f64 * longest as f64;
    let right = WIDTH - 16.0;
    let x = Scale::new((0.0, most.min(100.0) * 1.08), (left, right));
    #[allow(clippy::cast_precision_loss)]
    let bottom = rows.len() as f64 * ROW_HEIGHT + 8.0;
    picture(title, &description, bottom + 26.0, |canvas| {
        for tick in x.ticks() {
            let at = x.to_pixel(tick);
            canvas.line((at, 4.0), (at, bottom), GRID);
            let label = format!("{} %", number(tick));
            canvas.text((at, bottom + 12.0), "middle", 10, &label);
        }
        canvas.line((left, bottom), (right, bottom), INK);
        let mut y = 4.0 + ROW_HEIGHT / 2.0;
        for (series, (name, estimate)) in rows.iter().enumerate() {
            canvas.text((left - 8.0, y), "end", 11, &shortened(name, longest));
            if let Some(one) = estimate {
                if one.standard_error > 0.0 {
                    let ends = [one.mean - one.standard_error, one.mean + one.standard_error];
                    let [low, high] = ends.map(|end| x.to_pixel(end));
                    canvas.thick_lines(&[(low, y), (high, y)], INK);
                    for end in [low, high] {
                        canvas.thick_lines(&[(end, y - 5.0), (end, y + 5.0)], INK);
                    }
                }
                let text = format!("{name}: {:.1} %", one.mean);
                canvas.mark((x.to_pixel(one.mean), y), series, &text);
            }
            y += ROW_HEIGHT;
        }
    })
}

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

/// Formats a fraction as a percentage, with one decimal only if it is below 10 % and not an integer.
fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "<0.1 %".to_owned(),
        percent if percent < 9.95 && (percent - percent.round()).abs() > 0.049 => {
            format!("{percent:.1} %")
        }
        percent => format!("{percent:.0} %"),
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
        let svg = picture("a <b>", "c & d", 20.0, |canvas| {
            canvas.text((1.0, 1.0), "start", 11, "<script>");
        });
        let svg = svg.into_string();
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
