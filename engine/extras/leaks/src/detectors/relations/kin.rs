//! `groups` and `neighbours`: finds test items that are related to training items: by a common group, or because a
//! number, a time or an id is close.
//!
//! The answers of the related training items are a prediction, and its gain beyond the baseline is measured. The
//! baseline divides features into 16 bins. So it knows a smooth dependence on a date or a size, but not a particular
//! neighbour. Columns with many items per value are categories, which are intended features. Groups have few items per
//! value.
//!
//! It also finds rows that refer to a different item. Examples are a training row with the id of a test item
//! (`see_also`, `duplicate_of`), a test row with the id of a training item, and a table of pairs. The two items may
//! have the same answer.

use std::collections::{HashMap, HashSet};

use crate::facts::ids;
use crate::facts::lines::words;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Gain, Prediction, Targets, gain, nearest_from_train, value_from_train};
use crate::number::{number, numbers_or_nan};
use crate::paths::stem;
use crate::statistics::Tests;
use crate::table::{Table, is_missing};
use crate::view::View;
use crate::world::{Label, World, rows_of_items};

/// Minimum number of test items with related training items.
const MIN_ITEMS: usize = 20;

/// Minimum fraction of the remaining variance that the answers of related items must explain beyond the baseline.
const MIN_VARIANCE: f64 = 0.1;

/// Number of items per value from which a column contains categories instead of groups.
const MIN_CATEGORY_ITEMS: usize = 8;

/// A property of items in both parts, by which they may be related.
struct Relation<'a> {
    what: String,
    test: Vec<Option<&'a str>>,
    train: Vec<&'a str>,
}

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let Some((train, rows)) = view.training(label, targets) else {
            continue;
        };
        let positions = positions(view, train);
        let relations = relations(view, train, &positions);
        if relations.is_empty() {
            continue;
        }
        let base = view.baseline(label, targets);
        for relation in &relations {
            let near = by_number(relation, targets, &rows, base);
            let group = by_group(relation, view, targets, &rows, base);
            for (detector, how, result) in [
                ("neighbours", "nearest to", near),
                ("groups", "with the same", group),
            ] {
                let Some((measured, kin)) = result else {
                    continue;
                };
                tests.record(measured.p);
                if measured.beyond < MIN_VARIANCE {
                    continue;
                }
                let what = format!(
                    "the answers of the training items {how} {} explain {:.0} % of the variance of `{}` that the intended features leave; {kin} of {} test items have some",
                    relation.what,
                    100.0 * measured.beyond,
                    label.name,
                    view.chosen.len()
                );
                let finding = LeakFinding::new(LeakLevel::Risk, detector, what)
                    .evidence(view.examples(label, &relation.test))
                    .p_value(measured.p);
                found.push((measured.beyond, finding));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(3);
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn by_number(
    relation: &Relation<'_>,
    targets: &Targets,
    rows: &[Vec<f64>],
    base: Option<&Prediction>,
) -> Option<(Gain, usize)> {
    let test = numbers_or_nan(&relation.test);
    let train = relation.train.iter();
    let train = train.map(|cell| number(cell).unwrap_or(f64::NAN));
    let train: Vec<f64> = train.collect();
    let finite = |numbers: &[f64]| numbers.iter().filter(|one| one.is_finite()).count();
    let different: HashSet<u64> = train.iter().map(|one| one.to_bits()).collect();
    let is_fine = different.len() * 2 >= train.len()
        && finite(&test) * 10 >= test.len() * 9
        && finite(&train) * 10 >= train.len() * 9;
    if !is_fine || train.len() < 2 * MIN_ITEMS {
        return None;
    }
    let prediction = nearest_from_train(&test, &train, rows);
    Some((gain(targets, base, &prediction), finite(&test)))
}

fn by_group(
    relation: &Relation<'_>,
    view: &View<'_>,
    targets: &Targets,
    rows: &[Vec<f64>],
    base: Option<&Prediction>,
) -> Option<(Gain, usize)> {
    let known = relation.train.iter().copied();
    let known: HashSet<&str> = known.filter(|cell| !is_missing(cell)).collect();
    let test = relation.test.iter();
    let test = test.map(|cell| cell.filter(|cell| known.contains(cell)));
    let test: Vec<Option<&str>> = test.collect();
    let kin = test.iter().flatten().count();
    let all: HashSet<&str> = known
        .iter()
        .chain(relation.test.iter().flatten())
        .copied()
        .collect();
    let items = relation.train.len() + view.world.ids.len();
    if kin < MIN_ITEMS || all.len() * MIN_CATEGORY_ITEMS <= items {
        return None;
    }
    let prediction = value_from_train(&test, &relation.train, rows);
    Some((gain(targets, base, &prediction), kin))
}

/// The positions of items in a file, as texts. Training items that the file does not name have an empty text.
struct Positions {
    what: String,
    test: Vec<Option<String>>,
    train: Vec<String>,
}

/// Returns the times and metadata of files in both parts.
fn trained<'a>(view: &View<'a>, train: &Table) -> Vec<Relation<'a>> {
    let world = view.world;
    let Some(ids) = world.train_ids(train) else {
        return Vec::new();
    };
    let row_of: HashMap<&str, usize> = ids.iter().map(stem).zip(0..).collect();
    let both = world.public.trained.all().filter_map(|(key, values)| {
        let test = view.cells(view.facts.all.get(key)?);
        let mut train = vec![""; ids.len()];
        for (stem, value) in values {
            if let Some(cell) = row_of.get(stem).and_then(|row| train.get_mut(*row)) {
                *cell = value;
            }
        }
        let what = key.1.clone();
        Some(Relation { what, test, train })
    });
    both.collect()
}

