//! Sends several network requests at the same time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of concurrent calls.
const MAX_CONCURRENT_CALLS: usize = 8;

/// Calls `ask` for every item, several at the same time. The results are in the order of the items.
pub fn ask_all<I: Sync, T: Send>(items: &[I], ask: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    let work = || {
        while let Some((place, item)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            items.get(place).map(|item| (place, item))
        } {
            let answer = ask(item);
            if let Ok(mut answers) = answers.lock() {
                answers.push((place, answer));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..MAX_CONCURRENT_CALLS.min(items.len()) {
            // If no other thread can be started, the current thread handles all items.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut answers = answers.into_inner().unwrap_or_default();
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
