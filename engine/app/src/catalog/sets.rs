//! Named sets of competitions.

use crate::error::Error;

/// Sets that have a different name or content than in the benchmark.
const SCORED: &str = "scored";
const ALL: &str = "all";

/// Returns the ids of a set. `all` contains all competitions, unlike the benchmark's list `all`, which contains only
/// the scored ones.
///
/// # Errors
/// Returns an error if there is no such set. The error suggests a similar name, or lists all names.
pub fn competition_set(name: &str) -> Result<Vec<&'static str>, Error> {
    let lists: &[&str] = match name {
        SCORED => &["all"],
        ALL => &["all", "dev"],
        other => &[other],
    };
    let found = lists.iter().filter_map(|list| prep_splits::set(list));
    let found: Vec<&str> = found.flatten().copied().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = prep_splits::set_names().chain([SCORED]).collect();
    let near = prep_spec::nearest(name, names.iter().copied());
    let error = Error::request(format!("there is no set `{name}`"));
    let error = error.help(format!("the sets are {}", names.join(", ")));
    Err(error.suggest(near))
}
