//! Metrics of detected boxes and points.

use std::collections::BTreeSet;

use prep_spec::words::KeyType;
use serde::{Deserialize, Deserializer};

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::{max, mean, min, python_float, sort_descending, sum};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::boxes::{FIELDS, Labelled, Layout, SEPARATED_BY, SeparatedBy};
use crate::spec::definition::{Definition, column, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::pair::Pair;

pub(super) const AVERAGE_PRECISION_OF_BOXES: MetricKind = MetricKind {
    definition: Definition {
        name: "average_precision_of_boxes",
        summary: "Mean over the answers' labels of the average precision of boxes at an IoU threshold, without \
                  interpolation.",
        details: "In each row and for each label, predicted boxes are processed by decreasing confidence. Each is \
                  matched with the unmatched true box that has the largest IoU above the threshold. A matched \
                  prediction is a positive with its confidence as the score, and an unmatched prediction is a \
                  negative. A true box without a match is a positive with score 0, and a row without any box of the \
                  label is a negative with score 0. The average precision of these positives and negatives is the sum \
                  of (R_i - R_(i-1)) P_i over the distinct scores. Boxes with labels that are not in the answers are \
                  ignored. A confidence that is not finite is invalid, and so is a label without negatives.",
        source: "sklearn.metrics.average_precision_score; PASCAL VOC 2010",
        shorthand: None,
        parameters: &[
            column("column", "The column of boxes, in both tables."),
            FIELDS,
            SEPARATED_BY,
            required(
                "threshold",
                KeyType::Number,
                "The IoU that a match must exceed.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<AveragePrecisionOfBoxes>,
};

const NUMBERS: [&str; 5] = ["confidence", "x_min", "y_min", "x_max", "y_max"];

type Box = Labelled<5>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragePrecisionOfBoxes {
    column: String,
    #[serde(rename = "fields", deserialize_with = "layout")]
    layout: Layout<5>,
    #[serde(default)]
    separated_by: SeparatedBy,
    threshold: f64,
}

fn layout<'de, D: Deserializer<'de>>(fields: D) -> Result<Layout<5>, D::Error> {
    Layout::parse(fields, NUMBERS)
}

impl Metric for AveragePrecisionOfBoxes {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, submission) = pair.cells(&self.column)?;
        let truth = self.layout.read(&answers, self.separated_by)?;
        let mut predicted = self.layout.read(&submission, self.separated_by)?;
        let labels: BTreeSet<&str> = truth.iter().flatten().map(|truth| &*truth.label).collect();
        let mut precisions = Vec::new();
        for label in labels {
            let mut outcomes = Vec::new();
            for (position, (predicted, truth)) in predicted.iter_mut().zip(&truth).enumerate() {
                sort_descending(predicted, Box::confidence);
                let wrong = predicted
                    .iter()
                    .find(|one| one.label == label && !one.confidence().is_finite());
                if wrong.is_some() {
                    let expected = "finite confidences";
                    return Err(submission.refuse(RefusalKind::Range, position, expected));
                }
                self.match_boxes(label, predicted, truth, &mut outcomes);
            }
            if outcomes.iter().all(|outcome| outcome.positive) {
                let message = format!("the label `{label}` has no negatives");
                return Err(Refusal::new(RefusalKind::Undefined, message));
            }
            precisions.push(average_precision(outcomes));
        }
        if precisions.is_empty() {
            return Ok(Score::python(0.0));
        }
        Ok(Score::numpy(mean(&precisions)))
    }
}

/// A positive or negative for the average precision, with its score.
#[derive(Debug, Clone, Copy)]
struct ScoredBox {
    positive: bool,
    confidence: f64,
}

impl AveragePrecisionOfBoxes {
    fn match_boxes(
        &self,
        label: &str,
        predicted: &[Box],
        truth: &[Box],
        outcomes: &mut Vec<ScoredBox>,
    ) {
        let before = outcomes.len();
        let mut free: Vec<&Box> = truth.iter().filter(|truth| truth.label == label).collect();
        for one in predicted.iter().filter(|one| one.label == label) {
            let mut best: Option<(usize, f64)> = None;
            for (index, truth) in free.iter().enumerate() {
                let iou = overlap(one, truth);
                if iou > best.map_or(0.0, |best| best.1) && iou > self.threshold {
                    best = Some((index, iou));
                }
            }
            outcomes.push(ScoredBox {
                positive: best.is_some(),
                confidence: one.confidence(),
            });
            if let Some((index, _)) = best {
                free.remove(index);
            }
        }
        let left_over = ScoredBox {
            positive: true,
            confidence: 0.0,
        };
        outcomes.extend(free.iter().map(|_| left_over));
        if outcomes.len() == before {
            outcomes.push(ScoredBox {
                positive: false,
                confidence: 0.0,
            });
        }
    }
}

/// Returns the intersection over union; 0 if the union has no area.
fn overlap(a: &Box, b: &Box) -> f64 {
    let ([_, ax, ay, ax_max, ay_max], [_, bx, by, bx_max, by_max]) = (a.numbers, b.numbers);
    let width = max(0.0, min(ax_max, bx_max) - max(ax, bx));
    let height = max(0.0, min(ay_max, by_max) - max(ay, by));
    let both = width * height;
    let union = (ax_max - ax) * (ay_max - ay) + (bx_max - bx) * (by_max - by) - both;
    if union > 0.0 { both / union } else { 0.0 }
}

fn average_precision(mut outcomes: Vec<ScoredBox>) -> f64 {
    outcomes.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let positives = outcomes.iter().filter(|outcome| outcome.positive).count() as f64;
    let (mut hits, mut count, mut recall_before) = (0.0, 0.0, 0.0);
    let mut steps = Vec::new();
    for tied in outcomes.chunk_by(|a, b| a.confidence == b.confidence) {
        hits += tied.iter().filter(|outcome| outcome.positive).count() as f64;
        count += tied.len() as f64;
        let recall = hits / positives;
        steps.push((recall - recall_before) * (hits / count));
        recall_before = recall;
    }
    sum(&steps)
}

pub(super) const F1_OF_POINTS: MetricKind = MetricKind {
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
