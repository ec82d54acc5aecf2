//! Finds public values that are the answers of all test items, and pairs of columns that result in them.
//!
//! This needs no statistics: if all answers agree, the probability of that by chance is the product of the answers'
//! frequencies. So few items suffice if their answers have many digits or letters.

use super::exact::same;
use crate::facts::Channel;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::counts;
use crate::view::View;
use crate::world::Label;

/// Maximum probability by chance, over all values that are compared.
const MAX_CHANCE: f64 = 1e-4;

/// The probability of a particular number with at least four digits, or a particular text with at least six characters.
const DISTINCTIVE_CHANCE: f64 = 1e-4;

/// Maximum number of columns that are compared in pairs.
const MAX_COLUMNS: usize = 30;

/// Texts between the cells of two columns.
const SEPARATORS: [&str; 6] = ["", "-", "_", " ", "/", ", "];

/// Maximum error of a sum or difference, relative to the answer.
const MAX_ERROR: f64 = 1e-6;

/// Maximum error of a sum or difference of doubles, relative to the larger number.
const ROUNDING_ERROR: f64 = 4.0 * f64::EPSILON;

/// Public values of all chosen items.
struct Source<'a> {
    channel: Channel,
    name: &'a str,
    cells: Vec<&'a str>,
}

pub(crate) fn find(view: &View<'_>) -> Vec<LeakFinding> {
    let is_value = |channel: Channel| {
        channel.is_intended() && channel != Channel::Look || channel == Channel::Sample
    };
    let facts = view
        .facts
        .all
        .iter()
        .filter(|((channel, _), _)| is_value(*channel));
    let sources = facts.filter_map(|((channel, name), values)| {
        let cells: Option<Vec<&str>> = view.cells(values).into_iter().collect();
        Some(Source {
            channel: *channel,
            name,
            cells: cells?,
        })
    });
    let sources: Vec<Source<'_>> = sources.collect();
    let mut found = Vec::new();
    for label in &view.world.labels {
        let label = label.of_items(view.chosen);
        let search = Search {
            view,
            label: &label,
            sources: &sources,
        };
        // With many items, other detectors find single values, even if only most of them are the answers.
        let single = view.has_few_items().then(|| search.single()).flatten();
        found.extend(single.or_else(|| search.pairs()));
    }
    found
}

struct Search<'a> {
    view: &'a View<'a>,
    label: &'a Label,
    sources: &'a [Source<'a>],
}

impl Search<'_> {
    fn answers(&self) -> Vec<&str> {
        self.label.values.iter().collect()
    }

    /// Returns the logarithm of the probability that a value is the answer for all items by chance.
    fn chance(&self) -> f64 {
        let answers = self.answers();
        let frequencies = counts(answers.iter().copied());
        let log = |answer: &&str| {
            let share = frequencies.get(answer).copied().unwrap_or(1) as f64 / answers.len() as f64;
            match is_distinctive(answer) {
                true => share.min(DISTINCTIVE_CHANCE).ln(),
                false => share.ln(),
            }
        };
        answers.iter().map(log).sum()
    }

    /// Returns whether the answers of all items can be a coincidence if `count` values are compared.
    fn may_be_chance(&self, count: usize) -> bool {
        let items = self.view.chosen.len();
        items < 3 || self.chance() + (count.max(1) as f64).ln() > MAX_CHANCE.ln()
    }

    fn single(&self) -> Option<LeakFinding> {
        if self.may_be_chance(self.sources.len()) {
            return None;
        }
        let answers = self.answers();
        let is_answer = |source: &&Source<'_>| {
            let mut pairs = source.cells.iter().zip(&answers);
            pairs.all(|(cell, answer)| same(cell.trim(), answer)) && !self.is_rewritten(source)
        };
        let source = self.sources.iter().find(is_answer)?;
        let what = format!(
            "{} is `{}` of all {} test items",
            source.name,
            self.label.name,
            answers.len()
        );
        Some(self.finding(source.channel, what, &source.cells))
    }

    /// Returns whether the task is to rewrite this column: some training answers are equal to their cells, and others
    /// are not.
    fn is_rewritten(&self, source: &Source<'_>) -> bool {
        let column = source
            .name
            .split('`')
            .nth(1)
            .filter(|_| source.channel == Channel::Column);
        let shares = column.and_then(|column| {
            let train = self.view.world.train_table(self.label)?;
            let (cells, answers) = (train.column(column)?, train.column(&self.label.name)?);
            let equal = cells
                .iter()
                .zip(answers.iter())
                .filter(|(cell, answer)| cell == answer);
            Some(equal.count() as f64 / cells.len().max(1) as f64)
        });
        shares.is_some_and(|share| (0.02..0.98).contains(&share))
    }

    /// Finds two columns whose cells result in the answers: as a text, or by adding or subtracting.
    fn pairs(&self) -> Option<LeakFinding> {
        let is_column =
            |source: &&Source<'_>| matches!(source.channel, Channel::Column | Channel::Field);
        let columns: Vec<&Source<'_>> = self
            .sources
            .iter()
            .filter(is_column)
            .take(MAX_COLUMNS)
            .collect();
        let (answers, count) = (self.answers(), columns.len() * columns.len());
        let are_distinctive = answers.iter().all(|answer| is_distinctive(answer));
        if !are_distinctive || self.may_be_chance(count * (SEPARATORS.len() + 2)) {
            return None;
        }
        for one in &columns {
            for other in columns.iter().filter(|other| !std::ptr::eq(**other, *one)) {
                if let Some(how) = combination(&one.cells, &other.cells, &answers) {
                    let what = format!(
                        "{} {how} {} is `{}` of all {} test items",
                        one.name,
                        other.name,
                        self.label.name,
                        answers.len()
                    );
                    return Some(self.finding(Channel::Column, what, &one.cells));
                }
            }
        }
        None
    }

    fn finding(&self, channel: Channel, what: String, cells: &[&str]) -> LeakFinding {
        let cells: Vec<Option<&str>> = cells.iter().copied().map(Some).collect();
        let examples = self.view.examples(self.label, &cells);
        LeakFinding::new(LeakLevel::Leak, channel.detector(), what).evidence(examples)
    }
}

