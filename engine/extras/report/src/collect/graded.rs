//! Collects scores from grading reports, by competition and by experiment.

use std::collections::BTreeSet;

use prep_experiments::{Choice, Experiment, GradedRun, Runs, Set, summarise};
use prep_grade::report::medals::Leaderboard;
use prep_spec::{BASE_VARIANT, Corrections};

use crate::collect::{CompetitionPage, GradedExperiment};

#[derive(Debug, Clone, PartialEq)]
pub struct SubmissionScore {
    pub experiment: String,
    /// Position of the experiment, which determines its colour and shape.
    pub series: usize,
    /// The last parts of the path of the submission or of the run, which distinguish it from others.
    pub submission: Option<String>,
    pub when: Option<String>,
    pub run: GradedRun,
    pub medal: &'static str,
    /// Rank of `medal`. The best rank is 0.
    pub rank: usize,
    pub is_lower_better: Option<bool>,
}

pub struct Experiments {
    /// All given experiments in order, also those without a submission on the page.
    pub all: Vec<Experiment>,
    /// Names of the sets. The metrics of each experiment have the same order.
    pub sets: Vec<String>,
}

/// A result, and a function that returns whether a run has this result.
type NamedResult = (&'static str, fn(&GradedRun) -> bool);

const RESULTS: [NamedResult; 7] = [
    ("identical to the answers", |run| run.is_answers),
    ("gold medal", |run| run.gold),
    ("silver medal", |run| run.silver),
    ("bronze medal", |run| run.bronze),
    ("above median", |run| run.above_median),
    ("no submission", |run| !run.exists),
    ("invalid", |run| !run.valid),
];

pub fn scores(
    graded: &[GradedExperiment],
    id: &str,
    variant: &str,
    leaderboard: Option<&Leaderboard>,
) -> Vec<SubmissionScore> {
    let is_shown = |run: &&GradedRun| run.competition == id && was_graded_with(run, variant);
    let runs = graded.iter().enumerate().flat_map(|(series, graded)| {
        let runs = graded.runs.graded.iter().filter(is_shown);
        runs.map(move |run| (series, &graded.name, run))
    });
    let all = runs.clone();
    let paths = all.filter_map(|(.., run)| path_of(run));
    let parts = distinct_parts(&paths.collect());
    let scores = runs.map(|(series, name, run)| {
        let mut results = RESULTS.iter().zip(0..);
        let (medal, rank) = match results.find(|((_, holds), _)| holds(run)) {
            Some(((words, _), rank)) => (*words, 2 * rank),
            // A valid submission below the median. Its rank is between those of `above median` and `no submission`.
            None if leaderboard.is_some() => ("below median", 9),
            None => ("", 9),
        };
        SubmissionScore {
            experiment: name.clone(),
            series,
            submission: path_of(run).and_then(|path| last_parts(path, parts)),
            when: run.created_at.as_deref().map(minute_of),
            run: run.clone(),
            medal,
            rank,
            is_lower_better: leaderboard.map(Leaderboard::is_lower_better),
        }
    });
    scores.collect()
}

/// Returns whether a submission was graded with the answers of the variant `variant`. Upstream's reports name no variant,
/// because upstream has only the base variant.
fn was_graded_with(run: &GradedRun, variant: &str) -> bool {
    let graded = run.variant.as_deref().unwrap_or(BASE_VARIANT);
    // A report can name the variant `v1` also as `v1-differs` or `v1-unverified`.
    let graded = graded.split('-').next().unwrap_or(graded);
    match Corrections::parse(graded).is_ok() {
        true => graded == variant,
        false => variant == BASE_VARIANT,
    }
}

/// Returns the path that identifies a run: its submission, or its directory if there is no submission.
fn path_of(run: &GradedRun) -> Option<&str> {
    run.directory.as_deref().or(run.submission.as_deref())
}

/// In the directory of a run group, the last three parts of a submission's path are `RUN/submission/submission.csv`.
const MIN_PARTS: usize = 3;

/// Returns the smallest number of last parts in which all paths differ. The page shows only these parts, not other
/// directories.
fn distinct_parts(paths: &BTreeSet<&str>) -> usize {
    let is_distinct = |parts: &usize| {
        let names = paths.iter().map(|path| last_parts(path, *parts));
        names.collect::<BTreeSet<_>>().len() == paths.len()
    };
    (MIN_PARTS..9).find(is_distinct).unwrap_or(MIN_PARTS)
}

fn last_parts(path: &str, count: usize) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.get(parts.len().saturating_sub(count)..)?;
    (!last.is_empty() && path != prep_app::NO_SUBMISSION).then(|| last.join("/"))
}

fn minute_of(time: &str) -> String {
    let minute: String = time.chars().take("2026-01-31T12:00".len()).collect();
    minute.replace('T', "\u{a0}")
}

/// Computes the metrics of experiments for sets of competitions. Uses every set of upstream's leaderboard whose
/// competitions were all graded. If there is no such set, uses the set of all graded competitions.
pub fn experiments(graded: &[GradedExperiment], pages: &[CompetitionPage]) -> Experiments {
    let scores = || pages.iter().flat_map(|page| &page.scores);
    let run: BTreeSet<&String> = scores().map(|one| &one.run.competition).collect();
    let mut sets: Vec<Set> = Set::leaderboard();
    sets.retain(|set| set.competitions.iter().all(|id| run.contains(id)));
    sets.extend(Set::graded(scores().map(|one| &one.run)));
    let all = graded.iter().enumerate().map(|(series, graded)| {
        let scores = scores().filter(|score| score.series == series);
        let runs = Runs {
            graded: scores.map(|score| score.run.clone()).collect(),
            ..graded.runs.clone()
        };
        summarise(&graded.name, &runs, &sets, &Choice::default())
    });
    Experiments {
        all: all.collect(),
        sets: sets.iter().map(|set| set.name.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_are_named_by_the_parts_that_distinguish_them() {
        for (paths, expected) in [
            (
                &["/home/u/runs/3/submission.csv"][..],
                &["runs/3/submission.csv"][..],
            ),
            (&["submission.csv"], &["submission.csv"]),
            (&["None", ""], &[]),
            (
                &[
                    "/home/u/g/a_1/submission/s.csv",
                    "/home/u/g/a_2/submission/s.csv",
                ],
                &["a_1/submission/s.csv", "a_2/submission/s.csv"],
            ),
            (
                &["/g1/a_1/s/s.csv", "/g2/a_1/s/s.csv"],
                &["g1/a_1/s/s.csv", "g2/a_1/s/s.csv"],
            ),
            (&["/u/a.csv", "u/a.csv"], &["u/a.csv", "u/a.csv"]),
        ] {
            let parts = distinct_parts(&paths.iter().copied().collect());
            let named = paths.iter().filter_map(|path| last_parts(path, parts));
            assert_eq!(named.collect::<Vec<_>>(), expected);
        }
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
