//! `roc_auc`: area under the ROC curve.

use std::collections::BTreeSet;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::{mean, sum};
use crate::refusal::{Refusal, RefusalKind, count};
use crate::spec::definition::{Definition, columns, optional};
use crate::table::numbers::{ColumnSelection, floats, scores};
use crate::table::pair::{GradedColumn, Pair};
use crate::table::target::{Labels, LabelsAs};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "roc_auc",
        summary: "Area under the ROC curve; for several columns, the mean of their scores.",
        details: "The area is computed as trapezoids between the points of the distinct scores, so a pair of equal \
                  scores contributes one half. Only the order of the scores matters. The larger of the answers' two \
                  labels is the positive label. The answers must contain both labels in each column. Missing and \
                  infinite scores are invalid; booleans are treated as 0 and 1.",
        source: "sklearn.metrics.roc_auc_score",
        shorthand: Some("columns"),
        parameters: &[
            columns(
                "columns",
                "The columns with labels in the answers and scores in the submission.",
            ),
            optional(
                "match",
                KeyType::Choice(&["name", "position"]),
                "`position`: the k-th of the columns is compared with the k-th column of the submission that is not in \
                 `all_except`, even if their names differ.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<RocAuc>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Match {
    #[default]
    Name,
    Position,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RocAuc {
    columns: ColumnSelection,
    #[serde(default, rename = "match")]
    matching: Match,
}

impl Metric for RocAuc {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let truth = self.columns.resolve(&pair.answers);
        let predicted = match self.matching {
            Match::Name => truth.clone(),
            Match::Position => self.columns.resolve(&pair.submission),
        };
        if predicted.len() != truth.len() {
            let message = format!(
                "the submission has {} of scores, expected {}",
                count(predicted.len(), "column"),
                truth.len()
            );
            return Err(Refusal::new(RefusalKind::SurplusColumn, message));
        }
        let areas = truth
            .iter()
            .zip(&predicted)
            .map(|(truth, predicted)| {
                area(
                    &pair.answers.column(truth)?,
                    &pair.submission.column(predicted)?,
                )
            })
            .collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&areas)))
    }
}

fn area(truth: &GradedColumn<'_>, predicted: &GradedColumn<'_>) -> Result<f64, Refusal> {
    let scores = scores(predicted)?;
    let positive = match Labels::from_column(truth, LabelsAs::Column)? {
        Labels::Integers(labels) => positive(&labels),
        Labels::Text(labels) => positive(&labels),
    };
    let positive = positive.ok_or_else(|| {
        Refusal::new(
            RefusalKind::Answers,
            "the answers need two different labels",
        )
        .in_column(truth.name)
    })?;
    Ok(roc_auc(&positive, &scores))
}

/// Returns for each row whether it has the larger label. `None` unless there are exactly two labels.
fn positive<T: Ord>(labels: &[T]) -> Option<Vec<bool>> {
    let distinct: BTreeSet<&T> = labels.iter().collect();
    let larger = *distinct.last()?;
    (distinct.len() == 2).then(|| labels.iter().map(|label| label == larger).collect())
}

/// Returns for each row whether its label is 1, and its score.
pub(super) fn labels_and_scores(
    pair: &Pair<'_>,
    column: &str,
) -> Result<(Vec<bool>, Vec<f64>), Refusal> {
    let (answers, prediction) = pair.cells(column)?;
    let scores = floats(&prediction)?;
    let labels = floats(&answers)?.into_iter();
    Ok((labels.map(|label| label == 1.0).collect(), scores))
}

/// Returns the area under the ROC curve of finite scores. NaN if there is no positive or no negative row.
pub fn roc_auc(positive: &[bool], scores: &[f64]) -> f64 {
    area_below(&roc_curve(positive, scores))
}

/// Returns the area between a curve and the x axis, as a sum of trapezoids.
pub(super) fn area_below(curve: &[(f64, f64)]) -> f64 {
    let trapezoids: Vec<f64> = curve
        .windows(2)
        .map(|pair| match pair {
            [(x0, y0), (x1, y1)] => (x1 - x0) * (y1 + y0) / 2.0,
            _ => 0.0,
        })
        .collect();
    sum(&trapezoids)
}

/// Returns the ROC curve of finite scores, starting at (0, 0): the false and the true positive rate at each distinct
/// score.
///
/// Collinear points are dropped as in scikit-learn's `roc_curve`, so that the last digits agree.
pub(super) fn roc_curve(positive: &[bool], scores: &[f64]) -> Vec<(f64, f64)> {
    let mut rows: Vec<(f64, bool)> = scores
        .iter()
        .copied()
        .zip(positive.iter().copied())
        .collect();
    // The order of equal scores does not matter, because they become one point. Finite scores can always be compared.
    rows.sort_unstable_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
    let (mut hits, mut alarms) = (0.0, 0.0);
    let mut points = Vec::new();
    for (row, next) in rows.iter().zip(rows.iter().skip(1).map(Some).chain([None])) {
        if row.1 {
            hits += 1.0
        } else {
            alarms += 1.0
        }
        if next.is_none_or(|next| next.0 != row.0) {
            points.push((alarms, hits));
        }
    }
    let mut curve = vec![(0.0, 0.0)];
    for (index, point) in points.iter().enumerate() {
        let neighbours = index
            .checked_sub(1)
            .and_then(|left| points.get(left))
            .zip(points.get(index + 1));
        let bends = neighbours.is_none_or(|(left, right)| {
            right.0 - point.0 != point.0 - left.0 || right.1 - point.1 != point.1 - left.1
        });
        if bends {
            curve.push((point.0 / alarms, point.1 / hits));
        }
    }
    curve
}
