//! Combines runs into seeds, with one run of each competition, and computes the metrics of seeds with their mean and
//! standard error.
//!
//! The runs of a competition are sorted by time. The number of seeds is the smallest number of runs of any competition.
//! If a competition has more runs, [`Take`] chooses which ones are used. Upstream's script uses the first runs.
//! Upstream's authors used the last runs for their results, because earlier runs may have failed for technical reasons.

use std::collections::HashMap;

use serde::Serialize;

use crate::error::SeedsError;
use crate::report::GradedRun;

/// Which runs to use if a competition has more runs than there are seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Take {
    #[default]
    First,
    Last,
}

/// Options for combining runs into seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    pub take: Take,
    /// The exact number of seeds. `None` for all complete seeds.
    pub number: Option<usize>,
    /// Whether the competition with the most runs determines the number of seeds. Missing runs of other competitions
    /// are then treated as failed.
    pub pad: bool,
}

/// The seeds of an experiment for a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Seeds {
    /// The runs of each seed, in the order of the competitions.
    pub seeds: Vec<Vec<GradedRun>>,
    /// Number of missing runs that are treated as failed.
    pub padded: usize,
    /// Runs that are not used. `None` if all runs are used.
    pub left_out: Option<LeftOut>,
}

/// The competitions that limit the number of seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The largest number of runs of any competition.
    pub most: usize,
    /// The competitions that have only as many runs as there are seeds.
    pub fewest: Vec<String>,
}

/// Combines runs into seeds for the competitions of a set. `runs` are sorted by time.
///
/// # Errors
/// Returns an error if a competition has no run, or if there are fewer seeds than requested.
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

/// A metric: the percentage of a seed's runs with a property.
#[derive(Debug, Clone, Copy)]
pub struct SeedMetric {
    /// Upstream's name of the metric, which is a key in results.
    pub name: &'static str,
    /// Returns whether a run has the property.
    pub counts: fn(&GradedRun) -> bool,
}

/// All metrics, in the order of upstream's script.
pub const METRICS: [SeedMetric; 7] = [
    SeedMetric {
        name: "submission_exists_percentage",
        counts: |run| run.exists,
    },
    SeedMetric {
        name: "valid_submissions_percentage",
        counts: |run| run.valid,
    },
    SeedMetric {
        name: "above_median_percentage",
        counts: |run| run.above_median,
    },
    SeedMetric {
        name: "gold_medal_percentage",
        counts: |run| run.gold,
    },
    SeedMetric {
        name: "silver_medal_percentage",
        counts: |run| run.silver,
    },
    SeedMetric {
        name: "bronze_medal_percentage",
        counts: |run| run.bronze,
    },
    SeedMetric {
        name: "any_medal_percentage",
        counts: GradedRun::any_medal,
    },
];

impl SeedMetric {
    /// Returns the percentage of runs with the property.
    pub fn evaluate(&self, seed: &[GradedRun]) -> f64 {
        let count = seed.iter().filter(|run| (self.counts)(run)).count();
        count as f64 / seed.len() as f64 * 100.0
    }
}

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Bounds of the 95 % confidence interval, if the mean is distributed normally.
    pub ci_lower: f64,
    pub ci_upper: f64,
    /// Sample standard deviation of the seeds (divisor n - 1), divided by the square root of n. It is 0 for one seed.
    pub standard_error: f64,
}

/// Computes the mean of values and its standard error. There must be at least one value.
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = match values.len() {
        0 | 1 => 0.0,
        _ => (squares / (n - 1.0)).sqrt() / n.sqrt(),
    };
    Estimate {
        mean,
        ci_lower: mean - 1.96 * standard_error,
        ci_upper: mean + 1.96 * standard_error,
        standard_error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses runs: `a1 b1 a2` are runs of the competitions a, b and a with the scores 1, 1 and 2.
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
    fn the_competition_with_the_fewest_runs_limits_the_seeds() {
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
            // Unused runs are not reported if the number of seeds was requested or missing runs are filled in.
            let left_out =
                (text == three && choice.number.is_none() && !choice.pad).then(|| LeftOut {
                    most: 3,
                    fewest: vec!["b".to_owned()],
                });
            assert_eq!(found.left_out, left_out, "{text} {choice:?}");
        }
    }

    #[test]
    fn errors_name_missing_competitions_and_seeds() {
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