/// Returns how the cells of two columns result in the answers.
fn combination(one: &[&str], other: &[&str], answers: &[&str]) -> Option<String> {
    let rows = || one.iter().zip(other).zip(answers);
    let numbers = |one: &str, other: &str, answer: &str| -> Option<[f64; 3]> {
        Some([
            one.trim().parse().ok()?,
            other.trim().parse().ok()?,
            answer.trim().parse().ok()?,
        ])
    };
    for (how, sign) in [("plus", 1.0), ("minus", -1.0)] {
        let mut is_result = rows().map(|((one, other), answer)| {
            let [one, other, answer] = numbers(one, other, answer)?;
            let rounding = f64::max(one.abs(), other.abs()) * ROUNDING_ERROR;
            let most = answer.abs() * MAX_ERROR;
            // The difference of two large numbers is not known well enough to be a small answer. A cell that is the answer
            // itself is found as a single value.
            let is_known = rounding <= most && other != 0.0;
            Some(is_known && (one + sign * other - answer).abs() <= most)
        });
        if is_result.all(|result| result == Some(true)) {
            return Some(how.to_owned());
        }
    }
    let separator = SEPARATORS.iter().find(|separator| {
        rows().all(|((one, other), answer)| {
            let rest = answer
                .strip_prefix(*one)
                .filter(|_| !one.is_empty() && !other.is_empty());
            rest.and_then(|rest| rest.strip_prefix(**separator)) == Some(*other)
        })
    });
    separator.map(|separator| match *separator {
        "" => "followed by".to_owned(),
        separator => format!("followed by `{separator}` and"),
    })
}

/// Returns whether an answer hardly occurs by chance.
fn is_distinctive(answer: &str) -> bool {
    match answer.trim().parse::<f64>() {
        Ok(_) => answer.chars().filter(char::is_ascii_digit).count() >= 4,
        Err(_) => answer.chars().count() >= 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_added_subtracted_and_joined() {
        for (one, other, answers, expected) in [
            (["5.25", "7"], ["1.0", "2"], ["6.25", "9"], Some("plus")),
            (["5.25", "7"], ["1.0", "2"], ["4.25", "5"], Some("minus")),
            (
                ["ab", "cd"],
                ["12", "34"],
                ["ab12", "cd34"],
                Some("followed by"),
            ),
            (
                ["ab", "cd"],
                ["12", "34"],
                ["ab-12", "cd-34"],
                Some("followed by `-` and"),
            ),
            (["ab", "cd"], ["12", "34"], ["ab-12", "cd34"], None),
            (["5.25", "7"], ["0", "0"], ["5.25", "7"], None),
            // Times in milliseconds
            (
                ["1598000000000", "1598000000500"],
                ["1597999999000", "1598000000100"],
                ["37.4219", "37.4223"],
                None,
            ),
        ] {
            assert_eq!(
                combination(&one, &other, &answers).as_deref(),
                expected,
                "{answers:?}"
            );
        }
    }
}
