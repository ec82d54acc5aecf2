//! Summarizes an experiment: metrics for each set, and counts for each competition.
//!
//! The runs of a competition are sorted by time. First, [`Choice`] selects runs of each competition: the first N runs if N
//! seeds were requested, otherwise all runs. The counts of a competition are about all selected runs.
//!
//! The seeds of a set are made of selected runs too. The number of seeds is the smallest number of selected runs of any
//! competition in the set. If a competition has more runs than there are seeds, MLE-bench's script uses its first runs.
//!
//! With [`Choice::last`], the last runs are used instead of the first ones, as in MLE-bench's published results, because
//! earlier runs may have failed for technical reasons.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prep_spec::joined;
use serde::Serialize;

use crate::report;
use crate::report::{GradedRun, LeftOutGroup, RepeatedRun, Runs, UngradedRun};

#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// The summary of each set, or the reason why a set has no summary.
    pub sets: Vec<(String, Result<SetSummary, String>)>,
    /// All competitions with a run, sorted by id. Seeds may contain fewer runs of a competition.
    pub competitions: Vec<CompetitionSummary>,
    /// Runs that were graded several times. As in upstream's script, the figures contain each grading as a separate
    /// run.
    pub repeated_runs: Vec<RepeatedRun>,
    /// Runs that could not be graded. They are not part of the figures, and never treated as failed.
    pub ungraded_runs: Vec<UngradedRun>,
    /// See [`Runs::agents`].
    pub agents: BTreeSet<String>,
    /// See [`Runs::left_out_groups`].
    pub left_out_groups: Vec<LeftOutGroup>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetSummary {
    pub set: String,
    pub competitions: usize,
    pub seeds: usize,
    /// Number of missing runs that are treated as failed.
    pub padded: usize,
    /// Runs that are not used, because other competitions have fewer runs.
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
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        let mut estimates = self.estimates.iter();
        estimates
            .find(|(metric, _)| *metric == name)
            .map(|(_, one)| *one)
    }
}

/// The summary of several runs of one competition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompetitionSummary {
    pub competition: String,
    /// Low, medium, high or dev.
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
    /// Number of runs whose submission was identical to the answers.
    pub copies: usize,
    /// Number of runs whose score cannot be compared with upstream's scores.
    pub not_comparable: usize,
    /// Whether runs were graded with different answers, so that their scores cannot be averaged.
    #[serde(skip)]
    pub has_mixed_answers: bool,
    /// Whether runs were graded with different grading rules, which contain the metric.
    #[serde(skip)]
    pub has_mixed_rules: bool,
    /// Whether no run can have a medal, because the competition has no leaderboard.
    #[serde(skip)]
    pub has_no_leaderboard: bool,
    /// Number of gradings of the competition in the logs of gradings, up to and including the last run. `None` if a run
    /// was not logged.
    pub looks: Option<u64>,
    /// Number of runs whose grading was logged.
    #[serde(skip)]
    pub logged: usize,
    /// Mean of all scores.
    pub mean_score: Option<f64>,
    /// `None` for a single score.
    pub score_standard_error: Option<f64>,
}

/// Summarizes an experiment. The graded runs must be sorted by time.
pub fn summarise(name: &str, runs: &Runs, sets: &[Set], choice: &Choice) -> Experiment {
    let selected = selected_runs(&runs.graded, choice);
    let competitions = selected.iter();
    let sets = sets.iter().map(|set| {
        let seeds = seeds(&selected, &runs.ungraded, &set.competitions, choice);
        let summary = seeds.map(|seeds| summarise_set(&set.name, seeds));
        (set.name.clone(), summary)
    });
    Experiment {
        name: name.to_owned(),
        sets: sets.collect(),
        competitions: competitions
            .map(|(id, runs)| summarise_competition(id, runs))
            .collect(),
        repeated_runs: report::repeated_runs(selected.values().flatten().copied()),
        ungraded_runs: runs.ungraded.clone(),
        agents: runs.agents.clone(),
        left_out_groups: runs.left_out_groups.clone(),
    }
}

type RunsByCompetition<'a> = BTreeMap<&'a str, Vec<&'a GradedRun>>;

