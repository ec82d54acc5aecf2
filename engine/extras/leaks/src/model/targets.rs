//! Converts answers to numbers, so that predictions can be measured by the variance that they explain. Also predicts
//! answers from a single fact: from items with equal values, or with the nearest numbers.
//!
//! If neighbours in an order of the items have similar answers, [`is_sorted`] distinguishes two reasons. If items are
//! sorted by their answers, the order is a leak. If items of the same group (a patient, a session) are adjacent, the order
//! is not a leak, because participants know no answer of the group.

use std::collections::{HashMap, HashSet};

use super::{Folds, Prediction};
use crate::statistics::{correlation, counts, finite, ranks};
use crate::table::CellTexts;
use crate::world::AnswerColumn;

/// Only this number of the most frequent classes has a column in the targets. Rarer classes have 0 in all columns.
const MAX_CLASSES: usize = 6;

/// Answers as rows of numbers. Each of the most frequent classes has a column, which is 1 for items of this class and 0
/// for other items.
/// Numeric answers are replaced by normal quantiles of their ranks, so that outliers do not dominate.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub width: usize,
    pub test: Vec<Vec<f64>>,
    pub folds: Folds,
    /// Whether most classes also occur in the training part. If not, a class is probably the name of a group that is
    /// entirely in the test part.
    pub has_known_classes: bool,
    classes: Option<Vec<String>>,
    /// The test answers as sorted numbers, to find the rank of a training answer.
    sorted: Vec<f64>,
}

impl Targets {
    /// Converts the answers of test items. `None` if the answers are neither classes nor numbers, or if all
    /// answers are equal.
    pub(crate) fn new(label: &AnswerColumn) -> Option<Targets> {
        let (mut classes, mut sorted) = (None, Vec::new());
        if label.is_class() {
            let mut frequent: Vec<(&str, usize)> =
                counts(label.values.iter()).into_iter().collect();
            frequent.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            let most = if frequent.len() == 2 { 1 } else { MAX_CLASSES };
            let frequent = frequent.into_iter().take(most);
            classes = Some(frequent.map(|(class, _)| class.to_owned()).collect());
        } else {
            sorted = finite(label.numbers.as_ref()?);
            sorted.sort_by(f64::total_cmp);
            if sorted.first() == sorted.last() {
                return None;
            }
        }
        let mut targets = Targets {
            width: classes.as_ref().map_or(1, Vec::len),
            test: Vec::new(),
            folds: Folds::default(),
            has_known_classes: true,
            classes,
            sorted,
        };
        targets.test = targets.encode(&label.values)?;
        Some(targets)
    }

    pub(crate) fn is_class(&self) -> bool {
        self.classes.is_some()
    }

    /// Sorts the items by `numbers`, which contains a number or NaN for each item. Returns the items and their targets.
    pub(crate) fn sorted_by(&self, numbers: &[f64]) -> (Vec<usize>, Vec<&Vec<f64>>) {
        let rows = numbers.iter().enumerate().zip(&self.test);
        let mut rows: Vec<((usize, &f64), &Vec<f64>)> = rows.collect();
        rows.sort_by(|((_, one), _), ((_, other), _)| one.total_cmp(other));
        rows.into_iter().map(|((item, _), row)| (item, row)).unzip()
    }

