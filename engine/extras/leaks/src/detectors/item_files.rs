//! `answers-elsewhere`: finds the answers of an item in files whose names or directories contain the item's id.
//!
//! As a control, these files are also searched for the answers of a different item. Common words and frequent numbers are
//! not reported, because they are found equally often for both items.

use std::collections::BTreeMap;

use super::exact::is_distinctive;
use crate::facts::lines::words;
use crate::finding::{LeakFinding, LeakLevel};
use crate::text::pattern;
use crate::world::{AnswerColumn, World};

const NAME: &str = "answers-elsewhere";

/// Numbers with fewer digits are not searched, because they often occur in a text by chance.
const MIN_DIGITS: usize = 6;

/// At most this number of items' files is examined for each kind of file, on average over all kinds.
const MAX_FILES: usize = 200;
/// In each file, at most this number of the item's answers is searched.
const MAX_ANSWERS: usize = 100;

pub(crate) fn find(world: &World) -> Vec<LeakFinding> {
    let labels = world.labels.iter();
    labels
        .filter_map(|label| in_files_of_items(world, label))
        .collect()
}

fn in_files_of_items<'a>(world: &World, label: &'a AnswerColumn) -> Option<LeakFinding> {
    let mut by_item: BTreeMap<usize, Vec<&'a str>> = BTreeMap::new();
    for (item, value) in &label.rows {
        if is_distinctive(value, MIN_DIGITS) {
            by_item.entry(*item).or_default().push(value);
        }
    }
    let mut kinds: BTreeMap<String, AnswersInFiles> = BTreeMap::new();
    let mut examined = 0;
    for (path, text) in &world.public.texts {
        let item = world.item_of_path(path);
        let Some((item, own)) = item.and_then(|item| Some((item, by_item.get(&item)?))) else {
            continue;
        };
        examined += 1;
        if examined > MAX_FILES * kinds.len().max(1) {
            break;
        }
        let next = by_item.range(item + 1..).next();
        let other = next.or_else(|| by_item.iter().next());
        let other = other.filter(|(other, _)| **other != item);
        let haystack = Haystack::new(text);
        let found = |values: &[&'a str]| -> Vec<&'a str> {
            let searched = values.iter().copied().take(MAX_ANSWERS);
            searched.filter(|value| haystack.contains(value)).collect()
        };
        let kind = kinds.entry(pattern(path)).or_default();
        let found_own = found(own);
        kind.own[0] += found_own.len();
        kind.own[1] += own.len().min(MAX_ANSWERS);
        if let Some((_, values)) = other {
            kind.others[0] += found(values).len();
            kind.others[1] += values.len().min(MAX_ANSWERS);
        }
        let example = found_own.first().map(|value| format!("{path}: {value}"));
        kind.examples.extend(example);
    }
    kinds.into_iter().find_map(|(kind, answers)| {
        let [fraction, chance] = [answers.own, answers.others]
            .map(|[found, searched]| found as f64 / searched.max(1) as f64);
        let is_found = answers.own[0] >= MIN_FOUND && fraction >= 0.5 && fraction >= 3.0 * chance;
        let what = format!(
            "files `{kind}` of test items contain {:.0} % of these items' answers in `{}`, but only {:.0} % of the answers of other items",
            100.0 * fraction,
            label.name,
            100.0 * chance
        );
        let finding = LeakFinding::new(LeakLevel::Leak, NAME, what);
        is_found.then(|| finding.evidence(answers.examples))
    })
}

/// If fewer answers than this are found in files of the same kind, there is no finding.
const MIN_FOUND: usize = 20;

/// The answers that were searched for in files of the same kind.
#[derive(Default)]
struct AnswersInFiles {
    /// Searches for the answers of the item to which a file belongs: the number of answers that were found, and the number
    /// of answers that were searched for.
    own: [usize; 2],
    /// Searches for the answers of a different item: the same two numbers.
    others: [usize; 2],
    examples: Vec<String>,
}

struct Haystack<'a> {
    text: &'a str,
    /// The absolute values of the text's numbers in all units, for example in degrees and minutes, sorted.
    numbers: Vec<f64>,
}

impl<'a> Haystack<'a> {
    fn new(text: &'a str) -> Haystack<'a> {
        let mut numbers: Vec<f64> = words(text)
            .filter_map(|word| word.parse::<f64>().ok())
            .filter(|number| number.is_finite())
            .flat_map(|number| {
                let degrees = (number / 100.0).trunc();
                let minutes = degrees + (number - 100.0 * degrees) / 60.0;
                let scaled = [1.0, 1e-3, 1e-6, 1e-7, 1e3].map(|factor| factor * number);
                scaled.into_iter().chain([minutes])
            })
            .map(f64::abs)
            .collect();
        numbers.sort_by(f64::total_cmp);
        Haystack { text, numbers }
    }

    fn contains(&self, value: &str) -> bool {
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                let number = number.abs();
                let reach = number * 2e-8;
                let from = self.numbers.partition_point(|one| *one < number - reach);
                let near = self.numbers.get(from);
                near.is_some_and(|one| *one <= number + reach)
            }
            _ => self.text.contains(value),
        }
    }
}
