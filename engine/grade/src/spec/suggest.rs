//! Suggestions for misspelled names.

use crate::spec::edit_distance::edit_distance;

/// Returns the candidate with the most similar spelling, if one is similar enough.
pub fn closest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let wanted = normal(name);
    let limit = wanted.chars().count() / 3 + 1;
    candidates
        .iter()
        .map(|candidate| (edit_distance(&wanted, &normal(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Removes differences in case, spaces and underscores, the most frequent mistakes.
fn normal(name: &str) -> String {
    name.trim()
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}
