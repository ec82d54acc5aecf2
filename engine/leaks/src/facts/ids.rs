//! Facts about ids themselves: their words, digits, length and order.

use super::{Channel, Facts};

/// The words of a name: stretches of letters, and stretches of digits.
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

/// Words between signs, which keep letters and digits together: `8f3a` of `8f3a_02`.
pub(crate) fn parts(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect()
}

/// The number that orders ids: their last long stretch of digits.
pub(crate) fn number(id: &str) -> Option<f64> {
    let words = words(id);
    let digits = words
        .iter()
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let joined: String = digits.copied().collect();
    (joined.len() <= 18).then(|| joined.parse().ok()).flatten()
}

/// The number that an id is, or that follows its letters. `None` for ids with letters among their digits.
fn digits(id: &str) -> Option<u64> {
    let begin = id.find(|c: char| c.is_ascii_digit())?;
    id.get(begin..)?.parse().ok()
}

/// `chosen` are the items of which facts are collected.
pub(crate) fn collect(ids: &[String], chosen: &[usize], facts: &mut Facts) {
    // Ids that look like hashes have words by chance.
    let shape = ids.first().map(|id| parts(id).len()).unwrap_or_default();
    let is_uniform = ids.iter().filter(|id| parts(id).len() == shape).count() * 10 >= ids.len() * 9;
    for item in chosen {
        let item = *item;
        let Some(id) = ids.get(item) else { continue };
        let mut add = |name: &str, value: &str| facts.add(Channel::Id, name, item, value);
        add("the length of ids", &id.chars().count().to_string());
        if let Some(last) = id.chars().last() {
            add("the last character of ids", &last.to_string());
        }
        if let Some(first) = id.chars().next() {
            add("the first character of ids", &first.to_string());
        }
        let letters = id.chars().filter(|c| c.is_ascii_digit()).count();
        add("the number of digits in ids", &letters.to_string());
        if let Some(last) = id.chars().last().and_then(|c| c.to_digit(16)) {
            add("whether ids are even or odd", &(last % 2).to_string());
        }
        if let Some(number) = digits(id) {
            for divisor in [3, 4, 5, 7, 8, 9, 11, 13, 16] {
                let rest = number % divisor;
                add(
                    &format!("the remainder of ids divided by {divisor}"),
                    &rest.to_string(),
                );
            }
        }
        if is_uniform && shape > 1 {
            for (place, part) in parts(id).iter().enumerate() {
                add(&format!("word {} of ids", place + 1), part);
            }
        }
        if let Some(number) = number(id) {
            add("the order of ids", &number.to_string());
        }
    }
}
