//! Finds public values that contain the answers: columns, fields, lists, the sample submission, paths of items' files, and
//! pairs of columns from which the answers can be computed.
//!
//! An intended feature may predict well, so a good prediction is not evidence. Three properties are evidence:
//!
//! - The cell is spelled like the answer.
//! - The cell is the answer in a different unit: for many items, the answer is an exact linear function of the cell, with
//!   the same two coefficients.
//! - Nearly every value of the column has only one answer.
//!
//! If a value equals the answer of every single item, no statistics over many items are needed. The probability of such
//! an agreement by chance is the product of the answers' frequencies. Long numbers and long texts are rare, so a few of
//! them suffice.

use std::collections::{BTreeSet, HashSet};

use prep_failure::units;

use crate::MIN_ITEMS;
use crate::facts::Channel;
use crate::facts::documents::elements;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::Targets;
use crate::statistics::{SplitMix, Tests, counts, majority, purity, tail_of_binomial};
use crate::text::number;
use crate::view::{View, column_of};
use crate::world::AnswerColumn;

/// A fact with values for fewer rows than this is not examined.
const MIN_ROWS: usize = 20;

/// If fewer groups than this are entirely in the test part, the values of a column are not examined as codes for answers,
/// because any property of a few groups may determine their answers by chance.
const MIN_GROUPS: usize = 30;

/// Number of random pairs of items. For each pair, the linear function is tried that maps the two cells to the two answers.
const LINES: usize = 300;

/// A cell and the answer of its item.
type CellAndAnswer<'a> = (&'a str, &'a str);

pub(super) fn find(
    view: &View<'_>,
    (label, targets): (&AnswerColumn, &Targets),
    tests: &mut Tests,
) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let groups = targets.folds.number_of_groups();
    let has_groups = groups.is_none_or(|groups| groups >= MIN_GROUPS);
    for ((channel, name), values) in &view.facts.all {
        // A class in a path, an id or a code is a leak, even if the intended features also predict the answers.
        if !channel.is_part(name) && !is_value(*channel) || values.len() < MIN_ROWS {
            continue;
        }
        let cells = view.cells(values);
        if !seen.insert(cells.clone()) {
            continue;
        }
        let pairs = cells.iter().zip(label.values.iter());
        let pairs = pairs.filter_map(|(cell, answer)| Some(((*cell)?, answer)));
        let pairs: Vec<CellAndAnswer<'_>> = pairs.collect();
        let may_be_code = has_groups && targets.folds.recur(&cells);
        let Some((how, p)) = exact_relation(*channel, &pairs, label, may_be_code) else {
            continue;
        };
        let p = tests.record(p);
        let what = format!("{name} {how} `{}`", label.name);
        let finding = LeakFinding::new(LeakLevel::Leak, channel.detector(), what)
            .about(*channel, name, &label.name)
            .evidence(view.examples(label, &cells));
        found.push(finding.p_value(p));
        if found.len() >= 3 {
            break;
        }
    }
    found
}

