//! Metrics of detected boxes and points.

use std::collections::BTreeSet;

use prep_spec::words::KeyType;
use serde::{Deserialize, Deserializer};

use super::kind::{Metric, MetricKind, Score};
use super::roc::average_precision;
use crate::python::{max, mean, min, python_float, sort_descending, sum};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::boxes::{Box3d, iou};
use crate::shapes::boxes::{FIELDS, Labelled, Layout, SEPARATED_BY, SeparatedBy};
use crate::shapes::coco::interpolate;
use crate::spec::definition::{Definition, column, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::pair::Pair;

pub(super) const AVERAGE_PRECISION_OF_BOXES: MetricKind = MetricKind::higher::<
    AveragePrecisionOfBoxes,
>(Definition {
    name: "average_precision_of_boxes",
    summary: "Mean over the answers' labels of the average precision of boxes at an IoU threshold, without \
              interpolation.",
    details: "For each row and label, predicted boxes are processed by decreasing confidence. Each box is matched with \
              the unmatched true box that has the largest IoU, if this IoU is above the threshold.\n\n\
              The boxes then become positives and negatives with scores. A predicted box with a match is a positive, \
              and a predicted box without a match is a negative. Both have the confidence of the box as their score. A \
              true box without a match is a positive with score 0. A row without any box of the label is a negative \
              with score 0.\n\n\
              The average precision of a label is the sum of (R_i - R_(i-1)) P_i over the distinct scores, highest \
              first. R_i and P_i are the recall and the precision if everything with at least the i-th score is \
              predicted as positive; R_0 is 0.\n\n\
              Boxes with labels that are not in the answers are ignored. The submission is invalid if the confidence \
              of another box is not finite, or if a label has no negatives.",
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
});

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
                let message = format!(
                    "the label `{label}` has no unmatched predicted box, but its average precision requires one"
                );
                return Err(Refusal::new(RefusalKind::Undefined, message));
            }
            let confidences = outcomes.iter().map(|outcome| outcome.confidence);
            let positive = outcomes.iter().map(|outcome| outcome.positive);
            let (positive, confidences): (Vec<bool>, Vec<f64>) = positive.zip(confidences).unzip();
            precisions.push(average_precision(&positive, &confidences, None));
        }
        if precisions.is_empty() {
            return Ok(Score::python(0.0));
        }
        Ok(Score::numpy(mean(&precisions)))
    }
}

/// A positive or negative from which the average precision of a label is computed: a predicted box, a true box without a
/// match, or a row without any box of the label.
#[derive(Debug, Clone, Copy)]
struct ScoredOutcome {
    positive: bool,
    confidence: f64,
}

impl AveragePrecisionOfBoxes {
    /// Matches the predicted boxes of a row with its true boxes. Adds the resulting positives and negatives to `outcomes`.
    fn match_boxes(
        &self,
        label: &str,
        predicted: &[Box],
        truth: &[Box],
        outcomes: &mut Vec<ScoredOutcome>,
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
            outcomes.push(ScoredOutcome {
                positive: best.is_some(),
                confidence: one.confidence(),
            });
            if let Some((index, _)) = best {
                free.remove(index);
            }
        }
        let left_over = ScoredOutcome {
            positive: true,
            confidence: 0.0,
        };
        outcomes.extend(free.iter().map(|_| left_over));
        if outcomes.len() == before {
            outcomes.push(ScoredOutcome {
                positive: false,
                confidence: 0.0,
            });
        }
    }
}

/// Returns the intersection over union, or 0 if the union has no area.
pub(super) fn overlap(a: &Labelled<5>, b: &Labelled<5>) -> f64 {
    let ([_, ax, ay, ax_max, ay_max], [_, bx, by, bx_max, by_max]) = (a.numbers, b.numbers);
    let width = max(0.0, min(ax_max, bx_max) - max(ax, bx));
    let height = max(0.0, min(ay_max, by_max) - max(ay, by));
    let both = width * height;
    let union = (ax_max - ax) * (ay_max - ay) + (bx_max - bx) * (by_max - by) - both;
    if union > 0.0 { both / union } else { 0.0 }
}

