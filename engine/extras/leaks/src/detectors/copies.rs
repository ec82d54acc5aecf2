//! `rows`, `near` and `equal-files`: finds test items whose rows, texts or files are also in the training part.
//!
//! - `rows`: rows whose cells are all equal.
//! - `near`: texts that have many runs of three words in common.
//! - `equal-files`: files with the same digest.
//!
//! Rows with few different values can be equal by chance, and so can texts that follow a template. Therefore copies of
//! rows and texts are reported only if the answers of the test items and of their copies agree often enough: significantly
//! more often than the most frequent answer occurs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::finding::{LeakFinding, LeakLevel};
use crate::sketch::ContentDigest;
use crate::statistics::{Tests, counts, hash_of, majority, tail_of_binomial};
use crate::table::CellTexts;
use crate::text::{is_train, stem};
use crate::world::{AnswerColumn, PublicTableFile, World};

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (test, key, items) in world.test_tables() {
        let test: TestTable<'_> = (test, key, items);
        for train in train_tables(world, test) {
            found.extend(same_rows(world, train, test, tests));
            found.extend(near_cells(world, train, test, tests));
        }
    }
    found.extend(near_files(world, tests));
    found.extend(equal_files(world));
    found
}

struct Copies<'a> {
    detector: &'static str,
    /// The words of the message after the number of compared items, for example `test items have a row that is also in train.csv`.
    what: String,
    /// Number of test rows or texts that were compared.
    compared: usize,
    /// For each copy: the test item, its answer, and the answer of the training item.
    pairs: Vec<(usize, &'a str, &'a str)>,
    /// Whether different items may have equal rows. In this case, the finding is only a note.
    is_weak: bool,
}

/// With fewer copies than this, a finding is only a note. With fewer test texts than this, near texts are not searched.
const MIN_COPIES: usize = 20;
/// If a smaller fraction than this of the compared items has a copy, the finding is only a note.
const MIN_FRACTION: f64 = 0.05;

impl Copies<'_> {
    fn finding(
        &self,
        world: &World,
        label: &AnswerColumn,
        tests: &mut Tests,
    ) -> Option<LeakFinding> {
        let count = self.pairs.len();
        let fraction = count as f64 / self.compared.max(1) as f64;
        if count == 0 || fraction < 0.01 {
            return None;
        }
        let equal = self.pairs.iter().filter(|(_, own, other)| own == other);
        let equal = equal.count();
        let guess = majority(label.values.iter());
        let chance = guess.clamp(1e-6, 1.0 - 1e-6);
        let p = tests.record(tail_of_binomial(count, equal, chance));
        let agrees = equal as f64 / count as f64 > guess + 0.1;
        let is_strong = count >= MIN_COPIES && fraction >= MIN_FRACTION && agrees && !self.is_weak;
        let what = format!(
            "{count} of {} {} ({:.1} %); {equal} of these {count} have the same `{}` as the training item, and {:.0} % of all test items have the most frequent answer",
            self.compared,
            self.what,
            100.0 * fraction,
            label.name,
            100.0 * guess
        );
        let examples = self.pairs.iter().filter_map(|(item, own, other)| {
            Some(format!("{}: {own}, train: {other}", world.ids.get(*item)?))
        });
        let level = LeakLevel::Risk.if_strong(is_strong);
        let finding = LeakFinding::new(level, self.detector, what);
        Some(finding.evidence(examples).p_value(p))
    }
}

/// A table of test items: the file, its column of ids, and the item of each row.
type TestTable<'a> = (&'a PublicTableFile, usize, &'a [Option<usize>]);

/// Returns the training tables that have answers and at least half of the test table's columns.
fn train_tables<'a>(
    world: &'a World,
    (test, key, _): TestTable<'a>,
) -> impl Iterator<Item = &'a PublicTableFile> {
    world.public.tables.iter().filter(move |train| {
        let mut labels = world.labels.iter();
        let is_labelled = labels.any(|label| train.table.column(&label.name).is_some());
        let shared = test.table.shared_columns(key, &train.table).count();
        train.items.is_none() && is_labelled && shared * 2 >= test.table.names.len() - 1
    })
}

