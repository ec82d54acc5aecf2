//! Summarizes an experiment: metrics for each set, and counts for each competition.

use serde::Serialize;

use crate::error::SeedsError;
use crate::report::GradedRun;
use crate::seeds::{Choice, Estimate, LeftOut, METRICS, Seeds, estimate, seeds};
use crate::sets::Set;

/// The summary of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    pub sets: Vec<(String, Result<SetSummary, SeedsError>)>,
    /// All competitions with a run, sorted by id.
    pub competitions: Vec<CompetitionSummary>,
}

/// The metrics for a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetSummary {
    pub set: String,
    pub competitions: usize,
    pub seeds: usize,
    /// Number of missing runs that are treated as failed.
    pub padded: usize,
    /// Runs that are not used because other competitions have fewer runs.
    #[serde(skip)]
    pub left_out: Option<LeftOut>,
    /// Mean and standard error of each metric, in the order of [`METRICS`].
    #[serde(skip)]
    pub estimates: Vec<(&'static str, Estimate)>,
    /// The metrics of each seed, in the order of [`METRICS`].
    #[serde(skip)]
    pub by_seed: Vec<Vec<f64>>,
}

impl SetSummary {
    /// Returns the metric called `name`.
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        let mut estimates = self.estimates.iter();
        estimates
            .find(|(metric, _)| *metric == name)
            .map(|(_, one)| *one)
    }
}

/// The summary of one competition, over the runs that are in seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompetitionSummary {
    pub competition: String,
    /// Complexity: low, medium, high or dev.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<&'static str>,
    pub runs: usize,
    pub submissions: usize,
    pub valid: usize,
    pub above_median: usize,
    pub gold: usize,
    pub silver: usize,
    pub bronze: usize,
    pub any_medal: usize,
    /// Mean score of the runs with a score.
    pub mean_score: Option<f64>,
    /// Standard error of the mean score. `None` for a single score.
    pub score_standard_error: Option<f64>,
}

/// Summarizes the runs of an experiment. `runs` are sorted by time.
pub fn summarise(name: &str, runs: &[GradedRun], sets: &[Set], choice: &Choice) -> Experiment {
    let seeds_by_set: Vec<(&Set, Result<Seeds, SeedsError>)> = sets
        .iter()
        .map(|set| (set, seeds(runs, &set.competitions, choice)))
        .collect();
    let mut ids: Vec<&str> = runs.iter().map(|run| run.competition.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let competitions = ids.into_iter().map(|id| {
        // Uses the runs of the first set that contains this competition and has complete seeds.
        let used_runs = seeds_by_set.iter().find_map(|(set, seeds)| {
            let at = set.competitions.iter().position(|one| one == id)?;
            let seeds = &seeds.as_ref().ok()?.seeds;
            Some(
                seeds
                    .iter()
                    .filter_map(|seed| seed.get(at))
                    .collect::<Vec<_>>(),
            )
        });
        let all = || runs.iter().filter(|run| run.competition == id).collect();
        competition(id, &used_runs.unwrap_or_else(all))
    });
    Experiment {
        name: name.to_owned(),
        competitions: competitions.collect(),
        sets: seeds_by_set
            .iter()
            .map(|(set, seeds)| {
                let summary = seeds.as_ref().map(|seeds| summarise_set(set, seeds));
                (set.name.clone(), summary.map_err(Clone::clone))
            })
            .collect(),
    }
}

fn summarise_set(set: &Set, seeds: &Seeds) -> SetSummary {
    let by_seed: Vec<Vec<f64>> = seeds
        .seeds
        .iter()
        .map(|seed| METRICS.iter().map(|metric| metric.evaluate(seed)).collect())
        .collect();
    let estimates = METRICS.iter().enumerate().map(|(at, metric)| {
        let values: Vec<f64> = by_seed
            .iter()
            .filter_map(|seed| seed.get(at).copied())
            .collect();
        (metric.name, estimate(&values))
    });
    SetSummary {
        set: set.name.clone(),
        competitions: set.competitions.len(),
        seeds: seeds.seeds.len(),
        padded: seeds.padded,
        left_out: seeds.left_out.clone(),
        estimates: estimates.collect(),
        by_seed,
    }
}

fn competition(id: &str, runs: &[&GradedRun]) -> CompetitionSummary {
    let count = |counts: fn(&GradedRun) -> bool| runs.iter().filter(|run| counts(run)).count();
    let scores: Vec<f64> = runs.iter().filter_map(|run| run.score).collect();
    let score = (!scores.is_empty()).then(|| estimate(&scores));
    CompetitionSummary {
        competition: id.to_owned(),
        complexity: prep_splits::sets_of(id)
            .find(|set| ["low", "medium", "high", "dev"].contains(set)),
        runs: runs.len(),
        submissions: count(|run| run.exists),
        valid: count(|run| run.valid),
        above_median: count(|run| run.above_median),
        gold: count(|run| run.gold),
        silver: count(|run| run.silver),
        bronze: count(|run| run.bronze),
        any_medal: count(GradedRun::any_medal),
        mean_score: score.map(|score| score.mean),
        score_standard_error: score
            .filter(|_| scores.len() > 1)
            .map(|score| score.standard_error),
    }
}
