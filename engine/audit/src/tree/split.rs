//! Explains an audited tree that contains the same items, but divided differently into train and test.
//!
//! If rows are missing from one file of the audited tree, but are in another file instead, the items were split
//! differently. If the original order of the items is known, other seeds are tried until a split produces exactly the
//! parts of the audited tree.

use std::collections::HashSet;
use std::path::Path;

use prep_contents::pairing::UnpairedKeys;
use prep_contents::table::{column, columns_of};
use prep_contents::{Format, Result, Row};
use prep_splits::{KeyRole, SplitAlgorithm, SplitKeys, SplitSize, split};

use super::TreeRoots;
use super::pair::FileComparison;
use crate::causes::Cause;
use crate::error::unless_damaged;
use crate::finding::AuditFinding;

/// The shuffled split of the pipeline, from which the search for other splits starts.
#[derive(Debug, Clone)]
pub struct SplitSearch {
    /// Id column. `None` means that it is inferred from the tables.
    pub id: Option<String>,
    /// Paths of prep's own train and test tables, which together contain all items.
    pub train: String,
    pub test: String,
    pub seed: u32,
    pub test_size: Option<SplitSize>,
    /// Path of prep's own answers, which contain the test items in the order of `test`.
    pub answers: Option<String>,
}

/// A split that may have produced the parts of the audited tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hypothesis {
    Shuffled {
        seed: u32,
    },
    /// A shuffle, stratified by this column.
    Stratified {
        seed: u32,
        column: String,
    },
    /// The first or the last items are the test part.
    Unshuffled {
        first: bool,
    },
}

impl Hypothesis {
    fn description(&self) -> String {
        match self {
            Hypothesis::Shuffled { seed } => format!("a shuffle with seed {seed}"),
            Hypothesis::Stratified { seed, column } => {
                format!("a shuffle with seed {seed}, stratified by `{column}`,")
            }
            Hypothesis::Unshuffled { first: true } => "taking the first items for test".to_owned(),
            Hypothesis::Unshuffled { first: false } => "taking the last items for test".to_owned(),
        }
    }
}

impl TreeRoots<'_> {
    /// Reads the table at `path` below `root`. Calls `each` with every row, and with the index of the column `name`.
    /// Returns the results of these calls, or `None` if the table or the column does not exist.
    fn column<T>(
        &self,
        root: &Path,
        path: &str,
        name: &str,
        each: impl FnMut(&Row, usize) -> T,
    ) -> Result<Option<Vec<T>>> {
        let place = root.join(path);
        let Some(format) = Format::from_path(path).filter(|_| place.is_file()) else {
            return Ok(None);
        };
        let read = column(&place, format, name, &self.resources.limits, each);
        Ok(unless_damaged(read)?.flatten())
    }

    fn keys(&self, root: &Path, path: &str, name: &str) -> Result<Option<Vec<u128>>> {
        self.column(root, path, name, |row, place| row.hash(&[place]))
    }
}