pub(super) const F1_OF_POINTS: MetricKind = MetricKind::higher::<F1OfPoints>(Definition {
    name: "f1_of_points",
    summary: "F1 of labelled points; a point is correct if it is in a box with its label.",
    details: "A cell of the answers lists boxes, `LABEL X Y WIDTH HEIGHT`, where X and Y are the smallest coordinates \
              of the box. A cell of the submission lists points, `LABEL X Y`. All words are separated by single \
              spaces. A missing cell has no boxes or points.\n\n\
              The boxes of a cell are processed in order. Each box is matched with the first unmatched point that has \
              its label and is inside the box, not on its edge. Numbers are parsed like Python's `float`. A point with \
              a coordinate `nan` or `inf` is in no box.\n\n\
              With precision P = matches / points and recall R = matches / boxes over all rows, the score is 2 P R / \
              (P + R), or 0 without matches.",
    source: "gist.github.com/SohierDane/a90ef46d79808fe3afc70c80bae45972",
    shorthand: Some("column"),
    parameters: &[column("column", "The column of boxes and points.")],
});

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
                "points `LABEL X Y` with numbers X and Y, and single spaces between all words";
            let predicted: Vec<(&str, [f64; 2])> = read_entries(&prediction, row, expected_points)?;
            let truth: Vec<(&str, [f64; 4])> =
                read_entries(&answers, row, "`LABEL X Y WIDTH HEIGHT`")?;
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

/// Reads a cell that lists entries, each with a label and `N` numbers. `expected` describes a valid cell in the error.
fn read_entries<'a, const N: usize>(
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

pub(super) const AVERAGE_PRECISION_OF_BOXES_3D: MetricKind = MetricKind::higher::<
    AveragePrecisionOfBoxes3d,
>(Definition {
    name: "average_precision_of_boxes_3d",
    summary: "Mean over rows and IoU thresholds of the mean average precision of upright three-dimensional boxes.",
    details: "A box has a centre, a width (across its heading), a length (along its heading), a height and a yaw \
              (rotation about the z axis, in radians). A box whose label is a true label of the row is invalid if a \
              number is missing, if a size is not above 0, or if its computed corners deviate from right angles by \
              more than 1e-8. An infinite yaw is invalid for each label.\n\n\
              For each row, each true label of the row and each threshold, an average precision is computed. For this, \
              the predicted boxes with the label are processed by decreasing confidence. Each of them is compared with \
              the true box with which it has the largest IoU, even if that box is already matched. The prediction is \
              correct if this IoU exceeds the threshold and the true box is not matched yet.\n\n\
              The average precision is the area under the curve of precision over recall. The precision at a recall is \
              the maximum precision at this and all larger recalls. A label without predictions has the average \
              precision 0. Predicted labels that are not true labels of the row are ignored.",
    source: "Lyft's version of the nuScenes devkit, mAP_evaluation.py",
    shorthand: None,
    parameters: &[
        column("column", "The column of boxes, in both tables."),
        FIELDS,
        SEPARATED_BY,
        required(
            "thresholds",
            KeyType::Numbers,
            "The IoUs that a match must exceed.",
        ),
    ],
});

const NUMBERS_3D: [&str; 8] = [
    "confidence",
    "x",
    "y",
    "z",
    "width",
    "length",
    "height",
    "yaw",
];

/// The numbers of a box as a cell lists them. [`Box3d`] is the same box with computed corners.
type Written3d = Labelled<8>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragePrecisionOfBoxes3d {
    column: String,
    #[serde(rename = "fields", deserialize_with = "layout_3d")]
    layout: Layout<8>,
    #[serde(default)]
    separated_by: SeparatedBy,
    thresholds: Vec<f64>,
}

