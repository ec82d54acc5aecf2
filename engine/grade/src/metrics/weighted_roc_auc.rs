//! `weighted_roc_auc`: area under the ROC curve with weighted parts.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score};
use super::roc_auc::{area_below, labels_and_scores, roc_curve};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, required};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "weighted_roc_auc",
        summary: "Area under the ROC curve, divided at given true positive rates into slices with different weights.",
        details: "The slice between two consecutive rates is the area to the right of the curve between these rates, \
                  up to a false positive rate of 1. It is computed with trapezoids. If the curve has no point at a \
                  rate, a point is interpolated linearly. The score is the weighted sum of the slices, divided by the \
                  weighted sum for a perfect curve. Rows with label 1 are positive. Scores are doubles; text must \
                  consist of numbers, and missing or infinite scores are invalid.",
        source: "kaggle.com/code/anokas/weighted-auc-metric-updated; sklearn.metrics.roc_curve",
        shorthand: None,
        parameters: &[
            column(
                "column",
                "The column with the label in the answers and the score in the submission.",
            ),
            required(
                "rates",
                KeyType::Numbers,
                "The true positive rates that separate the slices, increasing, from 0 to 1.",
            ),
            required(
                "weights",
                KeyType::Numbers,
                "The weight of each slice. The list has one element fewer than `rates`.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: |value| {
        let metric: WeightedRocAuc = serde_json::from_value(value)?;
        metric.check().map_err(serde::de::Error::custom)?;
        Ok(Box::new(metric))
    },
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedRocAuc {
    column: String,
    rates: Vec<f64>,
    weights: Vec<f64>,
}

impl WeightedRocAuc {
    fn check(&self) -> Result<(), &'static str> {
        let rising = self.rates.is_sorted_by(|a, b| a < b);
        let whole = self.rates.first() == Some(&0.0) && self.rates.last() == Some(&1.0);
        if !rising || !whole {
            return Err("`rates` must increase from 0 to 1");
        }
        if self.weights.len() + 1 != self.rates.len() {
            return Err("`weights` must have one number for each slice: one fewer than `rates`");
        }
        Ok(())
    }
}

impl Metric for WeightedRocAuc {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (positive, scores) = labels_and_scores(pair, &self.column)?;
        if positive.iter().all(|one| *one) || !positive.iter().any(|one| *one) {
            let message = "the answers need rows with the label 1 and rows with another label";
            return Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.column));
        }
        let mut curve = roc_curve(&positive, &scores);
        for rate in &self.rates {
            insert(&mut curve, *rate);
        }
        let (mut total, mut perfect) = (0.0, 0.0);
        for (bounds, weight) in self.rates.windows(2).zip(&self.weights) {
            let [low, high] = bounds else { continue };
            total += slice(&curve, *low, *high) * weight;
            perfect += (high - low) * weight;
        }
        Ok(Score::numpy(total / perfect))
    }
}

/// Inserts a point at a true positive rate, unless the curve already has a point at that rate.
fn insert(curve: &mut Vec<(f64, f64)>, rate: f64) {
    if curve.iter().any(|(_, y)| *y == rate) {
        return;
    }
    let above = curve.iter().position(|(_, y)| *y > rate);
    let neighbours = above.and_then(|at| {
        let before = curve.get(at.checked_sub(1)?)?;
        Some((at, *before, *curve.get(at)?))
    });
    if let Some((at, (x0, y0), (x1, y1))) = neighbours {
        let x = x0 + (x1 - x0) * (rate - y0) / (y1 - y0);
        curve.insert(at, (x, rate));
    }
}

/// Returns the area between two rates, to the right of the curve.
fn slice(curve: &[(f64, f64)], low: f64, high: f64) -> f64 {
    let mut points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|(_, y)| (low..=high).contains(y))
        .map(|(x, y)| (*x, y - low))
        .collect();
    points.push((1.0, high - low));
    area_below(&points)
}
