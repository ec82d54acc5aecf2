//! `rows` and `equal-files`: finds test items in training tables, and files of test items that are also in the training
//! part.
//!
//! Files are equal if their digests are. Most data sets contain some copies. They are a risk
//! if many test items have a copy in the training part.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::is_train;
use crate::statistics::{Tests, majority, tail_of_binomial};
use crate::world::{ContentDigest, Label, PublicTableFile, World};

const NAME: &str = "rows";

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (test, key, items) in world.test_tables() {
        for train in train_tables(world, test) {
            found.extend(same_ids(world, train, test, key));
            found.extend(same_rows(world, train, (test, key, items), tests));
        }
    }
    found
}

/// Returns the tables that have the columns of the test table and a column of the answers.
pub(super) fn train_tables<'a>(
    world: &'a World,
    test: &'a PublicTableFile,
) -> impl Iterator<Item = &'a PublicTableFile> {
    world.public.tables.iter().filter(move |table| {
        let names = table.table.names.iter();
        let names: HashSet<&str> = names.map(String::as_str).collect();
        let labelled = world
            .labels
            .iter()
            .any(|label| names.contains(label.name.as_str()));
        let shared = test
            .table
            .names
            .iter()
            .filter(|name| names.contains(name.as_str()));
        table.items.is_none() && labelled && shared.count() * 2 >= test.table.names.len()
    })
}

fn same_ids(
    world: &World,
    train: &PublicTableFile,
    test: &PublicTableFile,
    key: usize,
) -> Option<LeakFinding> {
    let column = train.table.column(test.table.names.get(key)?)?;
    let both = column.iter();
    let both = both.enumerate();
    let both = both.filter_map(|(row, id)| Some((row, *world.item_of.get(id)?)));
    let both: Vec<(usize, usize)> = both.collect();
    let different: BTreeSet<usize> = both.iter().map(|(_, item)| *item).collect();
    // Ids that only coincide, for example numbers from 0 in both parts, have different answers.
    let agrees = |label: &Label| {
        let answers = train.table.column(&label.name)?;
        let own = |item: usize| label.values.get(item).unwrap_or_default();
        let equal = both
            .iter()
            .filter(|(row, item)| answers.get(*row) == Some(own(*item)))
            .count();
        let guess = majority(both.iter().map(|(_, item)| own(*item)));
        let chance = tail_of_binomial(both.len(), equal, guess.clamp(0.05, 0.999));
        Some(equal * 10 >= both.len() * 9 && chance < 1e-3)
    };
    if both.is_empty() || !world.labels.iter().filter_map(agrees).any(|agrees| agrees) {
        return None;
    }
    let what = format!(
        "{} of {} test items are in {}, with their answers",
        different.len(),
        world.ids.len(),
        train.path
    );
    let is_strong = different.len() >= 5 && different.len() * 50 >= world.ids.len();
    let level = LeakLevel::Leak.if_strong(is_strong);
    let names = different
        .iter()
        .filter_map(|item| world.ids.get(*item).cloned());
    Some(LeakFinding::new(level, NAME, what).evidence(names))
}

