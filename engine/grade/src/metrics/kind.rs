//! The trait that metrics implement, their scores, and the description of a kind of metric.

use std::fmt;

use serde_json::Value;

use crate::python::numeric::{round_numpy, round_python};
use crate::refusal::Refusal;
use crate::row_policy::RowPolicy;
use crate::spec::definition::Definition;
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
