//! `groups` and `neighbours`: finds test items that are related to training items by a common group, by a close number,
//! time or id, or by an id of a training item in the test item's row.
//!
//! The answer of a test item is predicted from the answers of the related training items. The relation is reported if
//! this prediction explains enough of the variance that the intended features leave unexplained.
//!
//! The values of a column are groups only if few items have the same value. Otherwise they are categories, which are
//! intended features.

use std::collections::{HashMap, HashSet};

use crate::facts::{Channel, ids};
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Prediction, nearest_from_train, value_from_train};
use crate::statistics::{Tests, finite};
use crate::table::{ColumnTable, is_missing};
use crate::text::{number, numbers_or_nan, stem};
use crate::view::{MAX_MEASURABLE, View};
use crate::world::rows_of_items;

/// A relation is not examined if fewer test items than this have related training items.
const MIN_ITEMS: usize = 20;

/// A relation is reported only if the answers of related training items explain at least this fraction of the variance
/// that the intended features leave unexplained.
const MIN_VARIANCE: f64 = 0.1;

/// If a column has at least this number of items per value on average, its values are categories, not groups.
const MIN_CATEGORY_ITEMS: usize = 8;

/// A property by which test items may be related to training items.
struct ItemRelation<'a> {
    what: String,
    test: Vec<Option<&'a str>>,
    train: Vec<&'a str>,
    kind: RelationKind,
}

/// The detector that reports a relation, and the words that describe the relation in a finding.
type RelationKind = (&'static str, &'static str);

const NEAREST: RelationKind = ("neighbours", "nearest to");
const GROUP: RelationKind = ("groups", "with the same");
/// A test item's row contains the id of a training item.
const LINK: RelationKind = ("neighbours", "with the");

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let Some((train, rows)) = view.training(label, targets) else {
            continue;
        };
        for relation in relations(view, train) {
            let nearest = by_number(&relation, &rows);
            let same = by_group(&relation, view.world.ids.len(), &rows);
            let predictions = [(NEAREST, nearest), (relation.kind, same)];
            for ((detector, how), prediction) in predictions {
                let Some((prediction, kin)) = prediction else {
                    continue;
                };
                let measured = view.measure(label, targets, &prediction, tests);
                // If the intended features explain nearly everything, the rest is too small.
                let is_masked = measured.absolute < (1.0 - MAX_MEASURABLE) * measured.beyond;
                if measured.beyond < MIN_VARIANCE || is_masked {
                    continue;
                }
                let what = format!(
                    "the answers of the training items {how} {} explain {:.0} % of the variance of `{}` that the intended features leave unexplained; {kin} of {} test items have such training items",
                    relation.what,
                    100.0 * measured.beyond,
                    label.name,
                    view.world.chosen.len()
                );
                let finding = LeakFinding::new(LeakLevel::Risk, detector, what)
                    .about(Channel::Column, &relation.what, &label.name)
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

/// Reads the value of each item in the relation as a number. Predicts the answer of a test item from the training item with
/// the nearest number. Also returns how many test items have a number.
fn by_number(relation: &ItemRelation<'_>, rows: &[Vec<f64>]) -> Option<(Prediction, usize)> {
    let test = numbers_or_nan(&relation.test);
    let train = relation.train.iter();
    let train: Vec<f64> = train.map(|cell| number(cell).unwrap_or(f64::NAN)).collect();
    let different: HashSet<u64> = train.iter().map(|one| one.to_bits()).collect();
    let is_fine = different.len() * 2 >= train.len()
        && finite(&test).len() * 10 >= test.len() * 9
        && finite(&train).len() * 10 >= train.len() * 9
        && train.len() >= 2 * MIN_ITEMS;
    is_fine.then(|| (nearest_from_train(&test, &train, rows), finite(&test).len()))
}

/// Predicts the answer of each test item from the training items of its group. Also returns how many test items have a
/// group with training items. `items` is the number of all test items.
fn by_group(
    relation: &ItemRelation<'_>,
    items: usize,
    rows: &[Vec<f64>],
) -> Option<(Prediction, usize)> {
    let known = relation.train.iter().copied();
    let known: HashSet<&str> = known.filter(|cell| !is_missing(cell)).collect();
    let test = relation.test.iter();
    let test = test.map(|cell| cell.filter(|cell| known.contains(cell)));
    let test: Vec<Option<&str>> = test.collect();
    let kin = test.iter().flatten().count();
    let all: HashSet<&&str> = known.iter().chain(relation.test.iter().flatten()).collect();
    let is_category = all.len() * MIN_CATEGORY_ITEMS <= relation.train.len() + items;
    let is_group = kin >= MIN_ITEMS && !is_category;
    is_group.then(|| (value_from_train(&test, &relation.train, rows), kin))
}

/// Returns a relation for each fact about files, such as a time, metadata or a directory name, that is known for files
/// of both parts.
fn trained<'a>(view: &View<'a>, train: &ColumnTable) -> Vec<ItemRelation<'a>> {
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
        Some(ItemRelation {
            what: key.1.clone(),
            test,
            train,
            kind: GROUP,
        })
    });
    both.collect()
}