/// Returns the runs of each competition that `choice` selects. All figures are computed from these runs.
fn selected_runs<'a>(runs: &'a [GradedRun], choice: &Choice) -> RunsByCompetition<'a> {
    let mut selected = RunsByCompetition::new();
    for run in runs {
        selected.entry(&run.competition).or_default().push(run);
    }
    if let Some(number) = choice.number {
        for runs in selected.values_mut() {
            *runs = choice.select(runs, number).to_vec();
        }
    }
    selected
}

fn summarise_set(name: &str, seeds: Seeds<'_>) -> SetSummary {
    let value = |seed: usize, counts: fn(&GradedRun) -> bool| {
        let runs = seeds.rows.iter().filter_map(|(_, runs)| runs.get(seed));
        runs.filter(|run| counts(run)).count() as f64 / seeds.rows.len() as f64 * 100.0
    };
    let all = 0..seeds.number;
    let estimates = METRICS.map(|(name, counts)| {
        let values: Vec<f64> = all.clone().map(|seed| value(seed, counts)).collect();
        (name, estimate(&values))
    });
    let by_seed = all.map(|seed| METRICS.map(|(_, counts)| value(seed, counts)).to_vec());
    let missing = seeds.rows.iter().map(|(_, runs)| seeds.number - runs.len());
    SetSummary {
        set: name.to_owned(),
        competitions: seeds.rows.len(),
        seeds: seeds.number,
        padded: missing.sum(),
        estimates: estimates.to_vec(),
        by_seed: by_seed.collect(),
        left_out: seeds.left_out,
    }
}

/// Summarizes runs of one competition.
pub fn summarise_competition(id: &str, runs: &[&GradedRun]) -> CompetitionSummary {
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
        copies: count(|run| run.is_answers),
        not_comparable: count(|run| run.is_not_comparable),
        has_mixed_answers: have_mixed_answers(runs),
        has_mixed_rules: differ(runs, |run| run.rules_digest.as_deref()),
        has_no_leaderboard: runs.iter().any(|run| run.has_no_leaderboard),
        looks: looks(runs),
        logged: count(|run| run.looks.is_some()),
        mean_score: score.map(|score| score.mean),
        score_standard_error: score
            .filter(|_| scores.len() > 1)
            .map(|score| score.standard_error),
    }
}

/// Returns whether submissions were graded with different answers. Upstream's reports state neither a digest nor a variant,
/// because upstream has only `v1`. So if a report has no digest, the names of the variants are compared.
fn have_mixed_answers(runs: &[&GradedRun]) -> bool {
    let mut submitted = runs.iter().filter(|run| run.exists);
    differ(runs, |run| run.answers_digest.as_deref())
        || submitted.any(|run| run.answers_digest.is_none())
            && differ(runs, |run| Some(run.variant.as_deref().unwrap_or("v1")))
}

/// Returns whether submissions differ in a property. Runs without a submission are ignored, because they have no score.
fn differ(runs: &[&GradedRun], property: fn(&GradedRun) -> Option<&str>) -> bool {
    let submitted = runs.iter().filter(|run| run.exists);
    let mut found = submitted.filter_map(|run| property(run));
    let first = found.next();
    found.any(|one| Some(one) != first)
}

/// Returns the number of gradings in the logs of `runs`. This is the sum of the highest number that the runs state for
/// each log.
fn looks(runs: &[&GradedRun]) -> Option<u64> {
    let mut by_log: HashMap<&str, u64> = HashMap::new();
    for run in runs {
        let Some((log, number)) = &run.looks else {
            // Upstream does not log, and its report of a run without a submission does not state which program graded it.
            if run.exists {
                return None;
            }
            continue;
        };
        let highest = by_log.entry(log).or_default();
        *highest = (*highest).max(*number);
    }
    (!by_log.is_empty()).then(|| by_log.values().sum())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// If a competition has more runs than there are seeds: whether to use its last runs instead of its first runs.
    pub last: bool,
    /// Number of seeds, and of the runs to use of each competition. `None` for all runs and all complete seeds.
    pub number: Option<usize>,
    /// Whether the competition with the most runs determines the number of seeds. Missing runs are treated as failed.
    pub pad: bool,
}

