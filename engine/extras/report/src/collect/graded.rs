//! Collects scores from grading reports, by competition and by experiment.

use prep_experiments::{Choice, Experiment, GradedRun, Set, summarise};
use prep_grade::report::medals::Leaderboard;
use prep_spec::{BASE_VARIANT, Corrections};

use crate::collect::GradedExperiment;

/// A graded submission.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmissionScore {
    pub experiment: String,
    /// The last two parts of the submission's path, if the report names a path.
    pub submission: Option<String>,
    /// Time of the grading, if the report names the time.
    pub when: Option<String>,
    /// `None` if there was no submission, or if it was invalid.
    pub score: Option<f64>,
    pub medal: &'static str,
    /// The rank of the result `medal`. The best result has rank 0.
    pub rank: usize,
    pub is_lower_better: Option<bool>,
}

/// Metrics of experiments.
pub struct Experiments {
    pub all: Vec<Experiment>,
    /// Names of the sets, in the order of each experiment's metrics.
    pub sets: Vec<String>,
}

/// The name of a result, and a function that returns whether a run has this result.
type NamedResult = (&'static str, fn(&GradedRun) -> bool);

/// Results of graded submissions, best first.
const RESULTS: [NamedResult; 6] = [
    ("gold medal", |run| run.gold),
    ("silver medal", |run| run.silver),
    ("bronze medal", |run| run.bronze),
    ("above median", |run| run.above_median),
    ("no submission", |run| !run.exists),
    ("invalid", |run| !run.valid),
];

/// Returns the graded submissions for a variant of a competition.
pub fn scores(
    graded: &[GradedExperiment],
    id: &str,
    variant: &str,
    leaderboard: Option<&Leaderboard>,
) -> Vec<SubmissionScore> {
    let runs = graded.iter().flat_map(|graded| {
        let runs = graded.runs.iter();
        runs.map(move |run| (graded, run))
    });
    let runs = runs.filter(|(_, run)| run.competition == id && was_graded_with(run, variant));
    let scores = runs.map(|(graded, run)| {
        let rank = RESULTS.iter().position(|(_, holds)| holds(run));
        let medal = rank
            .and_then(|rank| RESULTS.get(rank))
            .map(|(words, _)| *words);
        let below = match leaderboard.is_some() {
            true => "below median",
            false => "",
        };
        SubmissionScore {
            experiment: graded.name.clone(),
            submission: run.submission.as_deref().and_then(file_of),
            when: run.created_at.as_deref().map(minute_of),
            score: run.score,
            medal: medal.unwrap_or(below),
            // `RESULTS` has no element for a valid submission below the median. It is worse than `above median` (rank 6),
            // but better than `no submission` (rank 8).
            rank: rank.map_or(7, |rank| 2 * rank),
            is_lower_better: leaderboard.map(Leaderboard::is_lower_better),
        }
    });
    scores.collect()
}

/// Returns whether a submission was graded with the answers of this variant. If the report names no variant, it is from
/// upstream, which has only the base variant.
fn was_graded_with(run: &GradedRun, variant: &str) -> bool {
    let graded = run.variant.as_deref().unwrap_or(BASE_VARIANT);
    // In reports, the variant `v1` is also named `v1-differs` or `v1-unverified`.
    let graded = graded.split('-').next().unwrap_or(graded);
    match Corrections::parse(graded).is_ok() {
        true => graded == variant,
        false => variant == BASE_VARIANT,
    }
}

/// Returns the last two parts of a path. Two parts are enough to distinguish submissions, and do not reveal other
/// directories.
fn file_of(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.get(parts.len().saturating_sub(2)..)?;
    (!last.is_empty() && path != "None").then(|| last.join("/"))
}

/// Formats a time such as `2026-01-31T12:00:05.123` as `2026-01-31 12:00`, with a no-break space.
fn minute_of(time: &str) -> String {
    let minute: String = time.chars().take("2026-01-31T12:00".len()).collect();
    minute.replace('T', "\u{a0}")
}

/// Computes the metrics of each experiment, for each of upstream's sets in which all competitions were graded. If no set
/// is complete, uses all graded competitions.
pub fn experiments(graded: &[GradedExperiment]) -> Experiments {
    let runs = graded.iter().flat_map(|graded| &graded.runs);
    let mut run: Vec<String> = runs.map(|run| run.competition.clone()).collect();
    run.sort();
    run.dedup();
    let mut sets: Vec<Set> = Set::leaderboard();
    sets.retain(|set| set.competitions.iter().all(|id| run.contains(id)));
    if sets.is_empty() && !run.is_empty() {
        sets.push(Set {
            name: "graded competitions".to_owned(),
            competitions: run,
        });
    }
    let all = graded
        .iter()
        .map(|graded| summarise(&graded.name, &graded.runs, &sets, &Choice::default()));
    Experiments {
        all: all.collect(),
        sets: sets.iter().map(|set| set.name.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_named_by_two_parts_of_its_path() {
        let named = [
            "/home/u/runs/3/submission.csv",
            "submission.csv",
            "None",
            "",
        ]
        .map(file_of);
        let expected = [Some("3/submission.csv"), Some("submission.csv"), None, None];
        assert_eq!(named, expected.map(|name| name.map(str::to_owned)));
    }

    #[test]
    fn a_submission_belongs_to_its_graded_variant() {
        let run = |variant: Option<&str>| GradedRun {
            variant: variant.map(str::to_owned),
            ..GradedRun::default()
        };
        for (graded, v1, fixed) in [
            (None, true, false),
            (Some("v1"), true, false),
            (Some("v1-differs"), true, false),
            (Some("own"), true, false),
            (Some("fixed"), false, true),
            (Some("fixed-unverified"), false, true),
            (Some("fixed:63"), false, false),
        ] {
            let run = run(graded);
            assert_eq!(
                (was_graded_with(&run, "v1"), was_graded_with(&run, "fixed")),
                (v1, fixed),
                "{graded:?}"
            );
        }
    }
}
