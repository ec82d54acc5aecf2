//! The baseline: boosted regression trees that predict the answers from the intended features, which participants
//! should use. Another fact, such as the length of a file, is reported only if it improves this prediction.
//!
//! Every feature is divided into 16 bins with about the same number of items. Therefore the model learns trends, but
//! cannot recognize a single training item by the item's values.

use std::collections::{HashMap, HashSet};

use super::{Prediction, Targets, value_from_train};
use crate::statistics::{SplitMix, finite};
use crate::table::{is_missing, is_mixed};
use crate::text::number;

/// Maximum number of features of a model. If there are more, the model uses an even selection.
const MAX_FEATURES: usize = 120;

/// Maximum number of training items of a model. If there are more, the model learns from an even selection.
const MAX_TRAIN: usize = 4_000;

/// A column with more different values than this does not contain categories, but texts or names.
const MAX_CATEGORIES: usize = 400;

/// Only this number of the most frequent words contribute to features.
const MAX_WORDS: usize = 400;

/// An intended feature: its values for test items and for training items.
#[derive(Debug)]
pub(crate) struct Intended<'a> {
    pub test: Vec<Option<&'a str>>,
    /// Empty if the training part does not have the feature.
    pub train: Vec<Option<&'a str>>,
}

/// Predicts the answers of test items from the intended features. Models learn from the training items and from the test
/// items of other folds. `train` contains the training items' answers as numbers. Returns `None` if there are no features.
pub(crate) fn predict_from_intended(
    intended: &[Intended<'_>],
    targets: &Targets,
    train: &[Vec<f64>],
) -> Option<Prediction> {
    let step = train.len().div_ceil(MAX_TRAIN).max(1);
    let chosen: Vec<usize> = (0..train.len()).step_by(step).collect();
    let tests = targets.test.len();
    let mut features: Vec<BinnedFeature> = Vec::new();
    let every = intended.len().div_ceil(MAX_FEATURES).max(1);
    for one in intended.iter().step_by(every) {
        let pick = |at: &usize| one.train.get(*at).copied().flatten();
        let learnt: Vec<Option<&str>> = chosen.iter().map(pick).collect();
        features.extend(column_features(one, &learnt, targets, train));
    }
    if features.is_empty() {
        return None;
    }
    let mut rows = vec![vec![0.0; targets.width]; tests];
    let learnt = chosen.iter().filter_map(|at| train.get(*at));
    let all: Vec<&Vec<f64>> = targets.test.iter().chain(learnt).collect();
    let trained: Vec<usize> = (tests..all.len()).collect();
    for column in 0..targets.width {
        let cell = |row: &&Vec<f64>| row.get(column).copied().unwrap_or(0.0);
        let truth: Vec<f64> = all.iter().map(cell).collect();
        for (wanted, known) in targets.folds.splits(tests) {
            let known: Vec<usize> = known.into_iter().chain(trained.iter().copied()).collect();
            let predicted = fit_and_predict(&features, &truth, &known, &wanted);
            for (item, predicted) in wanted.iter().zip(predicted) {
                if let Some(cell) = rows.get_mut(*item).and_then(|row| row.get_mut(column)) {
                    *cell = predicted;
                }
            }
        }
    }
    Some(rows.into_iter().map(Some).collect())
}

/// Returns the features of a column: its numbers, the mean answer of each category, or the lengths and words of its texts.
fn column_features(
    one: &Intended<'_>,
    learnt: &[Option<&str>],
    targets: &Targets,
    train: &[Vec<f64>],
) -> Vec<BinnedFeature> {
    // The presence of a value and its spelling are separate facts, so the features must not depend on them.
    let normal = |cell: &Option<&str>| {
        cell.filter(|cell| !is_missing(cell))
            .map(|cell| cell.trim().to_lowercase())
    };
    let test: Vec<Option<String>> = one.test.iter().map(normal).collect();
    let learnt: Vec<Option<String>> = learnt.iter().map(normal).collect();
    let trained: Vec<Option<String>> = one.train.iter().map(normal).collect();
    let cells = [filled(&test), filled(&learnt)].concat();
    let all = || cells.iter().copied();
    let present = all().flatten().count();
    if present < 20 {
        return Vec::new();
    }
    let numbers: Vec<f64> = all()
        .map(|cell| cell.and_then(number).unwrap_or(f64::NAN))
        .collect();
    let numeric = numbers.iter().filter(|one| one.is_finite()).count();
    if numeric * 10 >= present * 8 {
        return vec![binned(&numbers)];
    }
    let different: HashSet<&str> = all().flatten().take(20_000).collect();
    let mut features = Vec::new();
    if different.len() <= MAX_CATEGORIES && different.len() * 8 <= present {
        if different.len() <= BINS {
            let mut sorted: Vec<&str> = different.iter().copied().collect();
            sorted.sort_unstable();
            let code = |cell: Option<&str>| match sorted.binary_search(&cell?) {
                Ok(code) => Some(code as f64),
                Err(_) => None,
            };
            let codes: Vec<f64> = all().map(|cell| code(cell).unwrap_or(f64::NAN)).collect();
            features.push(binned(&codes));
        }
        let trained: Vec<Option<&str>> = trained.iter().map(Option::as_deref).collect();
        features.extend(meanings(&cells, &trained, targets, train));
        return features;
    }
    // Spaces and punctuation marks are not counted, because their number is a part of the spelling.
    let letters = |cell: &str| cell.chars().filter(|c| c.is_alphanumeric()).count() as f64;
    let length = |cell: Option<&str>| cell.map_or(f64::NAN, letters);
    features.push(binned(&all().map(length).collect::<Vec<f64>>()));
    features.extend(words(&cells));
    features
}

/// Replaces each missing cell by a random one of the others, if there are any. Then items without a cell have the same
/// values as the other items, and a model cannot learn which items have one.
fn filled(cells: &[Option<String>]) -> Vec<Option<&str>> {
    let present: Vec<&str> = cells.iter().flatten().map(String::as_str).collect();
    let mut random = SplitMix::new(0);
    let mut draw = || present.get(random.below(present.len())).copied();
    let cells = cells.iter();
    cells
        .map(|cell| cell.as_deref().or_else(&mut draw))
        .collect()
}

fn features_of(predicted: &Prediction, width: usize) -> Vec<BinnedFeature> {
    let column = |column: usize| {
        let cell = |row: &Option<Vec<f64>>| row.as_ref().and_then(|row| row.get(column).copied());
        let cells = predicted.iter().map(|row| cell(row).unwrap_or(f64::NAN));
        binned(&cells.collect::<Vec<f64>>())
    };
    (0..width).map(column).collect()
}

/// Returns features of categories: the mean answers of the training items with the same category.
fn meanings(
    cells: &[Option<&str>],
    trained: &[Option<&str>],
    targets: &Targets,
    train: &[Vec<f64>],
) -> Vec<BinnedFeature> {
    let known = trained.iter().zip(train);
    let known = known.filter_map(|(cell, target)| Some(((*cell)?, target.clone())));
    let (values, rows): (Vec<&str>, Vec<Vec<f64>>) = known.unzip();
    if values.len() < 50 {
        return Vec::new();
    }
    features_of(&value_from_train(cells, &values, &rows), targets.width)
}

/// Returns features of texts. Each of the 40 most frequent words has its own feature: the number of its occurrences. The
/// other words share eight features, which still reveal the topic of a text.
fn words(texts: &[Option<&str>]) -> Vec<BinnedFeature> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let split = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty() && !is_mixed(word))
            .map(str::to_lowercase)
            .collect()
    };
    for text in texts.iter().flatten() {
        for word in split(text) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= 10);
    let mut frequent: Vec<(String, usize)> = counts.into_iter().collect();
    frequent.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    frequent.truncate(MAX_WORDS);
    let words = frequent.into_iter().map(|(word, _)| word);
    let place: HashMap<String, usize> = words.zip(0..).collect();
    // Words after the first 40 share the last eight columns. Half of these words add -1 to keep the sums small.
    let (single, sums) = (40.min(place.len()), 8);
    let mut columns = vec![vec![0.0; texts.len()]; single + sums];
    for (item, text) in texts.iter().enumerate() {
        for word in text.map(split).unwrap_or_default() {
            let (column, step) = match place.get(&word) {
                None => continue,
                Some(number) if *number < single => (*number, 1.0),
                Some(number) => (
                    single + number % sums,
                    if number / sums % 2 == 0 { 1.0 } else { -1.0 },
                ),
            };
            let cells = columns.get_mut(column);
            if let Some(cell) = cells.and_then(|cells| cells.get_mut(item)) {
                *cell += step;
            }
        }
    }
    columns.iter().map(|column| binned(column)).collect()
}