fn layout_3d<'de, D: Deserializer<'de>>(fields: D) -> Result<Layout<8>, D::Error> {
    Layout::parse(fields, NUMBERS_3D)
}

impl Metric for AveragePrecisionOfBoxes3d {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, submission) = pair.cells(&self.column)?;
        let truth = self.layout.read(&answers, self.separated_by)?;
        let predicted = self.layout.read(&submission, self.separated_by)?;
        let mut scores = Vec::new();
        for (position, (truth, predicted)) in truth.iter().zip(predicted).enumerate() {
            check_yaws(&submission, position, &predicted)?;
            let labels: BTreeSet<&str> = truth.iter().map(|one| &*one.label).collect();
            let mut of_labels = Vec::new();
            for label in labels {
                let mut predicted: Vec<&Written3d> =
                    predicted.iter().filter(|one| one.label == label).collect();
                sort_descending(&mut predicted, |one| one.confidence());
                let predicted = parse_boxes(&submission, position, &predicted)?;
                let truth: Vec<&Written3d> =
                    truth.iter().filter(|one| one.label == label).collect();
                of_labels.push(best_matches(
                    &parse_boxes(&answers, position, &truth)?,
                    &predicted,
                ));
            }
            for threshold in &self.thresholds {
                let precisions = of_labels
                    .iter()
                    .map(|(count, matches)| average_precision_3d(*count, matches, *threshold));
                scores.push(mean(&precisions.collect::<Vec<f64>>()));
            }
        }
        Ok(Score::numpy(mean(&scores)))
    }
}

/// Rejects boxes with an infinite yaw even if their label is ignored, because Python raises an error for the cosine of
/// infinity.
fn check_yaws(
    column: &GradedColumn<'_>,
    position: usize,
    boxes: &[Written3d],
) -> Result<(), Refusal> {
    let infinite = boxes.iter().any(|one| {
        let [.., yaw] = one.numbers;
        yaw.is_infinite()
    });
    match infinite {
        true => Err(column.refuse(RefusalKind::Range, position, "finite yaws")),
        false => Ok(()),
    }
}

fn parse_boxes(
    column: &GradedColumn<'_>,
    position: usize,
    boxes: &[&Written3d],
) -> Result<Vec<Box3d>, Refusal> {
    let one = |one: &&Written3d| {
        let [_, x, y, z, width, length, height, yaw] = one.numbers;
        Box3d::new([x, y, z], [width, length, height], yaw)
            .map_err(|expected| column.refuse(RefusalKind::Range, position, expected))
    };
    boxes.iter().map(one).collect()
}

/// Returns the number of true boxes. For each predicted box, also returns the true box with the largest IoU, and this IoU.
fn best_matches(truth: &[Box3d], predicted: &[Box3d]) -> (usize, Vec<(usize, f64)>) {
    let matches = predicted.iter().map(|one| {
        let mut best = (0, f64::NEG_INFINITY);
        for (index, truth) in truth.iter().enumerate() {
            let iou = iou(one, truth);
            if iou > best.1 {
                best = (index, iou);
            }
        }
        best
    });
    (truth.len(), matches.collect())
}

fn average_precision_3d(positives: usize, matches: &[(usize, f64)], threshold: f64) -> f64 {
    if matches.is_empty() {
        return 0.0;
    }
    let mut taken = vec![false; positives];
    let (mut hits, mut count) = (0.0, 0.0);
    let mut points = vec![(0.0, 0.0)];
    for (index, iou) in matches {
        count += 1.0;
        if let Some(taken) = taken.get_mut(*index)
            && *iou > threshold
            && !*taken
        {
            *taken = true;
            hits += 1.0;
        }
        points.push((hits / positives as f64, hits / count));
    }
    points.push((1.0, 0.0));
    interpolate(&mut points);
    let steps: Vec<f64> = points
        .windows(2)
        .filter_map(|pair| match pair {
            [before, after] if after.0 != before.0 => Some((after.0 - before.0) * after.1),
            _ => None,
        })
        .collect();
    sum(&steps)
}