fn same_rows(
    world: &World,
    train: &PublicTableFile,
    (test, key, items): TestTable<'_>,
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let shared = test.table.shared_columns(key, &train.table);
    let (of_test, of_train): (Vec<&CellTexts>, Vec<&CellTexts>) =
        shared.map(|(_, test, train)| (test, train)).unzip();
    let label = world.labels.first()?;
    let answers = train.table.column(&label.name)?;
    if of_test.is_empty() {
        return None;
    }
    let row = |columns: &[&CellTexts], at: usize| {
        let cells = columns.iter().map(|cells| normal(cells.get(at)));
        cells.collect::<Vec<String>>().join("\u{1f}")
    };
    let known = answers.iter().enumerate();
    let known: HashMap<String, &str> = known
        .map(|(at, answer)| (row(&of_train, at), answer))
        .collect();
    let pair = |(at, item): (usize, &Option<usize>)| {
        let item = (*item)?;
        let other = known.get(&row(&of_test, at))?;
        Some((item, label.values.get(item)?, *other))
    };
    // If items also have files, equal rows do not imply equal items.
    let mut files = world.public.files.iter();
    let has_files = files.any(|file| world.item_of_path(&file.path).is_some());
    // If most training rows repeat, a test row may be equal to one of them by chance.
    let is_coarse = known.len() * 2 < answers.len();
    let copies = Copies {
        detector: "rows",
        what: format!("test items have a row that is also in {}", train.path),
        compared: world.scored,
        pairs: items.iter().enumerate().filter_map(pair).collect(),
        is_weak: has_files || is_coarse,
    };
    copies.finding(world, label, tests)
}

/// Converts a cell that is not a number to words in lower case, separated by single spaces.
fn normal(cell: Option<&str>) -> String {
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

/// The texts of the test part or of the training part, with the item or the answer of each text.
type TextsOf<'a, T> = Vec<(&'a str, T)>;

fn near_texts<'a>(
    what: String,
    test: &TextsOf<'a, usize>,
    train: &TextsOf<'a, &'a str>,
    label: &'a AnswerColumn,
) -> Option<Copies<'a>> {
    let scored = test.iter().filter(|(_, item)| *item < label.values.len());
    let test: Vec<&(&str, usize)> = scored.collect();
    let own = runs_of(test.iter().map(|(text, _)| *text));
    let texts = own.iter().flatten().count();
    if texts < MIN_COPIES || texts * 2 < own.len() {
        return None;
    }
    let pairs = pairs(&own, &runs_of(train.iter().map(|(text, _)| *text))).into_iter();
    let pairs = pairs.filter_map(|(at, near)| {
        let (_, item) = **test.get(at)?;
        Some((item, label.values.get(item)?, train.get(near)?.1))
    });
    Some(Copies {
        detector: "near",
        what,
        compared: own.len(),
        pairs: pairs.collect(),
        is_weak: false,
    })
}

fn near_cells(
    world: &World,
    train: &PublicTableFile,
    (test, key, items): TestTable<'_>,
    tests: &mut Tests,
) -> Vec<LeakFinding> {
    let label = world.labels.first();
    let answers = label.and_then(|label| Some((label, train.table.column(&label.name)?)));
    let Some((label, answers)) = answers else {
        return Vec::new();
    };
    let shared = test.table.shared_columns(key, &train.table);
    let near = shared.filter_map(|(name, own, other)| {
        let own = own.iter().zip(items);
        let own = own
            .filter_map(|(text, item)| Some((text, (*item)?)))
            .collect();
        let other = other.iter().zip(answers.iter()).collect();
        let path = &train.path;
        let what = format!("test rows have a `{name}` that is almost equal to a text of {path}");
        near_texts(what, &own, &other, label)?.finding(world, label, tests)
    });
    near.collect()
}

fn near_files(world: &World, tests: &mut Tests) -> Option<LeakFinding> {
    let label = world.labels.first()?;
    let train = world.train_table(label)?;
    let answers = train.column(&label.name)?;
    let row_of: HashMap<&str, usize> = world.train_ids(train)?.iter().map(stem).zip(0..).collect();
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for (path, text) in &world.public.texts {
        if let Some(item) = world.item_of_path(path) {
            own.push((text.as_str(), item));
        } else if let Some(answer) = row_of.get(stem(path)).and_then(|row| answers.get(*row)) {
            other.push((text.as_str(), answer));
        }
    }
    let what = "texts of test items are almost equal to a text of the training part";
    near_texts(what.to_owned(), &own, &other, label)?.finding(world, label, tests)
}

const RUN_WORDS: usize = 3;
/// Texts with fewer words are not compared, because they may be near by chance.
const MIN_WORDS: usize = 8;
/// Only this number of words at the beginning of a text is compared.
const MAX_WORDS: usize = 1 << 18;
/// Two texts are near if at least this fraction of all their runs is in both. A *run* is [`RUN_WORDS`] consecutive
/// words.
const MIN_COMMON: f64 = 0.7;
/// Two texts are also near if the longer text contains at least this fraction of the shorter text's runs.
const MIN_CONTAINED: f64 = 0.8;
/// A test text is compared with at most this number of training texts.
const MAX_CANDIDATES: usize = 10;
/// If the training part has more runs than this, only an even sample of them is stored.
const MAX_RUNS: usize = 4_000_000;
/// A run in more training texts than this is ignored, because it does not show that two texts are near.
const MAX_RUN_TEXTS: usize = 20;

