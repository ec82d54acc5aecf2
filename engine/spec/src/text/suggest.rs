//! "Did you mean" suggestions: finds the known word that a mistyped or foreign word probably means.

use strsim::osa_distance;

use super::synonyms::synonym;

/// Maximum length of a word in bytes. The time to compare two words is the product of their lengths, and nobody mistypes
/// a longer name.
const MAX_WORD_BYTES: usize = 200;

/// Returns the candidate that is a synonym of `word` in pandas or scikit-learn. Otherwise returns the candidate with
/// the fewest edits from `word`, if it may be a typing error. The number of edits must be at most a third of the longer
/// word's characters, and less than the number of characters of the shorter word. The first of equally similar
/// candidates is returned. Words of more than 200 bytes are similar to none.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(ours) = synonym(word, &candidates) {
        return Some(ours);
    }
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    let (lower, length) = (word.to_lowercase(), word.chars().count());
    let short = candidates.into_iter();
    for candidate in short.filter(|candidate| candidate.len() <= MAX_WORD_BYTES) {
        let other = candidate.chars().count();
        let (shorter, longer) = (length.min(other), length.max(other));
        let limit = longer.div_ceil(3);
        // A difference in length takes at least as many edits.
        if longer - shorter > limit {
            continue;
        }
        let edits = osa_distance(&lower, &candidate.to_lowercase());
        if edits <= limit && edits < shorter && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Maximum number of names that a message lists. Further names are only counted.
const MAX_LISTED_NAMES: usize = 20;

/// Returns the help for an unknown name: the most similar known name, if any, and a list of the known names. `owner`
/// denotes the object that has these names.
pub fn alternatives<'a>(
    word: &str,
    owner: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let has = list_names(owner, &names);
    match nearest(word, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {has}"),
        None => has,
    }
}

/// Returns the first `max` characters of a text for a message, followed by `...` if the text is longer.
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Lists the names that `owner` has. Long lists are shortened.
pub fn list_names(owner: &str, names: &[&str]) -> String {
    let first = names.get(..MAX_LISTED_NAMES).unwrap_or(names).join(", ");
    match names.len().checked_sub(MAX_LISTED_NAMES) {
        _ if names.is_empty() => format!("{owner} has none"),
        Some(more) if more > 0 => format!("{owner} has {first} and {more} more"),
        _ => format!("{owner} has {first}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LISTED_NAMES, alternatives, nearest};

    #[test]
    fn alternatives_lists_the_known_names() {
        let names = ["id", "tons"];
        assert_eq!(
            alternatives("tns", "it", names),
            "did you mean `tons`? it has id, tons"
        );
        assert_eq!(alternatives("weight", "it", names), "it has id, tons");
        assert_eq!(alternatives("weight", "it", []), "it has none");
        let many: Vec<String> = (0..MAX_LISTED_NAMES + 5)
            .map(|number| format!("c{number}"))
            .collect();
        let text = alternatives("weight", "`t`", many.iter().map(String::as_str));
        assert!(text.ends_with(", c19 and 5 more"), "{text}");
        let text = alternatives(
            "weight",
            "`t`",
            many.iter().take(MAX_LISTED_NAMES).map(String::as_str),
        );
        assert!(text.ends_with(", c19"), "{text}");
    }

    #[test]
    fn only_similar_words_are_suggested() {
        let words = ["tables", "split", "public", "private"];
        assert_eq!(nearest("tabels", words), Some("tables"));
        assert_eq!(nearest("spilt", words), Some("split"));
        assert_eq!(nearest("Public", words), Some("public"));
        assert_eq!(nearest("answers", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest("x", ["y"]), None);
        let long = "x".repeat(1 << 24);
        assert_eq!(nearest(&long, [long.as_str(), "x"]), None);
        assert_eq!(nearest("x1", [long.as_str(), "x2"]), Some("x2"));
    }
}
