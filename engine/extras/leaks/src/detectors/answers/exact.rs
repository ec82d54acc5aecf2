//! Finds fields and columns that contain the answer itself.
//!
//! An intended feature may predict well, so a good prediction is not evidence. Four properties are evidence: the cell
//! is spelled like the answer; it is the answer in a different unit (for many items, an exact linear function with the
//! same two coefficients); nearly every value has only one answer; or the values have the order of the answers.

use std::collections::HashSet;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use crate::facts::Channel;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::Targets;
use crate::number::{number, numbers_or_nan};
use crate::statistics::{
    Random, Tests, correlation, majority, purity, ranks, separation, tail_of_binomial,
};
use crate::view::View;
use crate::world::Label;

/// Minimum number of rows that must agree.
const MIN_ROWS: usize = 20;

/// Minimum number of groups that are entirely in the test part, for a finding about a code or an order.
const MIN_GROUPS: usize = 30;

/// Number of pairs of items through which lines are tried.
const LINES: usize = 300;

/// A cell and the answer of its item.
type Pair<'a> = (&'a str, &'a str);

pub(super) fn find(
    view: &View<'_>,
    (label, targets): (&Label, &Targets),
    tests: &mut Tests,
) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    // A property of few groups agrees with their answers by chance.
    let groups = targets.folds.number_of_groups();
    let has_groups = groups.is_none_or(|groups| groups >= MIN_GROUPS);
    for ((channel, name), values) in &view.facts.all {
        let is_value = matches!(
            channel,
            Channel::Column | Channel::Field | Channel::Aligned | Channel::Sample
        );
        if !is_value || values.len() < MIN_ROWS {
            continue;
        }
        let cells = view.cells(values);
        if !seen.insert(cells.clone()) {
            continue;
        }
        let pairs = cells.iter().enumerate();
        let pairs: Vec<Pair<'_>> = pairs
            .filter_map(|(place, cell)| Some(((*cell)?, view.answer(label, place))))
            .collect();
        let may_be_code = has_groups && targets.folds.recur(&cells);
        let relation = exact_relation(*channel, &pairs, label, may_be_code)
            .map(|(how, p)| (String::new(), how, p));
        let relation = relation.or_else(|| {
            decodings(&pairs).into_iter().find_map(|(form, decoded)| {
                let pairs = pairs.iter().zip(&decoded);
                let pairs: Vec<Pair<'_>> = pairs
                    .map(|((_, answer), cell)| (cell.as_str(), *answer))
                    .collect();
                let (how, p) = exact_relation(*channel, &pairs, label, false)?;
                Some((format!(", {form},"), how, p))
            })
        });
        let Some((form, how, p)) = relation else {
            continue;
        };
        let p = tests.record(p);
        let what = format!("{name}{form} {how} `{}`", label.name);
        let finding = LeakFinding::new(LeakLevel::Leak, channel.detector(), what)
            .evidence(view.examples(label, &cells));
        found.push(finding.p_value(p));
        if found.len() >= 3 {
            break;
        }
    }
    found
}

/// Finds a feature of additional files that separates the classes, for example pictures in the colour of their class,
/// or a file that is empty for one class.
pub(super) fn separating_feature(
    view: &View<'_>,
    (label, targets): (&Label, &Targets),
    tests: &mut Tests,
) -> Option<LeakFinding> {
    // If an item has only one file, the features of this file are intended.
    let files = (Channel::Name, "the number of files".to_owned());
    let files = view.facts.all.get(&files).map(|counts| view.cells(counts));
    let has_several = files.is_some_and(|files| {
        let several = files.iter().flatten().filter(|count| **count != "1");
        several.count() * 10 >= view.chosen.len() * 9
    });
    let groups = targets.folds.number_of_groups();
    let is_few = groups.is_some_and(|groups| groups < MIN_GROUPS);
    if !label.is_class() || majority(label.values.iter()) > 0.9 || !has_several || is_few {
        return None;
    }
    let all_facts = view.facts.all.iter();
    for ((_, name), values) in all_facts.filter(|((channel, _), _)| *channel == Channel::Look) {
        let cells = view.cells(values);
        let mut numbered: Vec<(f64, &str)> = numbers_or_nan(&cells)
            .into_iter()
            .enumerate()
            .map(|(place, number)| (number, view.answer(label, place)))
            .filter(|(number, _)| number.is_finite())
            .collect();
        // Equal numbers are sorted by class. If items of two classes have the same number, the feature does not
        // separate them.
        numbered.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)));
        let classes: HashSet<&str> = numbered.iter().map(|(_, answer)| *answer).collect();
        let classes = classes.len();
        let is_change = |two: &&[(f64, &str)]| matches!(two, [one, other] if one.1 != other.1);
        let changes = numbered.windows(2).filter(is_change).count();
        let mut equal = numbered.chunk_by(|one, other| one.0 == other.0);
        if numbered.len() * 10 < cells.len() * 9
            || classes < 2
            || changes + 1 > classes + numbered.len() / 100
            || equal.any(|equal| equal.windows(2).any(|two| is_change(&two)))
        {
            continue;
        }
        let p = tests.record(1e-9);
        let what = format!("{name} separates the items by `{}`", label.name);
        let finding = LeakFinding::new(LeakLevel::Risk, "answers-elsewhere", what)
            .evidence(view.examples(label, &cells));
        return Some(finding.p_value(p));
    }
    None
}

