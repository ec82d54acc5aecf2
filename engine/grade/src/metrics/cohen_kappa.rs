//! `cohen_kappa`: agreement beyond chance.

use std::collections::HashSet;

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMN, LabelPair};
use crate::python::sum_of;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, optional};
use crate::table::pair::Pair;
use crate::table::target::{Labels, LabelsAs};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "cohen_kappa",
        summary: "Cohen's kappa: the agreement of two raters, corrected for agreement by chance.",
        details: "1 - sum(w O) / sum(w E). O is the number of rows for each pair of labels; E is the outer product of \
                  the row and column sums of O, divided by the number of rows. The weight of a pair of equal labels is \
                  0. The weight of two different labels is 1, or the difference (`linear`) or squared difference \
                  (`quadratic`) of their positions in the sorted list of all labels of both tables. If there is only \
                  one label, the value is NaN.",
        source: "sklearn.metrics.cohen_kappa_score",
        shorthand: Some("column"),
        parameters: &[
            COLUMN,
            optional(
                "weights",
                KeyType::Choice(&["none", "linear", "quadratic"]),
                "The weight of a disagreement; default `none`.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<CohenKappa>,
};

/// The weight of a disagreement.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// 1 for all pairs of different labels.
    #[default]
    None,
    /// The distance between the positions of the labels.
    Linear,
    /// The square of the distance between the positions of the labels.
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
        let both = LabelPair::new(pair, &self.column, LabelsAs::Column)?;
        let value = match (&both.labels, &both.truth) {
            (Labels::Integers(a), Labels::Integers(b)) => {
                // Booleans fit into every integer type, so no digits are lost.
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
                format!("too many different labels: at most {MAX_CLASSES} can be compared");
            Refusal::new(RefusalKind::Undefined, message).in_column(&self.column)
        })
    }
}

/// Maximum number of classes. With more classes, computing all pairs would take longer than the rest of grading.
const MAX_CLASSES: usize = 8_192;

/// Whether scikit-learn loses digits of labels. NumPy has no integer type that covers both `int64` and `uint64`. So if
/// the predictions need `uint64` and the truth contains labels that the predictions do not, scikit-learn's list of all
/// labels consists of doubles. Rows whose label is not equal to one of these doubles are left out.
fn loses_digits(predicted: &[i128], truth: &[i128]) -> bool {
    if !predicted.iter().any(|label| *label > i128::from(i64::MAX)) {
        return false;
    }
    let known: HashSet<i128> = predicted.iter().copied().collect();
    truth.iter().any(|label| !known.contains(label))
}

/// Returns Cohen's kappa of two lists of labels of the same length, over the rows that are `counted`. `None` for more
/// than 8,192 distinct labels.
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
    if n > MAX_CLASSES {
        return None;
    }
    let class = |label: &T| classes.partition_point(|other| *other < label);
    let mut pairs = Vec::with_capacity(first.len());
    let (mut rows, mut columns) = (vec![0u64; n], vec![0u64; n]);
    let mut total = 0.0;
    for (a, b) in first.iter().zip(second).filter(|(a, b)| counted(a, b)) {
        total += 1.0;
        let (a, b) = (class(a), class(b));
        pairs.push((a, b));
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
    // A submission can contain any number of classes, so neither matrix is stored. The non-zero cells of the observed
    // matrix are added up in order. The cells of the expected matrix are added up as they are computed.
    pairs.sort_unstable();
    let mut disagreement = 0.0;
    for same in pairs.chunk_by(|one, other| one == other) {
        if let Some(&(i, j)) = same.first() {
            disagreement += (weight(i, j) * same.len() as u64) as f64;
        }
    }
    // The row sum and the column sum are multiplied as integers and divided once, as in NumPy's outer product.
    let (weight, total) = (&weight, total);
    let expected = columns.iter().enumerate().flat_map(|(i, column)| {
        let row = rows.iter().enumerate();
        row.map(move |(j, row)| weight(i, j) as f64 * ((column * row) as f64 / total))
    });
    Some(1.0 - disagreement / sum_of(expected))
}
