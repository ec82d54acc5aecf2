//! Reasons why the figures of an experiment may mislead a reader.

use std::collections::BTreeSet;
use std::fmt;

use prep_spec::{joined, shortened};

use crate::report::{RepeatedRun, UngradedRun};
use crate::summary::{CompetitionSummary, Experiment};

/// A reason why the figures of an experiment may mislead. Its text is one sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// The names of the run groups contain several agents.
    Agents(BTreeSet<String>),
    /// Competitions whose runs were graded with different variants.
    MixedVariants(Vec<String>),
    /// Competitions in which a submission is identical to the answers.
    Copies(Vec<String>),
    Ungraded {
        runs: usize,
        reasons: BTreeSet<String>,
    },
    /// The number of runs that were graded several times, and the first of them.
    Repeated(usize, RepeatedRun),
    /// Competitions of the benchmark whose scores cannot be compared with upstream's.
    NotComparable(Vec<String>),
}

impl Experiment {
    pub fn cautions(&self) -> Vec<Caution> {
        let ids = |is_meant: fn(&CompetitionSummary) -> bool| -> Vec<String> {
            let meant = self.competitions.iter().filter(|one| is_meant(one));
            meant.map(|one| one.competition.clone()).collect()
        };
        let message = |run: &UngradedRun| {
            let words: Vec<&str> = run.message.split_whitespace().collect();
            shortened(&words.join(" "), MAX_CHARACTERS)
        };
        let mut cautions = Vec::new();
        if self.agents.len() > 1 {
            cautions.push(Caution::Agents(self.agents.clone()));
        }
        cautions.push(Caution::MixedVariants(ids(|one| one.has_mixed_variants)));
        cautions.push(Caution::Copies(ids(|one| one.copies > 0)));
        if !self.ungraded_runs.is_empty() {
            cautions.push(Caution::Ungraded {
                runs: self.ungraded_runs.len(),
                reasons: self.ungraded_runs.iter().map(message).collect(),
            });
        }
        if let Some(first) = self.repeated_runs.first() {
            cautions.push(Caution::Repeated(self.repeated_runs.len(), first.clone()));
        }
        // Other competitions than the benchmark's have no published scores with which to compare.
        cautions.push(Caution::NotComparable(ids(|one| {
            one.not_comparable > 0 && prep_splits::sets_of(&one.competition).next().is_some()
        })));
        cautions.retain(|one| !matches!(one, Caution::MixedVariants(ids) | Caution::Copies(ids) | Caution::NotComparable(ids) if ids.is_empty()));
        cautions
    }
}

/// Maximum number of names in a text. The others are only counted.
const MAX_NAMES: usize = 3;
/// Maximum number of characters of a reason from a report.
const MAX_CHARACTERS: usize = 200;

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let were = |count: usize| match count {
            1 => "1 run was".to_owned(),
            more => format!("{more} runs were"),
        };
        match self {
            Caution::Agents(agents) => write!(
                f,
                "the names of the run groups contain different agents: {}",
                joined(agents.iter(), MAX_NAMES)
            ),
            Caution::MixedVariants(ids) => write!(
                f,
                "the runs of {} were graded with different variants, so the figures mix scores of different test rows; use \
                 the reports of one variant at a time",
                joined(ids.iter(), MAX_NAMES)
            ),
            Caution::Copies(ids) => write!(
                f,
                "submissions of these competitions are identical to the answers: {}",
                joined(ids.iter(), MAX_NAMES)
            ),
            Caution::Ungraded { runs, reasons } => write!(
                f,
                "{} not graded: {}; grade the runs again, and pass only the new report",
                were(*runs),
                joined(reasons.iter(), MAX_NAMES)
            ),
            Caution::Repeated(runs, first) => write!(
                f,
                "{} graded several times, and each grading is treated as a run of its own, so standard errors are too small: \
                 {} of `{}` has {} gradings; pass only one report of each run",
                were(*runs),
                last_parts(&first.submission_path),
                first.competition,
                first.gradings
            ),
            Caution::NotComparable(ids) => write!(
                f,
                "scores of {} cannot be compared with those of MLE-bench; the reports state why in `not_comparable_because`",
                joined(ids.iter(), MAX_NAMES)
            ),
        }
    }
}

/// Returns the part of a submission's path that names its run: `RUN/submission/submission.csv`. The report page must not show
/// other directories of the machine.
fn last_parts(path: &str) -> &str {
    let slash = path.rmatch_indices('/').nth(2);
    slash.and_then(|(at, _)| path.get(at + 1..)).unwrap_or(path)
}
