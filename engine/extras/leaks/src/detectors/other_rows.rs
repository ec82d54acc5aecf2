//! `neighbours`: finds columns that reveal the answers of other rows. A column may repeat the answer of the previous
//! row, sum the answers up to this row (a counter), or contain the mean of a group.
//!
//! A revealed answer must equal the answer exactly. Answers with few digits would often match by chance, so only labels
//! whose answers have at least four digits are examined. The fraction of test answers that are also training answers
//! shows how often an answer matches by chance.

use std::collections::{HashMap, HashSet};

use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::{Tests, tail_of_binomial};
use crate::table::numbers;
use crate::view::View;
use crate::world::AnswerColumn;

const NAME: &str = "neighbours";

/// If other rows reveal the answers of fewer test items than this, there is no finding.
const MIN_ITEMS: usize = 20;

/// If other rows reveal the answers of a smaller fraction of the test items than this, there is no finding.
const MIN_FRACTION: f64 = 0.2;

/// Only the first numeric columns, and the first columns with groups, are tried: at most this number of each.
const MAX_COLUMNS: usize = 12;

/// If both parts together have more rows than this, they are not examined.
const MAX_ROWS: usize = 200_000;

/// The rows of both parts: first the test table, then the training table.
struct RowsOfBothParts<'a> {
    numbers: Vec<(&'a str, Vec<f64>)>,
    groups: Vec<(&'a str, Vec<&'a str>)>,
    /// For each row: the answer, and whether the row belongs to the test part.
    answers: Vec<(f64, bool)>,
    /// The unit of the last decimal of the answers, for example 0.01.
    step: f64,
}

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, _) = view.targets().next()?;
    if label.is_class() {
        return None;
    }
    let rows = RowsOfBothParts::new(view, label)?;
    let (what, hits, chance) = rows
        .repeated()
        .or_else(|| rows.added_up())
        .or_else(|| rows.averaged())?;
    let count = rows.answers.iter().filter(|(_, is_test)| *is_test).count();
    let p = tests.record(tail_of_binomial(count, hits, chance.max(1e-3)));
    let what = format!(
        "{what} exactly the `{}` of {hits} of {count} test items",
        label.name
    );
    Some(LeakFinding::new(LeakLevel::Leak, NAME, what).p_value(p))
}

