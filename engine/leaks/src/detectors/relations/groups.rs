//! `groups`: finds speakers, patients or locations that are in both parts.
//!
//! It searches in two places:
//!
//! - Names of files in the bundle. The detector finds a renamed test file in the bundle by its length and CRC-32. If a word of
//!   the old name (a speaker, a recording) is also in names of training files, both files belong to the same group.
//! - Columns of the test table that share at least twenty values with train. The answers of a group in train must predict its answers
//!   in test better than ten bins of the column do, because intended features predict something, too.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::is_train;
use crate::statistics::{Tests, bins, by_shuffling, counts, edges, majority};
use crate::table::{is_missing, numbers};
use crate::world::World;

const NAME: &str = "groups";

/// Minimum number of groups. Columns with fewer values contain classes or sites.
const MIN_GROUPS: usize = 20;

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found: Vec<LeakFinding> = names(world).into_iter().collect();
    for (test, key, items) in world.test_tables() {
        for train in world
            .public
            .tables
            .iter()
            .filter(|table| table.items.is_none())
        {
            for label in &world.labels {
                let Some(answers) = train.table.column(&label.name) else {
                    continue;
                };
                let truth = items.iter().map(|item| label.values.get((*item)?));
                let truth: Vec<Option<&str>> = truth.collect();
                for (name, own, other) in test.table.shared_columns(key, &train.table) {
                    let column = SharedColumn {
                        name,
                        own,
                        other,
                        answers,
                        truth: &truth,
                    };
                    found.extend(column.straddles(&train.path, &label.name, tests));
                }
            }
        }
    }
    found
}

/// The names of the public files with the same content, so that the files need not be compared with each other.
#[derive(Default)]
struct SameContent<'a> {
    train: HashSet<&'a str>,
    items: HashSet<&'a str>,
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Compares words in the bundle's names of test files with those of training files. The names in the prepared data hide
/// these words.
fn names(world: &World) -> Option<LeakFinding> {
    let mut shown: HashMap<(u64, u32), SameContent<'_>> = HashMap::new();
    for file in world.public.files.iter().filter(|file| file.bytes > 0) {
        let same = shown.entry((file.bytes, file.crc32)).or_default();
        if is_train(&file.path) {
            same.train.insert(file_name(&file.path));
        }
        if world.item_of_path(&file.path).is_some() {
            same.items.insert(file_name(&file.path));
        }
    }
    let mut words: BTreeMap<(usize, usize), [Vec<String>; 2]> = BTreeMap::new();
    let mut hidden = 0_usize;
    for raw in &world.bundle {
        let Some(same) = shown.get(&(raw.bytes, raw.crc32)) else {
            continue;
        };
        let name = file_name(&raw.path);
        let side = match same.train.contains(name) {
            true => 0,
            // If several files have the same content, the new name of this file is ambiguous.
            false if same.items.iter().any(|other| *other != name) => 1,
            false => continue,
        };
        hidden += usize::from(side == 1);
        let stem = name.split('.').next().unwrap_or_default();
        let parts: Vec<&str> = stem.split(['_', '-']).collect();
        for (place, part) in parts.iter().enumerate() {
            let sides = words.entry((parts.len(), place)).or_default();
            if let Some(words) = sides.get_mut(side) {
                words.push((*part).to_owned());
            }
        }
    }
    if hidden < 20 {
        return None;
    }
    for ((_, place), [train, test]) in &words {
        let different: BTreeSet<&String> = train.iter().chain(test).collect();
        let is_name = |word: &&&String| word.len() >= 4 && word.chars().any(|c| c.is_ascii_digit());
        let named = different.iter().filter(is_name).count();
        let groups = different.len();
        let is_group = groups >= 10 && groups * 2 <= train.len() + test.len() && named * 2 > groups;
        if !is_group || test.len() * 2 < hidden {
            continue;
        }
        let trained: BTreeSet<&String> = train.iter().collect();
        let both: Vec<&String> = test.iter().filter(|word| trained.contains(word)).collect();
        if both.len() * 10 >= test.len() {
            let what = format!(
                "{:.0} % of test files share word {} of their name in the bundle with training files ({groups} such words); their new names hide it",
                100.0 * both.len() as f64 / test.len() as f64,
                place + 1
            );
            let finding = LeakFinding::new(LeakLevel::Risk, NAME, what);
            return Some(finding.evidence(both.into_iter().cloned()));
        }
    }
    None
}

/// A column that both parts have.
struct SharedColumn<'a> {
    name: &'a str,
    own: &'a Cells,
    other: &'a Cells,
    answers: &'a Cells,
    /// Cells of the test rows.
    truth: &'a [Option<&'a str>],
}

