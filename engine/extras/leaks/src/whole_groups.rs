//! Finds groups of items that are entirely in the test part, for example patients or trips.
//!
//! Answers within a test group are similar. This is not a leak, because participants know none of these answers.
//!
//! The names of groups are in a column, in words of ids, in directories, or in metadata of files. Groups without names
//! are estimated: the items are sorted, and the sorted list is divided into sections.

use std::collections::{HashMap, HashSet};

use crate::facts::{Channel, ItemFacts, ids};
use crate::model::{Folds, Targets, by_nearest, by_value, gain, is_sorted};
use crate::statistics::correlation;
use crate::table::is_missing;
use crate::text::numbers_or_nan;
use crate::world::{RowOfItem, World, rows_of_items};

/// A column does not name groups that are entirely in the test part if a larger fraction of the test items than this has
/// a value that also occurs in the training part.
const MAX_KNOWN: f64 = 0.1;

/// Groups that explain a smaller fraction of the answers' variance than this are not used.
const MIN_VARIANCE: f64 = 0.05;

/// A [`Division`] assigns the test items to groups. With fewer groups than this number, it is *coarse*. A coarse division
/// is used only if all divisions are coarse, or if its groups are unions of the groups of a finer division.
const MIN_GROUPS: usize = 8;

/// A section of ordered items is as long as the distance at which the correlation of answers falls below this limit.
const MAX_CORRELATION: f64 = 0.1;

const MAX_ORDERS: usize = 8;

/// Only the first words of ids, up to this number, are examined.
const MAX_WORDS: usize = 8;

/// The name of the group of each chosen test item. `None` if the item belongs to no group.
pub(crate) type Division<'a> = Vec<Option<&'a str>>;

pub(crate) fn divisions<'a>(world: &'a World, facts: &'a ItemFacts) -> Vec<Division<'a>> {
    let mut found = Vec::new();
    let mut add = |test: Division<'a>, train: &[&str]| {
        if is_whole(&test, train) && !found.contains(&test) {
            found.push(test);
        }
    };
    let mut labels = world.labels.iter();
    let tables = labels.find_map(|label| world.train_table(label));
    if let Some(train) = tables {
        for (shown, key, items) in world.test_tables() {
            let row_of = rows_of_items(items);
            for (_, own, other) in shown.table.shared_columns(key, train) {
                let other: Vec<&str> = other.iter().collect();
                add(world.cells(own, &row_of), &other);
            }
        }
    }
    let tables_of_both = world.public.tables.iter();
    let tables_of_both =
        tables_of_both.filter(|one| one.items.is_none() && !world.is_sample(&one.path));
    for shown in tables_of_both {
        let Some(key) = shown.key else {
            continue;
        };
        let rows = world.items_of(&shown.table, key).into_iter();
        let row_of: RowOfItem = rows.map(|(row, item)| (item, row)).collect();
        let of_items: HashSet<usize> = row_of.values().copied().collect();
        for (_, column) in shown.table.columns_except(key) {
            let others = column.iter().enumerate();
            let others = others.filter(|(row, _)| !of_items.contains(row));
            let others: Vec<&str> = others.map(|(_, cell)| cell).collect();
            add(world.cells(column, &row_of), &others);
        }
    }
    let test = world.chosen.iter().filter_map(|item| world.ids.get(*item));
    let test: Vec<&str> = test.map(String::as_str).collect();
    let train: Vec<&str> = match tables.and_then(|train| world.train_ids(train)) {
        Some(ids) => ids.iter().collect(),
        None => world.public.trained.stems().collect(),
    };
    for place in 0..MAX_WORDS {
        for part in [word, beginning, first_digits] {
            let train: Vec<&str> = train.iter().filter_map(|id| part(id, place)).collect();
            add(test.iter().map(|id| part(id, place)).collect(), &train);
        }
    }
    for (key, values) in world.public.trained.all() {
        let is_group = matches!(key.0, Channel::Name | Channel::Metadata);
        if let Some(own) = facts.all.get(key).filter(|_| is_group) {
            let train: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
            let test = world.chosen.iter().map(|item| own.get(*item));
            add(test.collect(), &train);
        }
    }
    found
}

fn word(id: &str, place: usize) -> Option<&str> {
    ids::words(id).get(place).copied()
}

