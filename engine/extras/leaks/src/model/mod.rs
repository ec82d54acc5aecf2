//! Models that measure how much of the answers can be predicted, from a single fact or from all intended features.
//!
//! Answers are converted to numbers first ([`Targets`]). A prediction is a matrix of the same shape. It is always made
//! for items whose answers the model has not seen. The fraction of the variance that a prediction explains is its
//! *skill*.

mod baseline;
mod folds;
mod gain;
mod sorted;
mod targets;

pub(crate) use baseline::{Intended, predict_from_intended};
pub(crate) use folds::{FOLDS, Folds};
pub(crate) use gain::{Gain, gain, least_squares};
pub(crate) use sorted::is_sorted;
pub(crate) use targets::{Targets, by_nearest, by_value, nearest_from_train, value_from_train};

/// Predicted targets by item. `None` if the model has no basis for a prediction.
pub(crate) type Prediction = Vec<Option<Vec<f64>>>;