/// Explains rows that are in different files in the two trees. Removes the findings about these rows from `pairs`, and
/// returns findings about the split instead. `search` describes the split in the pipeline. If `search` names no id
/// column, the parameter `id` names it.
pub(super) fn explain(
    pairs: &mut [FileComparison],
    trees: &TreeRoots<'_>,
    search: Option<&SplitSearch>,
    id: Option<&str>,
) -> Result<Vec<AuditFinding>> {
    let mut moved: Vec<usize> = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let Some(own) = &pair.moved else { continue };
        let others = || {
            pairs
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != number)
                .filter_map(|(_, pair)| pair.moved.as_ref())
        };
        let found = |wanted: &HashSet<u128>, pick: fn(&UnpairedKeys) -> &HashSet<u128>| {
            wanted
                .iter()
                .all(|key| others().any(|other| pick(other).contains(key)))
        };
        let missing_found = found(&own.only_here, |other| &other.only_there);
        let added_found = found(&own.only_there, |other| &other.only_here);
        if missing_found && added_found {
            moved.push(number);
        }
    }
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let mut swapped = true;
    let mut findings = Vec::new();
    for number in moved {
        let Some(pair) = pairs.get_mut(number) else {
            continue;
        };
        let Some(own) = &pair.moved else { continue };
        let count = own.only_here.len();
        let keys = trees.keys(trees.ours, &pair.path, &own.key)?;
        swapped &= keys.is_some_and(|keys| keys.len() == count);
        let mut finding = AuditFinding::new(Cause::OtherSplit, pair.path.as_str());
        finding.rows = count as u64;
        finding.examples.push(format!(
            "items are paired by `{}`; {count} items of the prepared file are in a different audited file, and {} items of the audited file are in a different prepared file",
            own.key,
            own.only_there.len()
        ));
        findings.push(finding);
        // A different split also explains the order of rows.
        let explained = [Cause::RowsMissing, Cause::RowsAdded, Cause::RowOrder];
        pair.findings
            .retain(|finding| explained.iter().all(|cause| *cause != finding.cause));
    }
    if swapped {
        for finding in &mut findings {
            finding.cause = Cause::PartsSwapped;
        }
        return Ok(findings);
    }
    if let Some(search) = search {
        let id = search.id.as_deref().or(id);
        let tried = match id {
            Some(id) => find(trees, search, id)?,
            None => Search::Impossible,
        };
        let proof = match tried {
            Search::Found(found, (test, all)) => format!(
                "{} produces exactly the audited parts, with {test} of {all} items in the test part; the pipeline itself has the seed {}",
                found.description(),
                search.seed
            ),
            Search::Tried(count) => {
                format!("none of the {count} splits that were tried produces the audited parts")
            }
            Search::Impossible => {
                "the original order of the items is unknown, so no seeds were tried".to_owned()
            }
        };
        for finding in &mut findings {
            finding.proof = Some(proof.clone());
        }
    }
    Ok(findings)
}

/// The result of the search for the split that produced the audited tree.
enum Search {
    /// The split that produces the parts of the audited tree, and the numbers of test items and of all items.
    Found(Hypothesis, (usize, usize)),
    /// No split produces the parts. Contains the number of splits that were tried.
    Tried(usize),
    /// The original order of the items is unknown, so no split was tried.
    Impossible,
}

/// Returns the seeds that are tried: small numbers, and others that authors often choose.
pub(crate) fn seeds() -> impl Iterator<Item = u32> {
    (0..=100).chain([123, 1234, 1337, 2020, 2021, 2022, 2023, 2024, 2025, 12345])
}

/// Searches for the seed with which the audited tree was split. The original order of the items is computed from the parts
/// that `prep` prepared, because the seed of their split is known.
fn find(trees: &TreeRoots<'_>, search: &SplitSearch, id: &str) -> Result<Search> {
    let train = trees.keys(trees.ours, &search.train, id)?;
    let test = trees.keys(trees.ours, &search.test, id)?;
    let their_test = trees.keys(trees.theirs, &search.test, id)?;
    let (Some(train), Some(test), Some(their_test)) = (train, test, their_test) else {
        return Ok(Search::Impossible);
    };
    let count = train.len() + test.len();
    let Some(own) = parts(count, search.seed, search.test_size, None) else {
        return Ok(Search::Impossible);
    };
    if (own.0.len(), own.1.len()) != (train.len(), test.len()) {
        return Ok(Search::Impossible);
    }
    let wanted: HashSet<u128> = their_test.iter().copied().collect();
    let size = SplitSize::Rows(u32::try_from(their_test.len()).unwrap_or(u32::MAX));
    let found = |hypothesis| Ok(Search::Found(hypothesis, (their_test.len(), count)));
    let mut tried = 0;
    // A pipeline may write the items in the order of the split or of the source file.
    for in_file_order in [false, true] {
        let mut own = own.clone();
        if in_file_order {
            own.0.sort_unstable();
            own.1.sort_unstable();
        }
        let original = merged(&own, &train, &test, count);
        let fits = |test: &[u32]| {
            let key = |place: &u32| original.get(*place as usize);
            test.iter()
                .all(|place| key(place).is_some_and(|key| wanted.contains(key)))
        };
        for seed in seeds() {
            tried += 1;
            if parts(count, seed, Some(size), None).is_some_and(|(_, test)| fits(&test)) {
                return found(Hypothesis::Shuffled { seed });
            }
        }
        let length = u32::try_from(their_test.len()).unwrap_or(u32::MAX);
        let last = u32::try_from(count).unwrap_or(u32::MAX);
        for first in [true, false] {
            tried += 1;
            let places = if first {
                0..length
            } else {
                last.saturating_sub(length)..last
            };
            if fits(&places.collect::<Vec<u32>>()) {
                return found(Hypothesis::Unshuffled { first });
            }
        }
        for column in columns_to_try(trees, search, count)? {
            let labels = read_values(trees, search, &column)?;
            let Some((train, test)) = labels else {
                continue;
            };
            let values = merged(&own, &train, &test, count);
            let Some(codes) = codes(&values) else {
                continue;
            };
            let keys = SplitKeys {
                role: KeyRole::Stratify,
                codes: &codes,
            };
            for seed in seeds() {
                tried += 1;
                if parts(count, seed, Some(size), Some(keys)).is_some_and(|(_, test)| fits(&test)) {
                    return found(Hypothesis::Stratified { seed, column });
                }
            }
        }
    }
    Ok(Search::Tried(tried))
}

