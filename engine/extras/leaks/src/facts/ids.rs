//! Facts from ids, and from other codes such as numbers of tickets: their characters, words, digits, length and order.

use std::collections::HashSet;
use std::fmt::Display;

use super::{Channel, ItemFacts};
use crate::text::number;

/// Splits a name into runs of letters and runs of digits.
pub(crate) fn words(name: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), name);
    let is_part = |c: char| c.is_ascii_digit() || c.is_alphabetic();
    while let Some(word) = rest.find(is_part).and_then(|begin| rest.get(begin..)) {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let end = word.find(|c: char| !is_part(c) || c.is_ascii_digit() != is_number);
        let (word, behind) = word.split_at(end.unwrap_or(word.len()));
        words.push(word);
        rest = behind;
    }
    words
}

/// Splits a name at all characters except letters and digits: `8f3a` and `02` of `8f3a_02`.
pub(crate) fn parts(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns all digits of a code, joined to a number. `None` if the code has no digit or more than 18 digits.
fn digits(code: &str) -> Option<u64> {
    let joined: String = code.chars().filter(char::is_ascii_digit).collect();
    joined.parse().ok().filter(|_| joined.len() <= 18)
}

/// Returns whether the word at index `place` of the ids is a counter, for example the number of a patient's picture. In
/// this case, the other words have few different values, and at least half of all combinations of these values with the
/// numbers of the counter are ids.
fn is_counter(ids: &[&str], place: usize) -> bool {
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

/// Only the first characters of a code, up to this number, are facts.
const MAX_CHARACTERS: usize = 48;

/// Integers with fewer digits than this are quantities, not codes.
const MIN_DIGITS: usize = 5;

/// Returns whether a text may be a code, for example the number of a ticket or the name of a file, and not a sentence or a
/// measurement.
pub(crate) fn is_code(text: &str) -> bool {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.len() >= MIN_DIGITS,
        false => !text.contains(char::is_whitespace) && number(text).is_none(),
    }
}

/// Adds the facts of codes: ids, or the values of another fact. `name` describes the codes, and `all` contains them.
/// `of_items` contains the items whose facts are collected, and their codes.
pub(crate) fn collect(
    channel: Channel,
    name: &str,
    all: &[&str],
    of_items: &[(usize, &str)],
    facts: &mut ItemFacts,
) {
    // If codes have different numbers of parts, parts at the same place are not comparable.
    let shape = all.first().map_or(0, |code| parts(code).len());
    let is_uniform =
        all.iter().filter(|code| parts(code).len() == shape).count() * 10 >= all.len() * 9;
    let counters = (0..shape).filter(|place| is_uniform && is_counter(all, *place));
    let counters: Vec<usize> = counters.collect();
    let mut sorted = of_items.to_vec();
    sorted.sort_by_key(|(_, code)| *code);
    for (rank, (item, code)) in sorted.into_iter().enumerate() {
        let mut add = |what: String, value: &dyn Display| {
            facts.add(channel, &what, item, &value.to_string());
        };
        add(format!("the alphabetical order of {name}"), &rank);
        add(format!("the length of {name}"), &code.chars().count());
        for (place, letter) in code.chars().take(MAX_CHARACTERS).enumerate() {
            add(format!("character {} of {name}", place + 1), &letter);
        }
        if let Some(last) = code.chars().last() {
            add(format!("character 1 from the end of {name}"), &last);
        }
        // If numbers have different lengths, a letter after a number has no fixed position.
        let letters: String = code.chars().filter(|c| !c.is_ascii_digit()).collect();
        add(format!("characters other than digits of {name}"), &letters);
        // The last digit may be a check digit, so the sum of digits is also a fact.
        let sum: u32 = code.chars().filter_map(|c| c.to_digit(10)).sum();
        let numbers = [
            ("", digits(code)),
            ("the sum of digits of ", Some(sum.into())),
        ];
        for (what, number) in numbers {
            let Some(number) = number else { continue };
            for divisor in 2..=16 {
                let what = format!("the remainder of {what}{name} divided by {divisor}");
                add(what, &(number % divisor));
            }
        }
        if let Some(number) = digits(code) {
            add(format!("the order of {name}"), &number);
        }
        let parts = parts(code).into_iter().enumerate();
        for (place, part) in parts.filter(|_| is_uniform && shape > 1) {
            // A counter is an intended feature.
            let (channel, what) = match counters.contains(&place) {
                true => (Channel::Look, "the counter".to_owned()),
                false => (channel, format!("word {}", place + 1)),
            };
            facts.add(channel, &format!("{what} of {name}"), item, part);
            // If words have different lengths, the letter before or after a separator has no fixed position.
            let ends = [
                ("1", part.chars().next()),
                ("1 from the end", part.chars().last()),
            ];
            for (end, letter) in ends.into_iter().filter(|_| channel != Channel::Look) {
                let what = format!("character {end} of {what} of {name}");
                facts.add(
                    channel,
                    &what,
                    item,
                    &letter.map(String::from).unwrap_or_default(),
                );
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
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert!(is_counter(&ids, 2) && !is_counter(&ids, 1) && !is_counter(&ids, 0));
        let single: Vec<String> = (0..600)
            .map(|n| format!("{}_{}", n * 7919 % 601, n % 2))
            .collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert!(!is_counter(&single, 1));
    }
}
