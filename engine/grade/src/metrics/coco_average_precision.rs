//! `coco_average_precision`: object detection, scored like COCO's evaluation.

use std::collections::{BTreeMap, HashMap};

use prep_spec::words::KeyType;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::kind::{Metric, MetricKind, Score};
use crate::python::{mean, python_float};
use crate::refusal::{Refusal, RefusalKind};
use crate::shapes::boxes::{FIELDS, Layout, SEPARATED_BY, SeparatedBy};
use crate::shapes::coco::{CocoBox, Image, average_precision};
use crate::spec::definition::{Definition, column, one, optional, required};
use crate::table::column::GradedColumn;
use crate::table::key::key;
use crate::table::numbers::number;
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind::higher::<CocoAveragePrecision>(Definition {
    name: "coco_average_precision",
    summary: "COCO's average precision of boxes: the mean over labels, IoU thresholds and 101 recalls of the \
              interpolated precision.",
    details: "The answers have one row for each true box. The submission has one or more rows for each image, and its \
              cells list boxes. A cell without boxes is invalid. Labels are integers; fractions are cut off. Labels \
              that are not in the answers are ignored.\n\n\
              For each image and label, only the `max_detections` boxes with the largest confidence are used, by \
              decreasing confidence. Each box is matched with the unmatched true box that has the largest IoU, if this \
              IoU is at least the threshold. If several true boxes have the same IoU, the box is matched with the last \
              one.\n\n\
              Then, for each label and threshold, the predicted boxes of all images are ordered by decreasing \
              confidence. The precision is computed at each of the recalls 0, 0.01, ..., 1. The precision at a recall \
              is the maximum precision at this or a larger recall, and 0 if no prediction reaches the recall.\n\n\
              Boxes whose area is above 1e10, or below 0 because one side is negative, are ignored: neither a missed \
              true box nor a wrong predicted box of this size lowers the score.",
    source: "pycocotools 2.0, COCOeval",
    shorthand: None,
    parameters: &[
        column("image", "The image's identifier, in both tables."),
        column("label", "The answers' column of labels."),
        required(
            "box",
            KeyType::Strings,
            "The answers' columns of x, y, width and height.",
        ),
        column("column", "The submission's column of boxes."),
        FIELDS,
        SEPARATED_BY,
        required(
            "thresholds",
            KeyType::Numbers,
            "The IoUs that a match must reach.",
        ),
        optional(
            "max_detections",
            KeyType::Natural,
            "The maximum number of predicted boxes of a label in an image; default 100.",
        ),
        optional(
            "area",
            KeyType::Choice(&["size", "corners"]),
            "`corners`: only for the check of the area, width and height are treated as the coordinates of the far \
             corner, as if a grader passed corners to COCO; default `size`.",
        ),
        optional(
            "numbered_from",
            KeyType::Natural,
            "The number of the first box in both tables; default 1. In COCO's internal tables, 0 means no match. \
             Therefore, with 0, a match with the first true box is treated as no match, and the true box that is matched \
             with the first predicted box remains unmatched.",
        ),
    ],
})
.with_truth(&["label", "box"]);

