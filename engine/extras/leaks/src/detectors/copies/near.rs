//! `near`: finds texts of test items that are almost equal to a text of the training part.
//!
//! Texts are split into runs of three words, ignoring case and punctuation. Candidates share one of eight bands of four
//! hash minima (MinHash). They are near if they share at least 70 % of their runs. A text that contains nearly all of a
//! shorter text is near, too. Candidates for this share rare runs. Texts can also be near because of a template.
//! Therefore near texts are reported only if their answers agree more often than by chance, and more often than with
//! the most frequent answer.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::rows::{normal, train_tables};
use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::stem;
use crate::statistics::{Random, Tests, by_shuffling, hash_of, majority};
use crate::world::{Label, World};

const NAME: &str = "near";

/// Number of words in a run.
const RUN_WORDS: usize = 3;
/// Minimum number of words. Shorter texts are near by chance.
const MIN_WORDS: usize = 8;
/// Words of a text that are compared. Further words are ignored.
const MAX_WORDS: usize = 1 << 18;
const BANDS: usize = 8;
const MINIMA: usize = 4;
/// Minimum fraction of common runs.
const MIN_COMMON: f64 = 0.7;
/// Minimum fraction of the shorter text's runs that the longer text contains.
const MIN_CONTAINED: f64 = 0.8;
/// Maximum number of runs of the training part that are stored to find parts of texts.
const MAX_RUNS: usize = 4_000_000;
/// Maximum number of texts with the same run. A more frequent run proves nothing.
const MAX_RUN_TEXTS: usize = 20;
/// Maximum number of texts in a band that are compared. Larger bands are templates.
const MAX_BAND_ROWS: usize = 50;

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    let Some(label) = world.labels.first() else {
        return found;
    };
    found.extend(in_files(world, label, tests));
    for (test, key, items) in world.test_tables() {
        for train in train_tables(world, test) {
            let Some(answers) = train.table.column(&label.name) else {
                continue;
            };
            for (name, own, other) in test.table.shared_columns(key, &train.table) {
                let own = runs_of(own.iter());
                let texts = own.iter().flatten().count();
                if texts < 20 || texts * 2 < own.len() {
                    continue;
                }
                let other = runs_of(other.iter());
                let near = TextComparison {
                    what: format!("`{name}`"),
                    test: "test rows",
                    train: &train.path,
                    label,
                    items,
                    answers,
                    id: &|at| test.table.columns.get(key)?.get(at),
                };
                found.extend(near.finding(&own, &other, tests));
            }
        }
    }
    found
}

/// Compares texts in files of test items with those in files of training items.
fn in_files(world: &World, label: &Label, tests: &mut Tests) -> Option<LeakFinding> {
    let train = world.train_table(label)?;
    let answers = train.column(&label.name)?;
    let ids = world.train_ids(train)?;
    let row_of: HashMap<&str, usize> = ids.iter().map(stem).zip(0..).collect();
    let (mut own, mut items) = (Vec::new(), Vec::new());
    let (mut other, mut known_answers) = (Vec::new(), Cells::default());
    for (path, text) in &world.public.texts {
        if let Some(item) = world.item_of_path(path) {
            own.push(text.as_str());
            items.push(Some(item));
        } else if let Some(answer) = row_of.get(stem(path)).and_then(|row| answers.get(*row)) {
            other.push(text.as_str());
            known_answers.push(answer);
        }
    }
    let own = runs_of(own);
    if own.iter().flatten().count() < 20 {
        return None;
    }
    let other = runs_of(other);
    let near = TextComparison {
        what: "the text in the files".to_owned(),
        test: "texts of test items",
        train: "the training part",
        label,
        items: &items,
        answers: &known_answers,
        id: &|at| world.ids.get((*items.get(at)?)?).map(String::as_str),
    };
    near.finding(&own, &other, tests)
}

/// Descriptions and answers of the texts that are compared.
struct TextComparison<'a> {
    what: String,
    test: &'a str,
    train: &'a str,
    label: &'a Label,
    /// The items of the test texts.
    items: &'a [Option<usize>],
    /// The answers of the training texts.
    answers: &'a Cells,
    /// Returns the id of a test text.
    id: &'a dyn Fn(usize) -> Option<&'a str>,
}

impl TextComparison<'_> {
    /// Returns the finding for pairs of near texts, which are given by their runs.
    fn finding(
        &self,
        own: &[Option<Vec<u64>>],
        other: &[Option<Vec<u64>>],
        tests: &mut Tests,
    ) -> Option<LeakFinding> {
        let pairs = pairs(own, other);
        let truth = pairs.iter().filter_map(|(at, near)| {
            let item = (*self.items.get(*at)?)?;
            Some((self.label.values.get(item)?, self.answers.get(*near)?))
        });
        let truth: Vec<(&str, &str)> = truth.collect();
        let share = truth.len() as f64 / own.len().max(1) as f64;
        if truth.len() < 20 || share < 0.01 {
            return None;
        }
        let known_answers: Vec<&str> = truth.iter().map(|(_, answer)| *answer).collect();
        let right = |truth: &[&str]| {
            let both = truth.iter().zip(&known_answers);
            let equal = both.filter(|(own, known_answer)| own == known_answer);
            equal.count() as f64 / known_answers.len() as f64
        };
        let own_labels: Vec<&str> = truth.iter().map(|(own, _)| *own).collect();
        let (agree, guess) = (right(&own_labels), majority(self.label.values.iter()));
        let p = tests.record(by_shuffling(&own_labels, right));
        let level = LeakLevel::Risk.if_strong(share >= 0.05 && agree >= guess + 0.1);
        let what = format!(
            "{} of {} of {} {} ({:.1} %) is almost equal to a text of {}, {:.0} % of them with the same `{}` (most frequent: {:.0} %)",
            self.what,
            truth.len(),
            own.len(),
            self.test,
            100.0 * share,
            self.train,
            100.0 * agree,
            self.label.name,
            100.0 * guess
        );
        let examples = pairs.iter().filter_map(|(at, near)| {
            let id = (self.id)(*at)?;
            Some(format!("{id} is near row {}", near + 1))
        });
        let finding = LeakFinding::new(level, NAME, what).evidence(examples);
        Some(finding.p_value(p))
    }
}

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

