//! `size`: do lengths of files, or widths and heights of images, tell the answer?
//!
//! Larger things have larger pictures, so most of it is honest: a finding is a note unless a size determines the answer.

use std::collections::BTreeMap;

use super::Tests;
use crate::finding::{Finding, Level};
use crate::statistics::{bins, by_shuffling, majority, purity};
use crate::world::{Seen, World};

const NAME: &str = "size";

pub(super) fn find(world: &World, tests: &mut Tests) -> Vec<Finding> {
    let mut by_kind: BTreeMap<String, Vec<(usize, &Seen)>> = BTreeMap::new();
    for file in &world.files {
        if let Some(item) = world.item_of_path(&file.path) {
            let kind = super::patterns::pattern(&file.path);
            by_kind.entry(kind).or_default().push((item, file));
        }
    }
    let mut found = Vec::new();
    for (kind, files) in &by_kind {
        if files.len() < 20 {
            continue;
        }
        let lengths: Vec<f64> = files.iter().map(|(_, file)| file.bytes as f64).collect();
        let binned = bins(&lengths, 10);
        let pixels: Vec<Option<(u64, u64)>> = files.iter().map(|(_, file)| file.pixels).collect();
        for label in &world.labels {
            let Some(classes) = label.classes() else {
                continue;
            };
            let own: Vec<usize> = files
                .iter()
                .filter_map(|(item, _)| classes.get(*item).copied())
                .collect();
            let guess = majority(&own);
            for (what, groups) in [
                ("length", keys(&binned)),
                ("width and height", keys(&pixels)),
            ] {
                let mut different = groups.clone();
                different.sort();
                different.dedup();
                // A size of its own for every file says nothing about another one.
                if different.len() < 2 || different.len() * 4 > groups.len() {
                    continue;
                }
                let statistic = |own: &[usize]| purity(groups.iter().zip(own));
                let right = statistic(&own);
                let p = tests.made(by_shuffling(&own, statistic).p);
                let level = match right {
                    right if right >= 0.99 && guess < 0.9 => Level::Leak,
                    right if right >= guess + 0.1 => Level::Note,
                    _ => continue,
                };
                let what = format!(
                    "the {what} of files `{kind}` tells `{}` for {:.0} % of them; guessing the most frequent one: {:.0} %",
                    label.name,
                    100.0 * right,
                    100.0 * guess
                );
                found.push(Finding::new(level, NAME, what).p_value(p));
            }
        }
    }
    found
}

fn keys<T: std::fmt::Debug>(values: &[T]) -> Vec<String> {
    values.iter().map(|value| format!("{value:?}")).collect()
}