/// Returns the beginning of an id, up to the end of the word at index `place`. `None` for the first and the last word.
fn beginning(id: &str, place: usize) -> Option<&str> {
    let words = ids::words(id);
    let last = words
        .get(place)
        .filter(|_| place > 0 && place + 1 < words.len())?;
    let end = last.as_ptr().addr() + last.len() - id.as_ptr().addr();
    id.get(..end)
}

/// Returns the first `place + 1` digits of an id. `None` if not all characters of the id are digits, or if there is no
/// further digit.
fn first_digits(id: &str, place: usize) -> Option<&str> {
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    id.get(..=place)
        .filter(|digits| is_number && digits.len() < id.len())
}

/// Returns whether a column divides the test items into groups of several items, and hardly any of these groups has
/// training items. `test` and `train` are the column's cells in the test part and in the training part.
pub(crate) fn is_whole(test: &[Option<&str>], train: &[&str]) -> bool {
    let known = train.iter().copied().filter(|cell| !is_missing(cell));
    let known: HashSet<&str> = known.collect();
    let present = test.iter().flatten().filter(|cell| !is_missing(cell));
    let count = present.clone().count();
    let groups = present.clone().collect::<HashSet<_>>().len();
    let both = present.filter(|cell| known.contains(*cell)).count();
    groups > 1
        && groups * 3 <= count * 2
        && count * 10 >= test.len() * 9
        && both as f64 <= MAX_KNOWN * count as f64
        && known.len() > 1
        && known.len() * 4 <= train.len() * 3
}

/// Returns several orders of the chosen items: the order of rows in the answers, and orders by facts such as the time of
/// a file. Each order contains a number for each item. Sorting by these numbers gives the order.
pub(crate) fn orders(world: &World, facts: &ItemFacts) -> Vec<Vec<f64>> {
    let mut orders: Vec<Vec<f64>> =
        vec![(0..world.chosen.len()).map(|place| place as f64).collect()];
    let names = [
        "the alphabetical order of ids",
        "the order of ids",
        "the position of",
        "the time of `",
    ];
    for ((channel, name), values) in &facts.all {
        let is_order = channel.is_arranged() && names.iter().any(|start| name.starts_with(start));
        if is_order && orders.len() < MAX_ORDERS {
            let cells: Vec<Option<&str>> =
                world.chosen.iter().map(|item| values.get(*item)).collect();
            orders.push(numbers_or_nan(&cells));
        }
    }
    orders
}

/// Sorts the items by `numbers`, and divides the sorted list into sections of equal length. The length is the distance up
/// to which items in the list have similar answers. Also returns the fraction of the variance that neighbours explain.
/// Returns `None` if neighbours explain little, or if the items are sorted by their answers.
fn sections(numbers: &[f64], targets: &Targets) -> Option<(f64, Vec<usize>)> {
    let agreement = gain(targets, None, &by_nearest(numbers, targets));
    if agreement.alone < MIN_VARIANCE || agreement.p > 1e-3 || is_sorted(numbers, targets) {
        return None;
    }
    let (order, rows) = targets.sorted_by(numbers);
    let column = |column: usize| -> Vec<f64> {
        rows.iter()
            .filter_map(|row| row.get(column).copied())
            .collect()
    };
    let columns: Vec<Vec<f64>> = (0..targets.width).map(column).collect();
    let is_similar = |distance: &usize| {
        columns.iter().any(|values| {
            let (one, other) = (
                values.get(..values.len() - distance),
                values.get(*distance..),
            );
            correlation(one.unwrap_or_default(), other.unwrap_or_default()) > MAX_CORRELATION
        })
    };
    let length = (1..rows.len() / 4).take_while(is_similar).count() + 1;
    let mut groups = vec![0; numbers.len()];
    for (place, item) in order.iter().enumerate() {
        if let Some(group) = groups.get_mut(*item) {
            *group = place / length;
        }
    }
    Some((agreement.alone, groups))
}

