//! `f_beta_of_masks`: overlap of run-length encoded masks.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean_of_present;
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::shapes::mask::{
    COLUMN, EMPTY, HEIGHT, MaskColumns, MaskSize, Masks, SURPLUS_ROWS, TRUTH, WIDTH,
};
use crate::spec::definition::{Definition, one, optional};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "f_beta_of_masks",
        summary: "F-beta over the pixels of run-length encoded masks; with beta 1, it is the Dice coefficient.",
        details: "(1 + beta^2) |A and B| / (beta^2 |A| + |B|), where A is the true and B the predicted mask. It is \
                  computed for each row and averaged, or computed once for the pixels of all rows. A cell contains \
                  pairs `start length`, with starts from 1 in increasing order. A cell with only white space or a \
                  single number is an empty mask. In a cell with two starts and one length, both runs have this \
                  length. Runs are truncated at the end of the image. Overlapping runs, starts out of order, numbers \
                  below 1 and cells that are not text are invalid.",
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
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<FBetaOfMasks>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Average {
    #[default]
    Rows,
    Pixels,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BothEmpty {
    #[default]
    Zero,
    One,
    Skip,
}

#[derive(Debug, Deserialize)]
struct FBetaOfMasks {
    #[serde(flatten)]
    masks: MaskColumns,
    #[serde(default = "one")]
    beta: f64,
    #[serde(default)]
    average: Average,
    #[serde(default)]
    both_empty: BothEmpty,
}

/// Numbers of pixels: in the true mask, in the predicted mask, and in both masks.
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
            Average::Rows => areas.collect(),
            Average::Pixels => {
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
            return match self.both_empty {
                BothEmpty::Zero => Some(0.0),
                BothEmpty::One => Some(1.0),
                BothEmpty::Skip => None,
            };
        }
        let square = self.beta * self.beta;
        let below = square * areas.truth as f64 + areas.predicted as f64;
        Some((1.0 + square) * areas.both as f64 / below)
    }
}

fn check_one_size(masks: &Masks) -> Result<(), Refusal> {
    let first: Option<MaskSize> = masks.sizes.first().copied();
    if masks.sizes.iter().all(|size| Some(*size) == first) {
        return Ok(());
    }
    let message = "the answers have images of different sizes, expected one size";
    Err(Refusal::new(RefusalKind::Answers, message))
}