fn same_rows(
    world: &World,
    train: &PublicTableFile,
    (test, key, items): (&PublicTableFile, usize, &[Option<usize>]),
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let shared = test.table.shared_columns(key, &train.table);
    let (of_test, of_train): (Vec<&Cells>, Vec<&Cells>) =
        shared.map(|(_, test, train)| (test, train)).unzip();
    let label = world.labels.first()?;
    let answers = train.table.column(&label.name)?;
    if of_test.is_empty() {
        return None;
    }
    let row = |columns: &[&Cells], at: usize| {
        let cells = columns.iter().map(|cells| normal(cells.get(at)));
        cells.collect::<Vec<String>>().join("\u{1f}")
    };
    let mut known: HashMap<String, &str> = HashMap::new();
    for (at, answer) in answers.iter().enumerate() {
        known.insert(row(&of_train, at), answer);
    }
    let (mut equal, mut agree, mut examples) = (0_usize, 0_usize, Vec::new());
    for (at, item) in items.iter().enumerate() {
        let Some(item) = item else { continue };
        if let Some(answer) = known.get(&row(&of_test, at)) {
            equal += 1;
            agree += usize::from(label.values.get(*item) == Some(*answer));
            examples.push(format!("{}: {answer}", world.ids.get(*item)?));
        }
    }
    // If items also have files, equal rows do not imply equal items.
    let mut files = world.public.files.iter();
    let has_files = files.any(|file| world.item_of_path(&file.path).is_some());
    // Rows with few columns and few different values are equal by chance.
    let is_coarse = known.len() * 2 < answers.len();
    let share = equal as f64 / world.ids.len().max(1) as f64;
    let guess = majority(label.values.iter());
    let right = agree as f64 / equal.max(1) as f64;
    if equal == 0 || share < 0.01 {
        return None;
    }
    // By chance, equal rows of coarse data agree as often as other rows.
    let p = tests.record(tail_of_binomial(equal, agree, guess));
    let is_frequent = equal >= 20 && share >= 0.05;
    let is_strong = !has_files && !is_coarse && is_frequent && right > guess + 0.1;
    let level = LeakLevel::Risk.if_strong(is_strong);
    let what = format!(
        "{equal} of {} test items ({:.1} %) have a row that is also in {}, {agree} of them with the same `{}`",
        world.ids.len(),
        100.0 * share,
        train.path,
        label.name
    );
    let finding = LeakFinding::new(level, NAME, what).evidence(examples);
    Some(finding.p_value(p))
}

/// Normalizes a cell: texts are compared without case, spaces and punctuation.
pub(super) fn normal(cell: Option<&str>) -> String {
    let cell = cell.unwrap_or_default();
    match cell.parse::<f64>() {
        Ok(_) => cell.to_owned(),
        Err(_) => {
            let words = cell.split(|c: char| !c.is_alphanumeric());
            let words = words.filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
        }
    }
}

const EQUAL_FILES: &str = "equal-files";

/// Minimum length in bytes. Shorter files are often equal by chance.
const MIN_FILE_BYTES: u64 = 64;

pub(crate) fn find_equal_files(world: &World) -> Option<LeakFinding> {
    let mut trained: HashMap<ContentDigest, &str> = HashMap::new();
    for file in &world.public.files {
        let is_item = world.item_of_path(&file.path).is_some();
        if is_train(&file.path) && !is_item && file.bytes >= MIN_FILE_BYTES {
            trained.insert(file.content, &file.path);
        }
    }
    // A content that several items share does not belong to a single item.
    let mut by_content: BTreeMap<ContentDigest, BTreeSet<usize>> = BTreeMap::new();
    let mut copies: Vec<(usize, String)> = Vec::new();
    let mut files = 0_usize;
    for file in &world.public.files {
        let Some(item) = world.item_of_path(&file.path) else {
            continue;
        };
        files += 1;
        by_content.entry(file.content).or_default().insert(item);
        if let Some(other) = trained.get(&file.content) {
            copies.push((item, format!("{} = {other}", file.path)));
        }
    }
    let items: BTreeSet<usize> = copies.iter().map(|(item, _)| *item).collect();
    let share = items.len() as f64 / world.ids.len().max(1) as f64;
    if items.is_empty() {
        return None;
    }
    // A content that all items have, for example a header, is not counted.
    let counted = by_content.iter().filter(|(content, items)| {
        trained.contains_key(*content) && items.len() * 10 <= world.ids.len().max(10)
    });
    let contents = counted.count();
    let is_strong = items.len() >= 10 && share >= 0.01 && contents >= 5;
    let what = format!(
        "{} of {} test items ({:.1} %) have a file that is also in the training part ({files} files of test items)",
        items.len(),
        world.ids.len(),
        100.0 * share
    );
    let examples = copies.into_iter().map(|(_, example)| example);
    let level = LeakLevel::Risk.if_strong(is_strong);
    Some(LeakFinding::new(level, EQUAL_FILES, what).evidence(examples))
}
