//! `weighted_sum`: combines several metrics into one score.

use prep_spec::words::KeyType;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::kind::{Direction, Metric, MetricKind, Score, parse, read_part};
use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::{Definition, required};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "weighted_sum",
        summary: "The weighted sum of several metrics.",
        details: "With `complement: true`, 1 minus the metric is used instead. If the submission is invalid for one of \
                  the metrics, the sum is undefined, and the submission is invalid.",
        source: "-",
        shorthand: Some("of"),
        parameters: &[required(
            "of",
            KeyType::WeightedMetrics,
            "The metrics, each written like the value of `metric`.",
        )],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<WeightedSum>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedSum {
    of: Vec<Part>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(deserialize_with = "parse_metric")]
    metric: Box<dyn Metric>,
    weight: f64,
    #[serde(default)]
    complement: bool,
}

fn parse_metric<'de, D: Deserializer<'de>>(metric: D) -> Result<Box<dyn Metric>, D::Error> {
    let part = read_part(&Value::deserialize(metric)?).map_err(D::Error::custom)?;
    Ok(part.metric)
}

impl Metric for WeightedSum {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let mut sum = 0.0;
        for part in &self.of {
            let score = part.metric.score(pair)?.value;
            sum += part.weight * if part.complement { 1.0 - score } else { score };
        }
        Ok(Score::numpy(sum))
    }

    fn rows(&self) -> RowPolicy {
        let mut rows = self.of.iter().map(|part| part.metric.rows());
        let first = rows.next().unwrap_or(RowPolicy::Any);
        match rows.all(|other| other == first) {
            true => first,
            false => RowPolicy::Any,
        }
    }
}
