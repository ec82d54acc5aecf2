//! The metrics, one file each. A metric scores the two tables after the rules have aligned their rows.

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
mod hausdorff_of_volumes;
mod haversine_distance;
mod iou_precision_of_masks;
mod jaccard_of_words;
mod kendall_tau;
pub(crate) mod kind;
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
pub use kind::{Direction, Metric, MetricKind, Rounding, Score};
pub use log_loss::log_loss;
pub use roc_auc::roc_auc;

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