/// Returns the nearest text of the other part for each text, if one is near.
fn pairs(own: &[Option<Vec<u64>>], other: &[Option<Vec<u64>>]) -> Vec<(usize, usize)> {
    let mut random = Random::new(0xbeef);
    let salts: Vec<u64> = (0..BANDS * MINIMA).map(|_| random.next() | 1).collect();
    let bands = |runs: &[u64]| -> Vec<(usize, u64)> {
        let minimum = |salt: &u64| {
            let mixed = runs.iter().map(|run| {
                let mixed = (run ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed ^ (mixed >> 29)
            });
            mixed.min().unwrap_or_default()
        };
        let minima: Vec<u64> = salts.iter().map(minimum).collect();
        let bands = minima.chunks(MINIMA).map(hash_of);
        bands.enumerate().collect()
    };
    let mut by_band: HashMap<(usize, u64), Vec<usize>> = HashMap::new();
    for (at, runs) in other.iter().enumerate() {
        for band in runs.iter().flat_map(|runs| bands(runs)) {
            let rows = by_band.entry(band).or_default();
            if rows.len() < MAX_BAND_ROWS {
                rows.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for (at, runs) in own.iter().enumerate() {
        let Some(runs) = runs else { continue };
        let mut seen = HashSet::new();
        let mut best: Option<(f64, usize)> = None;
        for band in bands(runs) {
            for near in by_band.get(&band).into_iter().flatten() {
                if !seen.insert(*near) {
                    continue;
                }
                let near_runs = other.get(*near).and_then(Option::as_ref);
                let alike = near_runs.map_or(0.0, |other| common_fraction(runs, other));
                if alike >= MIN_COMMON && best.is_none_or(|(most, _)| alike > most) {
                    best = Some((alike, *near));
                }
            }
        }
        found.extend(best.map(|(_, near)| (at, near)));
    }
    let known: HashSet<usize> = found.iter().map(|(at, _)| *at).collect();
    let parts = parts(own, other).into_iter();
    found.extend(parts.filter(|(at, _)| !known.contains(at)));
    found.sort_unstable();
    found
}

/// Returns, for each text, the text of the other part that nearly contains it or is nearly contained in it.
fn parts(own: &[Option<Vec<u64>>], other: &[Option<Vec<u64>>]) -> Vec<(usize, usize)> {
    // If there are too many runs, an even sample is compared.
    let all: usize = other.iter().flatten().map(Vec::len).sum();
    let every = all.div_ceil(MAX_RUNS).max(1) as u64;
    let sampled = |runs: &[u64]| -> Vec<u64> {
        let in_sample = |run: &&u64| (**run >> 7).is_multiple_of(every);
        runs.iter().filter(in_sample).copied().collect()
    };
    let mut texts_of: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, runs) in other.iter().enumerate() {
        for run in sampled(runs.as_deref().unwrap_or_default()) {
            let texts = texts_of.entry(run).or_default();
            if texts.len() <= MAX_RUN_TEXTS {
                texts.push(at);
            }
        }
    }
    let mut found = Vec::new();
    for (at, runs) in own.iter().enumerate() {
        let Some(runs) = runs else { continue };
        let mut common: HashMap<usize, usize> = HashMap::new();
        for run in sampled(runs) {
            let texts = texts_of.get(&run);
            let texts = texts.filter(|texts| texts.len() <= MAX_RUN_TEXTS);
            for text in texts.into_iter().flatten() {
                *common.entry(*text).or_default() += 1;
            }
        }
        let common = common.into_iter();
        let most = common.max_by_key(|(text, count)| (*count, Reverse(*text)));
        let Some((near, _)) = most else { continue };
        let Some(Some(other_runs)) = other.get(near) else {
            continue;
        };
        let both = number_of_common(runs, other_runs);
        if both as f64 >= MIN_CONTAINED * runs.len().min(other_runs.len()) as f64 {
            found.push((at, near));
        }
    }
    found
}

/// Returns the number of elements that two sorted lists have in common.
fn number_of_common(one: &[u64], other: &[u64]) -> usize {
    let common = one.iter().filter(|run| other.binary_search(run).is_ok());
    common.count()
}

/// Returns the fraction of elements that two sorted lists have in common.
fn common_fraction(one: &[u64], other: &[u64]) -> f64 {
    let common = number_of_common(one, other);
    common as f64 / (one.len() + other.len() - common).max(1) as f64
}
