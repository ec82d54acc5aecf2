//! Areas under the ROC curve.

use std::collections::BTreeSet;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, TRUTH};
use super::kind::{FINITE, POSITIVE, ROW_WEIGHTS, SCORE, mean_over, row_weights};
use crate::python::{mean, sum};
use crate::refusal::{Refusal, RefusalKind, RowPolicy, count};
use crate::spec::definition::{Definition, column, columns, optional, required};
use crate::table::column::GradedColumn;
use crate::table::numbers::{ColumnSelection, check_numeric_type, floats, scores};
use crate::table::pair::Pair;
use crate::table::target::{Labels, LabelsAs, PositiveLabel};

pub(super) const ROC_AUC: MetricKind = MetricKind::higher::<RocAuc>(Definition {
    name: "roc_auc",
    summary: "Area under the ROC curve; for several columns, the mean of their scores.",
    details: "The area is computed with trapezoids between the points of the distinct scores, so a pair of a positive \
              and a negative row with equal scores counts one half. Only the order of the scores matters. Missing and \
              infinite scores are invalid.\n\n\
              Each column of the answers must contain exactly two different labels: integers or booleans. The larger of \
              the two is the positive label. Texts are invalid, because scikit-learn treats the later one in \
              alphabetical order as positive, for example `nein` instead of `ja`.",
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
        ROW_WEIGHTS,
    ],
});

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
    row_weights: Option<String>,
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
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        let areas = truth
            .iter()
            .zip(&predicted)
            .map(|(truth, predicted)| {
                area(
                    &pair.answers.column(truth)?,
                    &pair.submission.column(predicted)?,
                    weights.as_deref(),
                )
            })
            .collect::<Result<Vec<f64>, Refusal>>()?;
        Ok(Score::numpy(mean(&areas)))
    }

    fn cell(&self) -> Option<&'static str> {
        matches!(self.matching, Match::Name).then_some(FINITE)
    }

    fn meaning(&self) -> Option<&'static str> {
        Some(SCORE)
    }
}

/// Returns the area under the ROC curve of one column.
fn area(
    truth: &GradedColumn<'_>,
    predicted: &GradedColumn<'_>,
    weights: Option<&[f64]>,
) -> Result<f64, Refusal> {
    let positive = match Labels::from_column(truth, LabelsAs::Column)? {
        Labels::Integers(labels) => {
            larger_label(&labels).ok_or("the answers need two different labels")
        }
        Labels::Text(_) => Err(
            "the labels in the answers must be numbers, because texts do not state which of them is positive",
        ),
    };
    let positive = positive
        .map_err(|cause| Refusal::new(RefusalKind::Answers, cause).in_column(truth.name))?;
    let scores = scores(predicted)?;
    let area = area_below(&roc_curve(&positive, &scores, weights));
    if area.is_nan() {
        let message = "the answers need two different labels in rows with a weight above 0";
        return Err(Refusal::new(RefusalKind::Answers, message).in_column(truth.name));
    }
    Ok(area)
}

/// Returns for each row whether it has the larger label. Returns `None` unless there are exactly two labels.
pub(super) fn larger_label(labels: &[i128]) -> Option<Vec<bool>> {
    let distinct: BTreeSet<&i128> = labels.iter().collect();
    let larger = *distinct.last()?;
    (distinct.len() == 2).then(|| labels.iter().map(|label| label == larger).collect())
}

/// Returns for each row whether its label is 1, and the score of each row.
pub(super) fn labels_and_scores(
    pair: &Pair<'_>,
    column: &str,
) -> Result<(Vec<bool>, Vec<f64>), Refusal> {
    let (answers, prediction) = pair.cells(column)?;
    let labels = floats(&answers)?.into_iter();
    let positive = labels.map(|label| label == 1.0).collect();
    Ok((positive, floats(&prediction)?))
}

/// Returns the area under the ROC curve of finite scores. NaN if there is no positive or no negative row.
pub fn roc_auc(positive: &[bool], scores: &[f64]) -> f64 {
    area_below(&roc_curve(positive, scores, None))
}

/// Returns the area below a curve, which is a list of points (x, y).
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

