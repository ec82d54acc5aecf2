//! Scores of grading reports, by competition and by experiment.

use prep_experiments::{Choice, Experiment, Report as Grading, Run, Set, summarise};
use prep_grade::report::medals::Leaderboard;

/// Grading reports of one experiment, one per seed.
#[derive(Debug, Clone)]
pub struct Graded {
    pub name: String,
    /// In order of time.
    pub reports: Vec<Grading>,
}

/// A graded submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    pub experiment: String,
    /// `None` if there was no submission, or an invalid one.
    pub score: Option<f64>,
    pub medal: &'static str,
}

/// Metrics of experiments.
pub struct Experiments {
    pub all: Vec<Experiment>,
    /// Names of the sets, in the order of each experiment's metrics.
    pub sets: Vec<String>,
}

/// The graded submissions to a competition.
pub fn scores(graded: &[Graded], id: &str, leaderboard: Option<&Leaderboard>) -> Vec<Score> {
    let runs = graded.iter().flat_map(|graded| {
        let runs = graded.reports.iter().flat_map(|report| &report.runs);
        runs.map(move |run| (graded, run))
    });
    let runs = runs.filter(|(_, run)| run.competition == id);
    let scores = runs.map(|(graded, run)| Score {
        experiment: graded.name.clone(),
        score: run.score,
        medal: medal(run, leaderboard),
    });
    scores.collect()
}

fn medal(run: &Run, leaderboard: Option<&Leaderboard>) -> &'static str {
    match run {
        Run { gold: true, .. } => "gold medal",
        Run { silver: true, .. } => "silver medal",
        Run { bronze: true, .. } => "bronze medal",
        Run {
            above_median: true, ..
        } => "above median",
        Run { exists: false, .. } => "no submission",
        Run { valid: false, .. } => "not valid",
        _ if leaderboard.is_some() => "not above median",
        _ => "",
    }
}

/// Computes the metrics of every experiment: for upstream's sets of which competitions were run, and for all graded competitions.
pub fn experiments(graded: &[Graded]) -> Experiments {
    let mut run: Vec<String> = graded
        .iter()
        .flat_map(|graded| graded.reports.iter().flat_map(|report| &report.runs))
        .map(|run| run.competition.clone())
        .collect();
    run.sort();
    run.dedup();
    let mut sets: Vec<Set> = Set::leaderboard();
    sets.retain(|set| set.competitions.iter().all(|id| run.contains(id)));
    if sets.is_empty() && !run.is_empty() {
        sets.push(Set {
            name: "what was graded".to_owned(),
            competitions: run,
        });
    }
    let all = graded.iter().map(|graded| {
        let runs = graded
            .reports
            .iter()
            .flat_map(|report| report.runs.iter().cloned());
        let runs: Vec<Run> = runs.collect();
        summarise(&graded.name, &runs, &sets, &Choice::default())
    });
    Experiments {
        all: all.collect(),
        sets: sets.iter().map(|set| set.name.clone()).collect(),
    }
}
