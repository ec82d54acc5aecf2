//! Lists of boxes in cells, for example `label confidence x_min y_min x_max y_max ...`, and the overlap of upright
//! three-dimensional boxes.

use prep_spec::words::{KeyType, SectionKey};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::python::{max, min, python_float, words};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{optional, required};
use crate::table::column::{CellValue, GradedColumn};

pub const FIELDS: SectionKey = required(
    "fields",
    KeyType::Strings,
    "The names of the fields of a box, in the order in which a cell lists them.",
);

pub const SEPARATED_BY: SectionKey = optional(
    "separated_by",
    KeyType::Choice(&["blanks", "single_blanks"]),
    "Whether the words of a cell are separated by any whitespace (default), or by exactly one space.",
);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeparatedBy {
    #[default]
    Blanks,
    /// Exactly one space. Two consecutive spaces, or a space at the start or end, create an empty word.
    SingleBlanks,
}

impl SeparatedBy {
    fn split(self, text: &str) -> Vec<&str> {
        match self {
            SeparatedBy::Blanks => words(text).collect(),
            SeparatedBy::SingleBlanks if words(text).next().is_none() => Vec::new(),
            SeparatedBy::SingleBlanks => text.split(' ').collect(),
        }
    }
}

/// A box with its label. Each numeric field has a fixed index in `numbers`.
#[derive(Debug, Clone)]
pub struct Labelled<const N: usize> {
    pub label: String,
    /// The first number is the confidence.
    pub numbers: [f64; N],
}

impl<const N: usize> Labelled<N> {
    pub fn confidence(&self) -> f64 {
        self.numbers.first().copied().unwrap_or_default()
    }
}

/// The order of the fields of a box, which the pipeline defines.
#[derive(Debug)]
pub struct Layout<const N: usize> {
    /// For each field, its index in [`Labelled::numbers`], or `None` for the label.
    places: Vec<Option<usize>>,
}

impl<const N: usize> Layout<N> {
    /// Parses the names of the fields: each name in `numbers` once, and at most one `label`.
    pub fn parse<'de, D: Deserializer<'de>>(
        fields: D,
        numbers: [&str; N],
    ) -> Result<Self, D::Error> {
        Layout::new(&Vec::<String>::deserialize(fields)?, numbers)
    }

    /// Like [`parse`](Self::parse), from a list of names.
    pub fn new<E: Error>(fields: &[String], numbers: [&str; N]) -> Result<Self, E> {
        let place = |field: &String| numbers.iter().position(|number| number == field);
        let places: Vec<Option<usize>> = fields.iter().map(place).collect();
        let known = fields
            .iter()
            .all(|field| field == "label" || place(field).is_some());
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let numbers_once = sorted.len() == fields.len() && sorted.iter().flatten().count() == N;
        if known && numbers_once {
            Ok(Layout { places })
        } else {
            Err(E::custom(format!(
                "expected the fields {}, each once, and also `label` if the boxes have labels",
                numbers.join(", ")
            )))
        }
    }

    /// Reads the boxes of each row of a column.
    pub fn read(
        &self,
        column: &GradedColumn<'_>,
        separated_by: SeparatedBy,
    ) -> Result<Vec<Vec<Labelled<N>>>, Refusal> {
        let rows = 0..column.len();
        rows.map(|row| self.read_cell(column, row, separated_by))
            .collect()
    }

    /// Reads the boxes in the cell at a position.
    pub fn read_cell(
        &self,
        column: &GradedColumn<'_>,
        position: usize,
        separated_by: SeparatedBy,
    ) -> Result<Vec<Labelled<N>>, Refusal> {
        match column.value(position) {
            CellValue::Text(text) => self
                .parse_boxes(&separated_by.split(text))
                .map_err(|expected| column.refuse(RefusalKind::Type, position, &expected)),
            CellValue::Missing => Err(column.refuse(RefusalKind::Missing, position, "boxes")),
            _ => Err(column.refuse(RefusalKind::Type, position, "boxes, as text")),
        }
    }

    fn parse_boxes(&self, words: &[&str]) -> Result<Vec<Labelled<N>>, String> {
        let size = self.places.len();
        if !words.len().is_multiple_of(size) {
            return Err(format!(
                "{size} words for each box; there are {} words in total",
                words.len()
            ));
        }
        words
            .chunks_exact(size)
            .map(|words| self.parse_box(words))
            .collect()
    }

    fn parse_box(&self, words: &[&str]) -> Result<Labelled<N>, String> {
        let mut label = String::new();
        let mut numbers = [0.0; N];
        for (word, place) in words.iter().zip(&self.places) {
            match place.and_then(|place| numbers.get_mut(place)) {
                None => (*word).clone_into(&mut label),
                Some(number) => {
                    *number =
                        python_float(word).ok_or_else(|| format!("a number, not `{word}`"))?;
                }
            }
        }
        Ok(Labelled { label, numbers })
    }
}

