//! Converts answers to numbers, so that predictions can be measured by the variance that they explain.
//!
//! Predictions from a single fact: by equal values, or by the nearest numbers.
//!
//! Distinguishes items that are sorted by their answers from items of groups that are next to each other.
//!
//! In both cases, neighbours have similar answers. But the answers of neighbours are unknown, and the order of groups
//! (patients, sessions) reveals nothing. Sorted items have one block for each class, or their numbers rise or fall
//! everywhere.

use std::collections::{HashMap, HashSet};

use super::{FOLDS, Folds, Prediction};
use crate::statistics::{correlation, counts, finite, ranks};
use crate::table::CellTexts;
use crate::world::AnswerColumn;

/// Maximum number of classes with a column. Rarer classes have 0 in all columns.
const MAX_CLASSES: usize = 6;

/// Answers as rows of numbers. Classes have a column of 1 and 0 for each of the most frequent classes. Numbers have one
/// column with their normal scores, so that outliers do not dominate.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub width: usize,
    /// The answers of test items.
    pub test: Vec<Vec<f64>>,
    /// The folds of the test items.
    pub folds: Folds,
    /// Whether most classes also occur in the training part. Otherwise, each value belongs to a group.
    pub has_known_classes: bool,
    classes: Option<Vec<String>>,
    /// The test answers as sorted numbers, to find the rank of a training answer.
    sorted: Vec<f64>,
}

impl Targets {
    /// Converts the answers of test items. `None` if they are neither classes nor numbers, or all equal.
    pub(crate) fn new(label: &AnswerColumn) -> Option<Targets> {
        if label.is_class() {
            let mut frequent: Vec<(&str, usize)> =
                counts(label.values.iter()).into_iter().collect();
            frequent.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            let most = match frequent.len() {
                2 => 1,
                _ => MAX_CLASSES,
            };
            let classes = frequent.into_iter().take(most);
            let classes: Vec<String> = classes.map(|(class, _)| class.to_owned()).collect();
            let mut targets = Targets {
                width: classes.len(),
                test: Vec::new(),
                folds: Folds::default(),
                has_known_classes: true,
                classes: Some(classes),
                sorted: Vec::new(),
            };
            targets.test = targets.encode(&label.values)?;
            return Some(targets);
        }
        let numbers = label.numbers.as_ref()?;
        let mut sorted = finite(numbers);
        sorted.sort_by(f64::total_cmp);
        if sorted.first() == sorted.last() {
            return None;
        }
        let scores = ranks(numbers).into_iter();
        let scores = scores.map(|rank| vec![score(rank, numbers.len())]);
        Some(Targets {
            width: 1,
            test: scores.collect(),
            folds: Folds::default(),
            has_known_classes: true,
            classes: None,
            sorted,
        })
    }

    pub(crate) fn is_class(&self) -> bool {
        self.classes.is_some()
    }

    /// Converts further answers in the same way, for example those of training items. `None` if most of them are
    /// neither known classes nor numbers.
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
            let number: f64 = answer.trim().parse().ok()?;
            let below = self.sorted.partition_point(|one| *one < number);
            let upto = self.sorted.partition_point(|one| *one <= number);
            Some(vec![score((below + upto) as f64 / 2.0, self.sorted.len())])
        };
        let rows: Vec<Option<Vec<f64>>> = answers.iter().map(place).collect();
        let known = rows.iter().flatten().count();
        (known * 10 >= rows.len() * 9 && known > 0).then(|| {
            let fill = |row: Option<Vec<f64>>| row.unwrap_or_else(|| vec![0.0]);
            rows.into_iter().map(fill).collect()
        })
    }
}

/// Returns the normal score of a rank, by an approximation of the normal quantile that is exact to three digits.
fn score(rank: f64, count: usize) -> f64 {
    let share = ((rank + 0.5) / (count as f64 + 1.0)).clamp(1e-6, 1.0 - 1e-6);
    let tail = share.min(1.0 - share);
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    let quantile = t - above / below;
    if share < 0.5 { -quantile } else { quantile }
}

