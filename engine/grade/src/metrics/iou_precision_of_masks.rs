//! `iou_precision_of_masks`: fraction of IoU thresholds that a mask exceeds.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::Refusal;
use crate::shapes::mask::{COLUMN, EMPTY, HEIGHT, Mask, MaskColumns, TRUTH, WIDTH};
use crate::spec::definition::{Definition, optional, required};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "iou_precision_of_masks",
        summary: "Mean over images of the precision averaged over IoU thresholds, with one object per image.",
        details: "The precision at a threshold is 1 if |A and B| / |A or B| is above the threshold, otherwise 0, where \
                  A is the true and B the predicted mask. The score of an image is the mean over the thresholds. If \
                  the true mask is empty, the score is 1 for an empty prediction and 0 otherwise. Masks are written as \
                  in `f_beta_of_masks`.",
        source: "Kaggle's evaluation of the TGS salt challenge",
        shorthand: None,
        parameters: &[
            COLUMN,
            TRUTH,
            WIDTH,
            HEIGHT,
            EMPTY,
            required("thresholds", KeyType::Numbers, "The IoU thresholds."),
            optional(
                "empty_prediction",
                KeyType::Choice(&["nothing", "everything"]),
                "`everything`: if the true mask is not empty, an empty prediction is treated as a mask of the entire \
                 image, which is the result of `numpy.histogram` for an array of equal values; default `nothing`.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<IouPrecisionOfMasks>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EmptyPrediction {
    #[default]
    Nothing,
    Everything,
}

#[derive(Debug, Deserialize)]
struct IouPrecisionOfMasks {
    #[serde(flatten)]
    masks: MaskColumns,
    thresholds: Vec<f64>,
    #[serde(default)]
    empty_prediction: EmptyPrediction,
}

impl Metric for IouPrecisionOfMasks {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let masks = self.masks.read(pair)?;
        let rows = masks.truth.iter().zip(&masks.predicted).zip(&masks.sizes);
        let scores: Vec<f64> = rows
            .map(|((truth, predicted), size)| self.precision(truth, predicted, size.pixels()))
            .collect();
        Ok(Score::numpy(mean(&scores)))
    }
}

impl IouPrecisionOfMasks {
    fn precision(&self, truth: &Mask, predicted: &Mask, pixels: u64) -> f64 {
        if truth.is_empty() {
            return f64::from(u8::from(predicted.is_empty()));
        }
        let iou = if predicted.is_empty() && self.empty_prediction == EmptyPrediction::Everything {
            truth.area() as f64 / pixels as f64
        } else {
            let both = truth.overlap(predicted);
            both as f64 / (truth.area() + predicted.area() - both) as f64
        };
        let passed = self.thresholds.iter().filter(|threshold| iou > **threshold);
        passed.count() as f64 / self.thresholds.len() as f64
    }
}