/// Returns the bin of each value. A missing value is in the bin of the median.
fn binned(values: &[f64]) -> BinnedFeature {
    let mut sorted = finite(values);
    sorted.sort_by(f64::total_cmp);
    let edges = (1..BINS).filter_map(|bin| sorted.get(bin * sorted.len() / BINS).copied());
    let mut edges: Vec<f64> = edges.collect();
    edges.dedup();
    let bin = |value: f64| u8::try_from(edges.partition_point(|edge| *edge <= value)).unwrap_or(0);
    let middle = sorted.get(sorted.len() / 2).map_or(0, |value| bin(*value));
    let of = |value: &f64| match value.is_finite() {
        true => bin(*value),
        false => middle,
    };
    values.iter().map(of).collect()
}

pub(super) const BINS: usize = 16;
/// Number of trees.
const ROUNDS: usize = 60;
const LEARNING_RATE: f64 = 0.12;
const MAX_DEPTH: usize = 3;
/// A split has at least this number of items on each side.
const MIN_LEAF: usize = 8;

/// A feature: the bin of each item.
pub(super) type BinnedFeature = Vec<u8>;

/// A split of a tree. Items whose bin of `feature` is at most `max_bin` belong to the first child, others to the second.
#[derive(Debug, Clone, Copy)]
struct TreeSplit {
    feature: usize,
    max_bin: u8,
}

