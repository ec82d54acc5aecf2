//! "Did you mean ...?"

use crate::spec::edit_distance::edit_distance;

/// The candidate that is spelled most like `name`, if one is close enough to be meant.
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

/// Case, blanks and underscores are what people get wrong most often.
fn normal(name: &str) -> String {
    name.trim()
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}
