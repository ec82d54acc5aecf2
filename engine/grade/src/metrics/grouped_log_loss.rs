//! `grouped_log_loss`: weighted log loss of several yes/no questions about each case.

use std::collections::{BTreeMap, HashMap};

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, one, optional, required};
use crate::table::numbers::{check_numeric_type, number_or_nan};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "grouped_log_loss",
        summary: "Weighted log loss of several yes/no questions about each case, averaged over the cases.",
        details: "A row is one question about one case. Its identifier consists of the case, the separator and the \
                  question, and is split at the first separator. The loss of a row is -(y ln p + (1 - y) ln(1 - p)), \
                  with p clipped to [clip, 1 - clip]. Its weight is the weight of the question, times `positive` if y \
                  is 1. The loss of a case is sum(weight loss) / sum(weight); the score is the mean over the cases. \
                  Questions without a weight are left out. If a question of a case is missing, the score is NaN.",
        source: "Weighted binary cross entropy; MLE-bench graders",
        shorthand: None,
        parameters: &[
            column(
                "column",
                "The column with the label (0 or 1) in the answers and the probability in the submission.",
            ),
            column("id", "The identifier."),
            required(
                "separator",
                KeyType::String,
                "The text between case and question.",
            ),
            required(
                "weights",
                KeyType::NumberByName,
                "The weight of each question.",
            ),
            optional(
                "positive",
                KeyType::Number,
                "Factor for the weight of rows with label 1; default 1.",
            ),
            optional(
                "clip",
                KeyType::Number,
                "The minimum distance of a probability from 0 and 1; default 1e-15.",
            ),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<GroupedLogLoss>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupedLogLoss {
    column: String,
    id: String,
    separator: String,
    weights: BTreeMap<String, f64>,
    #[serde(default = "one")]
    positive: f64,
    #[serde(default = "default_clip")]
    clip: f64,
}

fn default_clip() -> f64 {
    1e-15
}

/// Truth and prediction of one question about one case.
#[derive(Debug, Clone, Copy)]
struct Answer {
    truth: f64,
    predicted: f64,
}

/// The questions about a case, in the order of the weights.
type Case = Vec<Option<Answer>>;

impl Metric for GroupedLogLoss {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        // NumPy cannot compute logarithms of Python objects, even if the objects are numbers.
        check_numeric_type(&prediction)?;
        let cases = self.cases(&pair.answers.column(&self.id)?, &answers, &prediction)?;
        let losses: Vec<f64> = cases.iter().map(|case| self.loss(case)).collect();
        Ok(Score::numpy(mean(&losses)))
    }
}

impl GroupedLogLoss {
    /// Returns the cases, in the order of their first rows.
    fn cases(
        &self,
        ids: &GradedColumn<'_>,
        answers: &GradedColumn<'_>,
        prediction: &GradedColumn<'_>,
    ) -> Result<Vec<Case>, Refusal> {
        let places: HashMap<&str, usize> = self
            .weights
            .keys()
            .enumerate()
            .map(|(place, name)| (name.as_str(), place))
            .collect();
        let mut found: Vec<bool> = vec![false; places.len()];
        let mut cases: Vec<Case> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for row in 0..ids.len() {
            let CellValue::Text(id) = ids.value(row) else {
                return Err(ids.refuse(RefusalKind::Ids, row, "a case and a question"));
            };
            let (case, question) = id.split_once(self.separator.as_str()).unwrap_or((id, ""));
            let case = *known.entry(case).or_insert_with(|| {
                cases.push(vec![None; places.len()]);
                cases.len() - 1
            });
            let Some(place) = places.get(question) else {
                continue;
            };
            let answer = Answer {
                truth: number_or_nan(answers, row)?,
                predicted: number_or_nan(prediction, row)?,
            };
            let slot = cases.get_mut(case).and_then(|case| case.get_mut(*place));
            if slot.is_some_and(|slot| slot.replace(answer).is_some()) {
                return Err(ids.refuse(RefusalKind::Ids, row, "each question about a case once"));
            }
            if let Some(found) = found.get_mut(*place) {
                *found = true;
            }
        }
        match self.weights.keys().zip(&found).find(|(_, found)| !**found) {
            None => Ok(cases),
            Some((name, _)) => {
                let message = format!("no identifier ends in `{}{name}`", self.separator);
                Err(Refusal::new(RefusalKind::Answers, message).in_column(&self.id))
            }
        }
    }

    fn loss(&self, case: &Case) -> f64 {
        let (mut losses, mut weights) = (0.0, 0.0);
        for (answer, weight) in case.iter().zip(self.weights.values()) {
            let Some(Answer { truth, predicted }) = *answer else {
                return f64::NAN;
            };
            let p = predicted.clamp(self.clip, 1.0 - self.clip);
            let weight = weight * (truth * self.positive + (1.0 - truth));
            losses -= weight * (truth * p.ln() + (1.0 - truth) * (1.0 - p).ln());
            weights += weight;
        }
        losses / weights
    }
}