impl<'a> RowsOfBothParts<'a> {
    fn new(view: &View<'a>, label: &AnswerColumn) -> Option<RowsOfBothParts<'a>> {
        let world = view.world;
        let train = world.train_table(label)?;
        let known = numbers(train.column(&label.name)?)?;
        let label = world.labels.iter().find(|one| one.name == label.name)?;
        let truth = label.numbers.as_ref()?;
        let (shown, key, items) = world.test_tables().next()?;
        if items.len() + known.len() > MAX_ROWS {
            return None;
        }
        let own = items.iter().map(|item| truth.get((*item)?).copied());
        let own = own.map(|answer| (answer.unwrap_or(f64::NAN), true));
        let answers: Vec<(f64, bool)> = own.chain(known.iter().map(|one| (*one, false))).collect();
        let mut rows = RowsOfBothParts {
            numbers: Vec::new(),
            groups: Vec::new(),
            answers,
            step: 0.0,
        };
        // Answers with few digits can result by chance, so such labels are not examined.
        let values = label.values.iter();
        let finite = values.filter(|text| text.parse::<f64>().is_ok());
        let different: HashSet<&str> = finite.clone().collect();
        let has_many = |text: &&str| text.chars().filter(char::is_ascii_digit).count() >= 4;
        let many = finite.clone().filter(has_many).count();
        if many * 10 < label.values.len() * 9 || different.len() * 2 < label.values.len() {
            return None;
        }
        let decimals = finite.map(|text| text.split_once('.').map_or(0, |(_, tail)| tail.len()));
        let decimals = i32::try_from(decimals.max()?).unwrap_or(0);
        rows.step = 10_f64.powi(-decimals);
        for (name, own, other) in shown.table.shared_columns(key, train) {
            let cells = own.iter().chain(other.iter());
            let parse = |cell: &str| cell.trim().parse().unwrap_or(f64::NAN);
            let parsed: Vec<f64> = cells.clone().map(parse).collect();
            let finite = parsed.iter().filter(|one| one.is_finite()).count();
            let different = cells.clone().collect::<HashSet<&str>>().len();
            let is_numeric = finite * 10 >= parsed.len() * 8 && different > 20;
            let is_group = different * 2 <= parsed.len() && different > 5;
            if is_numeric && rows.numbers.len() < MAX_COLUMNS {
                rows.numbers.push((name, parsed));
            }
            if is_group && rows.groups.len() < MAX_COLUMNS {
                let cells = cells.collect();
                rows.groups.push((name, cells));
            }
        }
        Some(rows)
    }

    fn rounded(&self, number: f64) -> i64 {
        (number / self.step).round() as i64
    }

    /// Returns whether the answers of enough test items are revealed. `hits` is the number of these items, and `chance`
    /// the fraction that is expected by chance.
    fn enough(&self, hits: usize, chance: f64) -> bool {
        let count = self.answers.iter().filter(|(_, is_test)| *is_test).count();
        let fraction = hits as f64 / count.max(1) as f64;
        hits >= MIN_ITEMS && fraction >= MIN_FRACTION && fraction >= 3.0 * chance
    }

    fn repeated(&self) -> Option<(String, usize, f64)> {
        let of_train = self.answers.iter().filter(|(_, is_test)| !is_test);
        let known: HashSet<i64> = of_train.map(|(answer, _)| self.rounded(*answer)).collect();
        let own = self.answers.iter().enumerate();
        let own = own.filter(|(_, (answer, is_test))| *is_test && answer.is_finite());
        let own: Vec<(usize, i64)> = own
            .map(|(row, (answer, _))| (row, self.rounded(*answer)))
            .collect();
        let by_chance = own.iter().filter(|(_, answer)| known.contains(answer));
        let chance = by_chance.count() as f64 / own.len().max(1) as f64;
        for (name, numbers) in &self.numbers {
            let finite = numbers.iter().enumerate();
            let finite = finite.filter(|(_, one)| one.is_finite());
            let rows: HashMap<i64, usize> = finite
                .map(|(row, number)| (self.rounded(*number), row))
                .collect();
            let is_hit =
                |(row, answer): &&(usize, i64)| rows.get(answer).is_some_and(|other| other != row);
            let hits = own.iter().filter(is_hit).count();
            if self.enough(hits, chance) {
                let what = format!("cells of `{name}` in other rows contain");
                return Some((what, hits, chance));
            }
        }
        None
    }

    /// Counts the revealed answers that are correct. `revealed` contains the row of a test item, its revealed answer,
    /// and the maximum error in units of the answers' last decimal.
    fn compare(
        &self,
        what: String,
        revealed: impl Iterator<Item = (usize, f64, f64)>,
    ) -> Option<(String, usize, f64)> {
        let is_hit = |(row, value, error): &(usize, f64, f64)| {
            let answer = self.answers.get(*row);
            answer.is_some_and(|(answer, is_test)| {
                let most = error * self.step + 1e-9 * answer.abs();
                *is_test && (value - answer).abs() <= most
            })
        };
        let hits = revealed.filter(is_hit).count();
        self.enough(hits, 0.0).then_some((what, hits, 0.0))
    }

    /// Finds a column whose differences between consecutive rows are the answers, for example a counter. Rows are sorted
    /// by any numeric column, either within each group or over all rows.
    fn added_up(&self) -> Option<(String, usize, f64)> {
        let none = ("", vec![""; self.answers.len()]);
        for (group, groups) in std::iter::once(&none).chain(&self.groups) {
            let each = match *group {
                "" => String::new(),
                group => format!(" for each `{group}`"),
            };
            let group_of = |row: &usize| groups.get(*row).copied().unwrap_or("");
            for (order, places) in &self.numbers {
                let mut rows: Vec<usize> = (0..self.answers.len()).collect();
                rows.sort_by(|one, other| {
                    let [first, second] = [one, other].map(|row| value_of(places, *row));
                    let by_group = group_of(one).cmp(group_of(other));
                    by_group.then(first.total_cmp(&second))
                });
                let pairs = rows.iter().zip(rows.iter().skip(1));
                let pairs = pairs.filter(|(before, behind)| group_of(before) == group_of(behind));
                for (name, numbers) in &self.numbers {
                    let what = format!(
                        "the differences between consecutive cells of `{name}`, sorted by `{order}`{each}, are"
                    );
                    let steps = pairs.clone().map(|(before, behind)| {
                        let step = value_of(numbers, *behind) - value_of(numbers, *before);
                        (*before, *behind, step)
                    });
                    let of_behind = steps.clone().map(|(_, row, step)| (row, step, 0.6));
                    let of_before = steps.map(|(row, _, step)| (row, step, 0.6));
                    let found = self.compare(what.clone(), of_behind);
                    let found = found.or_else(|| self.compare(what, of_before));
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
        None
    }

    /// Finds a column with the mean or the sum of the answers of a group. If only one answer of the group is unknown, the
    /// mean or the sum reveals this answer.
    fn averaged(&self) -> Option<(String, usize, f64)> {
        for (group, groups) in &self.groups {
            let mut members: HashMap<&str, Vec<usize>> = HashMap::new();
            for (row, name) in groups.iter().enumerate() {
                members.entry(name).or_default().push(row);
            }
            // For each test item that is the only test item of its group: its row, the size of the group, and the sum of
            // the known answers.
            let single = members.values().filter_map(|rows| {
                let answers = rows
                    .iter()
                    .filter_map(|row| Some((row, self.answers.get(*row)?)));
                let (own, known): (Vec<_>, Vec<_>) = answers.partition(|(_, answer)| answer.1);
                let rest: f64 = known.iter().map(|(_, answer)| answer.0).sum();
                match own.as_slice() {
                    [(item, _)] if !known.is_empty() => Some((**item, rows.len() as f64, rest)),
                    _ => None,
                }
            });
            let single: Vec<(usize, f64, f64)> = single.collect();
            for (name, numbers) in &self.numbers {
                let what = format!(
                    "`{name}` and the answers of the training items with the same `{group}` determine"
                );
                // The sum of a group is the mean times the number of rows. The rounding error is also
                // multiplied by the number of rows.
                let of_means = single.iter().map(|(item, count, rest)| {
                    (*item, value_of(numbers, *item) * count - rest, *count)
                });
                let of_sums = single.iter();
                let of_sums =
                    of_sums.map(|(item, _, rest)| (*item, value_of(numbers, *item) - rest, 1.0));
                let found = self.compare(what.clone(), of_means);
                let found = found.or_else(|| self.compare(what, of_sums));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}

fn value_of(numbers: &[f64], row: usize) -> f64 {
    numbers.get(row).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SplitMix;

    /// Makes 400 rows. Three of four belong to the training part.
    fn rows(columns: &dyn Fn(&[f64]) -> Vec<f64>) -> RowsOfBothParts<'static> {
        let mut random = SplitMix::new(3);
        let answers: Vec<f64> = (0..400)
            .map(|_| random.below(1_000_000) as f64 / 1e4)
            .collect();
        let order: Vec<f64> = (0..400).map(f64::from).collect();
        let groups: Vec<&'static str> = (0..400)
            .map(|n| ["a", "b", "c", "d", "e", "f", "g", "h"][n % 8])
            .collect();
        RowsOfBothParts {
            numbers: vec![("order", order), ("value", columns(&answers))],
            groups: vec![("group", groups)],
            answers: answers
                .iter()
                .enumerate()
                .map(|(n, one)| (*one, n % 4 == 0))
                .collect(),
            step: 1e-4,
        }
    }

    #[test]
    fn repeated_summed_and_averaged_answers_are_found() {
        let before = rows(&|answers| {
            std::iter::once(0.0)
                .chain(answers.iter().copied())
                .take(400)
                .collect()
        });
        assert!(before.repeated().is_some() && before.added_up().is_none());
        let total = rows(&|answers| {
            let mut sum = 0.0;
            answers
                .iter()
                .map(|one| {
                    sum += one;
                    sum
                })
                .collect()
        });
        assert!(total.repeated().is_none() && total.added_up().is_some());
        let noise = rows(&|answers| answers.iter().rev().map(|one| one * 1.37).collect());
        assert!(
            noise.repeated().is_none() && noise.added_up().is_none() && noise.averaged().is_none()
        );
    }
}