/// Returns the positions of items in text files that contain ids of both parts, for example lists of ids.
fn positions(view: &View<'_>, train: &Table) -> Vec<Positions> {
    let world = view.world;
    let Some(ids) = world.train_ids(train).filter(|_| !world.has_plain_ids) else {
        return Vec::new();
    };
    let row_of: HashMap<&str, usize> = ids.iter().map(stem).zip(0..).collect();
    let place_of: HashMap<usize, usize> = view.chosen.iter().copied().zip(0..).collect();
    let mut found = Vec::new();
    for (path, text) in world.common_texts() {
        let mut test = vec![None; view.chosen.len()];
        let mut train = vec![String::new(); ids.len()];
        let mut hits = (0_usize, 0_usize);
        for (number, word) in words(text).enumerate() {
            if !world.may_be_id(word) {
                continue;
            }
            let item = world.item_of_name(word);
            if let Some(place) = item.and_then(|item| place_of.get(&item)) {
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
        if hits.0 >= MIN_ITEMS && hits.1 >= MIN_ITEMS {
            let what = format!("the position in {path}");
            found.push(Positions { what, test, train });
        }
    }
    found
}

/// Returns the columns that test and train tables share, and the parts and numbers of ids.
fn relations<'a>(
    view: &View<'a>,
    train: &'a Table,
    positions: &'a [Positions],
) -> Vec<Relation<'a>> {
    let world = view.world;
    let mut relations = trained(view, train);
    relations.extend(positions.iter().map(|one| Relation {
        what: one.what.clone(),
        test: one.test.iter().map(Option::as_deref).collect(),
        train: one.train.iter().map(String::as_str).collect(),
    }));
    let ids = view.chosen.iter().map(|item| world.ids.get(*item));
    let ids: Vec<&'a str> = ids.map(|id| id.map_or("", String::as_str)).collect();
    if let Some(trained) = world.train_ids(train) {
        let parts: Vec<Vec<&'a str>> = ids.iter().map(|id| ids::parts(id)).collect();
        let count = parts.first().map_or(0, Vec::len);
        if count > 1 && parts.iter().all(|one| one.len() == count) {
            let others: Vec<Vec<&'a str>> = trained.iter().map(|id| ids::parts(id)).collect();
            for place in 0..count {
                let word = |parts: &Vec<&'a str>| parts.get(place).copied();
                relations.push(Relation {
                    what: format!("word {} of ids", place + 1),
                    test: parts.iter().map(word).collect(),
                    train: others.iter().map(|one| word(one).unwrap_or("")).collect(),
                });
            }
        }
        let number = |id: &'a str| {
            let mut words = ids::words(id).into_iter().rev();
            words.find(|word| word.parse::<u64>().is_ok())
        };
        relations.push(Relation {
            what: "number in ids".to_owned(),
            test: ids.iter().map(|id| number(id)).collect(),
            train: trained.iter().map(|id| number(id).unwrap_or("")).collect(),
        });
    }
    for (shown, key, items) in world.test_tables() {
        let row_of = rows_of_items(items);
        for (name, own, other) in shown.table.shared_columns(key, train) {
            let cell = |item| own.get(*row_of.get(item)?);
            relations.push(Relation {
                what: format!("`{name}`"),
                test: view.chosen.iter().map(cell).collect(),
                train: other.iter().collect(),
            });
        }
    }
    relations
}

/// Minimum number of linked test items.
const MIN_LINKED_ITEMS: usize = 20;

/// Minimum fraction of the remaining variance that the answers of linked items must explain beyond the baseline.
const MIN_LINK_VARIANCE: f64 = 0.1;

/// Number of first cells of a column that are checked for ids.
const CHECKED_CELLS: usize = 5_000;

/// Links of a pair of columns: a test item and a row of the training table.
struct Links {
    what: String,
    pairs: Vec<(usize, usize)>,
}

pub(crate) fn find_links(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
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
        if linked < MIN_LINKED_ITEMS {
            return None;
        }
        let measured = view.measure(label, targets, prediction, tests);
        if measured.beyond < MIN_LINK_VARIANCE {
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
            hits.count() >= MIN_LINKED_ITEMS
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
                if pairs.len() >= MIN_LINKED_ITEMS {
                    let what = format!("{} pairs `{name}` and `{other}`", shown.path);
                    found.push(Links { what, pairs });
                }
            }
        }
    }
    found
}
