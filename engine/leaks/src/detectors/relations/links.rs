//! `neighbours`: finds rows that refer to a different item. Examples are a training row with the id of a test item
//! (`see_also`, `duplicate_of`), a test row with the id of a training item, and a table of pairs. The two items may
//! have the same answer.
//!
//! The answers of the linked training items are a prediction, and its gain beyond the baseline is measured.

use std::collections::HashMap;

use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Prediction, Targets};
use crate::statistics::Tests;
use crate::table::Table;
use crate::view::View;
use crate::world::{Label, World};

/// Minimum number of linked test items.
const MIN_ITEMS: usize = 20;

/// Minimum fraction of the remaining variance that the answers of linked items must explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.1;

/// Number of first cells of a column that are checked for ids.
const CHECKED_CELLS: usize = 5_000;

/// Links of a pair of columns: a test item and a row of the training table.
struct Links {
    what: String,
    pairs: Vec<(usize, usize)>,
}

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let Some((train, rows)) = view.training(label, targets) else {
            continue;
        };
        for links in all_links(view.world, train) {
            let prediction = links.prediction(view, targets, &rows);
            found.extend(links.finding(view, (label, targets), &prediction, tests));
        }
    }
    found
}

impl Links {
    /// Returns the mean answers of the linked training items.
    fn prediction(&self, view: &View<'_>, targets: &Targets, rows: &[Vec<f64>]) -> Prediction {
        let mut sums: HashMap<usize, (Vec<f64>, f64)> = HashMap::new();
        for (item, row) in &self.pairs {
            let Some(row) = rows.get(*row) else { continue };
            let (sum, count) = sums
                .entry(*item)
                .or_insert_with(|| (vec![0.0; targets.width], 0.0));
            for (sum, cell) in sum.iter_mut().zip(row) {
                *sum += cell;
            }
            *count += 1.0;
        }
        let mean = |item| {
            let (sum, count) = sums.get(item)?;
            Some(sum.iter().map(|one| one / count).collect())
        };
        view.chosen.iter().map(mean).collect()
    }

    fn finding(
        &self,
        view: &View<'_>,
        (label, targets): (&Label, &Targets),
        prediction: &Prediction,
        tests: &mut Tests,
    ) -> Option<LeakFinding> {
        let linked = prediction.iter().flatten().count();
        if linked < MIN_ITEMS {
            return None;
        }
        let measured = view.measure(label, targets, prediction, tests);
        if measured.beyond < MIN_VARIANCE {
            return None;
        }
        let what = format!(
            "{} of {linked} test items with training items: the answers of these training items explain {:.0} % of the variance of `{}` that the intended features leave",
            self.what,
            100.0 * measured.beyond,
            label.name
        );
        let named = self.pairs.iter();
        let named = named.map(|(item, row)| (*item, format!("row {} of train", row + 1)));
        let named: HashMap<usize, String> = named.collect();
        let cells = view.chosen.iter().map(|item| named.get(item));
        let cells: Vec<Option<&str>> = cells.map(|cell| cell.map(String::as_str)).collect();
        let finding = LeakFinding::new(LeakLevel::Risk, "neighbours", what);
        let finding = finding.evidence(view.examples(label, &cells));
        Some(finding.p_value(measured.p))
    }
}

/// Finds pairs of columns in the same table, of which one contains ids of test items and the other one ids of training
/// items.
fn all_links(world: &World, train: &Table) -> Vec<Links> {
    let mut found = Vec::new();
    let Some(ids) = world.train_ids(train) else {
        return found;
    };
    let row_of: HashMap<&str, usize> = ids.iter().zip(0..).collect();
    // If both parts are numbered separately, they have the same ids.
    if world.has_plain_ids || world.ids.iter().any(|id| row_of.contains_key(id.as_str())) {
        return found;
    }
    let tables = world.public.tables.iter();
    for shown in tables.filter(|one| !world.is_sample(&one.path)) {
        let columns = || shown.table.names.iter().zip(&shown.table.columns);
        let of_test = columns().filter(|(_, cells)| {
            let checked = cells.iter().take(CHECKED_CELLS);
            let hits = checked.filter(|cell| world.item_of_name(cell).is_some());
            hits.count() >= MIN_ITEMS
        });
        for (name, cells) in of_test {
            for (other, trained) in columns().filter(|(other, _)| *other != name) {
                let pairs = cells
                    .iter()
                    .zip(trained.iter())
                    .filter_map(|(cell, other)| {
                        let row = row_of.get(other)?;
                        Some((world.item_of_name(cell)?, *row))
                    });
                let pairs: Vec<(usize, usize)> = pairs.collect();
                if pairs.len() >= MIN_ITEMS {
                    let what = format!("{} pairs `{name}` and `{other}`", shown.path);
                    found.push(Links { what, pairs });
                }
            }
        }
    }
    found
}
