//! `probabilistic_f_score`: F-score of probabilities, without a threshold.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, one, optional};
use crate::table::numbers::{number, number_or_nan};
use crate::table::pair::{CellValue, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "probabilistic_f_score",
        summary: "F-score whose counts are sums of probabilities.",
        details: "(1 + b^2) P R / (b^2 P + R), with precision P = T / (T + F) and recall R = T / positive rows. T and \
                  F are the sums of the probabilities, clipped to [0, 1], of the positive rows and of the other rows. \
                  The score is 0 if P or R is 0, if all probabilities are 0, or if a probability is missing. A \
                  submission whose numbers are all below 0 is invalid.",
        source: "kaggle.com/code/sohier/probabilistic-f-score; Yacouby and Axman (2020)",
        shorthand: Some("column"),
        parameters: &[
            column(
                "column",
                "The column with the label in the answers (0 for negative rows) and the probability in the submission.",
            ),
            optional(
                "beta",
                KeyType::Number,
                "The weight of recall relative to precision; default 1.",
            ),
        ],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<ProbabilisticFScore>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProbabilisticFScore {
    column: String,
    #[serde(default = "one")]
    beta: f64,
}

impl Metric for ProbabilisticFScore {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut hits, mut alarms, mut positives) = (0.0, 0.0, 0u64);
        // Numbers outside of [0, 1] become the Python integers 0 and 1. Other numbers stay NumPy doubles.
        let mut clipped = true;
        for row in 0..answers.len() {
            let p = number_or_nan(&prediction, row)?;
            clipped &= !(0.0..=1.0).contains(&p) && !p.is_nan();
            let p = p.clamp(0.0, 1.0);
            let positive = match answers.value(row) {
                CellValue::Missing => true,
                value => number(value) != Some(0.0),
            };
            if positive {
                positives += 1;
                hits += p;
            } else {
                alarms += p;
            }
        }
        if positives == 0 {
            let message = "the answers have no positive row";
            return Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.column));
        }
        if clipped && hits + alarms == 0.0 {
            let message = "all numbers are below 0; expected probabilities from 0 to 1";
            return Err(Refusal::new(RefusalKind::Range, message).in_column(&self.column));
        }
        let (precision, recall) = (hits / (hits + alarms), hits / positives as f64);
        let squared = self.beta * self.beta;
        let value = if precision > 0.0 && recall > 0.0 {
            (1.0 + squared) * (precision * recall) / (squared * precision + recall)
        } else {
            0.0
        };
        Ok(if clipped {
            Score::python(value)
        } else {
            Score::numpy(value)
        })
    }
}
