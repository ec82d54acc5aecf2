//! `kl_divergence`: divergence of predicted distributions from true distributions.

use prep_formats::pandas::ColumnData;
use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::COLUMNS;
use crate::python::mean;
use crate::refusal::Refusal;
use crate::spec::definition::{Definition, optional};
use crate::table::numbers::{ColumnSelection, doubles};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "kl_divergence",
        summary: "Mean over rows of the Kullback-Leibler divergence of the predicted from the true distribution.",
        details: "The sum of y ln(y / p) over the columns, where y is the true value divided by the row's sum. Terms \
                  with y = 0 or a missing p are left out. p is clipped to [`clip`, 1 - `clip`]. In a column of \
                  integers, pandas rounds the clipped values back, so a 0 makes the score infinite if y is not 0.",
        source: "kaggle.com/code/metric/kullback-leibler-divergence",
        shorthand: Some("columns"),
        parameters: &[
            COLUMNS,
            optional(
                "clip",
                KeyType::Number,
                "The smallest probability; default 1e-15.",
            ),
        ],
    },
    direction: Direction::LowerIsBetter,
    parse: parse::<KlDivergence>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KlDivergence {
    columns: ColumnSelection,
    #[serde(default = "default_clip")]
    clip: f64,
}

fn default_clip() -> f64 {
    1e-15
}

impl Metric for KlDivergence {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        pair.check_same_rows()?;
        let names = self.columns.select(pair);
        let truth = names
            .iter()
            .map(|name| doubles(&pair.answers.column(name)?))
            .collect::<Result<Vec<Vec<f64>>, Refusal>>()?;
        let mut totals = vec![0.0; pair.answers.len()];
        for column in &truth {
            for (total, value) in totals.iter_mut().zip(column) {
                *total += value;
            }
        }
        let mut divergences = vec![0.0; totals.len()];
        for (name, truth) in names.iter().zip(&truth) {
            let column = pair.submission.column(name)?;
            let whole = matches!(column.data(), ColumnData::Int64(_) | ColumnData::UInt64(_));
            let predicted = doubles(&column)?;
            let rows = divergences
                .iter_mut()
                .zip(&totals)
                .zip(truth)
                .zip(predicted);
            for (((divergence, total), truth), predicted) in rows {
                let y = truth / total;
                let p = if whole {
                    predicted
                } else {
                    predicted.clamp(self.clip, 1.0 - self.clip)
                };
                let term = y * (y / p).ln();
                if y != 0.0 && !term.is_nan() {
                    *divergence += term;
                }
            }
        }
        Ok(Score::numpy(mean(&divergences)))
    }
}