impl SharedColumn<'_> {
    fn straddles(&self, train: &str, label: &str, tests: &mut Tests) -> Option<LeakFinding> {
        let groups = counts(self.other.iter());
        let is_measured = self.other.iter().filter(|cell| is_decimal(cell)).count();
        // Measurements name no groups. `kin` compares them with the other features.
        if groups.len() < MIN_GROUPS
            || groups.len() * 2 > self.other.len()
            || is_measured * 2 > self.other.len()
        {
            return None;
        }
        // Numeric answers are compared by the bins of the training answers.
        let (trained, truth) = self.classes()?;
        let guess = majority(&trained);
        let predicted = most_frequent(self.other.iter(), &trained);
        let rows: Vec<(&str, usize)> = self
            .own
            .iter()
            .zip(&truth)
            .filter_map(|(own, truth)| Some((own, (*truth)?)))
            .filter(|(own, _)| !is_missing(own) && predicted.contains_key(own))
            .collect();
        if rows.len() < 20 || rows.len() * 5 < self.own.len() {
            return None;
        }
        let right = |truth: &[usize]| {
            let rows = rows.iter().zip(truth);
            let right = rows.filter(|((own, _), truth)| predicted.get(own) == Some(truth));
            right.count() as f64 / truth.len().max(1) as f64
        };
        let truth: Vec<usize> = rows.iter().map(|(_, truth)| *truth).collect();
        let by_group = right(&truth);
        let by_bins = self.by_bins(&trained, &rows).unwrap_or(guess).max(guess);
        let p = tests.record(by_shuffling(&truth, right));
        if by_group < by_bins + 0.1 {
            return None;
        }
        let what = format!(
            "the most frequent `{label}` of the same `{}` in {} is right for {:.0} % of {} test rows; with ten bins of the column it would be {:.0} %",
            self.name,
            train,
            100.0 * by_group,
            rows.len(),
            100.0 * by_bins
        );
        // With few rows per value, an intended category can reach this gain, too, but it has fewer values than a column
        // of groups.
        let is_strong = groups.len() >= 50 && by_group >= by_bins + 0.15;
        let level = LeakLevel::Risk.if_strong(is_strong);
        let examples = rows.iter().map(|(own, _)| format!("{}: {own}", self.name));
        let finding = LeakFinding::new(level, NAME, what).evidence(examples);
        Some(finding.p_value(p))
    }

    fn classes(&self) -> Option<(Vec<usize>, Vec<Option<usize>>)> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for answer in self.answers.iter() {
            let next = places.len();
            places.entry(answer).or_insert(next);
        }
        if places.len() <= 50 {
            let class = |answer: &str| places.get(answer).copied();
            let trained = self.answers.iter().filter_map(class).collect();
            let truth = self.truth.iter().map(|truth| class((*truth)?)).collect();
            return Some((trained, truth));
        }
        let trained = numbers(self.answers)?;
        let mut sorted = trained.clone();
        sorted.sort_by(f64::total_cmp);
        let edges = edges(&sorted, 5);
        let class = |value: f64| edges.partition_point(|edge| *edge <= value);
        let truth = self.truth.iter();
        let truth = truth.map(|truth| Some(class((*truth)?.parse().ok()?)));
        Some((trained.into_iter().map(class).collect(), truth.collect()))
    }

    /// Returns the fraction of rows whose answer is predicted by ten bins of the column.
    fn by_bins(&self, trained: &[usize], rows: &[(&str, usize)]) -> Option<f64> {
        let other = numbers(self.other)?;
        let own: Cells = rows.iter().map(|(own, _)| own).collect();
        let own = numbers(&own)?;
        let all: Vec<f64> = other.iter().chain(&own).copied().collect();
        let binned: Vec<String> = bins(&all, 10).iter().map(usize::to_string).collect();
        let (of_other, of_own) = binned.split_at_checked(other.len())?;
        let predicted = most_frequent(of_other.iter().map(String::as_str), trained);
        let right = of_own.iter().zip(rows);
        let right = right.filter(|(bin, (_, truth))| predicted.get(bin.as_str()) == Some(truth));
        Some(right.count() as f64 / rows.len().max(1) as f64)
    }
}

/// Returns whether a cell is a number with decimals other than `.0`.
fn is_decimal(cell: &str) -> bool {
    let parts = cell.trim().split_once('.');
    let decimals = parts.map_or("", |(_, decimals)| decimals);
    cell.trim().parse::<f64>().is_ok() && decimals.contains(|c: char| matches!(c, '1'..='9'))
}

/// Returns the most frequent class of each group, or the smallest one of equally frequent classes.
fn most_frequent<'a>(
    groups: impl Iterator<Item = &'a str>,
    classes: &[usize],
) -> HashMap<&'a str, usize> {
    let mut all: HashMap<&str, BTreeMap<usize, usize>> = HashMap::new();
    for (group, class) in groups.zip(classes) {
        *all.entry(group).or_default().entry(*class).or_default() += 1;
    }
    all.into_iter()
        .filter_map(|(group, classes)| {
            let most = classes
                .iter()
                .max_by_key(|(class, count)| (**count, std::cmp::Reverse(**class)))?;
            Some((group, *most.0))
        })
        .collect()
}
