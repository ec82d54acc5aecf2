//! States why the figures of an experiment may mislead a reader.

use std::collections::BTreeSet;

use prep_failure::units;
use prep_spec::{joined, shortened};

use crate::report::UngradedRun;
use crate::summary::{CompetitionSummary, Experiment, LeftOut, SetSummary};

/// A reason why the figures of an experiment may mislead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caution {
    pub kind: CautionKind,
    /// One sentence without a full stop.
    pub text: String,
}

/// The kinds of cautions for which callers know a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CautionKind {
    /// Directories of run groups contain no report.
    GroupsWithoutReport,
    /// According to their names, the run groups belong to several agents.
    Agents,
    /// The figures of a set leave out runs. The figures of competitions do not.
    Sets,
    Other,
}

impl Experiment {
    pub fn cautions(&self) -> Vec<Caution> {
        let competitions = |is_meant: fn(&CompetitionSummary) -> bool| {
            let meant = self.competitions.iter().filter(|one| is_meant(one));
            listed(meant.map(|one| &one.competition))
        };
        let groups = |has_directory| {
            let groups = self.left_out_groups.iter();
            let groups = groups.filter(|one| one.has_directory == has_directory);
            listed(groups.map(|one| &one.name))
        };
        let agents = listed(&self.agents).filter(|_| self.agents.len() > 1);
        let reasons: BTreeSet<String> = self.ungraded_runs.iter().map(reason).collect();
        let repeated = self.repeated_runs.first().map(|first| {
            format!(
                "{} graded several times, and each grading is treated as a run of its own, so standard errors are too small: \
                 {} of `{}` has {} gradings; pass only one report of each run",
                were(self.repeated_runs.len()),
                last_parts(&first.submission_path),
                first.competition,
                first.gradings
            )
        });
        let figures = self.sets.iter().flat_map(|(_, figures)| figures);
        let others = [
            groups(false).map(|names| format!("run groups without a directory are left out: {names}")),
            competitions(|one| one.has_mixed_answers).map(|ids| {
                format!(
                    "the runs of {ids} were graded with different answers, so the figures mix scores of different test rows; \
                     use the reports of one variant at a time"
                )
            }),
            competitions(|one| one.has_mixed_rules).map(|ids| {
                format!(
                    "the runs of {ids} were graded with different rules or metrics, so the figures mix scores of different \
                     meaning; grade all runs in the same way"
                )
            }),
            competitions(|one| one.has_no_leaderboard).map(|ids| {
                format!("these competitions have no leaderboard, so none of their runs has a medal or is above the median: {ids}")
            }),
            competitions(|one| one.copies > 0)
                .map(|ids| format!("submissions of these competitions are identical to the answers: {ids}")),
            listed(&reasons).map(|reasons| {
                let were = were(self.ungraded_runs.len());
                format!("{were} not graded: {reasons}; correct this, grade the runs again, and pass only the new report")
            }),
            repeated,
            // Other competitions than the benchmark's have no published scores with which to compare.
            competitions(|one| {
                one.not_comparable > 0 && prep_splits::sets_of(&one.competition).next().is_some()
            })
            .map(|ids| {
                format!(
                    "scores of {ids} cannot be compared with those of MLE-bench; the reports state why in \
                     `not_comparable_because`"
                )
            }),
        ];
        let others = others.into_iter().map(|text| (CautionKind::Other, text));
        let of_sets = figures.map(|figures| (CautionKind::Sets, left_out_runs(figures)));
        let groups = groups(true)
            .map(|names| format!("run groups without a grading report are left out: {names}"));
        let agents = agents
            .map(|names| format!("the names of the run groups contain different agents: {names}"));
        [
            (CautionKind::GroupsWithoutReport, groups),
            (CautionKind::Agents, agents),
        ]
        .into_iter()
        .chain(others)
        .chain(of_sets)
        .filter_map(|(kind, text)| Some(Caution { kind, text: text? }))
        .collect()
    }
}

/// If a set uses fewer runs than some competitions have, states which competitions have the fewest runs.
fn left_out_runs(figures: &SetSummary) -> Option<String> {
    let LeftOut { most, fewest } = figures.left_out.as_ref()?;
    let [seeds, runs] = ["seed", "run"].map(|noun| units::count(figures.seeds as u64, noun));
    Some(format!(
        "`{}` has {seeds}, because {} {} only {runs}; its figures leave out further runs of the other competitions, which have \
         up to {most}",
        figures.set,
        joined(fewest.iter(), MAX_NAMES),
        if fewest.len() == 1 { "has" } else { "have" },
    ))
}

/// Maximum number of names in a text. The others are only counted.
const MAX_NAMES: usize = 3;
/// Maximum number of characters of a reason from a report.
const MAX_CHARACTERS: usize = 200;

/// Returns the first names. Returns `None` if there are no names.
fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let names: Vec<&String> = names.into_iter().collect();
    (!names.is_empty()).then(|| joined(names.into_iter(), MAX_NAMES))
}

fn were(runs: usize) -> String {
    let verb = if runs == 1 { "was" } else { "were" };
    format!("{} {verb}", units::count(runs as u64, "run"))
}

fn reason(run: &UngradedRun) -> String {
    let words: Vec<&str> = run.message.split_whitespace().collect();
    shortened(&words.join(" "), MAX_CHARACTERS)
}

/// Returns the part of a submission's path that names its run: `RUN/submission/submission.csv`. The report page must not show
/// other directories of the machine.
fn last_parts(path: &str) -> &str {
    let slash = path.rmatch_indices('/').nth(2);
    slash.and_then(|(at, _)| path.get(at + 1..)).unwrap_or(path)
}
