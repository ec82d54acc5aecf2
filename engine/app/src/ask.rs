//! Sends several network requests at the same time.

/// Maximum number of concurrent network requests.
const MAX_REQUESTS: usize = 8;

/// Calls `ask`, which sends a request, for every item, several at the same time. The results are in the order of the
/// items.
pub fn ask_all<I: Sync, T: Send>(items: &[I], ask: impl Fn(&I) -> T + Sync) -> Vec<T> {
    prep_contents::parallel::map(items, MAX_REQUESTS, ask)
}
