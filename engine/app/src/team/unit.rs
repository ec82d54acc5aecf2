//! Divides many competitions into units for parallel jobs. The units are balanced by the length of the bundles.

use std::cmp::Reverse;
use std::str::FromStr;

use crate::catalog::Catalog;

/// One of several jobs that prepare a similar amount of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The number of the unit, from 1. `None` if the scheduler of the job determines it.
    pub number: Option<usize>,
    /// The number of units.
    pub of: usize,
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        let wrong = || {
            format!(
                "`{text}` is not a unit; write I/N, for example 3/8, or only N in a job of an array"
            )
        };
        let number = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(number) => Ok(number),
        };
        let unit = match text.split_once('/') {
            Some((first, of)) => Unit {
                number: Some(number(first)?),
                of: number(of)?,
            },
            None => Unit {
                number: None,
                of: number(text)?,
            },
        };
        match unit.number {
            Some(first) if first > unit.of => Err(wrong()),
            _ => Ok(unit),
        }
    }
}

/// Assumed length of a bundle without a published length, in bytes.
const ASSUMED_BUNDLE_BYTES: u64 = 1 << 30;

/// Returns the competitions of unit `number` (from 1) of `of` units, the largest first.
pub fn unit(catalog: &Catalog, ids: &[String], number: usize, of: usize) -> Vec<String> {
    let size = |id: &String| catalog.find(id).and_then(crate::CatalogEntry::size);
    let sized = ids
        .iter()
        .map(|id| (size(id).unwrap_or(ASSUMED_BUNDLE_BYTES), id));
    assign(sized.collect(), number, of)
}

/// Assigns each competition, the largest first, to the unit with the fewest bytes so far. No unit exceeds the mean by
/// more than a third, unless it has a single competition that is larger.
fn assign(mut sized: Vec<(u64, &String)>, number: usize, of: usize) -> Vec<String> {
    sized.sort_by_key(|(bytes, id)| (Reverse(*bytes), *id));
    let mut loads = vec![0u64; of.max(1)];
    let mut assigned = Vec::new();
    for (bytes, id) in sized {
        let least = loads
            .iter()
            .enumerate()
            .min_by_key(|(place, load)| (**load, *place));
        let Some(place) = least.map(|(place, _)| place) else {
            break;
        };
        if let Some(load) = loads.get_mut(place) {
            // Empty bundles are treated as one byte, so that they are distributed too.
            *load += bytes.max(1);
        }
        if place + 1 == number {
            assigned.push(id.clone());
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_balanced_disjoint_and_complete() {
        let names: Vec<String> = (0..23).map(|n| format!("c{n:02}")).collect();
        let sized: Vec<(u64, &String)> = names
            .iter()
            .enumerate()
            .map(|(n, name)| ((n * n) as u64, name))
            .collect();
        for of in [1, 2, 5, 23, 40] {
            let shares: Vec<Vec<String>> = (1..=of)
                .map(|number| assign(sized.clone(), number, of))
                .collect();
            let mut all: Vec<&String> = shares.iter().flatten().collect();
            all.sort();
            assert_eq!(all, names.iter().collect::<Vec<_>>());
            let load = |share: &Vec<String>| -> u64 {
                share
                    .iter()
                    .map(|id| sized.iter().find(|(_, name)| *name == id).unwrap().0)
                    .sum()
            };
            let total: u64 = sized.iter().map(|(bytes, _)| bytes).sum();
            let most = shares.iter().map(load).max().unwrap();
            assert!(
                3 * most <= 4 * (total / of as u64).max(22 * 22),
                "{of}: {most}"
            );
            for share in shares.iter().filter(|share| !share.is_empty()) {
                assert!(share.is_sorted_by_key(|id| Reverse(id.clone())));
            }
        }
        // If there are as many units as competitions, each unit gets one, and the first gets the largest.
        assert_eq!(assign(sized, 1, 23), ["c22"]);
    }

    #[test]
    fn units_are_parsed() {
        let unit = |number, of| Ok(Unit { number, of });
        assert_eq!("3/8".parse::<Unit>(), unit(Some(3), 8));
        assert_eq!("8".parse::<Unit>(), unit(None, 8));
        for wrong in ["", "0/8", "9/8", "1/0", "a", "1/2/3", "-1/2"] {
            assert!(wrong.parse::<Unit>().is_err(), "{wrong}");
        }
    }
}