/// Returns how the cells determine the answers, and the probability that they do so by chance. If `may_be_code` is true,
/// the cells may be codes, each of which stands for one answer. Otherwise they must be the answers themselves.
fn exact_relation(
    channel: Channel,
    pairs: &[CellAndAnswer<'_>],
    label: &AnswerColumn,
    may_be_code: bool,
) -> Option<(String, f64)> {
    let answers: Vec<&str> = pairs.iter().map(|(_, answer)| *answer).collect();
    let majority_fraction = majority(&answers);
    let cells: HashSet<&str> = pairs.iter().map(|(cell, _)| *cell).collect();
    if cells.len() < 2 || pairs.len() < MIN_ROWS {
        return None;
    }
    let equal = pairs.iter().filter(|(cell, answer)| same(cell, answer));
    let equal = equal.count();
    let fraction = equal as f64 / pairs.len() as f64;
    let is_word = answers.iter().all(|answer| answer.parse::<f64>().is_err());
    // The fraction of cells that must be spelled like the answer. Words that are spelled like the answers are probably
    // copies of the answers, so fewer of them suffice.
    let min_fraction = if is_word && channel == Channel::Column {
        // In a translation task, some texts stay unchanged, so a large fraction is required.
        0.9
    } else if is_word {
        (majority_fraction + 0.3).min(0.9)
    } else {
        0.97
    };
    if fraction >= min_fraction && majority_fraction < 0.95 {
        let p = tail_of_binomial(pairs.len(), equal, majority_fraction.max(0.05));
        return Some((format!("is, for {:.1} % of items,", 100.0 * fraction), p));
    }
    if label.is_class() {
        let classes = answers.iter().collect::<HashSet<_>>().len();
        if may_be_code && is_code(cells.len(), &answers, fraction) && majority_fraction < 0.95 {
            let right = purity(pairs.iter().copied());
            // A fact of `Channel::Aligned` is from a file without ids whose lines are in the order of the items. If the
            // file contains as many different values as there are classes, it was probably made from the answers.
            let is_made = channel == Channel::Aligned && cells.len() == classes;
            if right >= 0.99 || is_made && right >= (majority_fraction + 0.3).min(0.9) {
                let hits = (right * pairs.len() as f64) as usize;
                let p = tail_of_binomial(pairs.len(), hits, majority_fraction);
                let counted = units::count(cells.len() as u64, "different value");
                let how = format!(
                    "({counted}) determines, for {:.1} % of items,",
                    100.0 * right
                );
                return Some((how, p));
            }
        }
        return None;
    }
    let numbers = pairs.iter().map(|(cell, _)| number(cell));
    let numbers = numbers.collect::<Option<Vec<f64>>>()?;
    let parse = |answer: &&str| answer.trim().parse().unwrap_or(f64::NAN);
    let truth: Vec<f64> = answers.iter().map(parse).collect();
    if truth.iter().any(|one| !one.is_finite()) {
        return None;
    }
    let fraction = fraction_on_a_line(&numbers, &truth);
    let fraction = fraction.filter(|_| channel != Channel::Sample || equal * 20 > pairs.len())?;
    let how = format!(
        "is, for {:.0} % of the different answers, a linear function of",
        100.0 * fraction
    );
    // The p-value is not computed, because an exact linear function hardly occurs by chance.
    Some((how, 1e-9))
}

/// Returns whether the cells of a column may be codes, each of which stands for one answer. `different` is the number of
/// different cells. `equal` is the fraction of cells that are spelled like the answer.
pub(super) fn is_code(different: usize, answers: &[&str], equal: f64) -> bool {
    // If there are many different values, and each has one answer, they identify groups such as patients. The test part may
    // have other groups, so the values reveal nothing.
    if different * 4 > answers.len() {
        return false;
    }
    let classes = answers.iter().collect::<HashSet<_>>().len();
    let is_word = answers.iter().all(|answer| answer.parse::<f64>().is_err());
    // If some cells equal the answer and others do not, the task is to rewrite the cells, for example to normalize texts. Then
    // equal cells have equal answers, although they are not codes.
    let is_input = is_word && (0.1..0.9).contains(&equal);
    different <= 20.max(5 * classes) && !is_input
}

pub(super) fn same(word: &str, value: &str) -> bool {
    match (word == value, word.parse::<f64>(), value.parse::<f64>()) {
        (true, ..) => true,
        (_, Ok(word), Ok(value)) => word == value,
        _ => word.eq_ignore_ascii_case(value),
    }
}

/// Searches for a linear function that maps the cells (`numbers`) to the answers (`truth`). Returns the fraction of
/// different answers that the best function computes correctly. Returns `None` if this fraction is small, or if there are only a
/// few different answers.
fn fraction_on_a_line(numbers: &[f64], truth: &[f64]) -> Option<f64> {
    let different: HashSet<u64> = truth.iter().map(|one| one.to_bits()).collect();
    if different.len() < MIN_ROWS * 2 {
        return None;
    }
    let mut sorted = truth.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |fraction: f64| {
        let place = (fraction * (sorted.len() - 1) as f64) as usize;
        sorted.get(place).copied().unwrap_or(0.0)
    };
    let spread = at(0.9) - at(0.1);
    let mut random = SplitMix::new(0x11e5);
    let mut best = 0.0_f64;
    for _ in 0..LINES {
        let (one, other) = (random.below(truth.len()), random.below(truth.len()));
        let pick = |at: usize| Some((*numbers.get(at)?, *truth.get(at)?));
        let ((x0, y0), (x1, y1)) = (pick(one)?, pick(other)?);
        if (x1 - x0).abs() < 1e-12 || (y1 - y0).abs() < 0.05 * spread {
            continue;
        }
        let slope = (y1 - y0) / (x1 - x0);
        let hits: HashSet<u64> = numbers
            .iter()
            .zip(truth)
            .filter(|(x, y)| (y0 + slope * (**x - x0) - **y).abs() <= 3e-5 * spread)
            .map(|(_, y)| y.to_bits())
            .collect();
        best = best.max(hits.len() as f64);
    }
    let fraction = best / different.len() as f64;
    (best >= MIN_ROWS as f64 && fraction >= 0.05).then_some(fraction)
}

/// Agreements are reported only if the probability that any of the compared values agrees with all answers by chance is
/// at most this number.
const MAX_CHANCE: f64 = 1e-4;

/// A number with at least this number of digits hardly occurs by chance.
const MIN_DIGITS: usize = 4;

/// Assumed probability that a particular answer occurs by chance. It applies to numbers with at least [`MIN_DIGITS`]
/// digits, and to texts with at least six characters.
const DISTINCTIVE_CHANCE: f64 = 1e-4;

/// Only the first columns, up to this number, are compared in pairs.
const MAX_COLUMNS: usize = 30;

/// Texts that may be between the cells of two columns if the answer consists of both cells.
const SEPARATORS: [&str; 6] = ["", "-", "_", " ", "/", ", "];

/// A computed answer may differ from the answer by this fraction of the answer. If the answer has few decimals, it may
/// differ by the answer's rounding error, up to [`MAX_ROUNDED_ERROR`].
const MAX_ERROR: f64 = 1e-6;
/// Even if the answer has few decimals, a computed answer may differ from it only by this fraction of the answer.
const MAX_ROUNDED_ERROR: f64 = 1e-4;

/// A sum or difference of two doubles has at most this error, as a fraction of the larger double.
const ROUNDING_ERROR: f64 = 4.0 * f64::EPSILON;

/// Returns whether facts of this channel are values that may be the answers.
fn is_value(channel: Channel) -> bool {
    channel.is_intended() && channel != Channel::Look || channel == Channel::Sample
}

/// A fact with a public value for each chosen item.
struct PublicValue<'a> {
    channel: Channel,
    name: &'a str,
    cells: Vec<&'a str>,
}

