//! Metrics of detected objects that are averaged over thresholds of the intersection over union (IoU): masks with one row
//! per object, and boxes with one cell per image.

use prep_spec::words::{KeyType, SectionKey};
use serde::{Deserialize, Deserializer};

use super::detections::overlap;
use super::kind::paired_groups;
use super::kind::{Metric, MetricKind, Score};
use super::masks::BothEmpty;
use crate::python::{mean, mean_of_present, sort_descending};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::boxes::{FIELDS, Labelled, Layout, SEPARATED_BY, SeparatedBy};
use crate::shapes::mask::{EMPTY, Mask};
use crate::spec::definition::{Definition, column, one, optional, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::pair::Pair;

const THRESHOLDS: SectionKey = required(
    "thresholds",
    KeyType::Numbers,
    "The IoUs that a match must exceed.",
);

const BOTH_EMPTY: SectionKey = optional(
    "both_empty",
    KeyType::Choice(&["one", "zero", "skip"]),
    "The score of an image without true and predicted objects: 1 (default), 0, or `skip` to leave the image out.",
);

fn one_if_empty() -> BothEmpty {
    BothEmpty::One
}

/// How many true and predicted objects an image has, and the IoU of each pair.
struct Objects {
    truth: usize,
    predicted: usize,
    /// For each predicted object, in the order of matching, its IoU with each true object.
    ious: Vec<Vec<f64>>,
}

impl Objects {
    fn new<T>(truth: &[T], predicted: &[T], iou: impl Fn(&T, &T) -> f64) -> Objects {
        let of_each = predicted.iter();
        Objects {
            truth: truth.len(),
            predicted: predicted.len(),
            ious: of_each
                .map(|predicted| truth.iter().map(|truth| iou(predicted, truth)).collect())
                .collect(),
        }
    }

    /// Returns the number of matches. A predicted object matches the unmatched true object with the largest IoU above the
    /// threshold. If several objects have this IoU, the first of them matches.
    fn matches(&self, threshold: f64) -> usize {
        let mut taken = vec![false; self.truth];
        for ious in &self.ious {
            let mut best = (None, threshold);
            for ((index, iou), taken) in ious.iter().enumerate().zip(&taken) {
                if *iou > best.1 && !taken {
                    best = (Some(index), *iou);
                }
            }
            if let Some(taken) = best.0.and_then(|index| taken.get_mut(index)) {
                *taken = true;
            }
        }
        taken.into_iter().filter(|taken| *taken).count()
    }

    /// Returns the mean of `score` over the thresholds. The arguments of `score` are the counts of matches, of true objects
    /// and of predicted objects.
    fn score(
        &self,
        thresholds: &[f64],
        both_empty: BothEmpty,
        score: impl Fn(f64, f64, f64) -> f64,
    ) -> Option<f64> {
        if self.truth + self.predicted == 0 {
            return both_empty.score();
        }
        let scores = thresholds.iter().map(|threshold| {
            let hits = self.matches(*threshold) as f64;
            score(hits, self.truth as f64, self.predicted as f64)
        });
        Some(mean(&scores.collect::<Vec<f64>>()))
    }
}

pub(super) const F_BETA_OF_OBJECTS: MetricKind = MetricKind::higher::<FBetaOfObjects>(Definition {
    name: "f_beta_of_objects",
    summary: "Mean over images and IoU thresholds of the F-beta of objects, which are run-length encoded masks.",
    details: "Both tables have a row for each object, and both need the same images. A row whose cell is missing or \
              equals the value of the key `empty` states that the image has no objects. Masks are written as in \
              `f_beta_of_masks`.\n\n\
              Predicted objects are processed in the order of their rows. Each of them is matched with the unmatched \
              true object that has the largest IoU, if this IoU is above the threshold.\n\n\
              The score at a threshold is (1 + beta^2) M / (beta^2 T + P), where M is the number of matches, T the \
              number of true objects, and P the number of predicted objects.",
    source: "Kaggle's evaluation of the Airbus Ship Detection Challenge",
    shorthand: None,
    parameters: &[
        column("column", "The column of masks, in both tables."),
        column("id", "The identifier of the image, in both tables."),
        required("width", KeyType::Natural, "The width of the images."),
        required("height", KeyType::Natural, "The height of the images."),
        THRESHOLDS,
        optional(
            "beta",
            KeyType::Number,
            "The weight of recall relative to precision; default 1.",
        ),
        EMPTY,
        BOTH_EMPTY,
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FBetaOfObjects {
    column: String,
    id: String,
    width: u32,
    height: u32,
    thresholds: Vec<f64>,
    #[serde(default = "one")]
    beta: f64,
    empty: Option<String>,
    #[serde(default = "one_if_empty")]
    both_empty: BothEmpty,
}

impl Metric for FBetaOfObjects {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.both(&self.column)?;
        let images = paired_groups(pair, &self.id)?;
        let (mut predicted, mut truth) = (self.masks(&prediction)?, self.masks(&answers)?);
        let square = self.beta * self.beta;
        let scores = images.iter().map(|(in_answers, in_submission)| {
            let truth = take(&mut truth, in_answers);
            let predicted = take(&mut predicted, in_submission);
            let objects = Objects::new(&truth, &predicted, |a, b| {
                let both = a.overlap(b);
                both as f64 / (a.area() + b.area() - both) as f64
            });
            objects.score(
                &self.thresholds,
                self.both_empty,
                |hits, truth, predicted| (1.0 + square) * hits / (square * truth + predicted),
            )
        });
        Ok(Score::numpy(mean_of_present(&scores.collect::<Vec<_>>())))
    }
}

impl FBetaOfObjects {
    /// Returns the mask of each row, or `None` for a row without an object.
    fn masks(&self, column: &GradedColumn<'_>) -> Result<Vec<Option<Mask>>, Refusal> {
        let pixels = u64::from(self.width) * u64::from(self.height);
        column.map_cells(|row, value| match value {
            CellValue::Missing => Ok(None),
            CellValue::Text(text) if Some(text) == self.empty.as_deref() => Ok(None),
            CellValue::Text(text) => match Mask::decode(text, pixels) {
                Ok(mask) => Ok(Some(mask).filter(|mask| !mask.is_empty())),
                Err(expected) => Err(column.refuse(RefusalKind::Range, row, expected)),
            },
            _ => Err(column.refuse(RefusalKind::Type, row, "a run-length encoded mask, as text")),
        })
    }
}

fn take(masks: &mut [Option<Mask>], rows: &[usize]) -> Vec<Mask> {
    let masks = rows.iter().filter_map(|row| masks.get_mut(*row)?.take());
    masks.collect()
}

pub(super) const PRECISION_OF_BOXES: MetricKind = MetricKind::higher::<PrecisionOfBoxes>(
    Definition {
        name: "precision_of_boxes",
        summary: "Mean over rows and IoU thresholds of TP / (TP + FP + FN) of boxes.",
        details: "A cell contains the boxes of an image. A missing cell contains no boxes. The numbers of a box must \
              be finite.\n\n\
              Predicted boxes are processed by decreasing confidence. Each of them is matched with the unmatched true \
              box that has the largest IoU, if this IoU is above the threshold.\n\n\
              A predicted box with a match is a true positive (TP), and a predicted box without a match is a false \
              positive (FP). A true box without a match is a false negative (FN).",
        source: "Kaggle's evaluation of the Global Wheat Detection challenge",
        shorthand: None,
        parameters: &[
            column("column", "The column of boxes, in both tables."),
            FIELDS,
            SEPARATED_BY,
            THRESHOLDS,
            BOTH_EMPTY,
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrecisionOfBoxes {
    column: String,
    #[serde(rename = "fields", deserialize_with = "Corners::parse")]
    corners: Corners,
    #[serde(default)]
    separated_by: SeparatedBy,
    thresholds: Vec<f64>,
    #[serde(default = "one_if_empty")]
    both_empty: BothEmpty,
}

/// The order of the fields, and whether they contain the size of a box instead of its second corner.
#[derive(Debug)]
struct Corners {
    layout: Layout<5>,
    has_size: bool,
}

impl Corners {
    fn parse<'de, D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        let fields = Vec::<String>::deserialize(fields)?;
        let has_size = fields
            .iter()
            .any(|field| field == "width" || field == "height");
        let ends = if has_size {
            ["width", "height"]
        } else {
            ["x_max", "y_max"]
        };
        let [x, y] = ends;
        Ok(Corners {
            layout: Layout::new(&fields, ["confidence", "x_min", "y_min", x, y])?,
            has_size,
        })
    }
}

impl Metric for PrecisionOfBoxes {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let rows = (0..answers.len()).map(|row| {
            let mut predicted = self.boxes(&prediction, row)?;
            let truth = self.boxes(&answers, row)?;
            sort_descending(&mut predicted, Labelled::confidence);
            let objects = Objects::new(&truth, &predicted, |a, b| match a.label == b.label {
                true => overlap(a, b),
                false => 0.0,
            });
            Ok(objects.score(
                &self.thresholds,
                self.both_empty,
                |hits, truth, predicted| hits / (truth + predicted - hits),
            ))
        });
        let scores = rows.collect::<Result<Vec<Option<f64>>, Refusal>>()?;
        Ok(Score::numpy(mean_of_present(&scores)))
    }
}

impl PrecisionOfBoxes {
    fn boxes(&self, column: &GradedColumn<'_>, row: usize) -> Result<Vec<Labelled<5>>, Refusal> {
        if column.is_missing(row) {
            return Ok(Vec::new());
        }
        let mut boxes = self
            .corners
            .layout
            .read_cell(column, row, self.separated_by)?;
        if boxes
            .iter()
            .any(|one| one.numbers.iter().any(|number| !number.is_finite()))
        {
            return Err(column.refuse(RefusalKind::Range, row, "finite numbers"));
        }
        if self.corners.has_size {
            for one in &mut boxes {
                let [confidence, x, y, width, height] = one.numbers;
                one.numbers = [confidence, x, y, x + width, y + height];
            }
        }
        Ok(boxes)
    }
}