impl Choice {
    /// Returns the first (or last) `number` of the runs of a competition, or all runs if there are fewer.
    fn select<'a, T>(&self, runs: &'a [T], number: usize) -> &'a [T] {
        let number = number.min(runs.len());
        let from = if self.last { runs.len() - number } else { 0 };
        runs.get(from..from + number).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Seeds<'a> {
    number: usize,
    /// The competitions with their runs. Seed k consists of the k-th runs. Padded runs are not contained.
    rows: Vec<(&'a str, &'a [&'a GradedRun])>,
    left_out: Option<LeftOut>,
}

/// The reason why runs are left out: some competitions of the set have fewer runs than others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The largest number of runs of any competition.
    pub most: usize,
    /// The competitions that have only one run per seed.
    pub fewest: Vec<String>,
}

/// Maximum number of competitions in an error.
const MAX_NAMES: usize = 5;

/// Combines selected runs into seeds for the competitions of a set. A competition without a run is an error. With
/// [`Choice::pad`], missing runs are treated as failed instead. A missing run is then an error only if its competition has
/// ungraded runs.
fn seeds<'a>(
    selected: &'a RunsByCompetition<'_>,
    ungraded: &[UngradedRun],
    competitions: &'a [String],
    choice: &Choice,
) -> Result<Seeds<'a>, String> {
    let rows = competitions.iter().map(|id| {
        let runs = selected.get(id.as_str());
        (id.as_str(), runs.map_or(&[][..], Vec::as_slice))
    });
    let mut rows: Vec<(&str, &[&GradedRun])> = rows.collect();
    let counts = || rows.iter().map(|(_, runs)| runs.len());
    let most = counts().max().unwrap_or(0);
    let there = match choice.pad {
        true => most,
        false => counts().min().unwrap_or(0),
    };
    let number = choice.number.unwrap_or(there);
    let needed = if choice.pad { number.max(1) } else { 1 };
    let short = rows.iter().filter(|(_, runs)| runs.len() < needed);
    let (not_graded, missing): (Vec<&str>, Vec<&str>) = short
        .map(|(id, _)| *id)
        .partition(|id| ungraded.iter().any(|run| run.competition == *id));
    if most == 0 && not_graded.is_empty() {
        return Err("there is no run of any of the competitions".to_owned());
    }
    let names = |ids: Vec<&str>| joined(ids.into_iter(), MAX_NAMES);
    let mut problems = Vec::new();
    if there == 0 && !missing.is_empty() {
        problems.push(format!("no run of {}", names(missing)));
    }
    if !not_graded.is_empty() {
        problems.push(format!("runs of {} were not graded", names(not_graded)));
    }
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    if number > there {
        return Err(format!("complete seeds: {there}, requested: {number}"));
    }
    let fewest = rows.iter().filter(|(_, runs)| runs.len() == number);
    let left_out = (number < most).then(|| LeftOut {
        most,
        fewest: fewest.map(|(id, _)| (*id).to_owned()).collect(),
    });
    for (_, runs) in &mut rows {
        *runs = choice.select(runs, number);
    }
    Ok(Seeds {
        number,
        rows,
        left_out,
    })
}

/// Upstream's name of a metric, and a function that returns whether a run has the property that the metric counts. The
/// metric of a seed is the percentage of its runs with this property.
pub type SeedMetric = (&'static str, fn(&GradedRun) -> bool);

/// All metrics, in the order of upstream's script.
pub const METRICS: [SeedMetric; 7] = [
    ("submission_exists_percentage", |run| run.exists),
    ("valid_submissions_percentage", |run| run.valid),
    ("above_median_percentage", |run| run.above_median),
    ("gold_medal_percentage", |run| run.gold),
    ("silver_medal_percentage", |run| run.silver),
    ("bronze_medal_percentage", |run| run.bronze),
    ("any_medal_percentage", GradedRun::any_medal),
];

/// The mean of several values, for example of a metric over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// Bounds of the 95 % confidence interval, if the mean is normally distributed.
    pub ci_lower: f64,
    pub ci_upper: f64,
    /// Sample standard deviation of the values (divisor n - 1), divided by the square root of n. It is 0 for one value.
    pub standard_error: f64,
}