impl PublicValue<'_> {
    /// Returns whether the value is in a column, or in a member of an object, with this name.
    fn is_named(&self, name: &str) -> bool {
        let path = self.name.split('`').nth(1).unwrap_or_default();
        let inner = path.strip_suffix(name).filter(|_| !name.is_empty());
        inner.is_some_and(|before| before.is_empty() || before.ends_with(['.', '_']))
    }
}

/// Answers that are lists are not compared with public lists if they contain more different elements than this.
const MAX_ELEMENTS: usize = 100;

/// Returns whether a cell is true. `None` if it is neither true nor false.
fn flag(cell: &str) -> Option<bool> {
    match cell.trim().to_ascii_lowercase().as_str() {
        "1" | "1.0" | "true" => Some(true),
        "0" | "0.0" | "false" => Some(false),
        _ => None,
    }
}

fn is_element(cell: &str, wanted: &str) -> bool {
    elements(cell).contains(wanted)
}

/// Returns whether a cell contains a text that is not a part of a longer word.
fn is_word(cell: &str, wanted: &str) -> bool {
    let mut found = cell.match_indices(wanted);
    found.any(|(start, text)| {
        let (before, after) = (cell.get(..start), cell.get(start + text.len()..));
        !before.is_some_and(|before| before.ends_with(char::is_alphanumeric))
            && !after.is_some_and(|after| after.starts_with(char::is_alphanumeric))
    })
}

pub(super) fn find_verbatim(view: &View<'_>) -> Vec<LeakFinding> {
    let facts = view.facts.all.iter();
    let facts = facts.filter(|((channel, name), _)| is_value(*channel) || channel.is_part(name));
    let sources = facts.filter_map(|((channel, name), values)| {
        let cells: Option<Vec<&str>> = view.cells(values).into_iter().collect();
        Some(PublicValue {
            channel: *channel,
            name,
            cells: cells?,
        })
    });
    let sources: Vec<PublicValue<'_>> = sources.collect();
    let mut found = Vec::new();
    for label in &view.world.labels {
        let label = label.of_items(&view.world.chosen);
        let search = VerbatimSearch {
            view,
            label: &label,
            answers: label.values.iter().collect(),
            sources: &sources,
        };
        // If another detector examines this label, it already finds single values that are the answers, so they are not
        // searched here. No other detector examines free texts or a small number of items.
        let mut examined = view.targets().filter(|_| view.world.scored >= MIN_ITEMS);
        let is_examined = examined.any(|(one, _)| one.name == label.name);
        let single = (!is_examined).then(|| search.single()).flatten();
        let single = single.or_else(|| search.listed());
        found.extend(single.or_else(|| search.pairs()));
    }
    found
}

/// The search for a public value that equals the answer of every test item.
struct VerbatimSearch<'a> {
    view: &'a View<'a>,
    label: &'a AnswerColumn,
    answers: Vec<&'a str>,
    sources: &'a [PublicValue<'a>],
}

