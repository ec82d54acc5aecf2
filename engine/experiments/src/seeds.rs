//! Combines runs into seeds. A seed has one run of every competition.
//!
//! Runs of one competition are in order of time. The number of seeds is the smallest number of runs of any competition. If a
//! competition has more runs, [`Take`] chooses: the first ones, as upstream's script does, or the last ones, because earlier runs
//! may have failed for technical reasons (upstream's authors did that for their results).

use std::collections::HashMap;

use crate::error::SeedsError;
use crate::report::GradedRun;

/// The runs to use of a competition with more runs than seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Take {
    #[default]
    First,
    Last,
}

/// Options for making seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    pub take: Take,
    /// The exact number of seeds. `None`: as many as there are.
    pub number: Option<usize>,
    /// Makes as many seeds as the competition with the most runs has. A missing run is treated as failed.
    pub pad: bool,
}

/// The seeds of an experiment for a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Seeds {
    /// Every seed's runs, in the order of the competitions.
    pub seeds: Vec<Vec<GradedRun>>,
    /// Number of missing runs.
    pub padded: usize,
    pub left_out: Option<LeftOut>,
}

/// The competitions that limit the number of seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The largest number of runs of any competition.
    pub most: usize,
    /// The competitions with as many runs as there are seeds.
    pub fewest: Vec<String>,
}

/// Makes seeds for the competitions of a set. `runs` are in order of time.
///
/// # Errors
/// Returns an error if a competition has no run, or there are fewer seeds than requested.
pub fn seeds(
    runs: &[GradedRun],
    competitions: &[String],
    choice: &Choice,
) -> Result<Seeds, SeedsError> {
    let mut by_competition: HashMap<&str, Vec<&GradedRun>> = HashMap::new();
    for run in runs {
        by_competition
            .entry(&run.competition)
            .or_default()
            .push(run);
    }
    let rows: Vec<(&str, &[&GradedRun])> = competitions
        .iter()
        .map(|id| {
            let runs = by_competition.get(id.as_str());
            (id.as_str(), runs.map(Vec::as_slice).unwrap_or_default())
        })
        .collect();
    let counts = || rows.iter().map(|(_, runs)| runs.len());
    if counts().max().unwrap_or(0) == 0 {
        return Err(SeedsError::Nothing);
    }
    let there = match choice.pad {
        true => counts().max().unwrap_or(0),
        false => counts().min().unwrap_or(0),
    };
    if there == 0 {
        let missing = rows.iter().filter(|(_, runs)| runs.is_empty());
        return Err(SeedsError::Missing {
            missing: missing.map(|(id, _)| (*id).to_owned()).collect(),
        });
    }
    let number = match choice.number {
        Some(wanted) if wanted > there => return Err(SeedsError::TooFew { there, wanted }),
        Some(wanted) => wanted,
        None => there,
    };
    let most = counts().max().unwrap_or(0);
    let fewest = rows.iter().filter(|(_, runs)| runs.len() == number);
    let left_out = (choice.number.is_none() && number < most).then(|| LeftOut {
        most,
        fewest: fewest.map(|(id, _)| (*id).to_owned()).collect(),
    });
    let mut padded = 0;
    let mut seeds = Vec::with_capacity(number);
    for seed in 0..number {
        let runs = rows.iter().map(|(id, runs)| {
            let skipped = match choice.take {
                Take::First => 0,
                Take::Last => runs.len().saturating_sub(number),
            };
            runs.get(skipped + seed).map_or_else(
                || {
                    padded += 1;
                    GradedRun::failed(id)
                },
                |run| (*run).clone(),
            )
        });
        seeds.push(runs.collect());
    }
    Ok(Seeds {
        seeds,
        padded,
        left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a1 b1 a2`: runs of competitions a, b, a; the number is the score.
    fn runs(text: &str) -> Vec<GradedRun> {
        text.split_whitespace()
            .map(|word| GradedRun {
                score: word[1..].parse().ok(),
                ..GradedRun::failed(&word[..1])
            })
            .collect()
    }

    fn format_seeds(seeds: &Seeds) -> String {
        let seeds = seeds.seeds.iter().map(|seed| {
            let runs = seed.iter().map(|run| match run.score {
                Some(score) => format!("{}{score}", run.competition),
                None => format!("{}-", run.competition),
            });
            runs.collect::<Vec<_>>().join(" ")
        });
        seeds.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn seeds_are_as_many_as_the_rarest_competition_has_runs() {
        let choice = |take, number, pad| Choice { take, number, pad };
        let three = "a1 b1 a2 b2 a3";
        for (text, choice, expected) in [
            (three, choice(Take::First, None, false), "a1 b1 | a2 b2"),
            (three, choice(Take::Last, None, false), "a2 b1 | a3 b2"),
            (three, choice(Take::First, Some(1), false), "a1 b1"),
            (three, choice(Take::Last, Some(1), false), "a3 b2"),
            (
                three,
                choice(Take::First, None, true),
                "a1 b1 | a2 b2 | a3 b-",
            ),
            (
                three,
                choice(Take::Last, None, true),
                "a1 b1 | a2 b2 | a3 b-",
            ),
            (three, choice(Take::Last, Some(2), true), "a2 b1 | a3 b2"),
            ("a1", choice(Take::Last, None, true), "a1 b-"),
        ] {
            let found = seeds(&runs(text), &["a".into(), "b".into()], &choice).unwrap();
            assert_eq!(format_seeds(&found), expected, "{text} {choice:?}");
            // Nothing to report if the number was requested or missing runs are filled in.
            let left_out =
                (text == three && choice.number.is_none() && !choice.pad).then(|| LeftOut {
                    most: 3,
                    fewest: vec!["b".to_owned()],
                });
            assert_eq!(found.left_out, left_out, "{text} {choice:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let set = ["a".to_owned(), "b".to_owned()];
        let choice = |number, pad| Choice {
            number,
            pad,
            ..Choice::default()
        };
        for (text, choice, expected) in [
            ("a1", choice(None, false), "no run of b"),
            ("c1", choice(None, false), "there is no run of any"),
            ("", choice(None, true), "there is no run of any"),
            (
                "a1 b1",
                choice(Some(2), false),
                "1 complete seeds found, 2 requested",
            ),
            (
                "a1",
                choice(Some(2), true),
                "1 complete seeds found, 2 requested",
            ),
        ] {
            let error = seeds(&runs(text), &set, &choice).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
