//! Assigns numbers to keys.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbers keys in order of first appearance.
pub fn codes_by_appearance<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let number = |key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    };
    keys.into_iter().map(number).collect()
}

/// Numbers keys in ascending order.
pub fn codes_by_order<K: Ord>(keys: &[K]) -> Vec<u32> {
    let mut distinct: Vec<&K> = keys.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    // Every key is among the distinct keys, so the search returns its number.
    keys.iter()
        .map(|key| distinct.partition_point(|other| *other < key) as u32)
        .collect()
}