/// Returns folds that keep a group together if its items have similar answers. A division puts the items into groups. If
/// groups of several divisions overlap, they are united, unless too few groups would be left.
pub(crate) fn folds(divisions: &[Division<'_>], orders: &[Vec<f64>], targets: &Targets) -> Folds {
    let agreement = |division: &Division<'_>, targets: &Targets| {
        let agreement = gain(targets, None, &by_value(division, targets));
        let is_strong = agreement.alone >= MIN_VARIANCE && agreement.p < 1e-3;
        is_strong.then_some(agreement.alone)
    };
    let mut agreeing: Vec<(f64, Vec<usize>, &Division<'_>)> = Vec::new();
    for division in divisions {
        let strength = agreement(division, targets);
        agreeing.extend(strength.map(|strength| (strength, numbered(division), division)));
    }
    if agreeing.is_empty() {
        // If no groups have names, use the sections of the order in which neighbours have the most similar answers.
        let sections = orders.iter().filter_map(|order| sections(order, targets));
        let best = sections.max_by(|one, other| one.0.total_cmp(&other.0));
        return best.map_or_else(Folds::default, |(_, sections)| Folds::of_sections(sections));
    }
    // Prefer divisions that are not coarse, then divisions whose groups have the most similar answers.
    let is_coarse = |groups: &[usize]| count(groups) < MIN_GROUPS;
    agreeing.sort_by(|one, other| {
        let coarse = is_coarse(&one.1).cmp(&is_coarse(&other.1));
        coarse.then(other.0.total_cmp(&one.0))
    });
    let mut agreeing = agreeing.into_iter();
    let Some((_, mut groups, _)) = agreeing.next() else {
        return Folds::default();
    };
    for (_, other, division) in agreeing {
        let united = united(&groups, &other);
        // A coarse union is used only if each group is a part of a larger group of the other division, and answers are
        // also similar across the parts of a larger group.
        let is_nested = count(&united) == count(&other) && count(&united) > 1;
        let agrees_beyond = || {
            let mut targets = targets.clone();
            targets.folds = Folds::of_groups(groups.clone());
            agreement(division, &targets).is_some()
        };
        if !is_coarse(&united) || is_nested && agrees_beyond() {
            groups = united;
        }
    }
    Folds::of_groups(groups)
}

fn count(groups: &[usize]) -> usize {
    groups.iter().collect::<HashSet<_>>().len()
}

/// Returns the number of each item's group, from 0. An item without a value is a separate group.
fn numbered(division: &[Option<&str>]) -> Vec<usize> {
    let mut numbers: HashMap<(Option<&str>, usize), usize> = HashMap::new();
    let mut groups = Vec::new();
    for (item, value) in division.iter().enumerate() {
        let next = numbers.len();
        let item = if value.is_some() { 0 } else { item };
        groups.push(*numbers.entry((*value, item)).or_insert(next));
    }
    groups
}

/// Unites the groups of two divisions: items that share a group in either division share a group of the result.
fn united(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut groups = one.to_vec();
    // Each pass gives all items of a group the smallest number among these items, until nothing changes.
    loop {
        let before = groups.clone();
        for division in [one, other] {
            let mut least: HashMap<usize, usize> = HashMap::new();
            for (group, number) in division.iter().zip(&groups) {
                let least = least.entry(*group).or_insert(*number);
                *least = (*least).min(*number);
            }
            for (group, number) in division.iter().zip(groups.iter_mut()) {
                *number = least.get(group).copied().unwrap_or(*number);
            }
        }
        if groups == before {
            break;
        }
    }
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let number = |group: &usize| {
        let next = numbers.len();
        *numbers.entry(*group).or_insert(next)
    };
    groups.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_groups_have_no_training_items() {
        let test = [Some("a"), Some("a"), Some("b"), Some("b")];
        for (train, expected) in [
            (vec!["c", "c", "d", "d"], true),
            // The groups are in both parts.
            (vec!["a", "a", "d", "d"], false),
            // The training part has no groups.
            (vec![], false),
            (vec!["c", "d", "e", "f"], false),
        ] {
            assert_eq!(is_whole(&test, &train), expected, "{train:?}");
        }
        let single = [Some("a"), Some("b"), Some("c"), Some("d")];
        assert!(!is_whole(&single, &["e", "e", "f", "f"]));
    }

    #[test]
    fn beginnings_of_ids_end_at_words() {
        let all = |id| {
            (0..5)
                .filter_map(|place| beginning(id, place))
                .collect::<Vec<_>>()
        };
        assert_eq!(all("p01_s2_003"), ["p01", "p01_s", "p01_s2"]);
        assert_eq!(all("spk12utt003"), ["spk12", "spk12utt"]);
        assert!(all("8").is_empty());
    }

    #[test]
    fn overlapping_groups_of_two_divisions_are_united() {
        assert_eq!(united(&[0, 0, 1, 1, 2], &[0, 1, 1, 2, 3]), [0, 0, 0, 0, 1]);
        assert_eq!(numbered(&[Some("b"), None, None, Some("b")]), [0, 1, 2, 0]);
    }
}
