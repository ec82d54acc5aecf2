//! The trait that metrics implement, the description of a kind of metric, and functions that several metrics share.

use std::collections::HashMap;
use std::fmt;

use prep_formats::pandas::ColumnData;
use prep_spec::model::Query;
use prep_spec::words::{KeyType, SectionKey};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ALL;
use crate::python::{mean, python_float, round_numpy, round_python, weighted_mean};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::spec::definition::{AnswerColumns, Definition, column, columns, optional, required};
use crate::spec::kinds::{Faults, GradeSpecErrors, KeyPath, read_kind, value_error};
use crate::table::column::{CellValue, GradedColumn};
use crate::table::key::{Identifier, key};
use crate::table::numbers::{ColumnSelection, floats};
use crate::table::pair::Pair;
use crate::table::target::{LABELS_AS, Labels, LabelsAs};

/// Number of decimals of scores in reports.
const DECIMALS: u8 = 5;

/// Whether higher or lower scores of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A higher score is better.
    HigherIsBetter,
    /// A lower score is better.
    LowerIsBetter,
}

/// A score, and its rounding for the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The exact score.
    pub value: f64,
    /// The rounding for the report.
    pub rounding: Rounding,
}

/// The rounding of a score by Python's `round`, which depends on the score's type in Python.
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
    /// Scores the submission. Fails for invalid values, and for values for which the metric is not defined.
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal>;

    /// Returns the number of rows that the metric requires.
    fn rows(&self) -> RowPolicy {
        RowPolicy::Any
    }

    /// If the columns with true values are classes, returns the largest number of classes to which a row of the answers
    /// can belong. Each row belongs to at least one class.
    fn max_classes(&self) -> Option<usize> {
        None
    }

    /// Returns the value that the metric requires in each cell of the compared columns of a submission, as a noun with its
    /// article. `None` if the metric accepts other values, too.
    fn cell(&self) -> Option<&'static str> {
        None
    }

    /// Returns a sentence about the meaning of the numbers in a submission, if they are not predictions of the true values.
    /// `{label}` stands for the larger of two labels.
    fn meaning(&self) -> Option<&'static str> {
        None
    }

    /// Returns a summary for the parameters of this metric, if [`Definition::summary`] does not describe them well.
    fn summary(&self) -> Option<&'static str> {
        None
    }

    /// Returns why a submission that is identical to the answers might not have the best score.
    fn imperfection(&self) -> Option<&'static str> {
        None
    }

    /// Returns the queries that compute the score.
    fn queries(&self) -> Vec<&Query> {
        Vec::new()
    }
}

/// A kind of metric: its description, direction and parser.
#[derive(Debug)]
pub struct MetricKind {
    /// Name, documentation and parameters.
    pub definition: Definition,
    /// The default direction.
    pub direction: Direction,
    /// The score of a submission that equals the answers. `None` if this score depends on the answers.
    pub best_score: Option<f64>,
    /// The parameters that name columns with true values, as opposed to identifiers, groups, weights and sizes.
    pub(crate) truth: &'static [&'static str],
    pub(crate) parse: fn(Value) -> Result<Box<dyn Metric>, serde_json::Error>,
}

impl MetricKind {
    /// Creates the kind of a metric for which higher scores are better. The best score is 1.
    pub(super) const fn higher<M: Metric + DeserializeOwned + 'static>(
        definition: Definition,
    ) -> Self {
        MetricKind {
            definition,
            direction: Direction::HigherIsBetter,
            best_score: Some(1.0),
            truth: TRUTH,
            parse: |value| Ok(Box::new(serde_json::from_value::<M>(value)?)),
        }
    }

    /// Creates the kind of a metric for which lower scores are better. The best score is 0.
    pub(super) const fn lower<M: Metric + DeserializeOwned + 'static>(
        definition: Definition,
    ) -> Self {
        let higher = Self::higher::<M>(definition);
        MetricKind {
            direction: Direction::LowerIsBetter,
            best_score: Some(0.0),
            ..higher
        }
    }

    /// Sets the parameters that name columns with true values.
    pub(super) const fn with_truth(self, truth: &'static [&'static str]) -> Self {
        MetricKind { truth, ..self }
    }

    pub(super) const fn without_best_score(self) -> Self {
        MetricKind {
            best_score: None,
            ..self
        }
    }
}

/// [`MetricKind::truth`] of metrics with true values in one column or several columns.
pub(super) const TRUTH: &[&str] = &["column", "columns"];

/// A parsed metric of a section `grade:`, or a metric that is part of a weighted sum.
#[derive(Debug)]
pub(crate) struct SpecMetric {
    pub metric: Box<dyn Metric>,
    pub columns: Vec<String>,
    /// Columns with true values, including those of the metric's parts.
    pub truth: Vec<AnswerColumns>,
    pub kind: &'static MetricKind,
    /// The parameters by name.
    pub parameters: Value,
}

