//! `average_precision_of_boxes_3d`: detection of upright three-dimensional boxes at several IoU thresholds.

use std::collections::BTreeSet;

use prep_spec::words::KeyType;
use serde::{Deserialize, Deserializer};

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::{mean, sort_descending, sum};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::box_3d::{Box3d, iou};
use crate::shapes::boxes::{FIELDS, Labelled, Layout, SEPARATED_BY, SeparatedBy};
use crate::shapes::coco::interpolate;
use crate::spec::definition::{Definition, column, required};
use crate::table::column::GradedColumn;
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "average_precision_of_boxes_3d",
        summary: "Mean over rows and IoU thresholds of the mean average precision of upright three-dimensional boxes.",
        details: "A box has a centre, a width (across its heading), a length (along its heading), a height and a yaw \
                  (rotation about the z axis, in radians). In each row, for each of its true labels and each \
                  threshold, predicted boxes are processed by decreasing confidence. Each prediction is compared with \
                  the true box with which it has the largest IoU, even if that box is already matched. The prediction \
                  is correct if this IoU exceeds the threshold and the box is not matched yet. Average precision is \
                  the area under the precision as a function of the recall, where the precision at a recall is the \
                  maximum over all larger recalls. A label without predictions has the value 0. Predicted labels that \
                  are not true labels of the row are ignored. A box of a true label is invalid if a coordinate is \
                  missing, if a size is not above 0, or if its computed corners deviate from right angles by more than \
                  1e-8. An infinite yaw is also invalid.",
        source: "nuScenes devkit (Lyft's), mAP_evaluation.py",
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
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<AveragePrecisionOfBoxes3d>,
};

const NUMBERS: [&str; 8] = [
    "confidence",
    "x",
    "y",
    "z",
    "width",
    "length",
    "height",
    "yaw",
];

type Written3d = Labelled<8>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragePrecisionOfBoxes3d {
    column: String,
    #[serde(rename = "fields", deserialize_with = "layout")]
    layout: Layout<8>,
    #[serde(default)]
    separated_by: SeparatedBy,
    thresholds: Vec<f64>,
}

fn layout<'de, D: Deserializer<'de>>(fields: D) -> Result<Layout<8>, D::Error> {
    Layout::parse(fields, NUMBERS)
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
                    .map(|(count, matches)| average_precision(*count, matches, *threshold));
                scores.push(mean(&precisions.collect::<Vec<f64>>()));
            }
        }
        Ok(Score::numpy(mean(&scores)))
    }
}

/// Rejects boxes with an infinite yaw, even if their label is ignored, because Python raises an error for the cosine of
/// an infinite angle.
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

/// Returns the number of true boxes. For each predicted box, also returns the index of the true box with the largest
/// IoU, and that IoU.
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

fn average_precision(positives: usize, matches: &[(usize, f64)], threshold: f64) -> f64 {
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