const NUMBERS: [&str; 5] = ["confidence", "x", "y", "width", "height"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CocoAveragePrecision {
    image: String,
    label: String,
    #[serde(rename = "box", deserialize_with = "four_columns")]
    sides: [String; 4],
    column: String,
    #[serde(rename = "fields", deserialize_with = "layout")]
    layout: Layout<5>,
    #[serde(default)]
    separated_by: SeparatedBy,
    thresholds: Vec<f64>,
    #[serde(default = "default_max_detections")]
    max_detections: usize,
    #[serde(default)]
    area: Area,
    #[serde(default = "one")]
    numbered_from: u64,
}

fn four_columns<'de, D: Deserializer<'de>>(names: D) -> Result<[String; 4], D::Error> {
    let names = Vec::<String>::deserialize(names)?;
    let names = names.try_into();
    names.map_err(|_| D::Error::custom("`box` needs four columns"))
}

fn layout<'de, D: Deserializer<'de>>(fields: D) -> Result<Layout<5>, D::Error> {
    Layout::parse(fields, NUMBERS)
}

fn default_max_detections() -> usize {
    100
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Area {
    #[default]
    Size,
    Corners,
}

/// Maps each label to the boxes of this label in each image.
type Labels = BTreeMap<i64, Vec<Image>>;

impl Metric for CocoAveragePrecision {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let images = pair.answers.column(&self.image)?;
        let mut indices = HashMap::new();
        for row in 0..images.len() {
            let next = indices.len();
            indices.entry(key(&images, row)).or_insert(next);
        }
        let count = indices.len();
        let mut labels = Labels::new();
        self.read_answers(pair, count, &mut labels, |row| {
            indices.get(&key(&images, row)).copied()
        })?;
        let of_submission = pair.submission.column(&self.image)?;
        self.read_submission(pair, &mut labels, |row| {
            indices.get(&key(&of_submission, row)).copied()
        })?;
        let mut precisions: Vec<f64> = Vec::new();
        for threshold in &self.thresholds {
            for images in labels.values() {
                precisions.extend(average_precision(images, *threshold, self.max_detections));
            }
        }
        // COCO uses -1 for an undefined score.
        let is_defined = !precisions.is_empty();
        Ok(Score::numpy(if is_defined {
            mean(&precisions)
        } else {
            -1.0
        }))
    }
}

impl CocoAveragePrecision {
    /// Adds the true boxes to `labels`. `count` is the number of images, and `image` returns the index of a row's image.
    fn read_answers(
        &self,
        pair: &Pair<'_>,
        count: usize,
        labels: &mut Labels,
        image: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Refusal> {
        let all_labels = pair.answers.column(&self.label)?;
        let [x, y, width, height] = self.sides.each_ref().map(|name| pair.answers.column(name));
        let (x, y, width, height) = (x?, y?, width?, height?);
        for row in 0..pair.answers.len() {
            let side = |column: &GradedColumn<'_>| {
                number(column.value(row))
                    .ok_or_else(|| column.refuse(RefusalKind::Answers, row, "a number"))
            };
            let sides = [side(&x)?, side(&y)?, side(&width)?, side(&height)?];
            let Some(label) = number(all_labels.value(row)).and_then(integer_label) else {
                return Err(all_labels.refuse(RefusalKind::Answers, row, "an integer"));
            };
            let images = labels
                .entry(label)
                .or_insert_with(|| vec![Image::default(); count]);
            if let Some(image) = image(row).and_then(|image| images.get_mut(image)) {
                image.truth.push(self.coco_box(row as u64, sides, 0.0));
            }
        }
        Ok(())
    }

    /// Adds the predicted boxes to `labels`. `image` returns the index of a row's image. Ignores unknown images and labels.
    fn read_submission(
        &self,
        pair: &Pair<'_>,
        labels: &mut Labels,
        image: impl Fn(usize) -> Option<usize>,
    ) -> Result<(), Refusal> {
        let column = pair.submission.column(&self.column)?;
        let mut count = 0;
        for row in 0..column.len() {
            let boxes = self.layout.read_cell(&column, row, self.separated_by)?;
            if boxes.is_empty() {
                return Err(column.refuse(RefusalKind::Type, row, "at least one box"));
            }
            for one in boxes {
                let Some(label) = python_float(&one.label).and_then(integer_label) else {
                    return Err(column.refuse(RefusalKind::Type, row, "labels that are numbers"));
                };
                let [confidence, x, y, width, height] = one.numbers;
                let found = labels.get_mut(&label).zip(image(row));
                if let Some(image) = found.and_then(|(images, image)| images.get_mut(image)) {
                    let one = self.coco_box(count, [x, y, width, height], confidence);
                    image.predict(one, self.max_detections);
                }
                count += 1;
            }
        }
        Ok(())
    }

    fn coco_box(&self, index: u64, sides: [f64; 4], confidence: f64) -> CocoBox {
        let [x, y, width, height] = sides;
        CocoBox {
            number: self.numbered_from + index,
            sides,
            area: match self.area {
                Area::Size => width * height,
                Area::Corners => (width - x) * (height - y),
            },
            confidence,
        }
    }
}

/// Converts a finite number to a label, like Python's `int`.
fn integer_label(value: f64) -> Option<i64> {
    value.is_finite().then_some(value as i64)
}