    /// Converts other answers, for example those of training items, in the same way as the answers of test items. Returns
    /// `None` if no answer is a known class, or if more than a tenth of the answers are not numbers.
    pub(crate) fn encode(&self, answers: &CellTexts) -> Option<Vec<Vec<f64>>> {
        if let Some(classes) = &self.classes {
            let places: HashMap<&str, usize> =
                classes.iter().map(String::as_str).zip(0..).collect();
            let mut known = 0_usize;
            let encode = |answer: &str| {
                let mut row = vec![0.0; classes.len()];
                if let Some(cell) = places.get(answer).and_then(|place| row.get_mut(*place)) {
                    *cell = 1.0;
                    known += 1;
                }
                row
            };
            let rows: Vec<Vec<f64>> = answers.iter().map(encode).collect();
            return (known > 0).then_some(rows);
        }
        let place = |answer: &str| {
            let number = answer.trim().parse().ok();
            let number = number.filter(|number: &f64| number.is_finite())?;
            let below = self.sorted.partition_point(|one| *one < number);
            let not_above = self.sorted.partition_point(|one| *one <= number);
            let rank = (below + not_above) as f64 / 2.0 - 0.5;
            Some(vec![score(rank, self.sorted.len())])
        };
        let rows: Vec<Option<Vec<f64>>> = answers.iter().map(place).collect();
        let known = rows.iter().flatten().count();
        (known * 10 >= rows.len() * 9 && known > 0).then(|| {
            let fill = |row: Option<Vec<f64>>| row.unwrap_or_else(|| vec![0.0]);
            rows.into_iter().map(fill).collect()
        })
    }
}

/// Returns the quantile of the normal distribution for a rank among `count` values. The approximation is exact to three
/// digits.
fn score(rank: f64, count: usize) -> f64 {
    let fraction = ((rank + 0.5) / (count as f64 + 1.0)).clamp(1e-6, 1.0 - 1e-6);
    let tail = fraction.min(1.0 - fraction);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    let quantile = t - above / below;
    if fraction < 0.5 { -quantile } else { quantile }
}

/// The target of an item is predicted from this many items with the nearest lower numbers, and from equally many with the
/// nearest higher numbers.
const NEIGHBOURS: usize = 2;

/// Predicts the targets of the items in each fold from the items of other folds. `predict` receives the items of the fold,
/// the items of other folds, and the mean target of the latter. This mean is subtracted from the predictions, because it
/// differs between folds and would reveal the fold of an item.
fn across_folds(
    targets: &Targets,
    predict: impl Fn(&[usize], &[usize], &[f64]) -> Prediction,
) -> Prediction {
    let items = targets.test.len();
    let mut rows = vec![None; items];
    for (wanted, known) in targets.folds.splits(items) {
        let mean = mean(known.iter().filter_map(|item| targets.test.get(*item)));
        let predicted = predict(&wanted, &known, &mean);
        for (item, row) in wanted.iter().zip(predicted) {
            let difference = |(one, mean): (f64, &f64)| one - mean;
            let centred = row.map(|row| row.into_iter().zip(&mean).map(difference).collect());
            if let Some(cell) = rows.get_mut(*item) {
                *cell = centred;
            }
        }
    }
    rows
}

/// Predicts the target of each item as the mean target of items with the same value in other folds. The mean target of
/// all items in other folds is included with the weight of one item, so that a rare value predicts less.
pub(crate) fn by_value(values: &[Option<&str>], targets: &Targets) -> Prediction {
    let value = |item: &usize| values.get(*item).copied().flatten();
    across_folds(targets, |wanted, known, mean| {
        let known = known.iter();
        let known = known.filter_map(|item| Some((value(item)?, targets.test.get(*item)?)));
        let wanted: Vec<Option<&str>> = wanted.iter().map(value).collect();
        means_by_value(&wanted, known, mean, 1.0)
    })
}

/// Predicts the target of each test item as the mean target of the training items with the same value. The mean of all
/// training items has the weight of half an item.
pub(crate) fn value_from_train(
    values: &[Option<&str>],
    train: &[&str],
    targets: &[Vec<f64>],
) -> Prediction {
    let known = train.iter().copied().zip(targets);
    means_by_value(values, known, &mean(targets), 0.5)
}

/// Returns, for each of `values`, the mean target of the known items with this value. `mean` is included with the weight
/// of `weight` items.
fn means_by_value<'a>(
    values: &[Option<&str>],
    known: impl Iterator<Item = (&'a str, &'a Vec<f64>)>,
    mean: &[f64],
    weight: f64,
) -> Prediction {
    let mut sums: HashMap<&str, (Vec<f64>, f64)> = HashMap::new();
    for (value, target) in known {
        let (sum, count) = sums.entry(value).or_insert_with(|| {
            let first = mean.iter().map(|mean| mean * weight);
            (first.collect(), weight)
        });
        add(sum, target);
        *count += 1.0;
    }
    let predict = |value: &Option<&str>| {
        let (sum, count) = sums.get((*value)?)?;
        Some(sum.iter().map(|sum| sum / count).collect())
    };
    values.iter().map(predict).collect()
}