/// Returns a pair of weights for each distinct score, beginning with the highest score. The pair contains the total weight
/// of the negative rows with at least this score, and the total weight of the positive rows with at least this score.
///
/// Scores must be finite.
fn weights_above(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Vec<(f64, f64)> {
    let weight = |row| weights.map_or(1.0, |weights| weights.get(row).copied().unwrap_or(0.0));
    let rows = scores.iter().zip(positive).enumerate().rev();
    let rows = rows.map(|(row, (score, positive))| (*score, *positive, weight(row)));
    let mut rows: Vec<(f64, bool, f64)> = rows.filter(|row| row.2 != 0.0).collect();
    let descending = |a: &(f64, bool, f64), b: &(f64, bool, f64)| {
        b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal)
    };
    match weights {
        // Rows with equal scores become one point, so without weights their order does not matter.
        None => rows.sort_unstable_by(descending),
        Some(_) => rows.sort_by(descending),
    }
    let (mut hits, mut alarms) = (0.0, 0.0);
    let mut points = Vec::new();
    for (row, next) in rows.iter().zip(rows.iter().skip(1).map(Some).chain([None])) {
        if row.1 {
            hits += row.2;
        } else {
            alarms += row.2;
        }
        if next.is_none_or(|next| next.0 != row.0) {
            points.push((alarms, hits));
        }
    }
    points
}

