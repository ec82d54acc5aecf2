//! The named sets of competitions, read from text files in `sets/` with one id per line.
//!
//! - `low`, `medium` and `high` are categories of complexity. These sets are disjoint. Together they form `all`, the 75
//!   scored competitions.
//! - `lite` is an alias of `low`, and `systemcard` is a subset of `all`.
//! - `dev` contains additional competitions for development.

use std::sync::LazyLock;

static SETS: LazyLock<Vec<(&'static str, Vec<&'static str>)>> = LazyLock::new(|| {
    let files = [
        ("low", include_str!("../sets/low.txt")),
        ("medium", include_str!("../sets/medium.txt")),
        ("high", include_str!("../sets/high.txt")),
        ("dev", include_str!("../sets/dev.txt")),
        ("systemcard", include_str!("../sets/systemcard.txt")),
    ];
    let ids = |text: &'static str| text.lines().map(str::trim).filter(|id| !id.is_empty());
    let mut sets: Vec<_> = files
        .iter()
        .map(|&(name, text)| (name, ids(text).collect()))
        .collect();
    let all = files
        .iter()
        .take(3)
        .flat_map(|&(_, text)| ids(text))
        .collect();
    sets.push(("all", all));
    sets
});

/// Returns the ids of a set in the order of its file, or `None` if no set has this name.
///
/// ```
/// assert_eq!(prep_splits::set("lite"), prep_splits::set("low"));
/// assert_eq!(prep_splits::set("all").map(<[_]>::len), Some(75));
/// ```
pub fn set(name: &str) -> Option<&'static [&'static str]> {
    let name = if name == "lite" { "low" } else { name };
    SETS.iter()
        .find(|(set, _)| *set == name)
        .map(|(_, ids)| ids.as_slice())
}

/// Returns the names that [`set`] accepts, including aliases.
pub fn set_names() -> impl Iterator<Item = &'static str> {
    SETS.iter().map(|(name, _)| *name).chain(["lite"])
}

/// Returns the sets that contain a competition, without aliases.
pub fn sets_of(id: &str) -> impl Iterator<Item = &'static str> {
    SETS.iter()
        .filter(move |(_, ids)| ids.contains(&id))
        .map(|(name, _)| *name)
}
