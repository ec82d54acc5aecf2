//! Metrics of run-length encoded masks, and of volumes that consist of them.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Metric, MetricKind, Score};
use crate::python::{mean, mean_of_present};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::shapes::mask::{
    COLUMN, EMPTY, HEIGHT, Mask, MaskColumns, MaskSize, Masks, SURPLUS_ROWS, TRUTH, WIDTH,
};
use crate::shapes::volume::{MAX_VOXELS, Volume, hausdorff};
use crate::spec::definition::{Definition, column, one, optional, required};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::pair::Pair;

pub(super) const F_BETA_OF_MASKS: MetricKind = MetricKind::higher::<FBetaOfMasks>(Definition {
    name: "f_beta_of_masks",
    summary: "F-beta over the pixels of run-length encoded masks; with beta 1, it is the Dice coefficient.",
    details: "The score is (1 + beta^2) |A and B| / (beta^2 |A| + |B|), where A is the true and B the predicted mask. \
              The key `average` determines whether the score is computed for each row and averaged over the rows, or \
              computed once for the pixels of all rows.\n\n\
              A cell contains pairs `start length`, with starts from 1 in increasing order. Runs are truncated at the \
              end of the image. Overlapping runs, starts out of order, numbers below 1 and cells that are not text are \
              invalid.\n\n\
              A cell with only whitespace or a single number is an empty mask. In a cell with three numbers, both runs \
              have the length of the first run.",
    source: "sklearn.metrics.fbeta_score; Dice (1945)",
    shorthand: None,
    parameters: &[
        COLUMN,
        TRUTH,
        WIDTH,
        HEIGHT,
        EMPTY,
        optional(
            "beta",
            KeyType::Number,
            "The weight of recall relative to precision; default 1.",
        ),
        optional(
            "average",
            KeyType::Choice(&["rows", "pixels"]),
            "Whether rows (default) or pixels have equal weight. With `pixels`, all images must have the same \
             size.",
        ),
        optional(
            "both_empty",
            KeyType::Choice(&["zero", "one", "skip"]),
            "The score of a row in which both masks are empty: 0 (default), 1, or `skip` to leave the row out. If \
             no rows remain, the score is NaN.",
        ),
        SURPLUS_ROWS,
    ],
})
.with_truth(&["truth", "column"]);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AverageOver {
    #[default]
    Rows,
    Pixels,
}

/// The score of a row that has neither true nor predicted pixels (or objects).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BothEmpty {
    #[default]
    Zero,
    One,
    Skip,
}

impl BothEmpty {
    /// Returns the score, or `None` to leave the row out.
    pub fn score(self) -> Option<f64> {
        match self {
            BothEmpty::Zero => Some(0.0),
            BothEmpty::One => Some(1.0),
            BothEmpty::Skip => None,
        }
    }
}

#[derive(Debug, Deserialize)]
struct FBetaOfMasks {
    #[serde(flatten)]
    masks: MaskColumns,
    #[serde(default = "one")]
    beta: f64,
    #[serde(default)]
    average: AverageOver,
    #[serde(default)]
    both_empty: BothEmpty,
}

/// How many pixels are in the true mask, in the predicted mask, and in both masks.
#[derive(Debug, Default, Clone, Copy)]
struct Areas {
    truth: u64,
    predicted: u64,
    both: u64,
}

impl Metric for FBetaOfMasks {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let masks = self.masks.read(pair)?;
        let areas = masks.truth.iter().zip(&masks.predicted);
        let areas = areas.map(|(truth, predicted)| Areas {
            truth: truth.area(),
            predicted: predicted.area(),
            both: truth.overlap(predicted),
        });
        let areas: Vec<Areas> = match self.average {
            AverageOver::Rows => areas.collect(),
            AverageOver::Pixels => {
                check_one_size(&masks)?;
                let all = areas.fold(Areas::default(), |all, row| Areas {
                    truth: all.truth + row.truth,
                    predicted: all.predicted + row.predicted,
                    both: all.both + row.both,
                });
                vec![all]
            }
        };
        let scores: Vec<Option<f64>> = areas.into_iter().map(|row| self.f_beta(row)).collect();
        Ok(Score::numpy(mean_of_present(&scores)))
    }

    fn rows(&self) -> RowPolicy {
        self.masks.rows()
    }
}

impl FBetaOfMasks {
    fn f_beta(&self, areas: Areas) -> Option<f64> {
        if areas.truth + areas.predicted == 0 {
            return self.both_empty.score();
        }
        let square = self.beta * self.beta;
        let denominator = square * areas.truth as f64 + areas.predicted as f64;
        Some((1.0 + square) * areas.both as f64 / denominator)
    }
}

fn check_one_size(masks: &Masks) -> Result<(), Refusal> {
    let first: Option<MaskSize> = masks.sizes.first().copied();
    if masks.sizes.iter().all(|size| Some(*size) == first) {
        return Ok(());
    }
    let message = "all images of the answers must have the same size";
    Err(Refusal::new(RefusalKind::Answers, message))
}