/// Predicts the target of each item as the mean target of the items in other folds with the nearest numbers.
pub(crate) fn by_nearest(numbers: &[f64], targets: &Targets) -> Prediction {
    let number = |item: &usize| numbers.get(*item).copied().unwrap_or(f64::NAN);
    across_folds(targets, |wanted, known, _| {
        let known = known.iter();
        let known = known.filter_map(|item| Some((number(item), targets.test.get(*item)?)));
        means_of_nearest(wanted.iter().map(number), known, NEIGHBOURS)
    })
}

/// Predicts the target of each test item as the mean target of the training items with the nearest number below and
/// above.
pub(crate) fn nearest_from_train(
    numbers: &[f64],
    train: &[f64],
    targets: &[Vec<f64>],
) -> Prediction {
    let known = train.iter().copied().zip(targets);
    means_of_nearest(numbers.iter().copied(), known, NEIGHBOURS / 2)
}

/// Returns, for each number, the mean target of the nearest known items: `count` below the number, and `count` above it.
/// Half of the known items with an equal number are treated as below it. If several items have the number of the
/// farthest item, all of them are included, because a choice would depend on the order of the items.
fn means_of_nearest<'a>(
    numbers: impl Iterator<Item = f64>,
    known: impl Iterator<Item = (f64, &'a Vec<f64>)>,
    count: usize,
) -> Prediction {
    let mut known: Vec<(f64, &Vec<f64>)> = known.filter(|(one, _)| one.is_finite()).collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    let below = |number: f64| known.partition_point(|(one, _)| *one < number);
    let not_above = |number: f64| known.partition_point(|(one, _)| *one <= number);
    let mean_near = |number: f64| {
        let place = (below(number) + not_above(number)) / 2;
        let (first, _) = known.get(place.saturating_sub(count))?;
        let (last, _) = known.get((place + count).min(known.len()).checked_sub(1)?)?;
        let near = known.get(below(*first)..not_above(*last))?;
        number
            .is_finite()
            .then(|| mean(near.iter().map(|(_, target)| *target)))
    };
    let mut means: HashMap<u64, Option<Vec<f64>>> = HashMap::new();
    let mut predict = |number: f64| {
        means
            .entry(number.to_bits())
            .or_insert_with(|| mean_near(number))
            .clone()
    };
    numbers.map(&mut predict).collect()
}

fn add(sum: &mut [f64], part: &[f64]) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

/// Returns the mean of rows, or an empty row if there are no rows.
fn mean<'a>(rows: impl IntoIterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    let (mut sum, mut count): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for row in rows {
        sum.resize(row.len(), 0.0);
        add(&mut sum, row);
        count += 1.0;
    }
    sum.iter().map(|one| one / count).collect()
}

/// The ordered items are divided into this number of windows. In each window, the answers rise or fall.
const WINDOWS: usize = 12;

/// Answers are sorted only if they have the same direction in at least this number of windows. Answers in random order
/// reach this number with a probability of 4 %.
const MIN_SAME_DIRECTION: usize = 10;

/// Answers are sorted only if the rank correlation between the answers and their positions is at least this number.
const MIN_CORRELATION: f64 = 0.3;

/// Returns whether sorting items by `numbers` also sorts them by their answers. Also returns true if more than a tenth
/// of the items have no number. Then neighbours may have similar answers only because their numbers are missing.
pub(crate) fn is_sorted(numbers: &[f64], targets: &Targets) -> bool {
    // Items without a number come last.
    let (_, mut rows) = targets.sorted_by(numbers);
    rows.truncate(finite(numbers).len());
    if rows.len() * 10 < numbers.len() * 9 {
        return true;
    }
    match targets.is_class() {
        true => targets.has_known_classes && has_one_block_per_class(&rows),
        false => has_one_direction(&rows),
    }
}

