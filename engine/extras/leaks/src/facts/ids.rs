//! Facts from the ids themselves: their words, digits, length and order.

use std::collections::HashSet;
use std::fmt::Display;

use super::{Channel, ItemFacts};

/// Splits a name into runs of letters and runs of digits.
pub(crate) fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut kind = None;
    for (at, letter) in name.char_indices() {
        let own = match letter {
            letter if letter.is_ascii_digit() => Some(0),
            letter if letter.is_alphabetic() => Some(1),
            _ => None,
        };
        if own != kind {
            if kind.is_some() {
                words.extend(name.get(begin..at));
            }
            (begin, kind) = (at, own);
        }
    }
    if kind.is_some() {
        words.extend(name.get(begin..));
    }
    words
}

/// Splits a name at all characters except letters and digits: `8f3a` and `02` of `8f3a_02`.
pub(crate) fn parts(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns the number by which ids are ordered: all digits of the id, joined. `None` if the id has no digit or more
/// than 18 digits.
pub(crate) fn number(id: &str) -> Option<f64> {
    let mut words = words(id);
    words.retain(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let joined = words.concat();
    (joined.len() <= 18).then(|| joined.parse().ok()).flatten()
}

/// Returns the number that follows the letters of an id: 42 of `case42`. `None` if other characters follow the number.
fn digits(id: &str) -> Option<u64> {
    let begin = id.find(|c: char| c.is_ascii_digit())?;
    id.get(begin..)?.parse().ok()
}

/// Returns whether the word at index `place` of the ids is a counter, for example the number of a patient's picture. In
/// this case, the other words have few different values, and at least half of all combinations of these values with the
/// numbers of the counter are ids.
fn is_counter(ids: &[String], place: usize) -> bool {
    let mut things: HashSet<String> = HashSet::new();
    let mut numbers: HashSet<&str> = HashSet::new();
    for id in ids {
        let mut words = parts(id);
        if place >= words.len() {
            return false;
        }
        let number = words.remove(place);
        if number.parse::<u64>().is_err() {
            return false;
        }
        numbers.insert(number);
        things.insert(words.join("_"));
    }
    numbers.len() > 1
        && things.len() > 1
        && things.len() * 3 <= ids.len()
        && ids.len() * 2 >= things.len() * numbers.len()
}

/// The sum of digits, which may reveal a check digit, is a fact only of ids with at least this length.
const MIN_CHECKED: usize = 6;

/// If ids have more characters than this, their single characters are not facts.
const MAX_CHARACTERS: usize = 48;

pub(crate) fn collect(ids: &[String], chosen: &[usize], facts: &mut ItemFacts) {
    // If ids have different numbers of parts, parts at the same place are not comparable.
    let shape = ids.first().map(|id| parts(id).len()).unwrap_or_default();
    let is_uniform = ids.iter().filter(|id| parts(id).len() == shape).count() * 10 >= ids.len() * 9;
    let counters: Vec<usize> = match is_uniform {
        true => (0..shape).filter(|place| is_counter(ids, *place)).collect(),
        false => Vec::new(),
    };
    // Characters are compared by position only if all ids have the same length.
    let length = ids.first().map_or(0, String::len);
    let have_equal_length =
        length <= MAX_CHARACTERS && ids.iter().all(|id| id.is_ascii() && id.len() == length);
    let mut sorted: Vec<&usize> = chosen.iter().collect();
    sorted.sort_by_key(|item| ids.get(**item));
    for (rank, item) in sorted.into_iter().enumerate() {
        let what = "the alphabetical order of ids";
        facts.number(Channel::Id, what, *item, rank as f64);
    }
    for item in chosen {
        let item = *item;
        let Some(id) = ids.get(item) else { continue };
        let mut add = |name: &str, value: &dyn Display| {
            facts.add(Channel::Id, name, item, &value.to_string());
        };
        add("the length of ids", &id.chars().count());
        if let Some(last) = id.chars().last() {
            add("the last character of ids", &last);
        }
        if let Some(last) = id.chars().last().and_then(|c| c.to_digit(16)) {
            add("whether ids are even or odd", &(last % 2));
        }
        if let Some(number) = digits(id) {
            for divisor in [3, 4, 5, 7, 8, 9, 11, 13, 16] {
                let what = format!("the remainder of ids divided by {divisor}");
                add(&what, &(number % divisor));
            }
        }
        let sum: u32 = id.chars().filter_map(|c| c.to_digit(10)).sum();
        let divisors = [2, 3, 7, 9, 10, 11].iter();
        for divisor in divisors.filter(|_| id.len() >= MIN_CHECKED) {
            let what = format!("the remainder of the sum of digits of ids divided by {divisor}");
            add(&what, &(sum % divisor));
        }
        for (place, letter) in id.chars().enumerate().filter(|_| have_equal_length) {
            add(&format!("character {} of ids", place + 1), &letter);
        }
        if let Some(number) = number(id) {
            add("the order of ids", &number);
        }
        if is_uniform && shape > 1 {
            for (place, part) in parts(id).iter().enumerate() {
                // A counter is an intended feature.
                let (channel, what) = match counters.contains(&place) {
                    true => (Channel::Look, "the counter in ids".to_owned()),
                    false => (Channel::Id, format!("word {} of ids", place + 1)),
                };
                facts.add(channel, &what, item, part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_distinguished_from_other_numbers() {
        let ids: Vec<String> = (0..600)
            .map(|n| format!("id_{:x}_{}", n / 30 * 7919, n % 30))
            .collect();
        assert!(is_counter(&ids, 2) && !is_counter(&ids, 1) && !is_counter(&ids, 0));
        let single: Vec<String> = (0..600)
            .map(|n| format!("{}_{}", n * 7919 % 601, n % 2))
            .collect();
        assert!(!is_counter(&single, 1));
    }
}
