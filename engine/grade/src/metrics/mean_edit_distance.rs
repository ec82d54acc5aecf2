//! `mean_edit_distance`: edit distance between predicted and true texts.

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::edit_distance::edit_distance;
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, column, optional};
use crate::table::pair::{Pair, text};
use crate::table::target::OtherCells;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "mean_edit_distance",
        summary: "Mean Levenshtein distance of true and predicted text.",
        details: "Inserting, deleting or replacing a character costs 1. Characters are Unicode code points; case and \
                  white space matter.",
        source: "Levenshtein (1966)",
        shorthand: Some("column"),
        parameters: &[
            column("column", "The column of texts."),
            optional(
                "other",
                KeyType::Choice(&["refuse", "print"]),
                "Cells that are not text are invalid (default), or converted to text: `1.0`, `True`, `nan` for a \
                 missing cell.",
            ),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<MeanEditDistance>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeanEditDistance {
    column: String,
    #[serde(default)]
    other: OtherCells,
}

impl Metric for MeanEditDistance {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        if self.other == OtherCells::Refuse {
            prediction.check_text()?;
            answers.check_text()?;
        }
        let distances: Vec<f64> = answers
            .values()
            .zip(prediction.values())
            .map(|(truth, predicted)| edit_distance(&text(truth), &text(predicted)) as f64)
            .collect();
        Ok(Score::numpy(mean(&distances)))
    }
}