#[derive(Debug)]
enum TreeNode {
    Leaf(f64),
    Inner(TreeSplit, Box<TreeNode>, Box<TreeNode>),
}

/// Fits a model to the values `truth` of the items `known`, and predicts the items `wanted`. The mean of the known
/// values is subtracted from the predictions.
pub(super) fn fit_and_predict(
    features: &[BinnedFeature],
    truth: &[f64],
    known: &[usize],
    wanted: &[usize],
) -> Vec<f64> {
    let value = |item: &usize| truth.get(*item).copied().unwrap_or(0.0);
    let mean = known.iter().map(value).sum::<f64>() / known.len().max(1) as f64;
    // The part of each item's value that the trees so far leave unexplained.
    let mut left: Vec<f64> = truth.iter().map(|one| one - mean).collect();
    // The mean is not added to the predictions, because it differs between folds and would reveal the fold of the wanted items.
    let mut out = vec![0.0; wanted.len()];
    for _ in 0..ROUNDS {
        let tree = grown(features, &left, known.to_vec(), MAX_DEPTH);
        for item in known {
            let predicted = tree.value(features, *item);
            if let Some(left) = left.get_mut(*item) {
                *left -= LEARNING_RATE * predicted;
            }
        }
        for (out, item) in out.iter_mut().zip(wanted) {
            *out += LEARNING_RATE * tree.value(features, *item);
        }
    }
    out
}

impl TreeNode {
    fn value(&self, features: &[BinnedFeature], item: usize) -> f64 {
        match self {
            TreeNode::Leaf(value) => *value,
            TreeNode::Inner(split, low, high) => match split.is_low(features, item) {
                true => low.value(features, item),
                false => high.value(features, item),
            },
        }
    }
}

impl TreeSplit {
    fn is_low(self, features: &[BinnedFeature], item: usize) -> bool {
        let bin = features.get(self.feature).and_then(|bins| bins.get(item));
        bin.is_some_and(|bin| *bin <= self.max_bin)
    }
}

fn grown(features: &[BinnedFeature], left: &[f64], items: Vec<usize>, depth: usize) -> TreeNode {
    let value = |item: &usize| left.get(*item).copied().unwrap_or(0.0);
    let sum: f64 = items.iter().map(value).sum();
    let leaf = TreeNode::Leaf(sum / (items.len() as f64 + 2.0));
    if depth == 0 || items.len() < 2 * MIN_LEAF {
        return leaf;
    }
    let mut best: Option<(f64, TreeSplit)> = None;
    let count = items.len() as f64;
    for (feature, bins) in features.iter().enumerate() {
        let mut sums = [(0.0_f64, 0_usize); BINS];
        for item in &items {
            let bin = bins.get(*item).copied().unwrap_or(0);
            if let Some((sum, count)) = sums.get_mut(usize::from(bin)) {
                *sum += value(item);
                *count += 1;
            }
        }
        let (mut below, mut number) = (0.0, 0_usize);
        for (bin, (part, size)) in (0_u8..).zip(sums.iter()) {
            below += part;
            number += size;
            let above = items.len() - number;
            if *size == 0 || number < MIN_LEAF || above < MIN_LEAF {
                continue;
            }
            let gain = below * below / number as f64 + (sum - below).powi(2) / above as f64
                - sum * sum / count;
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((
                    gain,
                    TreeSplit {
                        feature,
                        max_bin: bin,
                    },
                ));
            }
        }
    }
    match best {
        Some((gain, split)) if gain > 1e-9 => {
            let (low, high): (Vec<usize>, Vec<usize>) = items
                .into_iter()
                .partition(|item| split.is_low(features, *item));
            let [low, high] =
                [low, high].map(|part| Box::new(grown(features, left, part, depth - 1)));
            TreeNode::Inner(split, low, high)
        }
        _ => leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_learn_interactions_of_two_features() {
        let features: Vec<BinnedFeature> = [7, 11]
            .map(|step| (0..600).map(|n| (n * step / 3 % 16) as u8).collect())
            .to_vec();
        let truth: Vec<f64> = (0..600)
            .map(|n| f64::from(u8::from((features[0][n] > 7) != (features[1][n] > 7))))
            .collect();
        let known: Vec<usize> = (0..400).collect();
        let wanted: Vec<usize> = (400..600).collect();
        let predicted = fit_and_predict(&features, &truth, &known, &wanted);
        let right = predicted
            .iter()
            .zip(&wanted)
            .filter(|(one, at)| (**one > 0.5) == (truth[**at] > 0.5));
        assert!(right.count() > 170);
    }
}
