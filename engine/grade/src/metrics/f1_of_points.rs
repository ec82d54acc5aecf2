//! `f1_of_points`: labelled points that must be inside labelled boxes.

use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::python_float;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "f1_of_points",
        summary: "F1 of labelled points; a point is correct if it is in a box with its label.",
        details: "An answer lists boxes, `LABEL X Y WIDTH HEIGHT`; a prediction lists points, `LABEL X Y`. All words \
                  are separated by single spaces; a missing cell has no boxes or points. Boxes are processed in order. \
                  Each is matched with the first unmatched point that has its label and is inside the box, not on its \
                  edge (TP). A box without such a point is missed (FN); the remaining points are wrong (FP). The score \
                  is 2 P R / (P + R) over all rows, 0 without TP. Numbers are parsed like Python's `float`; `nan` and \
                  `inf` are in no box.",
        source: "gist.github.com/SohierDane/a90ef46d79808fe3afc70c80bae45972",
        shorthand: Some("column"),
        parameters: &[column("column", "The column of boxes and points.")],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<F1OfPoints>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct F1OfPoints {
    column: String,
}

impl Metric for F1OfPoints {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut hits, mut boxes, mut points) = (0u64, 0u64, 0u64);
        for row in 0..answers.len() {
            let expected_points =
                "`LABEL X Y` with numbers X and Y, repeated, separated by single spaces";
            let predicted: Vec<(&str, [f64; 2])> = read(&prediction, row, expected_points)?;
            let truth: Vec<(&str, [f64; 4])> = read(&answers, row, "`LABEL X Y WIDTH HEIGHT`")?;
            boxes += truth.len() as u64;
            points += predicted.len() as u64;
            let mut taken = vec![false; predicted.len()];
            for (label, [x0, y0, width, height]) in truth {
                let (x1, y1) = (x0 + width, y0 + height);
                let inside = |[x, y]: [f64; 2]| x0 < x && x1 > x && y0 < y && y1 > y;
                let first = predicted
                    .iter()
                    .zip(&mut taken)
                    .find(|((of, at), taken)| !**taken && *of == label && inside(*at));
                if let Some((_, taken)) = first {
                    *taken = true;
                    hits += 1;
                }
            }
        }
        if hits == 0 {
            return Ok(Score::python(0.0));
        }
        let (precision, recall) = (hits as f64 / points as f64, hits as f64 / boxes as f64);
        Ok(Score::python(
            (2.0 * precision * recall) / (precision + recall),
        ))
    }
}

/// Parses a cell into labels and their numbers.
fn read<'a, const N: usize>(
    column: &GradedColumn<'a>,
    row: usize,
    expected: &str,
) -> Result<Vec<(&'a str, [f64; N])>, Refusal> {
    let text = match column.value(row) {
        CellValue::Missing => return Ok(Vec::new()),
        CellValue::Text(text) => text,
        _ => return Err(column.refuse(RefusalKind::Type, row, expected)),
    };
    let parts: Vec<&str> = text.split(' ').collect();
    let entry = |part: &[&'a str]| {
        let (label, numbers) = part.split_first()?;
        let numbers: Option<Vec<f64>> = numbers.iter().map(|word| python_float(word)).collect();
        Some((*label, <[f64; N]>::try_from(numbers?).ok()?))
    };
    let entries: Option<Vec<(&str, [f64; N])>> = parts.chunks(N + 1).map(entry).collect();
    entries.ok_or_else(|| column.refuse(RefusalKind::Type, row, expected))
}