impl VerbatimSearch<'_> {
    /// Returns whether one of `count` compared values may agree with the answers of all items by chance.
    fn may_be_chance(&self, count: usize, answers: &[&str]) -> bool {
        let frequencies = counts(answers.iter().copied());
        let log = |answer: &&str| {
            let fraction =
                frequencies.get(answer).copied().unwrap_or(1) as f64 / answers.len() as f64;
            match is_distinctive(answer, MIN_DIGITS) {
                true => fraction.min(DISTINCTIVE_CHANCE).ln(),
                false => fraction.ln(),
            }
        };
        let chance: f64 = answers.iter().map(log).sum();
        answers.len() < 3 || chance + (count.max(1) as f64).ln() > MAX_CHANCE.ln()
    }

    /// Finds a public value that equals the answer of each test item.
    fn single(&self) -> Option<LeakFinding> {
        if self.may_be_chance(self.sources.len(), &self.answers) {
            return None;
        }
        let is_answer = |source: &&PublicValue<'_>| {
            let mut pairs = source.cells.iter().zip(&self.answers);
            pairs.all(|(cell, answer)| same(cell.trim(), answer)) && !self.is_rewritten(source)
        };
        let source = self.sources.iter().find(is_answer)?;
        let what = format!(
            "{} equals `{}` for all {} test items",
            source.name,
            self.label.name,
            self.answers.len()
        );
        Some(self.finding(source.channel, what, &source.cells))
    }

    /// Returns whether the task is to rewrite the column `source`. In this case, some training answers equal the cell of
    /// this column, and others do not.
    fn is_rewritten(&self, source: &PublicValue<'_>) -> bool {
        let column = column_of(source.channel, source.name);
        let equal_fraction = column.and_then(|column| {
            let train = self.view.world.train_table(self.label)?;
            let (cells, answers) = (train.column(column)?, train.column(&self.label.name)?);
            let pairs = cells.iter().zip(answers.iter());
            let equal = pairs.filter(|(cell, answer)| cell == answer);
            Some(equal.count() as f64 / cells.len().max(1) as f64)
        });
        equal_fraction.is_some_and(|fraction| (0.02..0.98).contains(&fraction))
    }

    /// Finds public values that show all answers, where the answers, the public values or both are lists:
    ///
    /// - Answers are 1 or 0, and the list in a cell contains the name of the answer column only if the answer is 1. The list
    ///   may have any separators.
    /// - Answers are lists, and for each element there is a column of ones and zeros.
    /// - Answers are lists, and a column contains the same lists.
    fn listed(&self) -> Option<LeakFinding> {
        let label = self.label.name.to_lowercase();
        if self.may_be_chance(self.sources.len(), &self.answers) {
            return None;
        }
        let of_answers: Vec<_> = self.answers.iter().copied().map(elements).collect();
        let all: BTreeSet<&String> = of_answers.iter().flatten().collect();
        let mut sources = self.sources.iter();
        let mut answers = self.answers.iter();
        let first = answers.position(|answer| flag(answer) == Some(true));
        let source = if all.iter().all(|one| flag(one).is_some()) {
            sources.find(|source| {
                [is_element, is_word].iter().any(|is_listed| {
                    let has_label = |cell: &&str| is_listed(&cell.to_lowercase(), &label);
                    // First compare one item whose answer is 1, because most sources already differ there.
                    source.cells.get(first.unwrap_or(0)).is_some_and(has_label) && {
                        let mut cells = source.cells.iter().map(has_label).zip(&self.answers);
                        cells.all(|(is_listed, answer)| flag(answer) == Some(is_listed))
                    }
                })
            })
        } else if all.len() > MAX_ELEMENTS {
            None
        } else if all
            .iter()
            .all(|element| self.flags(element, &of_answers).is_some())
        {
            self.flags(all.first()?, &of_answers)
        } else {
            // Other searches compare answers that are single words.
            sources.find(|source| {
                let mut cells = source.cells.iter().zip(&of_answers);
                let is_same = |cell: &str, answer: &BTreeSet<String>| {
                    let mut all = all.iter();
                    all.all(|one| is_word(cell, one) == answer.contains(*one))
                };
                all.len() > 1
                    && of_answers.iter().any(|answer| answer.len() > 1)
                    && cells
                        .all(|(cell, answer)| elements(cell) == *answer || is_same(cell, answer))
            })
        }?;
        let what = format!(
            "{} shows `{}` of all {} test items",
            source.name,
            self.label.name,
            self.answers.len()
        );
        Some(self.finding(source.channel, what, &source.cells))
    }

    /// Returns the source that shows for each item whether the item's list contains `element`.
    fn flags(&self, element: &str, lists: &[BTreeSet<String>]) -> Option<&PublicValue<'_>> {
        self.sources.iter().find(|source| {
            let mut cells = source.cells.iter().zip(lists);
            source.is_named(element)
                && cells.all(|(cell, list)| flag(cell) == Some(list.contains(element)))
        })
    }

    /// Finds two columns whose cells together give the answers, by an arithmetic operation or by joining the two strings.
    fn pairs(&self) -> Option<LeakFinding> {
        let is_column =
            |source: &&PublicValue<'_>| matches!(source.channel, Channel::Column | Channel::Field);
        let columns = self.sources.iter().filter(is_column);
        let columns: Vec<&PublicValue<'_>> = columns.take(MAX_COLUMNS).collect();
        let answers = &self.answers;
        let count = columns.len() * columns.len() * (SEPARATORS.len() + 2);
        if self.may_be_chance(count, answers) {
            return None;
        }
        for one in &columns {
            for other in columns.iter().filter(|other| !std::ptr::eq(**other, *one)) {
                if let Some(how) = combination(&one.cells, &other.cells, answers) {
                    // Items with the same two cells, for example of the same group, are counted once: if one of them agrees
                    // by chance, all of them do.
                    let mut seen = HashSet::new();
                    let cells = one.cells.iter().zip(&other.cells).zip(answers);
                    let different = cells.filter(|(cells, _)| seen.insert(*cells));
                    let different: Vec<&str> = different.map(|(_, answer)| *answer).collect();
                    if self.may_be_chance(count, &different) {
                        continue;
                    }
                    let what = format!(
                        "{} {how} {} equals `{}` for all {} test items",
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

/// An operation: its name, its function, and its right neutral element.
type Operation = (&'static str, fn(f64, f64) -> f64, f64);

const OPERATIONS: [Operation; 4] = [
    ("plus", |one, other| one + other, 0.0),
    ("minus", |one, other| one - other, 0.0),
    ("times", |one, other| one * other, 1.0),
    ("divided by", |one, other| one / other, 1.0),
];

/// Returns how the answers of all rows result from the cells of two columns.
fn combination(one: &[&str], other: &[&str], answers: &[&str]) -> Option<String> {
    let rows = || one.iter().zip(other).zip(answers);
    let parse = |text: &str| text.trim().parse::<f64>().ok();
    let numbers = rows().map(|((one, other), answer)| {
        let error = rounding_error(answer);
        Some((parse(one)?, parse(other)?, parse(answer)?, error))
    });
    let numbers: Option<Vec<(f64, f64, f64, f64)>> = numbers.collect();
    for (how, result, neutral) in OPERATIONS {
        let is_result = |(one, other, answer, error): &(f64, f64, f64, f64)| {
            let rounding = f64::max(one.abs(), other.abs()) * ROUNDING_ERROR;
            // If the rounding error of two large cells exceeds the tolerance `most`, these cells prove nothing about a
            // small answer.
            let most = error
                .max(answer.abs() * MAX_ERROR)
                .min(answer.abs() * MAX_ROUNDED_ERROR);
            let most = if *answer == 0.0 { rounding } else { most };
            rounding <= most && (result(*one, *other) - answer).abs() <= most
        };
        // If the second cell is neutral, the first cell is the answer itself. `single` already finds such cells.
        let is_found = numbers.as_ref().is_some_and(|rows| {
            let trivial = rows.iter().filter(|(_, other, ..)| *other == neutral);
            2 * trivial.count() <= rows.len() && rows.iter().all(is_result)
        });
        if is_found {
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

/// Returns the maximum error of a number that is rounded to its last decimal: half a unit of this decimal and a tolerance.
fn rounding_error(number: &str) -> f64 {
    let parts = number.trim().split_once('.');
    let decimals = parts.map_or(0, |(_, tail)| tail.len());
    0.6 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0))
}

/// Returns whether an answer hardly occurs by chance: a long text, or a number with this number of digits.
pub(super) fn is_distinctive(answer: &str, min_digits: usize) -> bool {
    match answer.trim().parse::<f64>() {
        Ok(_) => answer.chars().filter(char::is_ascii_digit).count() >= min_digits,
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
            (
                ["6.0", "7.5"],
                ["0.3333", "2.0"],
                ["1.9998", "15"],
                Some("times"),
            ),
            (
                ["70.1", "55.2"],
                ["1.71", "1.66"],
                ["40.9942", "33.2530"],
                Some("divided by"),
            ),
            // Large cells, here times in milliseconds, prove nothing about small answers.
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