/// Number of neighbours on each side that a prediction from the nearest numbers averages.
const NEIGHBOURS: usize = 2;

/// Returns, for each item, the mean target of the items of other folds with the same value, minus the mean of all items of
/// other folds. This mean is treated as an additional item, so that rare values predict less. Without the subtraction, the
/// means of other folds would reveal the item's own fold.
pub(crate) fn by_value(values: &[Option<&str>], targets: &Targets) -> Prediction {
    let (folds_of_items, width, targets) = (&targets.folds, targets.width, &targets.test);
    let mut sums: HashMap<&str, Vec<(Vec<f64>, usize)>> = HashMap::new();
    for (item, (value, target)) in values.iter().zip(targets).enumerate() {
        let Some(value) = value else { continue };
        let folds = sums
            .entry(value)
            .or_insert_with(|| vec![(vec![0.0; width], 0); FOLDS]);
        if let Some((sum, count)) = folds.get_mut(folds_of_items.fold(item)) {
            add(sum, target);
            *count += 1;
        }
    }
    let means = means_of_other_folds(targets, folds_of_items, width);
    let predict = |(item, value): (usize, &Option<&str>)| {
        let folds = sums.get((*value)?)?;
        let mean = means.get(folds_of_items.fold(item))?;
        let (mut sum, mut count) = (mean.clone(), 1.0);
        for (number, (part, size)) in folds.iter().enumerate() {
            if number != folds_of_items.fold(item) {
                add(&mut sum, part);
                count += *size as f64;
            }
        }
        let centred = sum.iter().zip(mean).map(|(one, mean)| one / count - mean);
        (count > 1.0).then(|| centred.collect())
    };
    values.iter().enumerate().map(predict).collect()
}

/// Returns, for each test item, the mean target of the training items with the same value. The overall mean is treated as
/// half an item.
pub(crate) fn value_from_train(
    values: &[Option<&str>],
    train: &[&str],
    targets: &[Vec<f64>],
) -> Prediction {
    let width = targets.first().map_or(0, Vec::len);
    let mut sums: HashMap<&str, (Vec<f64>, usize)> = HashMap::new();
    for (value, target) in train.iter().zip(targets) {
        let (sum, count) = sums.entry(value).or_insert_with(|| (vec![0.0; width], 0));
        add(sum, target);
        *count += 1;
    }
    let mean = mean(targets, width);
    let predict = |value: &Option<&str>| {
        let (sum, count) = sums.get((*value)?)?;
        let total = *count as f64 + 0.5;
        let cells = sum.iter().zip(&mean);
        let cells = cells.map(|(one, mean)| (one + 0.5 * mean) / total);
        Some(cells.collect())
    };
    values.iter().map(predict).collect()
}

/// Returns, for each item, the mean target of the items of other folds with the nearest numbers, minus the mean of all items
/// of other folds.
pub(crate) fn by_nearest(numbers: &[f64], targets: &Targets) -> Prediction {
    let (folds, targets) = (&targets.folds, &targets.test);
    let mut order: Vec<usize> = (0..numbers.len().min(targets.len())).collect();
    let number = |item: usize| numbers.get(item).copied().unwrap_or(f64::NAN);
    order.retain(|item| number(*item).is_finite());
    order.sort_by(|one, other| number(*one).total_cmp(&number(*other)).then(one.cmp(other)));
    let width = targets.first().map_or(0, Vec::len);
    let means = means_of_other_folds(targets, folds, width);
    let mut rows = vec![None; numbers.len()];
    for (place, item) in order.iter().enumerate() {
        let own = folds.fold(*item);
        let other = |at: &&usize| folds.fold(**at) != own;
        let before = order.get(..place).unwrap_or_default().iter().rev();
        let behind = order.get(place + 1..).unwrap_or_default().iter();
        let near = before.filter(other).take(NEIGHBOURS);
        let near = near.chain(behind.filter(other).take(NEIGHBOURS));
        if let Some(row) = rows.get_mut(*item) {
            let near = average(near.filter_map(|at| targets.get(*at)));
            let mean = means.get(own).into_iter().flatten();
            *row = near.map(|near| {
                near.iter()
                    .zip(mean)
                    .map(|(one, mean)| one - mean)
                    .collect()
            });
        }
    }
    rows
}

