//! `neighbours`: finds rows that refer to a different item. Examples are a training row with the id of a test item
//! (`see_also`, `duplicate_of`), a test row with the id of a training item, and a table of pairs. The two items may
//! have the same answer.
//!
//! The answers of the linked training items are a prediction, and its gain beyond the baseline is measured.

use std::collections::HashMap;

use super::Tests;
use super::facts::examples;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Prediction, Targets, gain};
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

pub(super) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let Some(train) = view.world.train_table(label) else {
            continue;
        };
        let rows = train.column(&label.name);
        let Some(rows) = rows.and_then(|answers| targets.encode(answers)) else {
            continue;
        };
        for links in all_links(view.world, train) {
            found.extend(measure(view, label, targets, &rows, &links, tests));
        }
    }
    found
}

fn measure(
    view: &View<'_>,
    label: &Label,
    targets: &Targets,
    rows: &[Vec<f64>],
    links: &Links,
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let mut sums: HashMap<usize, (Vec<f64>, f64)> = HashMap::new();
    for (item, row) in &links.pairs {
        let Some(row) = rows.get(*row) else { continue };
        let (sum, count) = sums
            .entry(*item)
            .or_insert_with(|| (vec![0.0; targets.width], 0.0));
        for (sum, cell) in sum.iter_mut().zip(row) {
            *sum += cell;
        }
        *count += 1.0;
    }
    let means = view.chosen.iter().map(|item| {
        let (sum, count) = sums.get(item)?;
        Some(sum.iter().map(|one| one / count).collect::<Vec<f64>>())
    });
    let prediction = Prediction {
        rows: means.collect(),
    };
    let linked = prediction.rows.iter().flatten().count();
    if linked < MIN_ITEMS {
        return None;
    }
    let baseline = view.baseline(label, targets);
    let measured = gain(targets, baseline.prediction.as_ref(), &prediction);
    tests.record(measured.p);
    if measured.beyond < MIN_VARIANCE {
        return None;
    }
    let what = format!(
        "{} of {linked} test items with training items: the answers of these training items explain {:.0} % of the variance of `{}` that the intended features leave",
        links.what,
        100.0 * measured.beyond,
        label.name
    );
    let named: HashMap<usize, String> = links
        .pairs
        .iter()
        .map(|(item, row)| (*item, format!("row {} of train", row + 1)))
        .collect();
    let cells: Vec<Option<&str>> = view
        .chosen
        .iter()
        .map(|item| named.get(item).map(String::as_str))
        .collect();
    Some(
        LeakFinding::new(LeakLevel::Risk, "neighbours", what)
            .evidence(examples(view, label, &cells))
            .p_value(measured.p),
    )
}

/// Finds pairs of columns in the same table, of which one contains ids of test items and the other one ids of training
/// items.
fn all_links(world: &World, train: &Table) -> Vec<Links> {
    let mut found = Vec::new();
    let Some(ids) = world.train_ids(train) else {
        return found;
    };
    let row_of: HashMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    // If both parts are numbered separately, they have the same ids.
    if world.has_plain_ids() || world.ids.iter().any(|id| row_of.contains_key(id.as_str())) {
        return found;
    }
    for shown in world
        .tables
        .iter()
        .filter(|one| !world.is_sample(&one.path))
    {
        let columns = || shown.table.names.iter().zip(&shown.table.columns);
        let of_test = columns().filter(|(_, cells)| {
            let hits = cells.iter().take(CHECKED_CELLS);
            hits.filter(|cell| world.item_of_name(cell).is_some())
                .count()
                >= MIN_ITEMS
        });
        for (name, cells) in of_test {
            for (other, trained) in columns().filter(|(other, _)| *other != name) {
                let pairs: Vec<(usize, usize)> = cells
                    .iter()
                    .zip(trained)
                    .filter_map(|(cell, other)| {
                        let row = row_of.get(other.as_str())?;
                        Some((world.item_of_name(cell)?, *row))
                    })
                    .collect();
                if pairs.len() >= MIN_ITEMS {
                    let what = format!("{} pairs `{name}` and `{other}`", shown.path);
                    found.push(Links { what, pairs });
                }
            }
        }
    }
    found
}
