//! `answers-elsewhere`: finds answers in files that belong to items by their names or directories, including numbers in a
//! different unit (degrees and minutes, powers of ten).
//!
//! The number of hits is compared with the number of hits of other items' answers. So common words, and numbers that
//! occur everywhere, are not reported.

use std::collections::BTreeMap;

use crate::facts::lines::words;
use crate::finding::{LeakFinding, LeakLevel};
use crate::text::pattern;
use crate::world::{AnswerColumn, World};

const NAME: &str = "answers-elsewhere";

/// Maximum number of items' files of each kind that are searched.
const MAX_FILES: usize = 200;
/// Maximum number of answers that are searched for in a file.
const MAX_ANSWERS: usize = 100;

pub(crate) fn find(world: &World) -> Vec<LeakFinding> {
    let labels = world.labels.iter();
    labels
        .filter_map(|label| in_files_of_items(world, label))
        .collect()
}

/// Searches an item's files for its answers and, for comparison, for the answers of a different item.
fn in_files_of_items(world: &World, label: &AnswerColumn) -> Option<LeakFinding> {
    let mut by_item: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (item, value) in &label.rows {
        if is_distinctive(value) {
            by_item.entry(*item).or_default().push(value);
        }
    }
    // By kind of file: the number of answers that were found and searched for, of the item itself and of different
    // items.
    let mut kinds: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut examples: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut examined = 0;
    for (path, text) in &world.public.texts {
        let Some(item) = world.item_of_path(path) else {
            continue;
        };
        let Some(own) = by_item.get(&item) else {
            continue;
        };
        examined += 1;
        if examined > MAX_FILES * kinds.len().max(1) {
            break;
        }
        let next = by_item.range(item + 1..).next();
        let others = next.or_else(|| by_item.iter().next());
        let others = others.filter(|(other, _)| **other != item);
        let others: &[&str] = others.map_or(&[], |(_, values)| values.as_slice());
        let haystack = Haystack::new(text);
        let count = |values: &[&str]| {
            let searched = values.iter().take(MAX_ANSWERS);
            let found = searched.clone().filter(|value| haystack.contains(value));
            (found.count(), searched.count())
        };
        let ((found, searched), (found_other, searched_other)) = (count(own), count(others));
        let kind = pattern(path);
        let sums = kinds.entry(kind.clone()).or_default().iter_mut();
        for (sum, one) in sums.zip([found, searched, found_other, searched_other]) {
            *sum += one;
        }
        if let Some(value) = own.iter().find(|value| haystack.contains(value)) {
            let examples = examples.entry(kind).or_default();
            examples.push(format!("{path}: {value}"));
        }
    }
    for (kind, [found, searched, found_other, searched_other]) in kinds {
        let share = found as f64 / searched.max(1) as f64;
        let chance = found_other as f64 / searched_other.max(1) as f64;
        if found >= 20 && share >= 0.5 && share >= 3.0 * chance {
            let what = format!(
                "files `{kind}` of test items contain {:.0} % of their answers in `{}` (answers of different items: {:.0} %)",
                100.0 * share,
                label.name,
                100.0 * chance
            );
            let examples = examples.remove(&kind).unwrap_or_default();
            return Some(LeakFinding::new(LeakLevel::Leak, NAME, what).evidence(examples));
        }
    }
    None
}

/// Returns whether an answer hardly occurs by chance: a long word, or a number with many digits.
fn is_distinctive(value: &str) -> bool {
    match value.parse::<f64>() {
        Ok(_) => value.chars().filter(char::is_ascii_digit).count() >= 6,
        Err(_) => value.chars().count() >= 6,
    }
}

/// A text that is searched for answers.
struct Haystack<'a> {
    text: &'a str,
    /// The values of its numbers in all units, sorted.
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
                [
                    number,
                    minutes,
                    number / 1e3,
                    number / 1e6,
                    number / 1e7,
                    number * 1e3,
                ]
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
                self.numbers
                    .get(from)
                    .is_some_and(|one| *one <= number + reach)
            }
            _ => self.text.contains(value),
        }
    }
}
