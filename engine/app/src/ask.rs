//! Calls a function for many items on several threads, for example to send network requests.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Maximum number of concurrent network requests.
const MAX_REQUESTS: usize = 8;

/// Calls `ask`, which sends a request, for every item, several at the same time. The results are in the order of the
/// items.
pub fn ask_all<I: Sync, T: Send>(items: &[I], ask: impl Fn(&I) -> T + Sync) -> Vec<T> {
    in_parallel(items, MAX_REQUESTS, ask)
}

/// Calls `ask` for every item, on at most `threads` threads. The results are in the order of the items.
pub(crate) fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    ask: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        while let Some((place, item)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            items.get(place).map(|item| (place, item))
        } {
            let answer = ask(item);
            answers.lock().push((place, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            // If no other thread can be started, the current thread handles all items.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut answers = answers.into_inner();
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let answers = ask_all(&items, |item| item * 2);
        assert_eq!(answers, (0..100).map(|item| item * 2).collect::<Vec<_>>());
        assert!(ask_all(&[], |item: &usize| *item).is_empty());
    }
}