/// Returns, for each test item, the mean target of the nearest training item below and above it.
pub(crate) fn nearest_from_train(
    numbers: &[f64],
    train: &[f64],
    targets: &[Vec<f64>],
) -> Prediction {
    let mut known: Vec<(f64, &Vec<f64>)> = train.iter().copied().zip(targets).collect();
    known.retain(|(number, _)| number.is_finite());
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    let predict = |number: &f64| {
        if !number.is_finite() {
            return None;
        }
        let place = known.partition_point(|(one, _)| one < number);
        let from = place.saturating_sub(NEIGHBOURS / 2);
        let near = known.get(from..(place + NEIGHBOURS / 2).min(known.len()))?;
        average(near.iter().map(|(_, target)| *target))
    };
    numbers.iter().map(predict).collect()
}

/// Returns, for each fold, the mean of the items of other folds.
fn means_of_other_folds(targets: &[Vec<f64>], folds: &Folds, width: usize) -> Vec<Vec<f64>> {
    let mean = |fold| {
        let items = targets.iter().enumerate();
        let others = items.filter(|(item, _)| folds.fold(*item) != fold);
        average(others.map(|(_, target)| target)).unwrap_or_else(|| vec![0.0; width])
    };
    (0..FOLDS).map(mean).collect()
}

fn add(sum: &mut [f64], part: &[f64]) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

fn mean(targets: &[Vec<f64>], width: usize) -> Vec<f64> {
    average(targets.iter()).unwrap_or_else(|| vec![0.0; width])
}

fn average<'a>(rows: impl Iterator<Item = &'a Vec<f64>>) -> Option<Vec<f64>> {
    let (mut sum, mut count): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for row in rows {
        sum.resize(row.len(), 0.0);
        add(&mut sum, row);
        count += 1.0;
    }
    (count > 0.0).then(|| sum.iter().map(|one| one / count).collect())
}

/// Number of windows in which the direction of numbers is compared.
const WINDOWS: usize = 12;

/// Minimum number of windows with the same direction. By chance, this has a probability of 4 %.
const MIN_SAME_DIRECTION: usize = 10;

/// Minimum rank correlation of sorted numbers with their order.
const MIN_CORRELATION: f64 = 0.3;

/// Returns whether items in the order of these numbers are sorted by their answers. Also returns true if many items have no
/// number, because then the presence of a number may be the reason for the agreement.
pub(crate) fn is_sorted(numbers: &[f64], targets: &Targets) -> bool {
    let mut order: Vec<usize> = (0..numbers.len().min(targets.test.len())).collect();
    let number = |item: &usize| numbers.get(*item).copied().unwrap_or(f64::NAN);
    order.retain(|item| number(item).is_finite());
    if order.len() * 10 < numbers.len() * 9 {
        return true;
    }
    order.sort_by(|one, other| number(one).total_cmp(&number(other)));
    let rows: Vec<&Vec<f64>> = order
        .iter()
        .filter_map(|item| targets.test.get(*item))
        .collect();
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
        // Other classes have 0 in all columns.
        let others = window.len() as f64 - counts.iter().sum::<f64>();
        let count = |class: usize| counts.get(class).copied().unwrap_or(others);
        let class = (0..=width).max_by(|one, other| count(*one).total_cmp(&count(*other)));
        let class = class.unwrap_or(width);
        // A class must be clearly more frequent than that of the block before.
        let least = blocks
            .last()
            .map_or(0.0, |last| count(*last) + reach as f64 / 2.0);
        if blocks.last() != Some(&class) && count(class) > least {
            blocks.push(class);
        }
    }
    let classes = blocks.iter().collect::<HashSet<_>>().len();
    // One class more or less than blocks is allowed if there are many.
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
        // One in ten items is at a different place.
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
