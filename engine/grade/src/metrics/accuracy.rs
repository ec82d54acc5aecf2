//! `accuracy`: the fraction of correct labels.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMN, LabelPair};
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, optional};
use crate::table::pair::Pair;
use crate::table::target::{LABELS_AS, Labels, LabelsAs};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "accuracy",
        summary: "The fraction of rows whose label is correct.",
        details: "Integers are compared by value, so `1` equals `1.0`; booleans are 0 and 1. Fractions, infinite and \
                  missing labels are invalid. Text never equals a number. If the labels of only one table are text, \
                  the score is 0, except that the submission is invalid if neither table has more than two different \
                  labels.",
        source: "sklearn.metrics.accuracy_score",
        shorthand: Some("column"),
        parameters: &[
            COLUMN,
            optional(
                "labels_as",
                KeyType::Choice(LABELS_AS),
                "`list`: like NumPy's conversion of a list, where one text makes all labels text; `text`: all \
                      labels are converted to text, and a missing label is `nan`; `integer`: each label is converted \
                      with Python's `int`; `first_integer`: an integer, or the first word of a text converted with \
                      `int`.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<Accuracy>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    column: String,
    #[serde(default)]
    labels_as: LabelsAs,
}

impl Metric for Accuracy {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        fraction_correct(pair, &self.column, self.labels_as).map(Score::python)
    }
}

/// Returns the fraction of rows with the correct label.
pub(super) fn fraction_correct(
    pair: &Pair<'_>,
    column: &str,
    labels_as: LabelsAs,
) -> Result<f64, Refusal> {
    let both = LabelPair::new(pair, column, labels_as)?;
    let (truth, labels) = (&both.truth, &both.labels);
    let right = match (truth, labels) {
        (Labels::Integers(a), Labels::Integers(b)) => equal_count(a, b),
        (Labels::Text(a), Labels::Text(b)) => equal_count(a, b),
        // NumPy converts a list that contains texts to an array of text, so both arrays of labels can be compared.
        (Labels::Integers(_), Labels::Text(_)) if labels_as == LabelsAs::List => 0,
        _ if truth.is_binary() && labels.is_binary() => {
            return Err(both.mixed());
        }
        _ => 0,
    };
    Ok(right as f64 / truth.len() as f64)
}

/// Returns the number of equal elements of two lists of the same length.
pub(super) fn equal_count<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}
