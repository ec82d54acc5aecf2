//! Distinguishes items that are sorted by their answers from items of groups that are next to each other.
//!
//! In both cases, neighbours have similar answers. But the answers of neighbours are unknown, and the order of groups
//! (patients, sessions) reveals nothing. Sorted items have one block for each class, or their numbers rise or fall
//! everywhere.

use std::collections::HashSet;

use super::Targets;
use crate::statistics::{correlation, mean, ranks};

/// Number of windows in which the direction of numbers is compared.
const WINDOWS: usize = 12;

/// Minimum number of windows with the same direction. By chance, this has a probability of 4 %.
const MIN_SAME_DIRECTION: usize = 10;

/// Minimum rank correlation of sorted numbers with their order.
const MIN_CORRELATION: f64 = 0.3;

/// Returns whether items in the order of these numbers are sorted by their answers. Also returns true if many items have no
/// number, because then the presence of a number may be the reason for the agreement.
pub(crate) fn is_sorted(numbers: &[f64], targets: &Targets) -> bool {
    let mut order: Vec<usize> = (0..numbers.len().min(targets.test.len())).collect();
    let number = |item: &usize| numbers.get(*item).copied().unwrap_or(f64::NAN);
    order.retain(|item| number(item).is_finite());
    if order.len() * 10 < numbers.len() * 9 {
        return true;
    }
    order.sort_by(|one, other| number(one).total_cmp(&number(other)));
    let rows: Vec<&Vec<f64>> = order
        .iter()
        .filter_map(|item| targets.test.get(*item))
        .collect();
    match targets.is_class() {
        true => targets.has_known_classes && has_one_block_per_class(&rows),
        false => has_one_direction(&rows),
    }
}

/// Returns whether each class is the most frequent one in a single block of the rows.
fn has_one_block_per_class(rows: &[&Vec<f64>]) -> bool {
    let reach = (rows.len() / 30).max(3);
    let width = rows.first().map_or(0, |row| row.len());
    let mut blocks: Vec<usize> = Vec::new();
    for place in 0..rows.len() {
        let window = rows.get(place.saturating_sub(reach)..(place + reach + 1).min(rows.len()));
        let window = window.unwrap_or_default();
        let count = |column: usize| -> f64 {
            let cells = window.iter().filter_map(|row| row.get(column));
            cells.sum()
        };
        let counts: Vec<f64> = (0..width).map(count).collect();
        // Other classes have 0 in all columns.
        let others = window.len() as f64 - counts.iter().sum::<f64>();
        let count = |class: usize| counts.get(class).copied().unwrap_or(others);
        let class = (0..=width).max_by(|one, other| count(*one).total_cmp(&count(*other)));
        let class = class.unwrap_or(width);
        // A class must be clearly more frequent than that of the block before.
        let least = blocks
            .last()
            .map_or(0.0, |last| count(*last) + reach as f64 / 2.0);
        if blocks.last() != Some(&class) && count(class) > least {
            blocks.push(class);
        }
    }
    let classes = blocks.iter().collect::<HashSet<_>>().len();
    // One class more or less than blocks is allowed if there are many.
    classes > 1 && blocks.len() <= classes + classes / 4
}

/// Returns whether the numbers rise, or fall, in nearly all parts of the order.
fn has_one_direction(rows: &[&Vec<f64>]) -> bool {
    let values = rows.iter().filter_map(|row| row.first().copied());
    let values: Vec<f64> = values.collect();
    let against_order = |values: &[f64]| {
        let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
        correlation(&ranks(values), &places)
    };
    let size = values.len().div_ceil(WINDOWS).max(1);
    let windows: Vec<f64> = values.chunks(size).map(against_order).collect();
    let whole = against_order(&values);
    let same = windows.iter().filter(|one| **one * whole > 0.0).count();
    whole.abs() >= MIN_CORRELATION
        && same >= MIN_SAME_DIRECTION
        && mean(&windows).abs() >= MIN_CORRELATION / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;
    use crate::world::Label;

    #[test]
    fn sorted_answers_are_distinguished_from_groups() {
        let order: Vec<f64> = (0..300).map(f64::from).collect();
        let mut random = Random::new(8);
        let mut draw = |below: usize| random.below(below) as i32;
        let levels: Vec<i32> = (0..30).map(|_| draw(1000)).collect();
        let noise: Vec<i32> = (0..300).map(|_| draw(10)).collect();
        let groups: Vec<f64> = (0..300)
            .map(|n| f64::from(levels[n / 10] + noise[n]))
            .collect();
        let rising: Vec<f64> = (0..300)
            .map(|n| f64::from(10 * n as i32 + noise[n] * 5))
            .collect();
        let is_sorted_numbers = |values: &[f64]| {
            is_sorted(
                &order,
                &Targets::new(&Label::of_numbers("y", values)).unwrap(),
            )
        };
        assert!(is_sorted_numbers(&rising) && !is_sorted_numbers(&groups));
        let of_groups: Vec<i32> = (0..300).map(|n| levels[n / 10] % 2).collect();
        // One in ten items is at a different place.
        let blocks: Vec<i32> = (0..300)
            .map(|n| {
                if noise[n] == 0 {
                    levels[n / 10] % 4
                } else {
                    n as i32 / 75
                }
            })
            .collect();
        let is_sorted_classes = |classes: &[i32]| {
            is_sorted(
                &order,
                &Targets::new(&Label::of_classes("y", classes)).unwrap(),
            )
        };
        assert!(is_sorted_classes(&blocks) && !is_sorted_classes(&of_groups));
    }
}
