//! `groups` and `neighbours`: test items that have kin in the training part, by a group that both name, or by nearness in a
//! number, a time or an id.
//!
//! The answers of the kin make a prediction. It counts beyond the baseline, whose features are cut into 16 bins: a smooth
//! dependence on a date or a size is known to the baseline, a particular neighbour is not. Columns of few values with many items
//! each are categories, which are intended features; groups have few items each.

use std::collections::{HashMap, HashSet};

use super::Tests;
use super::facts::{examples, numbers};
use crate::facts::ids;
use crate::facts::lines::words;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Gain, Prediction, Targets, gain, nearest_from_train, value_from_train};
use crate::table::{Table, is_missing};
use crate::view::View;
use crate::world::Label;

/// Test items that must have kin.
const FEWEST: usize = 20;

/// The variance that the answers of kin must explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.1;

/// Items of a category for each of its values; groups have fewer.
const OF_CATEGORY: usize = 8;

/// A name or number that both parts have.
struct Tie<'a> {
    what: String,
    test: Vec<Option<&'a str>>,
    train: Vec<&'a str>,
}

pub(super) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let Some(train) = view.world.train_table(label) else {
            continue;
        };
        let Some(rows) = train
            .column(&label.name)
            .and_then(|answers| targets.encode(answers))
        else {
            continue;
        };
        let owned = [trained(view, train), places(view, train)].concat();
        let ties = ties(view, label, &owned);
        if ties.is_empty() {
            continue;
        }
        let baseline = view.baseline(label, targets);
        let base = baseline.prediction.as_ref();
        for tie in &ties {
            let near = by_number(tie, targets, &rows, base);
            let group = by_group(tie, view, targets, &rows, base);
            for (detector, how, result) in [
                ("neighbours", "nearest to", near),
                ("groups", "with the same", group),
            ] {
                let Some((told, kin)) = result else { continue };
                tests.record(told.p);
                if told.beyond < MIN_VARIANCE {
                    continue;
                }
                let what = format!(
                    "the answers of the training items {how} {} explain {:.0} % of the variance of `{}` that the intended features leave; {kin} of {} test items have some",
                    tie.what,
                    100.0 * told.beyond,
                    label.name,
                    view.chosen.len()
                );
                let finding = LeakFinding::new(LeakLevel::Risk, detector, what)
                    .evidence(examples(view, label, &tie.test))
                    .p_value(told.p);
                found.push((told.beyond, finding));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(3);
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn by_number(
    tie: &Tie<'_>,
    targets: &Targets,
    rows: &[Vec<f64>],
    base: Option<&Prediction>,
) -> Option<(Gain, usize)> {
    let test = numbers(&tie.test);
    let train: Vec<f64> = tie
        .train
        .iter()
        .map(|cell| crate::model::number(cell).unwrap_or(f64::NAN))
        .collect();
    let finite = |numbers: &[f64]| numbers.iter().filter(|one| one.is_finite()).count();
    let different: HashSet<u64> = train.iter().map(|one| one.to_bits()).collect();
    let is_fine = different.len() * 2 >= train.len()
        && finite(&test) * 10 >= test.len() * 9
        && finite(&train) * 10 >= train.len() * 9;
    if !is_fine || train.len() < 2 * FEWEST {
        return None;
    }
    let told = nearest_from_train(&test, &train, rows);
    Some((gain(targets, base, &told), finite(&test)))
}

fn by_group(
    tie: &Tie<'_>,
    view: &View<'_>,
    targets: &Targets,
    rows: &[Vec<f64>],
    base: Option<&Prediction>,
) -> Option<(Gain, usize)> {
    let known: HashSet<&str> = tie
        .train
        .iter()
        .copied()
        .filter(|cell| !is_missing(cell))
        .collect();
    let test = tie
        .test
        .iter()
        .map(|cell| cell.filter(|cell| known.contains(cell)));
    let test: Vec<Option<&str>> = test.collect();
    let kin = test.iter().flatten().count();
    let all: HashSet<&str> = known
        .iter()
        .copied()
        .chain(tie.test.iter().flatten().copied())
        .collect();
    let items = tie.train.len() + view.world.ids.len();
    if kin < FEWEST || all.len() * OF_CATEGORY <= items {
        return None;
    }
    let told = value_from_train(&test, &tie.train, rows);
    Some((gain(targets, base, &told), kin))
}

/// A tie that no table has.
#[derive(Clone)]
struct Owned {
    what: String,
    test: Vec<Option<String>>,
    train: Vec<String>,
}

/// The name that stands for an id: without directories and ending.
pub(super) fn stem(id: &str) -> &str {
    let name = id.rsplit('/').next().unwrap_or(id);
    name.split('.').next().unwrap_or(name)
}

/// Times and metadata of files of both parts.
fn trained(view: &View<'_>, train: &Table) -> Vec<Owned> {
    let world = view.world;
    let Some(ids) = world.train_ids(train) else {
        return Vec::new();
    };
    let row_of: HashMap<&str, usize> = ids.iter().map(|id| stem(id)).zip(0..).collect();
    let both = world.trained.all().filter_map(|(key, values)| {
        let test = view.facts.all.get(key)?;
        let mut train = vec![String::new(); ids.len()];
        for (stem, value) in values {
            if let Some(cell) = row_of.get(stem).and_then(|row| train.get_mut(*row)) {
                value.clone_into(cell);
            }
        }
        let cells = view.cells(test);
        Some(Owned {
            what: key.1.clone(),
            test: cells.iter().map(|cell| cell.map(str::to_owned)).collect(),
            train,
        })
    });
    both.collect()
}

/// The places of items of both parts in texts that name both: lists of ids in an order of their own.
fn places(view: &View<'_>, train: &Table) -> Vec<Owned> {
    let world = view.world;
    let Some(ids) = world.train_ids(train).filter(|_| !world.has_plain_ids()) else {
        return Vec::new();
    };
    let row_of: HashMap<&str, usize> = ids.iter().map(|id| stem(id)).zip(0..).collect();
    let place_of: HashMap<usize, usize> = view.chosen.iter().copied().zip(0..).collect();
    let mut found = Vec::new();
    for (path, text) in &world.texts {
        if world.is_sample(path) || world.item_of_path(path).is_some() {
            continue;
        }
        let mut test = vec![None; view.chosen.len()];
        let mut train = vec![String::new(); ids.len()];
        let mut hits = (0_usize, 0_usize);
        for (number, word) in words(text).enumerate() {
            if let Some(place) = world
                .item_of_name(word)
                .and_then(|item| place_of.get(&item))
            {
                if let Some(cell) = test.get_mut(*place).filter(|cell| cell.is_none()) {
                    *cell = Some(number.to_string());
                    hits.0 += 1;
                }
            } else if let Some(cell) = row_of.get(stem(word)).and_then(|row| train.get_mut(*row))
                && cell.is_empty()
            {
                *cell = number.to_string();
                hits.1 += 1;
            }
        }
        if hits.0 >= FEWEST && hits.1 >= FEWEST {
            let what = format!("the place in {path}");
            found.push(Owned { what, test, train });
        }
    }
    found
}

/// Columns of test and train tables, and the ids with their parts.
fn ties<'a>(view: &View<'a>, label: &Label, owned: &'a [Owned]) -> Vec<Tie<'a>> {
    let world = view.world;
    let mut ties: Vec<Tie<'a>> = owned
        .iter()
        .map(|one| Tie {
            what: one.what.clone(),
            test: one.test.iter().map(Option::as_deref).collect(),
            train: one.train.iter().map(String::as_str).collect(),
        })
        .collect();
    let Some(train) = world.train_table(label) else {
        return ties;
    };
    let ids: Vec<&'a str> = view
        .chosen
        .iter()
        .map(|item| world.ids.get(*item).map_or("", String::as_str))
        .collect();
    if let Some(trained) = world.train_ids(train) {
        let parts: Vec<Vec<&'a str>> = ids.iter().map(|id| ids::parts(id)).collect();
        let count = parts.first().map_or(0, Vec::len);
        if count > 1 && parts.iter().all(|one| one.len() == count) {
            let others: Vec<Vec<&'a str>> = trained.iter().map(|id| ids::parts(id)).collect();
            for place in 0..count {
                ties.push(Tie {
                    what: format!("word {} of ids", place + 1),
                    test: parts.iter().map(|one| one.get(place).copied()).collect(),
                    train: others
                        .iter()
                        .map(|one| one.get(place).copied().unwrap_or(""))
                        .collect(),
                });
            }
        }
        let words = |id: &'a str| {
            ids::words(id)
                .into_iter()
                .rev()
                .find(|word| word.parse::<u64>().is_ok())
        };
        ties.push(Tie {
            what: "number in ids".to_owned(),
            test: ids.iter().map(|id| words(id)).collect(),
            train: trained.iter().map(|id| words(id).unwrap_or("")).collect(),
        });
    }
    for (shown, key, items) in world.test_tables() {
        let row_of: HashMap<usize, usize> = items
            .iter()
            .enumerate()
            .filter_map(|(row, item)| Some(((*item)?, row)))
            .collect();
        for (place, name) in shown.table.names.iter().enumerate() {
            let (Some(own), Some(other)) = (
                shown.table.columns.get(place).filter(|_| place != key),
                train.column(name),
            ) else {
                continue;
            };
            ties.push(Tie {
                what: format!("`{name}`"),
                test: view
                    .chosen
                    .iter()
                    .map(|item| own.get(*row_of.get(item)?).map(String::as_str))
                    .collect(),
                train: other.iter().map(String::as_str).collect(),
            });
        }
    }
    ties
}