/// Merges the values of the train and test items into the original order of the items. `places` contains the original
/// positions of the train items and of the test items.
pub(crate) fn merged<T: Clone + Default>(
    places: &(Vec<u32>, Vec<u32>),
    train: &[T],
    test: &[T],
    count: usize,
) -> Vec<T> {
    let mut all = vec![T::default(); count];
    for (values, places) in [(train, &places.0), (test, &places.1)] {
        for (value, place) in values.iter().zip(places) {
            if let Some(slot) = all.get_mut(*place as usize) {
                slot.clone_from(value);
            }
        }
    }
    all
}

/// Reads the column `name` of the train and test tables. If the test table lacks it, reads it from the answers.
fn read_values(
    trees: &TreeRoots<'_>,
    search: &SplitSearch,
    name: &str,
) -> Result<Option<(Vec<String>, Vec<String>)>> {
    let read = |path: &str| {
        trees.column(trees.ours, path, name, |row, place| {
            String::from_utf8_lossy(row.cell(place)).into_owned()
        })
    };
    let Some(train) = read(&search.train)? else {
        return Ok(None);
    };
    let test = match (read(&search.test)?, search.answers.as_deref()) {
        (None, Some(answers)) => read(answers)?,
        (test, _) => test,
    };
    Ok(test.map(|test| (train, test)))
}

const MAX_CELLS: usize = 8_000_000;

/// Returns the columns by which the split may be stratified, from the last to the first, because labels are usually
/// last.
fn columns_to_try(trees: &TreeRoots<'_>, search: &SplitSearch, rows: usize) -> Result<Vec<String>> {
    let Some(format) = Format::from_path(&search.train) else {
        return Ok(Vec::new());
    };
    let read = columns_of(
        &trees.ours.join(&search.train),
        format,
        &trees.resources.limits,
    );
    let columns = unless_damaged(read)?.unwrap_or_default();
    let last = columns.into_iter().rev().take(MAX_CELLS / rows.max(1));
    Ok(last.collect())
}

const MAX_CLASSES: usize = 100;

/// Replaces each value with the rank of its class (distinct value). Classes are sorted as numbers if all are numbers.
/// Returns `None` if there are more than [`MAX_CLASSES`] classes.
fn codes(values: &[String]) -> Option<Vec<u32>> {
    let mut classes: Vec<&str> = Vec::new();
    for value in values {
        if !classes.contains(&value.as_str()) {
            classes.push(value);
        }
        if classes.len() > MAX_CLASSES {
            return None;
        }
    }
    let number = |text: &str| crate::table::cell::number(text.as_bytes());
    if classes.iter().all(|class| number(class).is_some()) {
        classes.sort_by(|a, b| {
            number(a)
                .partial_cmp(&number(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    } else {
        classes.sort_unstable();
    }
    let place = |value: &String| classes.iter().position(|class| class == value);
    values
        .iter()
        .map(|value| u32::try_from(place(value)?).ok())
        .collect()
}

/// Shuffles and splits `count` items, stratified by `keys` if given. Returns the positions of the train items and of the
/// test items, in the order in which the split draws them.
pub(crate) fn parts(
    count: usize,
    seed: u32,
    test_size: Option<SplitSize>,
    keys: Option<SplitKeys<'_>>,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let method = SplitAlgorithm::Shuffle {
        test_size,
        train_size: None,
        seed,
        order: None,
    };
    let split = split(&method, count, keys).ok()?;
    Some((split.train, split.test))
}