pub(super) const IOU_PRECISION_OF_MASKS: MetricKind = MetricKind::higher::<IouPrecisionOfMasks>(
    Definition {
        name: "iou_precision_of_masks",
        summary: "Mean over images of the precision averaged over IoU thresholds, with one object per image.",
        details: "The precision at a threshold is 1 if |A and B| / |A or B| is above the threshold, otherwise 0, where \
              A is the true and B the predicted mask. Masks are written as in `f_beta_of_masks`.\n\n\
              The score of an image is the mean over the thresholds. If the true mask is empty, the score of the image \
              is 1 if the predicted mask is empty, too, and otherwise 0.",
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
)
.with_truth(&["truth", "column"]);

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

pub(super) const HAUSDORFF_OF_VOLUMES: MetricKind = MetricKind::lower::<HausdorffOfVolumes>(
    Definition {
        name: "hausdorff_of_volumes",
        summary: "Mean Hausdorff distance of stacks of run-length encoded masks, where 1 is the diagonal of a volume.",
        details: "In each table, all masks with the same identifier form a slice. Slices form a volume if their \
              identifiers are equal up to the text of the key `stacked_by`. The slices are stacked in the order of \
              their identifiers. Masks are written as in `f_beta_of_masks`, and number the pixels column by column.\n\n\
              In the order of identifiers, the k-th volume of the answers is paired with the k-th volume of the \
              submission. Surplus volumes are left out, and so are pairs of two empty volumes. If no pairs remain, the \
              score is NaN.\n\n\
              First, the positions of voxels along each axis are divided by the size of the true volume. The distance \
              of a pair is then the larger of the two directed Hausdorff distances between the voxels, divided by the \
              square root of 3. If only one volume is empty, or if the predicted volume has more than `most_times` as \
              many voxels as the true volume, the distance is 1.",
        source: "scipy.spatial.distance.directed_hausdorff",
        shorthand: None,
        parameters: &[
            COLUMN,
            TRUTH,
            WIDTH,
            HEIGHT,
            EMPTY,
            column("slice", "The identifier of a slice, in both tables."),
            required(
                "stacked_by",
                KeyType::String,
                "The text between the name of the volume and the rest of a slice's identifier.",
            ),
            optional(
                "most_times",
                KeyType::Number,
                "If the predicted volume has more than this many times as many voxels as the true volume, the distance \
             is 1 and is not computed; default: no limit.",
            ),
            SURPLUS_ROWS,
        ],
    },
)
.with_truth(&["truth", "column"]);

#[derive(Debug, Deserialize)]
struct HausdorffOfVolumes {
    #[serde(flatten)]
    masks: MaskColumns,
    slice: String,
    stacked_by: String,
    most_times: Option<f64>,
}

impl Metric for HausdorffOfVolumes {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let masks = self.masks.read(pair)?;
        let predicted = pair.submission.column(&self.slice)?;
        let predicted = self.stack(&predicted, masks.predicted, &masks.sizes)?;
        let truth = self.stack(
            &pair.answers.column(&self.slice)?,
            masks.truth,
            &masks.sizes,
        )?;
        let distances = predicted
            .iter()
            .zip(&truth)
            .map(|(predicted, truth)| self.distance(predicted, truth))
            .collect::<Result<Vec<Option<f64>>, Refusal>>()?;
        Ok(Score::numpy(mean_of_present(&distances)))
    }

    fn rows(&self) -> RowPolicy {
        self.masks.rows()
    }
}

impl HausdorffOfVolumes {
    fn distance(&self, predicted: &Volume, truth: &Volume) -> Result<Option<f64>, Refusal> {
        let (found, expected) = (predicted.voxels(), truth.voxels());
        if found == 0 && expected == 0 {
            return Ok(None);
        }
        if predicted == truth {
            return Ok(Some(0.0));
        }
        let too_large = self
            .most_times
            .is_some_and(|times| found as f64 > times * expected as f64);
        if found == 0 || expected == 0 || too_large {
            return Ok(Some(1.0));
        }
        let distance = hausdorff(truth, predicted, truth).ok_or_else(|| {
            let message = format!("a volume spans more than {MAX_VOXELS} voxels");
            Refusal::new(RefusalKind::Ids, message).in_column(&self.slice)
        })?;
        Ok(Some(distance / 3f64.sqrt()))
    }

    fn stack(
        &self,
        ids: &GradedColumn<'_>,
        masks: Vec<Mask>,
        sizes: &[MaskSize],
    ) -> Result<Vec<Volume>, Refusal> {
        let mut rows: Vec<(&str, usize, Mask)> = Vec::with_capacity(masks.len());
        for (position, mask) in masks.into_iter().enumerate() {
            match ids.value(position) {
                CellValue::Text(id) => rows.push((id, position, mask)),
                CellValue::Missing => {
                    return Err(ids.refuse(RefusalKind::Missing, position, "the name of a slice"));
                }
                _ => return Err(ids.refuse(RefusalKind::Type, position, "the name of a slice")),
            }
        }
        rows.sort_by(|a, b| a.0.cmp(b.0));
        let mut volumes: Vec<Volume> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        // Several rows can contain masks of the same slice.
        for slice in rows.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(id, _, _)) = slice.first() else {
                continue;
            };
            let name = id.split(self.stacked_by.as_str()).next().unwrap_or(id);
            let place = *places.entry(name).or_insert(volumes.len());
            for &(_, position, _) in slice {
                let size = sizes.get(position).copied().unwrap_or(MaskSize {
                    width: 0,
                    height: 0,
                });
                if place == volumes.len() {
                    let slices = Vec::new();
                    volumes.push(Volume { size, slices });
                }
                if volumes.get(place).is_some_and(|volume| volume.size != size) {
                    let expected = "a slice of the same size as the other slices of its volume";
                    return Err(ids.refuse(RefusalKind::Ids, position, expected));
                }
            }
            let mask = Mask::union(slice.iter().map(|(_, _, mask)| mask));
            if let Some(volume) = volumes.get_mut(place) {
                volume.slices.push(mask);
            }
        }
        Ok(volumes)
    }
}