/// Returns whether each class is the most frequent one in a single block of the rows.
fn has_one_block_per_class(rows: &[&Vec<f64>]) -> bool {
    let reach = (rows.len() / 30).max(3);
    let width = rows.first().map_or(0, |row| row.len());
    let mut blocks: Vec<usize> = Vec::new();
    for place in 0..rows.len() {
        let window = rows.get(place.saturating_sub(reach)..(place + reach + 1).min(rows.len()));
        let window = window.unwrap_or_default();
        let count = |column: usize| -> f64 {
            let cells = window.iter().filter_map(|row| row.get(column));
            cells.sum()
        };
        let counts: Vec<f64> = (0..width).map(count).collect();
        // Items of other classes have 0 in all columns.
        let others = window.len() as f64 - counts.iter().sum::<f64>();
        let count = |class: usize| counts.get(class).copied().unwrap_or(others);
        let class = (0..=width).max_by(|one, other| count(*one).total_cmp(&count(*other)));
        let class = class.unwrap_or(width);
        // Near the boundary of two blocks, the most frequent class changes at random. Therefore a new block begins only if
        // its class is clearly more frequent than the class of the previous block.
        let least = blocks
            .last()
            .map_or(0.0, |last| count(*last) + reach as f64 / 2.0);
        if blocks.last() != Some(&class) && count(class) > least {
            blocks.push(class);
        }
    }
    // If there are more than `MAX_CLASSES` classes, ignore the blocks of the rarer ones. The rarer classes share one number,
    // so this number may have several blocks although each class has only one.
    blocks.retain(|class| *class < MAX_CLASSES);
    let classes = blocks.iter().collect::<HashSet<_>>().len();
    // If there are many classes, a few additional blocks are allowed.
    classes > 1 && blocks.len() <= classes + classes / 4
}