/// Returns how the cells determine the answers, and the probability of that by chance.
fn exact_relation(
    channel: Channel,
    pairs: &[Pair<'_>],
    label: &Label,
    may_be_code: bool,
) -> Option<(String, f64)> {
    let answers: Vec<&str> = pairs.iter().map(|(_, answer)| *answer).collect();
    let guess = majority(&answers);
    let cells: HashSet<&str> = pairs.iter().map(|(cell, _)| *cell).collect();
    if cells.len() < 2 || pairs.len() < MIN_ROWS {
        return None;
    }
    let equal = pairs.iter().filter(|(cell, answer)| same(cell, answer));
    let equal = equal.count();
    let share = equal as f64 / pairs.len() as f64;
    let is_word = answers.iter().all(|answer| answer.parse::<f64>().is_err());
    // Words that are spelled like the answers are probably copies of them.
    let least = if is_word && channel == Channel::Column {
        // In a translation task, some texts stay unchanged.
        0.9
    } else if is_word {
        (guess + 0.3).min(0.9)
    } else {
        0.97
    };
    if share >= least && guess < 0.95 {
        let p = tail_of_binomial(pairs.len(), equal, guess.max(0.05));
        return Some((format!("is, for {:.1} % of items,", 100.0 * share), p));
    }
    if label.is_class() {
        let classes = answers.iter().collect::<HashSet<_>>().len();
        if may_be_code && is_code(cells.len(), &answers, share) && guess < 0.95 {
            let right = purity(pairs.iter().copied());
            // A file without ids that contains as many codes as there are classes was probably made from the answers.
            let is_made = channel == Channel::Aligned && cells.len() == classes;
            if right >= 0.99 || is_made && right >= (guess + 0.3).min(0.9) {
                let hits = (right * pairs.len() as f64) as usize;
                let p = tail_of_binomial(pairs.len(), hits, guess);
                let how = format!("determines, for {:.1} % of items,", 100.0 * right);
                return Some((how, p));
            }
        }
        if !may_be_code {
            return None;
        }
        let area = separation(&finite(pairs)?, &answers, classes)?;
        return Some((format!("separates (area under the curve {area:.4})"), 1e-9));
    }
    let numbers = finite(pairs)?;
    let parse = |answer: &&str| answer.trim().parse().unwrap_or(f64::NAN);
    let truth: Vec<f64> = answers.iter().map(parse).collect();
    if truth.iter().any(|one| !one.is_finite()) {
        return None;
    }
    if let Some(share) =
        on_a_line(&numbers, &truth).filter(|_| channel != Channel::Sample || share > 0.05)
    {
        let share = 100.0 * share;
        let how = format!("is, for {share:.0} % of items and perhaps in a different unit,");
        return Some((how, 1e-9));
    }
    let agreement = correlation(&ranks(&numbers), &ranks(&truth)).abs();
    (agreement >= 0.999).then(|| (format!("follows (rank correlation {agreement:.4})"), 1e-9))
}

/// Returns whether this number of different cells may be a code of the answers. `equal` is the fraction of cells that
/// are the answer.
pub(super) fn is_code(different: usize, answers: &[&str], equal: f64) -> bool {
    // Many values with one answer each are groups, and different groups in the test part are legitimate.
    if different * 4 > answers.len() {
        return false;
    }
    let classes = answers.iter().collect::<HashSet<_>>().len();
    let is_word = answers.iter().all(|answer| answer.parse::<f64>().is_err());
    // If some cells are the answer, the task is to rewrite texts, and equal texts have equal answers.
    let is_input = is_word && (0.1..0.9).contains(&equal);
    different <= 20.max(5 * classes) && !is_input
}

/// Decodes a text. `None` if it does not have this encoding.
type Conversion = fn(&str) -> Option<String>;

/// Returns the decoded cells for each encoding in which all cells can be decoded.
fn decodings(pairs: &[Pair<'_>]) -> Vec<(&'static str, Vec<String>)> {
    let forms: [(&str, Conversion); 3] = [
        ("decoded from base64", |cell| decoded(&base64(cell)?)),
        ("decoded from hexadecimal digits", |cell| {
            decoded(&hexadecimal(cell)?)
        }),
        ("reversed", |cell| Some(cell.chars().rev().collect())),
    ];
    let decoded = |(name, decode): (&'static str, Conversion)| {
        let cells = pairs.iter().map(|(cell, _)| decode(cell.trim()));
        Some((name, cells.collect::<Option<Vec<String>>>()?))
    };
    forms.into_iter().filter_map(decoded).collect()
}

/// Converts decoded bytes to a printable text.
fn decoded(bytes: &[u8]) -> Option<String> {
    let is_printable = bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    (is_printable && !bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Decodes base64 even if the unused bits of the last digit are set.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn base64(cell: &str) -> Option<Vec<u8>> {
    // The variant for URLs has two other digits.
    BASE64.decode(cell.replace('-', "+").replace('_', "/")).ok()
}

fn hexadecimal(cell: &str) -> Option<Vec<u8>> {
    if !cell.is_ascii() || !cell.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..cell.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(cell.get(at..at + 2)?, 16).ok())
        .collect()
}

fn finite(pairs: &[Pair<'_>]) -> Option<Vec<f64>> {
    pairs.iter().map(|(cell, _)| number(cell)).collect()
}

pub(super) fn same(word: &str, value: &str) -> bool {
    match (word == value, word.parse::<f64>(), value.parse::<f64>()) {
        (true, ..) => true,
        (_, Ok(word), Ok(value)) => word == value,
        _ => word.eq_ignore_ascii_case(value),
    }
}

/// Returns the fraction of items that are exactly on one line. `None` if they are few or have few different answers.
fn on_a_line(numbers: &[f64], truth: &[f64]) -> Option<f64> {
    let different: HashSet<u64> = truth.iter().map(|one| one.to_bits()).collect();
    if different.len() < MIN_ROWS * 2 {
        return None;
    }
    let mut sorted = truth.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * (sorted.len() - 1) as f64) as usize;
        sorted.get(place).copied().unwrap_or(0.0)
    };
    let spread = at(0.9) - at(0.1);
    let mut random = Random::new(0x11e5);
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
    let share = best / different.len() as f64;
    (best >= MIN_ROWS as f64 && share >= 0.05).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_cells_are_decoded() {
        assert_eq!(base64("NTAuMjQ=").as_deref(), Some(b"50.24".as_slice()));
        assert_eq!(base64("a b="), None);
        assert_eq!(hexadecimal("35302e").as_deref(), Some(b"50.".as_slice()));
        let pairs = [("NTA=", "50"), ("x", "51")];
        let forms: Vec<&str> = decodings(&pairs).iter().map(|(form, _)| *form).collect();
        assert_eq!(forms, ["reversed"]);
    }

    #[test]
    fn a_line_through_some_of_the_items_is_found() {
        let truth: Vec<f64> = (0..200).map(|n| f64::from(n * 37 % 200) + 0.123).collect();
        let some: Vec<f64> = truth
            .iter()
            .enumerate()
            .map(|(n, y)| {
                if n % 3 == 0 {
                    3.2 * y - 11.0
                } else {
                    (n * 77 % 191) as f64
                }
            })
            .collect();
        let share = on_a_line(&some, &truth).unwrap();
        assert!((0.3..0.4).contains(&share), "{share}");
        let noisy: Vec<f64> = truth
            .iter()
            .enumerate()
            .map(|(n, y)| y + (n * 77 % 191) as f64 * 0.01)
            .collect();
        assert_eq!(on_a_line(&noisy, &truth), None);
    }
}
