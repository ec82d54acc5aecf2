//! `order`: do answers agree with those of their neighbours, in a table or in the order of ids or files?
//!
//! Rows that were written class by class, or ids that were given so, tell answers by their place. Sequences in time have
//! neighbours that agree, too, without a leak: agreement is a risk only where it is nearly as high as sorting makes it.

use super::Tests;
use crate::finding::{Finding, Level};
use crate::statistics::by_shuffling;
use crate::world::World;

const NAME: &str = "order";

pub(super) fn find(world: &World, tests: &mut Tests) -> Vec<Finding> {
    let mut orders: Vec<(String, Vec<usize>)> = Vec::new();
    for (shown, _, items) in world.test_tables() {
        let order: Vec<usize> = items.iter().flatten().copied().collect();
        orders.push((format!("the rows of {}", shown.path), order));
    }
    let mut by_id: Vec<usize> = (0..world.ids.len()).collect();
    by_id.sort_by_key(|item| {
        let id = world.ids.get(*item).map(String::as_str).unwrap_or_default();
        (id.len(), id)
    });
    orders.push(("the order of ids".to_owned(), by_id));
    let files: Vec<usize> = world
        .files
        .iter()
        .filter_map(|file| world.item_of_path(&file.path))
        .collect();
    if files.len() * 2 >= world.ids.len() {
        orders.push(("the order of files".to_owned(), files));
    }
    let mut found = Vec::new();
    for label in &world.labels {
        let Some(classes) = label.classes() else {
            continue;
        };
        for (name, order) in &orders {
            let sequence: Vec<usize> = order
                .iter()
                .filter_map(|item| classes.get(*item).copied())
                .collect();
            if sequence.len() < 20 {
                continue;
            }
            let agreement = |sequence: &[usize]| {
                let pairs = sequence
                    .windows(2)
                    .filter(|pair| pair.first() == pair.last());
                pairs.count() as f64 / (sequence.len() - 1) as f64
            };
            let agree = agreement(&sequence);
            let chance = by_shuffling(&sequence, agreement);
            let p = tests.made(chance.p);
            // Of the way from chance to sorted.
            let effect = (agree - chance.mean) / (1.0 - chance.mean).max(1e-9);
            let level = match effect {
                effect if effect >= 0.8 => Level::Risk,
                effect if effect >= 0.1 => Level::Note,
                _ => continue,
            };
            let what = format!(
                "in {name}, {:.0} % of neighbours agree in `{}`; by chance {:.0} %",
                100.0 * agree,
                label.name,
                100.0 * chance.mean
            );
            found.push(Finding::new(level, NAME, what).p_value(p));
        }
    }
    found
}