/// Returns whether the numbers rise, or fall, in nearly all parts of the order.
fn has_one_direction(rows: &[&Vec<f64>]) -> bool {
    let values = rows.iter().filter_map(|row| row.first().copied());
    let values: Vec<f64> = values.collect();
    let against_order = |values: &[f64]| {
        let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
        correlation(&ranks(values), &places)
    };
    let size = values.len().div_ceil(WINDOWS).max(1);
    let windows: Vec<f64> = values.chunks(size).map(against_order).collect();
    let whole = against_order(&values);
    let same = windows.iter().filter(|one| **one * whole > 0.0).count();
    whole.abs() >= MIN_CORRELATION
        && same >= MIN_SAME_DIRECTION
        && crate::statistics::mean(&windows).abs() >= MIN_CORRELATION / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_do_not_use_the_answer_of_the_item_itself() {
        let label = AnswerColumn::of_classes("y", &(0..100).map(|n| n % 2).collect::<Vec<_>>());
        let targets = Targets::new(&label).unwrap();
        let parity: Vec<String> = (0..100).map(|n| (n % 2).to_string()).collect();
        let values: Vec<Option<&str>> = parity.iter().map(|one| Some(one.as_str())).collect();
        let prediction = by_value(&values, &targets);
        for (row, target) in prediction.iter().zip(&targets.test) {
            assert!((row.as_ref().unwrap()[0] + 0.5 - target[0]).abs() < 0.1);
        }
        // A unique value does not predict its own answer.
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let values: Vec<Option<&str>> = names.iter().map(|one| Some(one.as_str())).collect();
        assert!(by_value(&values, &targets).iter().all(Option::is_none));
        let numbers: Vec<f64> = (0..100)
            .map(|n| f64::from(n % 2) * 1000.0 + f64::from(n))
            .collect();
        let near = by_nearest(&numbers, &targets);
        let right = near.iter().zip(&targets.test);
        let right =
            right.filter(|(row, target)| (row.as_ref().unwrap()[0] + 0.5 - target[0]).abs() < 0.4);
        assert!(right.count() > 95);
    }

    /// A remainder reveals nothing about a sorted answer, so no divisor may lead to a gain.
    #[test]
    fn remainders_of_positions_do_not_predict_sorted_answers() {
        let classes: Vec<i32> = (0..240).map(|n| n / 120).collect();
        let targets = Targets::new(&AnswerColumn::of_classes("y", &classes)).unwrap();
        for divisor in 2..20 {
            let remainders: Vec<f64> = (0..240).map(|n| f64::from(n % divisor)).collect();
            let texts: Vec<String> = remainders.iter().map(f64::to_string).collect();
            let texts: Vec<Option<&str>> = texts.iter().map(|one| Some(one.as_str())).collect();
            for prediction in [
                by_nearest(&remainders, &targets),
                by_value(&texts, &targets),
            ] {
                let gain = crate::model::gain(&targets, None, &prediction).alone;
                assert!(gain < 0.1, "divisor {divisor}: {gain}");
            }
        }
    }

    /// Participants know no answer of a group in the test part, so its items must not predict each other.
    #[test]
    fn answers_of_the_same_group_do_not_predict() {
        // Ten groups of ten items. The class depends on the group.
        let classes: Vec<i32> = (0..100).map(|n| n / 10 % 3 % 2).collect();
        let mut targets = Targets::new(&AnswerColumn::of_classes("y", &classes)).unwrap();
        let groups: Vec<String> = (0..100).map(|n| (n / 10).to_string()).collect();
        let values: Vec<Option<&str>> = groups.iter().map(|one| Some(one.as_str())).collect();
        let predicted = |targets: &Targets| {
            let prediction = by_value(&values, targets);
            crate::model::gain(targets, None, &prediction).alone
        };
        assert!(predicted(&targets) > 0.9);
        targets.folds = Folds::of_groups((0..100).map(|n| n / 10).collect());
        assert!(predicted(&targets) <= 0.0);
        let order: Vec<f64> = (0..100).map(f64::from).collect();
        let near = by_nearest(&order, &targets);
        assert!(crate::model::gain(&targets, None, &near).p > 0.01);
    }
}

#[cfg(test)]
mod sorted_tests {
    use super::*;
    use crate::statistics::SplitMix;
    use crate::world::AnswerColumn;

    #[test]
    fn sorted_answers_are_distinguished_from_groups() {
        let order: Vec<f64> = (0..300).map(f64::from).collect();
        let mut random = SplitMix::new(8);
        let mut draw = |below: usize| random.below(below) as i32;
        let levels: Vec<i32> = (0..30).map(|_| draw(1000)).collect();
        let noise: Vec<i32> = (0..300).map(|_| draw(10)).collect();
        let groups: Vec<f64> = (0..300)
            .map(|n| f64::from(levels[n / 10] + noise[n]))
            .collect();
        let rising: Vec<f64> = (0..300)
            .map(|n| f64::from(10 * n as i32 + noise[n] * 5))
            .collect();
        let is_sorted_numbers = |values: &[f64]| {
            is_sorted(
                &order,
                &Targets::new(&AnswerColumn::of_numbers("y", values)).unwrap(),
            )
        };
        assert!(is_sorted_numbers(&rising) && !is_sorted_numbers(&groups));
        let of_groups: Vec<i32> = (0..300).map(|n| levels[n / 10] % 2).collect();
        // One in ten items has a class other than the class of its block.
        let blocks: Vec<i32> = (0..300)
            .map(|n| {
                if noise[n] == 0 {
                    levels[n / 10] % 4
                } else {
                    n as i32 / 75
                }
            })
            .collect();
        let is_sorted_classes = |classes: &[i32]| {
            is_sorted(
                &order,
                &Targets::new(&AnswerColumn::of_classes("y", classes)).unwrap(),
            )
        };
        assert!(is_sorted_classes(&blocks) && !is_sorted_classes(&of_groups));
    }
}