pub(crate) fn read_metric(
    metric: &Value,
    path: &KeyPath,
    faults: &mut Faults,
) -> Option<SpecMetric> {
    let (kind, parameters, path) =
        read_kind("metric", ALL, |kind| &kind.definition, metric, path, faults)?;
    let (mut columns, mut truth) = (Vec::new(), Vec::new());
    add_columns(kind, &parameters, &mut columns, &mut truth);
    let metric = (kind.parse)(parameters.clone()).map_err(|error| value_error(&path, &error));
    let metric = faults.keep(metric)?;
    Some(SpecMetric {
        metric,
        columns,
        truth,
        kind,
        parameters,
    })
}

pub(super) fn read_part(metric: &Value) -> Result<SpecMetric, GradeSpecErrors> {
    let mut faults = Faults::default();
    let read = read_metric(metric, &KeyPath::default().key("metric"), &mut faults);
    faults.finish(read)
}

/// Adds to `columns` all columns that the parameters of a metric name. Of these columns, adds those with true values to
/// `truth`.
///
/// For a weighted sum, adds the columns of its metrics, too.
fn add_columns(
    kind: &MetricKind,
    parameters: &Value,
    columns: &mut Vec<String>,
    truth: &mut Vec<AnswerColumns>,
) {
    columns.extend(kind.definition.columns(parameters));
    let values = kind.truth.iter().filter_map(|name| parameters.get(name));
    truth.extend(values.map(AnswerColumns::new));
    let parts = kind
        .definition
        .parameters
        .iter()
        .filter(|parameter| matches!(parameter.value, KeyType::WeightedMetrics))
        .filter_map(|parameter| parameters.get(parameter.name)?.as_array());
    for metric in parts.flatten().filter_map(|part| part.get("metric")) {
        // Errors in a part are reported when the part itself is parsed.
        let (path, faults) = (&KeyPath::default(), &mut Faults::default());
        let read = read_kind("metric", ALL, |kind| &kind.definition, metric, path, faults);
        if let Some((kind, parameters, _)) = read {
            add_columns(kind, &parameters, columns, truth);
        }
    }
}

pub(super) const COLUMN: SectionKey = column("column", "The column of labels.");

pub(crate) const LABELS: SectionKey =
    optional("labels_as", KeyType::Choice(LABELS_AS), "See `accuracy`.");

pub(crate) const POSITIVE: SectionKey = optional(
    "positive",
    KeyType::Label,
    "The label of positive rows; default 1. If the answers have two labels, `positive` must be one of them.",
);

/// A column of labels in both tables: its cells, and the true and predicted labels in these cells.
#[derive(Debug)]
pub(super) struct LabelPair<'a> {
    pub answers: GradedColumn<'a>,
    pub prediction: GradedColumn<'a>,
    pub truth: Labels<'a>,
    pub labels: Labels<'a>,
}

impl<'a> LabelPair<'a> {
    /// Reads the labels in `column`. Fails if the tables have different numbers of rows, or if a label is not valid.
    pub fn new(pair: &'a Pair<'a>, column: &'a str, how: LabelsAs) -> Result<Self, Refusal> {
        pair.check_same_rows()?;
        let prediction = pair.submission.column(column)?;
        let answers = pair.answers.column(column)?;
        let truth = Labels::from_column(&answers, how)?;
        let labels = match answers.data() {
            ColumnData::Bool(_) => Labels::expecting(&prediction, how, "True or False"),
            _ => Labels::from_column(&prediction, how),
        };
        Ok(LabelPair {
            truth,
            labels: labels?,
            answers,
            prediction,
        })
    }

    /// Returns the error for labels that are text in one table and numbers in the other.
    pub fn mixed(&self) -> Refusal {
        let expected = match self.answers.data() {
            ColumnData::Bool(_) => "True or False",
            ColumnData::Object(_) => "names, as in the answers",
            ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Float64(_) => {
                "numbers, as in the answers"
            }
        };
        // A single text cell makes the entire column text. Therefore, report the first cell that is neither a number nor a
        // boolean.
        let odd = |value| {
            matches!(value, CellValue::Text(text) if !text.eq_ignore_ascii_case("true")
        && !text.eq_ignore_ascii_case("false") && python_float(text).is_none())
        };
        let position = self.prediction.values().position(odd).unwrap_or_default();
        self.prediction
            .refuse(RefusalKind::Type, position, expected)
    }
}

/// Returns the positions of each group's rows. The groups are in the order of their first rows. Leaves out rows without a
/// group.
pub(super) fn groups(pair: &Pair<'_>, column: &str) -> Result<Vec<Vec<usize>>, Refusal> {
    Ok(groups_of(&pair.answers.column(column)?).0)
}

/// Returns the positions of each group's rows, and the index of each group.
fn groups_of<'a>(column: &GradedColumn<'a>) -> (Vec<Vec<usize>>, HashMap<Identifier<'a>, usize>) {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (position, value) in column.values().enumerate() {
        if value == CellValue::Missing {
            continue;
        }
        let place = *places.entry(key(column, position)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(position),
            None => groups.push(vec![position]),
        }
    }
    (groups, places)
}

