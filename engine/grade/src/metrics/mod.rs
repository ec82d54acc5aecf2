//! The metrics, one file each. A metric scores the two tables after the rules have aligned their rows.

use std::fmt;

use serde_json::Value;

use crate::python::numeric::{round_numpy, round_python};
use crate::refusal::Refusal;
use crate::rules::RowPolicy;
use crate::spec::definition::Definition;
use crate::table::pair::Pair;

mod accuracy;
mod average_precision_at_k;
mod average_precision_of_boxes;
mod average_precision_of_boxes_3d;
mod coco_average_precision;
mod cohen_kappa;
mod exact_match;
mod f1;
mod f1_of_points;
mod f1_of_words;
mod f_beta_of_masks;
mod grouped_log_loss;
mod groups;
mod hausdorff_of_volumes;
mod haversine_distance;
mod iou_precision_of_masks;
mod jaccard_of_words;
mod kendall_tau;
mod kl_divergence;
mod label_pair;
mod label_ranking_average_precision;
mod laplace_log_likelihood;
mod log_loss;
mod matthews_corrcoef;
mod mean_absolute_error;
mod mean_angular_error;
mod mean_edit_distance;
mod pearson;
mod per_column;
mod probabilistic_f_score;
mod roc_auc;
mod root_mean_squared_error;
mod root_mean_squared_log_error;
mod spearman;
mod subgroup_auc;
mod token_error_rate;
mod weighted_roc_auc;
mod weighted_sum;
mod zero_one_loss;

pub use cohen_kappa::cohen_kappa;
pub use log_loss::log_loss;
pub use roc_auc::roc_auc;

/// Number of decimals of a reported score.
const DECIMALS: u8 = 5;

/// Whether higher or lower scores of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A higher score is better.
    HigherIsBetter,
    /// A lower score is better.
    LowerIsBetter,
}

/// A score, and how it is rounded for the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The score before rounding.
    pub value: f64,
    /// How the score is rounded.
    pub rounding: Rounding,
}

/// How Python's `round` rounds a score. This depends on the type of the score in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// A NumPy double: multiplied, rounded half to even, divided.
    NumPy,
    /// A Python float: correct decimal rounding.
    Python,
}

impl Score {
    fn numpy(value: f64) -> Self {
        Score {
            value,
            rounding: Rounding::NumPy,
        }
    }

    fn python(value: f64) -> Self {
        Score {
            value,
            rounding: Rounding::Python,
        }
    }

    /// Returns the score rounded to five decimals.
    pub fn rounded(self) -> f64 {
        match self.rounding {
            Rounding::NumPy => round_numpy(self.value, i32::from(DECIMALS)),
            Rounding::Python => round_python(self.value, usize::from(DECIMALS)),
        }
    }
}

/// A metric with its parameters.
pub trait Metric: fmt::Debug + Send + Sync {
    /// Scores the submission.
    ///
    /// # Errors
    /// If the submission contains invalid values, or if the metric is not defined for its values.
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal>;

    /// Returns the number of rows that the metric requires, regardless of their content.
    fn rows(&self) -> RowPolicy {
        RowPolicy::Any
    }
}

/// A kind of metric: its description, direction and parser.
#[derive(Debug)]
pub struct MetricKind {
    /// Name, documentation and parameters.
    pub definition: Definition,
    /// The default direction.
    pub direction: Direction,
    pub(crate) parse: fn(Value) -> Result<Box<dyn Metric>, serde_json::Error>,
}

/// All metrics, in the order of the reference.
pub const ALL: &[&MetricKind] = &[
    &accuracy::KIND,
    &average_precision_at_k::KIND,
    &average_precision_of_boxes::KIND,
    &average_precision_of_boxes_3d::KIND,
    &coco_average_precision::KIND,
    &cohen_kappa::KIND,
    &exact_match::KIND,
    &f1::KIND,
    &f1_of_points::KIND,
    &f1_of_words::KIND,
    &f_beta_of_masks::KIND,
    &grouped_log_loss::KIND,
    &hausdorff_of_volumes::KIND,
    &haversine_distance::KIND,
    &iou_precision_of_masks::KIND,
    &jaccard_of_words::KIND,
    &kendall_tau::KIND,
    &kl_divergence::KIND,
    &label_ranking_average_precision::KIND,
    &laplace_log_likelihood::KIND,
    &log_loss::KIND,
    &matthews_corrcoef::KIND,
    &mean_absolute_error::KIND,
    &mean_angular_error::KIND,
    &mean_edit_distance::KIND,
    &pearson::KIND,
    &probabilistic_f_score::KIND,
    &roc_auc::KIND,
    &root_mean_squared_error::KIND,
    &root_mean_squared_log_error::KIND,
    &spearman::KIND,
    &subgroup_auc::KIND,
    &token_error_rate::KIND,
    &weighted_roc_auc::KIND,
    &weighted_sum::KIND,
    &zero_one_loss::KIND,
];

/// Parses the parameters of a metric of type `M`.
fn parse<M: Metric + serde::de::DeserializeOwned + 'static>(
    value: Value,
) -> Result<Box<dyn Metric>, serde_json::Error> {
    Ok(Box::new(serde_json::from_value::<M>(value)?))
}
