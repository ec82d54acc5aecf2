//! The trait that metrics implement, their scores, and the description of a kind of metric. Parses the metric of a
//! `grade:` section.

use std::fmt;

use prep_spec::words::KeyType;
use serde_json::Value;

use super::ALL;
use crate::python::{round_numpy, round_python};
use crate::refusal::{Refusal, RowPolicy};
use crate::spec::definition::Definition;
use crate::spec::error::{GradeSpecErrors, KeyPath};
use crate::spec::kinds::{Faults, read_kind, value};
use crate::table::pair::Pair;

/// Number of decimals of a reported score.
const DECIMALS: u8 = 5;

/// Whether higher or lower scores of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A higher score is better.
    HigherIsBetter,
    /// A lower score is better.
    LowerIsBetter,
}

/// A score, and how it is rounded for the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The score before rounding.
    pub value: f64,
    /// How the score is rounded.
    pub rounding: Rounding,
}

/// How Python's `round` rounds a score. This depends on the type of the score in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// A NumPy double: multiplied, rounded half to even, divided.
    NumPy,
    /// A Python float: correct decimal rounding.
    Python,
}

impl Score {
    pub(super) fn numpy(value: f64) -> Self {
        Score {
            value,
            rounding: Rounding::NumPy,
        }
    }

    pub(super) fn python(value: f64) -> Self {
        Score {
            value,
            rounding: Rounding::Python,
        }
    }

    /// Returns the score rounded to five decimals.
    pub fn rounded(self) -> f64 {
        match self.rounding {
            Rounding::NumPy => round_numpy(self.value, i32::from(DECIMALS)),
            Rounding::Python => round_python(self.value, usize::from(DECIMALS)),
        }
    }
}

/// A metric with its parameters.
pub trait Metric: fmt::Debug + Send + Sync {
    /// Scores the submission.
    ///
    /// # Errors
    /// If the submission contains invalid values, or if the metric is not defined for its values.
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal>;

    /// Returns the number of rows that the metric requires, regardless of their content.
    fn rows(&self) -> RowPolicy {
        RowPolicy::Any
    }
}

/// A kind of metric: its description, direction and parser.
#[derive(Debug)]
pub struct MetricKind {
    /// Name, documentation and parameters.
    pub definition: Definition,
    /// The default direction.
    pub direction: Direction,
    pub(crate) parse: fn(Value) -> Result<Box<dyn Metric>, serde_json::Error>,
}

/// Parses the parameters of a metric of type `M`.
pub(super) fn parse<M: Metric + serde::de::DeserializeOwned + 'static>(
    value: Value,
) -> Result<Box<dyn Metric>, serde_json::Error> {
    Ok(Box::new(serde_json::from_value::<M>(value)?))
}

/// A metric of a section.
#[derive(Debug)]
pub(crate) struct SpecMetric {
    pub metric: Box<dyn Metric>,
    /// Columns that the metric's parameters name.
    pub columns: Vec<String>,
    pub kind: &'static MetricKind,
}

/// Parses the metric at `path`. Returns `None` after an error.
pub(crate) fn read_metric(
    metric: &Value,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<SpecMetric> {
    let (kind, parameters, path) =
        read_kind("metric", ALL, |kind| &kind.definition, metric, path, faults)?;
    let columns = columns(&kind.definition, &parameters);
    let metric = (kind.parse)(parameters).map_err(|error| value(&path, &error));
    let metric = faults.keep(metric)?;
    Some(SpecMetric {
        metric,
        columns,
        kind,
    })
}

/// Parses a metric that is part of another metric.
pub(super) fn read_part(metric: &Value) -> Result<SpecMetric, GradeSpecErrors> {
    let mut faults = Faults::default();
    let read = read_metric(metric, &KeyPath::default().key("metric"), &mut faults);
    faults.finish(read)
}

/// Returns the columns that a metric's parameters name, including those of its parts.
fn columns(definition: &Definition, parameters: &Value) -> Vec<String> {
    let mut columns = definition.columns(parameters);
    let parts = definition
        .parameters
        .iter()
        .filter(|parameter| matches!(parameter.value, KeyType::WeightedMetrics))
        .filter_map(|parameter| parameters.get(parameter.name)?.as_array());
    // Errors in a part are reported when the part is parsed.
    let parts = parts.flatten().filter_map(|part| part.get("metric"));
    columns.extend(parts.flat_map(|metric| {
        let (path, faults) = (&KeyPath::default(), &mut Faults::default());
        let read = read_kind("metric", ALL, |kind| &kind.definition, metric, path, faults);
        read.map_or_else(Vec::new, |(kind, parameters, _)| {
            self::columns(&kind.definition, &parameters)
        })
    }));
    columns
}
