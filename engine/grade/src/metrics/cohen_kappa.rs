//! `cohen_kappa`: agreement beyond chance.

use std::collections::HashSet;

use serde::Deserialize;

use super::label_pair::{COLUMN, LabelPair};
use super::{Direction, Metric, MetricKind, Score, parse};
use crate::definition::{Definition, Parameter, ParameterKind};
use crate::frame::ColumnData;
use crate::numeric::sum;
use crate::pair::Pair;
use crate::refusal::{Refusal, RefusalKind};
use crate::target::{Labels, LabelsAs};

pub(super) static KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "cohen_kappa",
        summary: "Cohen's kappa: the agreement of two raters, less that of chance.",
        details: "1 - sum(w O) / sum(w E). O counts the pairs of labels, E is the outer product of its margins divided by \
                  the number of rows. The weight of a cell is 0 on the diagonal and 1 elsewhere, or the difference \
                  (`linear`) or its square (`quadratic`) of the labels' positions in the sorted list of all labels of both \
                  sides, not of their values. If everything is one label, the value is NaN.",
        source: "sklearn.metrics.cohen_kappa_score",
        shorthand: Some("column"),
        parameters: &[
            COLUMN,
            Parameter {
                name: "weights",
                kind: ParameterKind::Choice(&["none", "linear", "quadratic"]),
                required: false,
                doc: "What a disagreement weighs; default `none`.",
            },
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<CohenKappa>,
};

/// What a disagreement weighs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    #[default]
    None,
    Linear,
    Quadratic,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CohenKappa {
    column: String,
    #[serde(default)]
    weights: Weights,
}

impl Metric for CohenKappa {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let both = LabelPair::of(pair, &self.column, LabelsAs::Column)?;
        let value = match (&both.labels, &both.truth) {
            (Labels::Whole(a), Labels::Whole(b)) => {
                // Booleans fit into any integer type.
                let lossy =
                    !matches!(both.answers.data(), ColumnData::Bool(_)) && loses_digits(a, b);
                let counted = |label: &i128| !lossy || *label as f64 as i128 == *label;
                cohen_kappa(a, b, self.weights, |a, b| counted(a) && counted(b))
            }
            (Labels::Text(a), Labels::Text(b)) => cohen_kappa(a, b, self.weights, |_, _| true),
            _ => return Err(both.mixed()),
        };
        value.map(Score::numpy).ok_or_else(|| {
            let message =
                format!("too many different labels: at most {MOST_CLASSES} can be compared");
            Refusal::new(RefusalKind::Undefined, message).in_column(&self.column)
        })
    }

    fn columns(&self) -> Vec<&str> {
        vec![&self.column]
    }
}

/// More classes than this would need a confusion matrix of more than 512 MB.
const MOST_CLASSES: usize = 8_192;

/// NumPy has no integer type for both `int64` and `uint64`: where the predictions need the latter and the truth has
/// labels that are not among them, scikit-learn's list of all labels is one of doubles, and the rows whose label is
/// not among those are left out.
fn loses_digits(predicted: &[i128], truth: &[i128]) -> bool {
    if !predicted.iter().any(|label| *label > i128::from(i64::MAX)) {
        return false;
    }
    let known: HashSet<i128> = predicted.iter().copied().collect();
    truth.iter().any(|label| !known.contains(label))
}

/// Cohen's kappa of two lists of labels of one length, over the rows that are `counted`; `None` beyond 8,192 distinct
/// labels.
pub fn cohen_kappa<T: Ord>(
    first: &[T],
    second: &[T],
    weights: Weights,
    counted: impl Fn(&T, &T) -> bool,
) -> Option<f64> {
    let mut classes: Vec<&T> = first.iter().chain(second).collect();
    classes.sort_unstable();
    classes.dedup();
    let n = classes.len();
    if n > MOST_CLASSES {
        return None;
    }
    let class = |label: &T| classes.partition_point(|other| *other < label);
    let mut observed = vec![0u64; n * n];
    let (mut rows, mut columns) = (vec![0u64; n], vec![0u64; n]);
    let mut total = 0.0;
    for (a, b) in first.iter().zip(second).filter(|(a, b)| counted(a, b)) {
        total += 1.0;
        let (a, b) = (class(a), class(b));
        observed[a * n + b] += 1;
        rows[a] += 1;
        columns[b] += 1;
    }
    let weight = |i: usize, j: usize| {
        let distance = i.abs_diff(j) as u64;
        match weights {
            Weights::None => u64::from(distance > 0),
            Weights::Linear => distance,
            Weights::Quadratic => distance * distance,
        }
    };
    let mut disagreement = 0.0;
    let mut expected = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            disagreement += (weight(i, j) * observed[i * n + j]) as f64;
            // The margins' product is that of two integers, divided once, as NumPy's outer product is.
            expected.push(weight(i, j) as f64 * ((columns[i] * rows[j]) as f64 / total));
        }
    }
    Some(1.0 - disagreement / sum(&expected))
}