/// Returns the mean of `values`, and its standard error.
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

/// Name of the set of competitions that are not part of the benchmark.
pub const OWN: &str = "own";

/// Name of the set of all competitions with a run.
pub const GRADED: &str = "graded competitions";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    pub name: String,
    pub competitions: Vec<String>,
}

impl Set {
    /// Finds a set by its name. Upstream's file names `split75` and `lite` are also valid. `all` contains only the scored
    /// competitions, as in upstream.
    pub fn by_name(name: &str) -> Option<Set> {
        let is_all = ["scored", "split75"].contains(&name);
        let ids = prep_splits::set(if is_all { "all" } else { name })?;
        Some(Set {
            name: name.to_owned(),
            competitions: ids.iter().map(|id| (*id).to_owned()).collect(),
        })
    }

    /// Returns the set of the competitions in `runs` that are not part of the benchmark.
    pub fn own<'a>(runs: impl IntoIterator<Item = &'a GradedRun>) -> Set {
        let ids = runs.into_iter().map(|run| run.competition.as_str());
        let own: BTreeSet<&str> = ids
            .filter(|id| prep_splits::sets_of(id).next().is_none())
            .collect();
        Set {
            name: OWN.to_owned(),
            competitions: own.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns the set of all competitions in the runs of all experiments. Returns `None` if there is no run, or if all
    /// competitions of a set of the leaderboard have runs.
    pub fn graded<'a>(runs: impl Iterator<Item = &'a GradedRun>) -> Option<Set> {
        let ids: BTreeSet<&str> = runs.map(|run| run.competition.as_str()).collect();
        let is_run = |set: &Set| set.competitions.iter().all(|id| ids.contains(id.as_str()));
        (!ids.is_empty() && !Set::leaderboard().iter().any(is_run)).then(|| Set {
            name: GRADED.to_owned(),
            competitions: ids.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns the sets that are columns of the leaderboard.
    pub fn leaderboard() -> Vec<Set> {
        ["low", "medium", "high", "all"]
            .into_iter()
            .filter_map(Set::by_name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses runs: `a1 b1 a2` are runs of the competitions a, b and a with the scores 1, 1 and 2.
    /// `a?` is a run of `a` that was not graded.
    fn runs(text: &str) -> Runs {
        let mut runs = Runs::default();
        for word in text.split_whitespace() {
            let competition = &word[..1];
            match &word[1..] {
                "?" => runs.ungraded.push(UngradedRun {
                    competition: competition.to_owned(),
                    submission_path: "a.csv".to_owned(),
                    message: "not prepared".to_owned(),
                }),
                score => runs.graded.push(GradedRun {
                    competition: competition.to_owned(),
                    score: score.parse().ok(),
                    ..GradedRun::default()
                }),
            }
        }
        runs
    }

    /// Returns the seeds of the set of the competitions `a` and `b` as a text, and the runs that the seeds leave out.
    fn seeds_of(text: &str, choice: &Choice) -> Result<(String, Option<LeftOut>), String> {
        let runs = runs(text);
        let selected = selected_runs(&runs.graded, choice);
        let set = ["a".to_owned(), "b".to_owned()];
        let found = seeds(&selected, &runs.ungraded, &set, choice)?;
        let run = |seed: usize, (id, runs): &(&str, &[&GradedRun])| match runs.get(seed) {
            Some(run) => format!("{id}{}", run.score.unwrap()),
            None => format!("{id}-"),
        };
        let seeds = (0..found.number).map(|seed| {
            let runs = found.rows.iter().map(|row| run(seed, row));
            runs.collect::<Vec<_>>().join(" ")
        });
        Ok((seeds.collect::<Vec<_>>().join(" | "), found.left_out))
    }

    #[test]
    fn the_competition_with_the_fewest_runs_limits_the_seeds() {
        let choice = |last, number, pad| Choice { last, number, pad };
        let three = "a1 b1 a2 b2 a3";
        for (text, choice, expected) in [
            (three, choice(false, None, false), "a1 b1 | a2 b2"),
            (three, choice(true, None, false), "a2 b1 | a3 b2"),
            (three, choice(false, Some(1), false), "a1 b1"),
            (three, choice(true, Some(1), false), "a3 b2"),
            (three, choice(false, None, true), "a1 b1 | a2 b2 | a3 b-"),
            (three, choice(true, None, true), "a1 b1 | a2 b2 | a3 b-"),
            (three, choice(true, Some(2), true), "a2 b1 | a3 b2"),
            ("a1", choice(true, None, true), "a1 b-"),
            // Ungraded runs do not matter if no run of their competition is missing.
            ("a1 b1 b? c?", choice(false, None, true), "a1 b1"),
            (
                "a1 b1 a2 b2 a3 b?",
                choice(false, None, false),
                "a1 b1 | a2 b2",
            ),
        ] {
            let (found, found_left_out) = seeds_of(text, &choice).unwrap();
            assert_eq!(found, expected, "{text} {choice:?}");
            // Unused runs are not reported if the number of seeds was requested or missing runs are filled in.
            let left_out = (text.starts_with(three) && choice.number.is_none() && !choice.pad)
                .then(|| LeftOut {
                    most: 3,
                    fewest: vec!["b".to_owned()],
                });
            assert_eq!(found_left_out, left_out, "{text} {choice:?}");
        }
    }

    /// Seeds, sets and padding do not change which runs are counted.
    #[test]
    fn figures_of_a_competition_contain_all_selected_runs() {
        for (last, number, expected) in [
            (false, None, "a 3 2, b 1 5"),
            (true, None, "a 3 2, b 1 5"),
            (false, Some(2), "a 2 1.5, b 1 5"),
            (true, Some(2), "a 2 2.5, b 1 5"),
            (true, Some(1), "a 1 3, b 1 5"),
        ] {
            for pad in [false, true] {
                let choice = Choice { last, number, pad };
                let set = |names: &[&str]| Set {
                    name: names.concat(),
                    competitions: names.iter().map(|&name| name.to_owned()).collect(),
                };
                for sets in [vec![], vec![set(&["a", "b"])], vec![set(&["b", "c"])]] {
                    let found = summarise("x", &runs("a1 b5 a2 a3"), &sets, &choice).competitions;
                    let found = found.iter().map(|one| {
                        let score = one.mean_score.unwrap();
                        format!("{} {} {score}", one.competition, one.runs)
                    });
                    let found: Vec<String> = found.collect();
                    assert_eq!(found.join(", "), expected, "{choice:?} {sets:?}");
                }
            }
        }
    }

    /// `a:v1` is a run that was graded with the variant `v1`, `a:` a run in a report of upstream, and `-` a padded run.
    #[test]
    fn variants_of_runs_without_a_submission_do_not_matter() {
        for (text, expected) in [
            ("a:v1 a:v1 -", false),
            ("- a:v1 -", false),
            ("a: a:v1", false),
            ("a:v1 a:fixed", true),
            ("a:v1 - a:fixed", true),
            ("a: a:fixed", true),
        ] {
            let run = |word: &str| GradedRun {
                exists: word != "-",
                variant: word
                    .strip_prefix("a:")
                    .filter(|one| !one.is_empty())
                    .map(str::to_owned),
                ..GradedRun::default()
            };
            let runs: Vec<GradedRun> = text.split(' ').map(run).collect();
            let found = summarise_competition("a", &runs.iter().collect::<Vec<_>>());
            assert_eq!(found.has_mixed_answers, expected, "{text}");
        }
    }

    #[test]
    fn errors_name_missing_competitions_and_seeds() {
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
                "complete seeds: 1, requested: 2",
            ),
            (
                "a1",
                choice(Some(2), true),
                "complete seeds: 1, requested: 2",
            ),
            ("a1 b?", choice(None, false), "runs of b were not graded"),
            ("a1 b?", choice(None, true), "runs of b were not graded"),
            ("a1 a2 b1 b?", choice(None, true), "runs of b were not"),
            ("a?", choice(None, true), "runs of a were not graded"),
            (
                "a?",
                choice(None, false),
                "no run of b; runs of a were not graded",
            ),
        ] {
            let error = seeds_of(text, &choice).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
