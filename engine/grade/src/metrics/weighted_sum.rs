//! `weighted_sum`: combines several metrics into one score.

use serde::Deserialize;
use serde::de::Error;
use serde_json::{Value, json};

use super::{Direction, Metric, MetricKind, Score};
use crate::refusal::Refusal;
use crate::rules::RowPolicy;
use crate::spec;
use crate::spec::definition::{Definition, Parameter, ParameterKind};
use crate::table::pair::Pair;

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "weighted_sum",
        summary: "The weighted sum of several metrics.",
        details: "With `complement: true`, 1 minus the metric is used instead. If the submission is invalid for one of \
                  the metrics, the sum is undefined, and the submission is invalid.",
        source: "-",
        shorthand: Some("of"),
        parameters: &[Parameter::required(
            "of",
            ParameterKind::WeightedMetrics,
            "The metrics, each written like the value of `metric`.",
        )],
    },
    direction: Direction::HigherIsBetter,
    parse: parse_parts,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    of: Vec<WrittenPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPart {
    metric: Value,
    weight: f64,
    #[serde(default)]
    complement: bool,
}

#[derive(Debug)]
struct WeightedSum {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    metric: Box<dyn Metric>,
    weight: f64,
    complement: bool,
}

fn parse_parts(value: Value) -> Result<Box<dyn Metric>, serde_json::Error> {
    let written: Parameters = serde_json::from_value(value)?;
    let part = |part: WrittenPart| {
        let section = json!({ "metric": part.metric });
        let metric = spec::parse(&section)
            .map_err(serde_json::Error::custom)?
            .metric;
        Ok(Part {
            metric,
            weight: part.weight,
            complement: part.complement,
        })
    };
    let parts = written
        .of
        .into_iter()
        .map(part)
        .collect::<Result<_, serde_json::Error>>()?;
    Ok(Box::new(WeightedSum { parts }))
}

impl Metric for WeightedSum {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let mut sum = 0.0;
        for part in &self.parts {
            let score = part.metric.score(pair)?.value;
            sum += part.weight * if part.complement { 1.0 - score } else { score };
        }
        Ok(Score::numpy(sum))
    }

    fn rows(&self) -> RowPolicy {
        let mut rows = self.parts.iter().map(|part| part.metric.rows());
        let first = rows.next().unwrap_or(RowPolicy::Any);
        match rows.all(|other| other == first) {
            true => first,
            false => RowPolicy::Any,
        }
    }
}
