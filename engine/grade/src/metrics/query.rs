//! A metric that the author of a competition writes as a query.
//!
//! This crate parses the query, and converts the answers and the submission to input tables of the query. The caller passes
//! the query engine, because the engine is much larger than this crate, and few metrics are queries.

use std::fmt;

use prep_formats::pandas::ColumnData;
use prep_spec::alternatives;
use prep_spec::model::Query;
use prep_spec::words::KeyType;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::kind::{Metric, MetricKind, Score};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, required};
use crate::table::column::{CellValue, GradedColumn, text};
use crate::table::numbers::{has_large_integers, number};
use crate::table::pair::{Pair, Side};

/// The tables that a query can read.
pub const QUERY_TABLES: [&str; 2] = ["answers", "submission"];

/// Runs the queries of metrics.
pub trait QueryEngine: fmt::Debug + Send + Sync {
    /// Runs a query, and returns the only number of its only row. Any other result is an error.
    fn number(&self, query: &Query, tables: Vec<QueryTable>) -> Result<f64, QueryFailure>;
}

/// The reason why a query has no result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryFailure {
    /// The text of the query.
    pub query: String,
    /// Line and column in the query, both from 1.
    pub place: Option<(u64, u64)>,
    /// The reason, without the place.
    pub message: String,
    /// An action for the author of the query.
    pub help: Option<String>,
}

/// A table that a query reads.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTable {
    /// The name in the query.
    pub name: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The columns in order, each with one value per row.
    pub columns: Vec<(String, QueryColumn)>,
}

/// The values of a column, with the type that pandas infers. `None` is a missing value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names of the types")]
pub enum QueryColumn {
    Boolean(Vec<Option<bool>>),
    Integer(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

pub(super) const SQL: MetricKind = MetricKind::higher::<QueryMetric>(Definition {
    name: "sql",
    summary: "The number that a query of the author computes.",
    details: "The query reads the tables `answers` and `submission`. If a rule converts cells or reorders rows, the \
              query reads the result. A column is boolean if pandas infers this type. A column that pandas reads as \
              integers or numbers is a column of numbers, so it does not matter whether a submission contains `1` or \
              `1.0`, and `/` never rounds. Only if the answers' column of this name contains integers beyond 2^53, such \
              as ids, integers stay integers. All other columns are text. A missing cell is NULL.\n\n\
              The result of the query must be one row with one finite number. The query is written in the language of \
              [queries](functions.md), so the same tables always give the same number. A query may use 1 GiB of \
              memory. In reports about the score, the member `own_metric` is `true`.\n\n\
              State the direction of this metric with `direction` in `grade`, or with `metric: { sql: QUERY, \
              direction: ... }`. As a part of `weighted_sum`, the metric needs no direction.\n\n\
              If the query fails for a submission, the submission has no score, and the message reports a mistake in \
              the pipeline. To avoid this, write rules such as `columns` and `numeric` that reject all such \
              submissions.",
    source: "the author of the competition",
    shorthand: Some("query"),
    parameters: &[required("query", KeyType::Rows, "The query.")],
})
.without_best_score();

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryMetric {
    #[serde(deserialize_with = "parse_query")]
    query: Query,
}

fn parse_query<'de, D: Deserializer<'de>>(query: D) -> Result<Query, D::Error> {
    let query = Query::parse(&String::deserialize(query)?).map_err(D::Error::custom)?;
    let unknown = query
        .tables
        .iter()
        .find(|name| !QUERY_TABLES.contains(&name.as_str()));
    match unknown {
        None => Ok(query),
        Some(name) => Err(D::Error::custom(format!(
            "there is no table `{name}`; {}",
            alternatives(name, "a metric", QUERY_TABLES)
        ))),
    }
}

impl Metric for QueryMetric {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let failed = |failure: QueryFailure| {
            let place = failure
                .place
                .map(|(line, column)| format!("{line}:{column}: "));
            let (place, message) = (place.unwrap_or_default(), &failure.message);
            let message = format!(
                "the query of the metric failed, which is a mistake in the pipeline: {place}{message}"
            );
            Refusal {
                failure: Some(Box::new(failure)),
                ..Refusal::new(RefusalKind::Metric, message)
            }
        };
        let Some(engine) = pair.engine else {
            let message = "this program cannot run queries".to_owned();
            return Err(failed(QueryFailure {
                message,
                ..QueryFailure::default()
            }));
        };
        let sides = QUERY_TABLES
            .into_iter()
            .zip([&pair.answers, &pair.submission]);
        let read = sides.filter(|(name, _)| self.query.tables.contains(*name));
        let tables = read.map(|(name, side)| table(name, side, &pair.answers));
        let tables = tables.collect::<Result<Vec<QueryTable>, Refusal>>()?;
        let value = engine.number(&self.query, tables).map_err(failed)?;
        Ok(Score::python(value))
    }

    fn queries(&self) -> Vec<&Query> {
        vec![&self.query]
    }
}

fn table(name: &'static str, side: &Side<'_>, answers: &Side<'_>) -> Result<QueryTable, Refusal> {
    let columns = side.names().map(|name| {
        let column = side.column(name)?;
        let is_integer = answers
            .column(name)
            .is_ok_and(|truth| has_large_integers(&truth));
        Ok((name.to_owned(), values(&column, is_integer)))
    });
    Ok(QueryTable {
        name,
        rows: side.len(),
        columns: columns.collect::<Result<Vec<_>, Refusal>>()?,
    })
}

/// Returns the values of a column. Integers become doubles unless `is_integer` is true. `is_integer` must depend only on the
/// answers. Otherwise, a submission could change the type of its cells, which changes the meaning of the query.
fn values(column: &GradedColumn<'_>, is_integer: bool) -> QueryColumn {
    let is_text = match column.data() {
        ColumnData::Bool(_) => {
            let value = |value| matches!(value, CellValue::Bool(true));
            return QueryColumn::Boolean(column.values().map(|cell| Some(value(cell))).collect());
        }
        ColumnData::Int64(_) if is_integer => {
            let integer = |cell: CellValue<'_>| i64::try_from(cell.integer()?).ok();
            return QueryColumn::Integer(column.values().map(integer).collect());
        }
        ColumnData::Object(_) => column.values().any(|cell| cell != CellValue::Missing),
        ColumnData::Int64(_) | ColumnData::UInt64(_) | ColumnData::Float64(_) => false,
    };
    if is_text {
        let cell = |cell| match cell {
            CellValue::Missing => None,
            cell => Some(text(cell).into_owned()),
        };
        return QueryColumn::Text(column.values().map(cell).collect());
    }
    let finite = |cell| number(cell).filter(|number| !number.is_nan());
    QueryColumn::Number(column.values().map(finite).collect())
}