/// Returns all properties by which test items and training items may be related:
///
/// - columns of both the test tables and the training table,
/// - words of ids,
/// - times and metadata of files,
/// - ids of training items in test tables.
fn relations<'a>(view: &View<'a>, train: &'a ColumnTable) -> Vec<ItemRelation<'a>> {
    let world = view.world;
    let mut relations = trained(view, train);
    relations.extend(links(view, train));
    let ids = view.world.chosen.iter().map(|item| world.ids.get(*item));
    let ids: Vec<&'a str> = ids.map(|id| id.map_or("", String::as_str)).collect();
    if let Some(trained) = world.train_ids(train) {
        let parts: Vec<Vec<&'a str>> = ids.iter().map(|id| ids::parts(id)).collect();
        let count = parts.first().map_or(0, Vec::len);
        if count > 1 && parts.iter().all(|one| one.len() == count) {
            let others: Vec<Vec<&'a str>> = trained.iter().map(|id| ids::parts(id)).collect();
            for place in 0..count {
                let word = |parts: &Vec<&'a str>| parts.get(place).copied();
                relations.push(ItemRelation {
                    what: format!("word {} of ids", place + 1),
                    test: parts.iter().map(word).collect(),
                    train: others.iter().map(|one| word(one).unwrap_or("")).collect(),
                    kind: GROUP,
                });
            }
        }
    }
    for (shown, key, items) in world.test_tables() {
        let row_of = rows_of_items(items);
        for (name, own, other) in shown.table.shared_columns(key, train) {
            relations.push(ItemRelation {
                what: format!("`{name}` in {}", shown.path),
                test: world.cells(own, &row_of),
                train: other.iter().collect(),
                kind: GROUP,
            });
        }
    }
    relations
}

/// Returns columns of test tables that contain ids of training items, for example `parent` or `duplicate_of`.
fn links<'a>(view: &View<'a>, train: &'a ColumnTable) -> Vec<ItemRelation<'a>> {
    let world = view.world;
    let Some(ids) = world.train_ids(train) else {
        return Vec::new();
    };
    let known: HashSet<&str> = ids.iter().collect();
    // If ids are small numbers, or if both parts use the same ids, an id in a test table need not mean a training item.
    if world.has_plain_ids || world.ids.iter().any(|id| known.contains(id.as_str())) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (shown, key, items) in world.test_tables() {
        let row_of = rows_of_items(items);
        for (name, cells) in shown.table.columns_except(key) {
            let test = world.cells(cells, &row_of).into_iter();
            let test = test.map(|cell| cell.filter(|cell| known.contains(cell)));
            found.push(ItemRelation {
                what: format!("id in `{name}` of {}", shown.path),
                test: test.collect(),
                train: ids.iter().collect(),
                kind: LINK,
            });
        }
    }
    found.retain(|relation| relation.test.iter().flatten().count() >= MIN_ITEMS);
    found
}