/// Positions of rows in the answers, and of the paired rows in the submission.
type PairedRows = (Vec<usize>, Vec<usize>);

/// Pairs the rows of both tables by identifier. Fails if the tables have different identifiers, or if the answers have
/// no identifiers.
pub(super) fn paired_groups(pair: &Pair<'_>, id: &str) -> Result<Vec<PairedRows>, Refusal> {
    let (answers, submission) = pair.both(id)?;
    let (of_answers, places) = groups_of(&answers);
    if of_answers.is_empty() {
        let message = "the answers have no identifiers";
        return Err(Refusal::new(RefusalKind::Answers, message).in_column(id));
    }
    let empty = of_answers.into_iter().map(|rows| (rows, Vec::new()));
    let mut paired: Vec<PairedRows> = empty.collect();
    submission.map_cells(|position, _| {
        let place = places.get(&key(&submission, position));
        match place.and_then(|place| paired.get_mut(*place)) {
            Some((_, rows)) => {
                rows.push(position);
                Ok(())
            }
            None => {
                let expected = "an identifier of the answers";
                Err(submission.refuse(RefusalKind::Ids, position, expected))
            }
        }
    })?;
    match paired.iter().find(|(_, rows)| rows.is_empty()) {
        Some((rows, _)) => {
            let missing = answers.for_message(rows.first().copied().unwrap_or_default());
            let message = format!("the submission has no row for {missing}");
            Err(Refusal::new(RefusalKind::Ids, message).in_column(id))
        }
        None => Ok(paired),
    }
}

pub(super) const ROW_WEIGHTS: SectionKey = optional(
    "row_weights",
    KeyType::Column,
    "The answers' column with the weights of the rows: finite numbers that are not negative, and not all 0. Without \
     this key, all rows have equal weight.",
);

/// Returns the weights of the rows, if the metric has a column of weights.
pub(super) fn row_weights(
    pair: &Pair<'_>,
    column: Option<&str>,
) -> Result<Option<Vec<f64>>, Refusal> {
    let Some(name) = column else { return Ok(None) };
    let column = pair.answers.column(name)?;
    let weights = floats(&column)?;
    if let Some(row) = weights.iter().position(|weight| *weight < 0.0) {
        let expected = "a weight that is not negative";
        return Err(column.refuse(RefusalKind::Answers, row, expected));
    }
    if weights.iter().all(|weight| *weight == 0.0) {
        let message = "the answers need a row with a weight above 0";
        return Err(Refusal::new(RefusalKind::Answers, message).in_column(name));
    }
    Ok(Some(weights))
}

pub(super) fn mean_by(values: &[f64], weights: Option<&[f64]>) -> f64 {
    weights.map_or_else(|| mean(values), |weights| weighted_mean(values, weights))
}

pub(super) fn select(values: &[f64], positions: &[usize]) -> Vec<f64> {
    positions
        .iter()
        .filter_map(|&position| values.get(position).copied())
        .collect()
}

/// See [`Metric::cell`].
pub(super) const FINITE: &str = "a finite number";
/// See [`Metric::meaning`].
pub(super) const SCORE: &str =
    "A higher number means that {label} is more probable. Only the order of the numbers matters.";
/// See [`Metric::meaning`].
pub(super) const PROBABILITY: &str = "Each number is the probability of {label}.";
/// See [`Metric::meaning`].
pub(super) const CLASS_PROBABILITY: &str =
    "Each number is the probability that the row belongs to the class of the column.";
/// See [`Metric::cell`].
pub(super) const LABEL: &str = "a label (an integer or a name)";

pub(super) const COLUMNS: SectionKey = columns("columns", "The columns to compare.");

/// Returns the mean of `score` over `columns`. `score` compares a true and a predicted column.
pub(super) fn mean_over(
    columns: &ColumnSelection,
    pair: &Pair<'_>,
    score: impl Fn(&GradedColumn<'_>, &GradedColumn<'_>) -> Result<f64, Refusal>,
) -> Result<Score, Refusal> {
    pair.check_same_rows()?;
    let scores = columns
        .select(pair)
        .into_iter()
        .map(|name| score(&pair.answers.column(name)?, &pair.submission.column(name)?))
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::numpy(mean(&scores)))
}

pub(super) const WEIGHTED_SUM: MetricKind = MetricKind::higher::<WeightedSum>(Definition {
    name: "weighted_sum",
    summary: "The weighted sum of several metrics.",
    details: "The score is the sum of the scores of all metrics, each multiplied by its weight. If a metric has \
              `complement: true`, its score is replaced by 1 minus the score. If the submission is invalid for one of \
              the metrics, it is also invalid for the sum.",
    source: "-",
    shorthand: Some("of"),
    parameters: &[required(
        "of",
        KeyType::WeightedMetrics,
        "The metrics, each written like the value of `metric` in the section `grade`.",
    )],
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedSum {
    of: Vec<WeightedMetric>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightedMetric {
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

    fn queries(&self) -> Vec<&Query> {
        self.of
            .iter()
            .flat_map(|part| part.metric.queries())
            .collect()
    }
}