/// Returns the sorted hashes of each text's runs. `None` for short texts.
fn runs_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Option<Vec<u64>>> {
    let runs = |text: &str| {
        let normal = normal(Some(text));
        let words: Vec<&str> = normal.split(' ').take(MAX_WORDS).collect();
        let mut runs: Vec<u64> = words.windows(RUN_WORDS).map(hash_of).collect();
        runs.sort_unstable();
        runs.dedup();
        (words.len() >= MIN_WORDS).then_some(runs)
    };
    texts.into_iter().map(runs).collect()
}

/// Pairs each text of `own` with the nearest text of `other`, if the two texts are near. `own` and `other` contain the
/// hashes of each text's runs of words. Each text of `own` is compared with at most [`MAX_CANDIDATES`] texts of `other`,
/// which have the most rare runs in common with it.
fn pairs(own: &[Option<Vec<u64>>], other: &[Option<Vec<u64>>]) -> Vec<(usize, usize)> {
    // If there are too many runs, an even sample is compared.
    let all: usize = other.iter().flatten().map(Vec::len).sum();
    let every = all.div_ceil(MAX_RUNS).max(1) as u64;
    let in_sample = |run: &&u64| (**run >> 7).is_multiple_of(every);
    let mut texts_of: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, runs) in other.iter().enumerate() {
        for run in runs.iter().flatten().filter(in_sample) {
            let texts = texts_of.entry(*run).or_default();
            if texts.len() <= MAX_RUN_TEXTS {
                texts.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for (at, runs) in own.iter().enumerate() {
        let Some(runs) = runs else { continue };
        let rare = runs
            .iter()
            .filter(in_sample)
            .filter_map(|run| texts_of.get(run));
        let rare = rare.filter(|texts| texts.len() <= MAX_RUN_TEXTS).flatten();
        let mut candidates: Vec<(&usize, usize)> = counts(rare).into_iter().collect();
        candidates.sort_unstable_by_key(|(text, count)| (Reverse(*count), **text));
        let both = candidates
            .iter()
            .take(MAX_CANDIDATES)
            .filter_map(|(text, _)| {
                let other = other.get(**text)?.as_ref()?;
                let both = runs.iter().filter(|run| other.binary_search(run).is_ok());
                Some((both.count(), Reverse(**text), other.len()))
            });
        let Some((both, Reverse(near), length)) = both.max() else {
            continue;
        };
        let (shorter, union) = (runs.len().min(length), runs.len() + length - both);
        let fraction = |of: usize| both as f64 / of.max(1) as f64;
        if fraction(shorter) >= MIN_CONTAINED || fraction(union) >= MIN_COMMON {
            found.push((at, near));
        }
    }
    found
}

/// Files with fewer bytes are not compared, because short files are often equal by chance.
const MIN_FILE_BYTES: u64 = 64;

fn equal_files(world: &World) -> Option<LeakFinding> {
    let mut trained: HashMap<ContentDigest, &str> = HashMap::new();
    for file in &world.public.files {
        let is_item = world.item_of_path(&file.path).is_some();
        if is_train(&file.path) && !is_item && file.bytes >= MIN_FILE_BYTES {
            trained.insert(file.content, &file.path);
        }
    }
    let mut by_content: BTreeMap<ContentDigest, BTreeSet<usize>> = BTreeMap::new();
    let (mut copies, mut files) = (Vec::new(), 0_usize);
    for file in &world.public.files {
        let item = world.item_of_path(&file.path);
        let Some(item) = item.filter(|item| *item < world.scored) else {
            continue;
        };
        files += 1;
        if let Some(other) = trained.get(&file.content) {
            by_content.entry(file.content).or_default().insert(item);
            copies.push(format!("{} = {other}", file.path));
        }
    }
    let items: BTreeSet<&usize> = by_content.values().flatten().collect();
    let fraction = items.len() as f64 / world.scored.max(1) as f64;
    if items.is_empty() {
        return None;
    }
    // A content that more than a tenth of the items have, such as a header, is not counted.
    let most = world.scored.max(10);
    let contents = by_content.values().filter(|items| items.len() * 10 <= most);
    let contents = contents.count();
    let is_strong = items.len() >= 10 && fraction >= 0.01 && contents >= 5;
    let what = format!(
        "{} of {} test items ({:.1} %) have a file that is also in the training part ({files} files of test items were compared)",
        items.len(),
        world.scored,
        100.0 * fraction
    );
    let level = LeakLevel::Risk.if_strong(is_strong);
    Some(LeakFinding::new(level, "equal-files", what).evidence(copies))
}
