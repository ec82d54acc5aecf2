//! Calls a function for many items on several threads. The calling thread is one of them.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Calls `work` for every item on at most `threads` threads. Returns the results in the order of the items.
pub fn map<I: Sync, T: Send>(items: &[I], threads: usize, work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let Ok(results) = try_map(items, threads, |item| Ok::<T, Infallible>(work(item)));
    results
}

/// Same as [`map`], but stops after the first error of `work` and returns it.
pub fn try_map<I: Sync, T: Send, E: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new(Ok(Vec::new()));
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return };
            let result = work(item);
            let mut outcome = outcome.lock();
            match (outcome.as_mut(), result) {
                (Ok(done), Ok(result)) => done.push((place, result)),
                (Ok(_), Err(error)) => {
                    next.store(items.len(), Ordering::Relaxed);
                    *outcome = Err(error);
                    return;
                }
                (Err(_), _) => return,
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            if std::thread::Builder::new()
                .spawn_scoped(scope, run)
                .is_err()
            {
                break;
            }
        }
        run();
    });
    let mut done = outcome.into_inner()?;
    done.sort_unstable_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = map(&items, 8, |item| item * 2);
        assert_eq!(doubled, (0..100).map(|item| item * 2).collect::<Vec<_>>());
        assert!(map(&[], 8, |item: &usize| *item).is_empty());
    }

    #[test]
    fn no_item_is_started_after_an_error() {
        let items: Vec<usize> = (0..100).collect();
        let calls = AtomicUsize::new(0);
        let result = try_map(&items, 1, |item| {
            calls.fetch_add(1, Ordering::Relaxed);
            if *item < 3 { Ok(()) } else { Err(*item) }
        });
        assert_eq!((result, calls.into_inner()), (Err(3), 4));
    }
}
