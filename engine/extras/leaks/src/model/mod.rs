//! Models that measure how much of the answers can be predicted, from a single fact or from all intended features.
//!
//! Answers are converted to numbers first ([`Targets`]). A prediction is a matrix of the same shape. It is always made
//! for items whose answers the model has not seen. The fraction of the variance that a prediction explains is its
//! *skill*.

mod baseline;
mod gain;
mod targets;

pub(crate) use baseline::{Intended, predict_from_intended};
pub(crate) use gain::{Gain, gain, least_squares};
pub(crate) use targets::{
    Targets, by_nearest, by_nearest_of_others, by_value, nearest_from_train, value_from_train,
};

/// Number of folds for cross-validation. Each fold is predicted by a model of the other folds.
pub(crate) const FOLDS: usize = 5;

/// Returns the fold of an item. Neighbours in any order are in different folds.
pub(crate) fn fold(item: usize) -> usize {
    let mixed = (item as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from((mixed >> 33) % FOLDS as u64).unwrap_or(0)
}

/// Predicted targets by item. `None` if the model has no basis for a prediction.
pub(crate) type Prediction = Vec<Option<Vec<f64>>>;