type Point = (f64, f64);

/// An upright three-dimensional box: its base is horizontal.
#[derive(Debug)]
pub struct Box3d {
    /// Corners of the base, counterclockwise for positive sizes.
    corners: [Point; 4],
    bottom: f64,
    top: f64,
    volume: f64,
}

impl Box3d {
    /// Creates a box from its centre, width (across its heading), length (along its heading), height, and yaw in radians. If
    /// the box is invalid, returns the text that a message shows after "expected".
    pub fn new(centre: [f64; 3], size: [f64; 3], yaw: f64) -> Result<Self, &'static str> {
        if centre.iter().chain(&size).any(|value| value.is_nan()) || yaw.is_nan() {
            return Err("boxes without missing numbers");
        }
        if size.iter().any(|extent| *extent <= 0.0) {
            return Err("boxes with a size above 0 along each axis");
        }
        let ([x, y, z], [width, length, height]) = (centre, size);
        let (sine, cosine) = rotation(yaw);
        let (lx, ly) = (length / 2.0 * cosine, length / 2.0 * sine);
        let (wx, wy) = (width / 2.0 * sine, width / 2.0 * cosine);
        let corners = [
            (x + lx + wx, y + ly - wy),
            (x + lx - wx, y + ly + wy),
            (x - lx - wx, y - ly + wy),
            (x - lx + wx, y - ly - wy),
        ];
        let [a, b, c, d] = corners;
        let square = [(a, b, d), (b, a, c), (c, b, d), (d, a, c)];
        if !square
            .into_iter()
            .all(|(at, left, right)| is_right_angle(at, left, right))
        {
            return Err("boxes whose corners are right angles with a tolerance of 1e-8");
        }
        Ok(Box3d {
            corners,
            bottom: z - height / 2.0,
            top: z + height / 2.0,
            volume: width * length * height,
        })
    }
}

/// Returns the sine and the cosine of an angle, computed through the unit quaternion of the rotation.
fn rotation(yaw: f64) -> (f64, f64) {
    let (i, w) = (yaw / 2.0).sin_cos();
    (i * w + w * i, w * w - i * i)
}

fn is_right_angle(at: Point, left: Point, right: Point) -> bool {
    let product = (left.0 - at.0) * (right.0 - at.0) + (left.1 - at.1) * (right.1 - at.1);
    product.abs() <= 1e-8
}

/// Returns the intersection over union (IoU) of two boxes.
pub fn iou(predicted: &Box3d, truth: &Box3d) -> f64 {
    let low = max(truth.bottom, predicted.bottom);
    let high = min(truth.top, predicted.top);
    let both = max(0.0, high - low) * area(&intersection(&predicted.corners, &truth.corners));
    let union = predicted.volume + truth.volume - both;
    let iou = both / union;
    if iou.is_nan() {
        iou
    } else {
        iou.clamp(0.0, 1.0)
    }
}

/// Returns the intersection of two convex polygons: for each side of `clip`, cuts off the part of `subject` that is outside
/// of this side. The remaining corners keep their exact coordinates.
fn intersection(subject: &[Point], clip: &[Point]) -> Vec<Point> {
    let mut ring = subject.to_vec();
    for (start, end) in sides(clip) {
        let height = |point: Point| {
            (end.0 - start.0) * (point.1 - start.1) - (end.1 - start.1) * (point.0 - start.0)
        };
        let mut cut = Vec::with_capacity(ring.len() + 1);
        for (from, to) in sides(&ring) {
            let (before, after) = (height(from), height(to));
            if before >= 0.0 {
                cut.push(from);
            }
            if (before > 0.0 && after < 0.0) || (before < 0.0 && after > 0.0) {
                let part = before / (before - after);
                cut.push((
                    from.0 + (to.0 - from.0) * part,
                    from.1 + (to.1 - from.1) * part,
                ));
            }
        }
        ring = cut;
    }
    ring
}

fn sides(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    let next = ring.iter().cycle().skip(1);
    ring.iter().copied().zip(next.copied())
}

/// Returns the area of a polygon. The last digits equal those of the library GEOS, because the terms are added in the order
/// of GEOS. This order is clockwise from the first corner, with x relative to this corner.
fn area(ring: &[Point]) -> f64 {
    let Some((first, others)) = ring.split_first() else {
        return 0.0;
    };
    let clockwise: Vec<Point> = [*first]
        .into_iter()
        .chain(others.iter().rev().copied())
        .chain([*first])
        .collect();
    let sum: f64 = clockwise
        .windows(3)
        .map(|corners| match corners {
            [before, at, after] => (at.0 - first.0) * (before.1 - after.1),
            _ => 0.0,
        })
        .sum();
    (sum / 2.0).abs()
}