/// Returns the ROC curve of finite scores: (0, 0), and the false and the true positive rate at each distinct score.
///
/// Drops collinear points like scikit-learn's `roc_curve`. Otherwise the last digits of scores would differ.
pub(super) fn roc_curve(
    positive: &[bool],
    scores: &[f64],
    weights: Option<&[f64]>,
) -> Vec<(f64, f64)> {
    let points = weights_above(positive, scores, weights);
    let (alarms, hits) = points.last().copied().unwrap_or_default();
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

/// Returns the average precision of finite scores: the sum of (R_i - R_(i-1)) P_i over the distinct scores, highest first.
///
/// R_i is the recall, and P_i the precision, if all rows with at least the i-th highest score are predicted as positive. R_0
/// is 0.
pub(super) fn average_precision(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> f64 {
    let points = weights_above(positive, scores, weights);
    let all = points.last().map_or(0.0, |(_, hits)| *hits);
    let mut recall_before = 0.0;
    let mut steps = Vec::with_capacity(points.len());
    for (alarms, hits) in points {
        let recall = if all == 0.0 { 1.0 } else { hits / all };
        steps.push((recall - recall_before) * (hits / (hits + alarms)));
        recall_before = recall;
    }
    // Like scikit-learn, add the steps from the lowest score.
    steps.reverse();
    sum(&steps)
}

pub(super) const AVERAGE_PRECISION: MetricKind = MetricKind::higher::<AveragePrecision>(
    Definition {
        name: "average_precision",
        summary: "Average precision of scores, without interpolation; for several columns, the mean of their scores.",
        details: "The average precision is the sum of (R_i - R_(i-1)) P_i over the distinct scores of the submission, \
              highest first. R_i and P_i are the recall and the precision if all rows with at least the i-th score are \
              predicted as positive; R_0 is 0.\n\n\
              The positive rows of a column are those whose label in the answers equals the value of the key \
              `positive`. A column without positive rows has the average precision 0. A column of the answers with \
              more than two different labels is invalid.\n\n\
              Missing and infinite scores are invalid. Booleans are treated as 0 and 1.",
        source: "sklearn.metrics.average_precision_score",
        shorthand: Some("columns"),
        parameters: &[
            columns(
                "columns",
                "The columns with labels in the answers and scores in the submission.",
            ),
            POSITIVE,
            ROW_WEIGHTS,
        ],
    },
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AveragePrecision {
    columns: ColumnSelection,
    #[serde(default)]
    positive: PositiveLabel,
    row_weights: Option<String>,
}

impl Metric for AveragePrecision {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let weights = row_weights(pair, self.row_weights.as_deref())?;
        mean_over(&self.columns, pair, |truth, predicted| {
            let labels = Labels::from_column(truth, LabelsAs::Column)?;
            let positive = labels.equal_to(&self.positive);
            let has_other_labels = match labels.is_binary() {
                false => true,
                true => !labels.is_constant() && !positive.contains(&true),
            };
            if has_other_labels {
                let message = "the answers must have at most two labels; if there are two, `positive` must name one of them";
                return Err(Refusal::new(RefusalKind::Answers, message).in_column(truth.name));
            }
            // scikit-learn does not convert the scores, and NumPy cannot subtract Python objects.
            check_numeric_type(predicted)?;
            let scores = scores(predicted)?;
            Ok(average_precision(&positive, &scores, weights.as_deref()))
        })
    }

    fn meaning(&self) -> Option<&'static str> {
        Some(
            "A higher number means that the label in `positive` (default: 1) is more probable. Only the order of the numbers \
             matters.",
        )
    }

    fn rows(&self) -> RowPolicy {
        RowPolicy::Times(1)
    }
}

pub(super) const SUBGROUP_AUC: MetricKind = MetricKind::higher::<SubgroupAuc>(Definition {
    name: "subgroup_auc",
    summary: "Mean of the overall area under the ROC curve and of three power means of such areas over groups.",
    details: "A row is positive if its label in the answers is 1. A row belongs to a group if its cell in the group's \
              column of the answers is 1.\n\n\
              For each group, the area is computed for three sets of rows. Each set must contain positive and negative \
              rows. The first set contains all rows of the group. The second set contains the negative rows of the \
              group and the positive rows outside of the group. The third set contains the positive rows of the group \
              and the negative rows outside of the group.\n\n\
              Each of the three areas is averaged over the groups with the power mean (mean(area^p))^(1/p).",
    source: "Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias",
    shorthand: None,
    parameters: &[
        column(
            "column",
            "The column with the label in the answers and the score in the submission.",
        ),
        columns("groups", "The answers' columns that define the groups."),
        required("power", KeyType::Number, "The power p of the means."),
    ],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubgroupAuc {
    column: String,
    groups: ColumnSelection,
    power: f64,
}

impl Metric for SubgroupAuc {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (positive, scores) = labels_and_scores(pair, &self.column)?;
        let overall = area_of_rows(&positive, &scores, |_| true)
            .ok_or_else(|| needs_both_labels(&self.column))?;
        let groups = self.groups.resolve(&pair.answers);
        let mut sums = [0.0; 3];
        for name in &groups {
            let members = floats(&pair.answers.column(name)?)?;
            let member = |row: usize| members.get(row) == Some(&1.0);
            let is_positive = |row: usize| positive.get(row) == Some(&true);
            let areas = [
                area_of_rows(&positive, &scores, member),
                area_of_rows(&positive, &scores, |row| member(row) != is_positive(row)),
                area_of_rows(&positive, &scores, |row| member(row) == is_positive(row)),
            ];
            for (sum, area) in sums.iter_mut().zip(areas) {
                let area = area.ok_or_else(|| needs_both_labels(name))?;
                *sum += area.powf(self.power);
            }
        }
        let means = sums.map(|sum| 0.25 * (sum / groups.len() as f64).powf(1.0 / self.power));
        Ok(Score::numpy(0.25 * overall + means.iter().sum::<f64>()))
    }
}

fn needs_both_labels(group: &str) -> Refusal {
    let message = "the answers need positive and negative rows inside and outside of the group";
    Refusal::new(RefusalKind::Answers, message).in_column(group)
}

/// Returns the area under the ROC curve of the selected rows. Returns `None` unless there are positive and negative rows.
fn area_of_rows(
    positive: &[bool],
    scores: &[f64],
    selected: impl Fn(usize) -> bool,
) -> Option<f64> {
    let rows = positive.iter().copied().zip(scores.iter().copied());
    let rows = rows.enumerate().filter(|(row, _)| selected(*row));
    let (positive, scores): (Vec<bool>, Vec<f64>) = rows.map(|(_, row)| row).unzip();
    let both = positive.contains(&true) && positive.contains(&false);
    both.then(|| roc_auc(&positive, &scores))
}

pub(super) const WEIGHTED_ROC_AUC: MetricKind = MetricKind {
    definition: Definition {
        name: "weighted_roc_auc",
        summary: "Area under the ROC curve, divided at given true positive rates into slices with different weights.",
        details: "The key `rates` divides the area under the curve into horizontal slices. Each slice is between two \
                  consecutive rates. It extends from the curve to the right edge, where the false positive rate is 1. \
                  Its area is computed with trapezoids. If the curve has no point at a rate, a point is interpolated \
                  linearly.\n\n\
                  The score is the weighted sum of the slices' areas, divided by the weighted sum for a perfect \
                  curve.\n\n\
                  Rows with label 1 are positive. A cell of text is invalid unless the text is a number. Missing and \
                  infinite scores are invalid.",
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
    best_score: Some(1.0),
    truth: TRUTH,
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
        let mut curve = roc_curve(&positive, &scores, None);
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

/// Inserts an interpolated point at a true positive rate, unless the curve has a point at this rate.
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

/// Returns the area between two true positive rates, to the right of the curve.
fn slice(curve: &[(f64, f64)], low: f64, high: f64) -> f64 {
    let mut points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|(_, y)| (low..=high).contains(y))
        .map(|(x, y)| (*x, y - low))
        .collect();
    points.push((1.0, high - low));
    area_below(&points)
}
