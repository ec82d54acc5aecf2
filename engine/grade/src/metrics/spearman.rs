//! `spearman`: rank correlation.

use std::cmp::Ordering;

use prep_formats::pandas::ColumnData;
use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use super::label_pair::{COLUMNS, mean_over};
use crate::python::mean;
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::Definition;
use crate::table::numbers::{ColumnSelection, number};
use crate::table::pair::{CellValue, GradedColumn, Pair};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "spearman",
        summary: "Spearman's rank correlation; for several columns, the mean of their scores.",
        details: "Pearson's correlation of the ranks; equal values get the mean of their ranks. Infinite values rank \
                  first and last; booleans are 0 and 1. A column of text is ranked by code point, even if the texts \
                  are numbers. A constant column, a missing value or fewer than two rows make the score NaN.",
        source: "scipy.stats.spearmanr",
        shorthand: Some("columns"),
        parameters: &[COLUMNS],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<Spearman>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spearman {
    columns: ColumnSelection,
}

impl Metric for Spearman {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        mean_over(&self.columns, pair, |truth, predicted| {
            let exact = [truth, predicted].into_iter().all(has_integers);
            let (truth, predicted) = (ranks(truth, exact)?, ranks(predicted, exact)?);
            Ok(truth.zip(predicted).map_or(f64::NAN, |(truth, predicted)| {
                correlation(&truth, &predicted)
            }))
        })
    }
}

/// Whether the column contains integers. NumPy compares values as integers if both columns do.
fn has_integers(column: &GradedColumn<'_>) -> bool {
    matches!(column.data(), ColumnData::Int64(_) | ColumnData::Bool(_))
}

/// Returns the ranks of the values, from 1. `None` if the correlation is not defined.
fn ranks(column: &GradedColumn<'_>, exact: bool) -> Result<Option<Vec<f64>>, Refusal> {
    let values: Vec<CellValue<'_>> = column.values().collect();
    if values.len() < 2 || values.contains(&CellValue::Missing) {
        return Ok(None);
    }
    let is_text = |value: &CellValue<'_>| matches!(value, CellValue::Text(_));
    let texts = values.iter().filter(|value| is_text(value)).count();
    if texts > 0 && texts < values.len() {
        let odd = values.iter().position(is_text).unwrap_or_default();
        return Err(column.refuse(RefusalKind::Type, odd, "numbers only, or text only"));
    }
    let compare = |a: &CellValue<'_>, b: &CellValue<'_>| match (a, b) {
        (CellValue::Text(a), CellValue::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (CellValue::Int(a), CellValue::Int(b)) if exact => a.cmp(b),
        (a, b) => number(*a)
            .partial_cmp(&number(*b))
            .unwrap_or(Ordering::Equal),
    };
    let mut order: Vec<(usize, CellValue<'_>)> = values.into_iter().enumerate().collect();
    order.sort_by(|a, b| compare(&a.1, &b.1));
    let mut ranks = vec![0.0; order.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| compare(&a.1, &b.1) == Ordering::Equal) {
        if tied.len() == ranks.len() {
            return Ok(None);
        }
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        before += tied.len();
        for (position, _) in tied {
            if let Some(place) = ranks.get_mut(*position) {
                *place = rank;
            }
        }
    }
    Ok(Some(ranks))
}

/// Returns Pearson's correlation of the ranks.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centre = |values: &[f64]| -> Vec<f64> {
        let mean = mean(values);
        values.iter().map(|value| value - mean).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (a, b) = (centre(a), centre(b));
    let free = (a.len() - 1) as f64;
    let (deviation_a, deviation_b) = ((dot(&a, &a) / free).sqrt(), (dot(&b, &b) / free).sqrt());
    (dot(&a, &b) / free / deviation_a / deviation_b).clamp(-1.0, 1.0)
}
