//! `kendall_tau`: correlation of predicted and true orders of lists.

use std::collections::HashMap;

use serde::Deserialize;

use super::kind::{Direction, Metric, MetricKind, Score, parse};
use crate::python::words;
use crate::refusal::{Refusal, RefusalKind, count};
use crate::spec::definition::{Definition, column};
use crate::table::pair::{Pair, text};

pub(super) const KIND: MetricKind = MetricKind {
    definition: Definition {
        name: "kendall_tau",
        summary: "Kendall's rank correlation of true and predicted orders, over all rows together.",
        details: "A cell lists items, separated by white space. The score is 1 - 4 S / sum(n (n - 1)), where n is the \
                  number of items of a row, and S is the number of pairs of items in all rows whose predicted order is \
                  the reverse of the true order. Both cells of a row must have the same items. Cells are converted to \
                  text; a missing cell is the item `nan`. If no row has two items, the submission is invalid.",
        source: "kaggle.com/code/ryanholbrook/competition-metric-kendall-tau-correlation",
        shorthand: Some("column"),
        parameters: &[column("column", "The column of lists.")],
    },
    direction: Direction::HigherIsBetter,
    parse: parse::<KendallTau>,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KendallTau {
    column: String,
}

impl Metric for KendallTau {
    fn score(&self, pair: &Pair<'_>) -> Result<Score, Refusal> {
        let (answers, prediction) = pair.cells(&self.column)?;
        let (mut inversions, mut most) = (0u64, 0u64);
        for row in 0..answers.len() {
            let (truth, predicted) = (text(answers.value(row)), text(prediction.value(row)));
            let (truth, predicted): (Vec<&str>, Vec<&str>) =
                (words(&truth).collect(), words(&predicted).collect());
            if truth.len() != predicted.len() {
                let expected = format!("a list of {}", count(truth.len(), "item"));
                return Err(prediction.refuse(RefusalKind::Ids, row, &expected));
            }
            let mut places = HashMap::new();
            for (place, item) in (0u32..).zip(&predicted) {
                places.entry(*item).or_insert(place);
            }
            let ranks: Option<Vec<u32>> =
                truth.iter().map(|item| places.get(item).copied()).collect();
            let Some(mut ranks) = ranks else {
                return Err(prediction.refuse(
                    RefusalKind::Ids,
                    row,
                    "the items of the answers, each once",
                ));
            };
            inversions += sort_counting(&mut ranks);
            let items = truth.len() as u64;
            most += items * items.saturating_sub(1);
        }
        if most == 0 {
            let message = "no list has two items, so the correlation is undefined";
            return Err(Refusal::new(RefusalKind::Undefined, message).in_column(&self.column));
        }
        Ok(Score::python(1.0 - (4 * inversions) as f64 / most as f64))
    }
}

/// Sorts with merge sort. Returns the number of pairs that were in the wrong order.
fn sort_counting(ranks: &mut Vec<u32>) -> u64 {
    if ranks.len() < 2 {
        return 0;
    }
    let mut right = ranks.split_off(ranks.len() / 2);
    let mut inversions = sort_counting(ranks) + sort_counting(&mut right);
    let left = std::mem::take(ranks);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if b < a => {
                inversions += left.len() as u64;
                ranks.extend(right.next());
            }
            (Some(_), _) => ranks.extend(left.next()),
            (None, Some(_)) => ranks.extend(right.next()),
            (None, None) => return inversions,
        }
    }
}
