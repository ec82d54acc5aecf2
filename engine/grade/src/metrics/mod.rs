//! The metrics, one file per family. A metric scores the two tables after the rules have paired their rows.

mod coco_average_precision;
mod correlations;
mod detections;
mod differences;
mod directions;
mod edits;
pub(crate) mod kind;
mod labels;
mod masks;
mod objects;
mod probabilities;
mod query;
mod rankings;
mod roc;
mod words;

pub use kind::{Direction, Metric, MetricKind, Rounding, Score};
pub use labels::cohen_kappa;
pub use probabilities::log_loss;
pub use query::{QUERY_TABLES, QueryColumn, QueryEngine, QueryFailure, QueryTable};
pub use roc::roc_auc;

/// All metrics, in the order of the reference.
pub const ALL: &[&MetricKind] = &[
    &labels::ACCURACY,
    &rankings::AVERAGE_PRECISION_AT_K,
    &detections::AVERAGE_PRECISION_OF_BOXES_3D,
    &coco_average_precision::KIND,
    &detections::AVERAGE_PRECISION_OF_BOXES,
    &roc::AVERAGE_PRECISION,
    &labels::BALANCED_ACCURACY,
    &probabilities::BALANCED_LOG_LOSS,
    &probabilities::BRIER,
    &labels::COHEN_KAPPA,
    &words::EXACT_MATCH,
    &masks::F_BETA_OF_MASKS,
    &objects::F_BETA_OF_OBJECTS,
    &detections::F1_OF_POINTS,
    &words::F1_OF_SPANS,
    &words::F1_OF_WORDS,
    &labels::F1,
    &probabilities::GROUPED_LOG_LOSS,
    &masks::HAUSDORFF_OF_VOLUMES,
    &directions::HAVERSINE_DISTANCE,
    &masks::IOU_PRECISION_OF_MASKS,
    &words::JACCARD_OF_WORDS,
    &correlations::KENDALL_TAU,
    &probabilities::KL_DIVERGENCE,
    &rankings::LABEL_RANKING_AVERAGE_PRECISION,
    &differences::LAPLACE_LOG_LIKELIHOOD,
    &probabilities::LOG_LOSS,
    &labels::MATTHEWS_CORRCOEF,
    &differences::MEAN_ABSOLUTE_ERROR,
    &differences::MEAN_ABSOLUTE_PERCENTAGE_ERROR,
    &directions::MEAN_ANGULAR_ERROR,
    &edits::MEAN_EDIT_DISTANCE,
    &rankings::MEAN_RECIPROCAL_RANK,
    &differences::MEDIAN_ABSOLUTE_ERROR,
    &rankings::NDCG_AT_K,
    &correlations::NORMALISED_GINI,
    &correlations::PEARSON,
    &objects::PRECISION_OF_BOXES,
    &probabilities::PROBABILISTIC_F_SCORE,
    &differences::R2,
    &roc::ROC_AUC,
    &differences::ROOT_MEAN_SQUARED_ERROR,
    &differences::ROOT_MEAN_SQUARED_LOG_ERROR,
    &differences::ROOT_MEAN_SQUARED_PERCENTAGE_ERROR,
    &differences::SMAPE,
    &correlations::SPEARMAN,
    &query::SQL,
    &roc::SUBGROUP_AUC,
    &edits::TOKEN_ERROR_RATE,
    &rankings::TOP_K_ACCURACY,
    &roc::WEIGHTED_ROC_AUC,
    &kind::WEIGHTED_SUM,
    &labels::ZERO_ONE_LOSS,
];
