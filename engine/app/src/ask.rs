//! Asking about many things at once, over the network.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Questions that are under way at the same time.
const SIDE_BY_SIDE: usize = 8;

/// Calls `ask` for every item, several at the same time; results are in the order of the items.
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
        for _ in 1..SIDE_BY_SIDE.min(items.len()) {
            // If no other thread can be started, this one handles all items.
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
    fn answers_keep_the_order_of_the_questions() {
        let items: Vec<usize> = (0..100).collect();
        let answers = ask_all(&items, |item| item * 2);
        assert_eq!(answers, (0..100).map(|item| item * 2).collect::<Vec<_>>());
        assert!(ask_all(&[], |item: &usize| *item).is_empty());
    }
}
