//! Summarizes an experiment: metrics for each set, and counts for each competition.
//!
//! The runs of a competition are sorted by time. The number of seeds is the smallest number of runs of any competition in
//! the set.
//!
//! If a competition has more runs than there are seeds, MLE-bench's script uses its first runs. With [`Choice::last`], the
//! last runs are used, as in MLE-bench's published results, because earlier runs may have failed for technical reasons.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use crate::report;
use crate::report::{GradedRun, RepeatedRun, UngradedRun};

#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// The summary of each set, or the reason why a set has no summary.
    pub sets: Vec<(String, Result<SetSummary, String>)>,
    /// All competitions with a run, sorted by id.
    pub competitions: Vec<CompetitionSummary>,
    /// Runs that were graded several times. As in upstream's script, the figures contain each grading as a separate
    /// run.
    pub repeated_runs: Vec<RepeatedRun>,
    /// Runs that could not be graded. They are not part of the figures, and never treated as failed.
    pub ungraded_runs: Vec<UngradedRun>,
    /// The agents in the names of the run groups. Empty if a table assigns the run groups to experiments, because then the
    /// user has chosen which agents to combine.
    pub agents: BTreeSet<String>,
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

/// The summary of one competition, over the runs that belong to seeds.
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
    /// Whether runs were graded with different variants of the competition, so that their scores cannot be averaged.
    #[serde(skip)]
    pub has_mixed_variants: bool,
    /// Number of gradings of the competition in the logs of gradings, up to and including the last run. `None` if a run
    /// was not logged.
    pub looks: Option<u64>,
    /// Mean of all scores.
    pub mean_score: Option<f64>,
    /// `None` for a single score.
    pub score_standard_error: Option<f64>,
}

/// Summarizes an experiment. `runs` must be sorted by time.
pub fn summarise(
    name: &str,
    runs: &[GradedRun],
    ungraded: &[UngradedRun],
    sets: &[Set],
    choice: &Choice,
) -> Experiment {
    let seeds_by_set: Vec<(&Set, Result<Seeds, String>)> = sets
        .iter()
        .map(|set| (set, seeds(runs, ungraded, &set.competitions, choice)))
        .collect();
    let mut ids: Vec<&str> = runs.iter().map(|run| run.competition.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let competitions = ids.into_iter().map(|id| {
        // Use the runs of the first set that contains this competition and has complete seeds.
        let used_runs = seeds_by_set.iter().find_map(|(set, seeds)| {
            let at = set.competitions.iter().position(|one| one == id)?;
            let seeds = seeds.as_ref().ok()?.seeds.iter();
            Some(seeds.filter_map(|seed| seed.get(at)).collect::<Vec<_>>())
        });
        let all = || runs.iter().filter(|run| run.competition == id).collect();
        competition(id, &used_runs.unwrap_or_else(all))
    });
    Experiment {
        name: name.to_owned(),
        competitions: competitions.collect(),
        repeated_runs: report::repeated_runs(runs),
        ungraded_runs: ungraded.to_vec(),
        agents: BTreeSet::new(),
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
    let values = METRICS.map(|(_, counts)| -> Vec<f64> {
        let seeds = seeds.seeds.iter();
        let value = |seed: &Vec<GradedRun>| {
            let count = seed.iter().filter(|run| counts(run)).count();
            count as f64 / seed.len() as f64 * 100.0
        };
        seeds.map(value).collect()
    });
    let estimates = METRICS.iter().zip(&values);
    let estimates = estimates.map(|((name, _), values)| (*name, estimate(values)));
    let of_seed = |seed| {
        values
            .iter()
            .filter_map(|values| values.get(seed).copied())
            .collect()
    };
    SetSummary {
        set: set.name.clone(),
        competitions: set.competitions.len(),
        seeds: seeds.seeds.len(),
        padded: seeds.padded,
        left_out: seeds.left_out.clone(),
        estimates: estimates.collect(),
        by_seed: (0..seeds.seeds.len()).map(of_seed).collect(),
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
        copies: count(|run| run.is_answers),
        not_comparable: count(|run| run.is_not_comparable),
        has_mixed_variants: has_mixed_variants(runs),
        looks: looks(runs),
        mean_score: score.map(|score| score.mean),
        score_standard_error: score
            .filter(|_| scores.len() > 1)
            .map(|score| score.standard_error),
    }
}

/// Returns whether submissions were graded with different variants. Runs without a submission, such as padded runs, are
/// ignored, because they have no score. Upstream's reports state no variant, because upstream has only `v1`.
fn has_mixed_variants(runs: &[&GradedRun]) -> bool {
    let submitted = runs.iter().filter(|run| run.exists);
    let mut variants = submitted.map(|run| run.variant.as_deref().unwrap_or("v1"));
    let first = variants.next();
    variants.any(|variant| Some(variant) != first)
}

/// Returns the number of gradings in the logs of `runs`. This is the sum of the highest number that the runs state for
/// each log.
fn looks(runs: &[&GradedRun]) -> Option<u64> {
    let mut by_log: HashMap<&str, u64> = HashMap::new();
    for run in runs.iter().filter(|run| run.exists) {
        let (log, number) = run.looks.as_ref()?;
        let highest = by_log.entry(log).or_default();
        *highest = (*highest).max(*number);
    }
    (!by_log.is_empty()).then(|| by_log.values().sum())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// If a competition has more runs than there are seeds: whether to use its last runs instead of its first runs.
    pub last: bool,
    /// Number of seeds. `None` for all complete seeds.
    pub number: Option<usize>,
    /// Whether the competition with the most runs determines the number of seeds. Missing runs are treated as failed.
    pub pad: bool,
}

#[derive(Debug)]
struct Seeds {
    /// The runs of each seed, in the order of the competitions.
    seeds: Vec<Vec<GradedRun>>,
    padded: usize,
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

/// Combines runs into seeds for the competitions of a set. `runs` must be sorted by time. A competition without a run
/// is an error. With [`Choice::pad`], missing runs are replaced by failed runs instead. A missing run is then an error only
/// if its competition has ungraded runs.
fn seeds(
    runs: &[GradedRun],
    ungraded: &[UngradedRun],
    competitions: &[String],
    choice: &Choice,
) -> Result<Seeds, String> {
    let runs_of = |id| runs.iter().filter(|run| run.competition == id).collect();
    let rows: Vec<(&str, Vec<&GradedRun>)> = competitions
        .iter()
        .map(|id| (id.as_str(), runs_of(id.as_str())))
        .collect();
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
    let mut problems = Vec::new();
    if there == 0 && !missing.is_empty() {
        problems.push(format!("no run of {}", list_names(&missing)));
    }
    if !not_graded.is_empty() {
        let names = list_names(&not_graded);
        problems.push(format!("runs of {names} were not graded"));
    }
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    if number > there {
        return Err(format!("complete seeds: {there}, requested: {number}"));
    }
    let fewest = rows.iter().filter(|(_, runs)| runs.len() == number);
    let left_out = (choice.number.is_none() && number < most).then(|| LeftOut {
        most,
        fewest: fewest.map(|(id, _)| (*id).to_owned()).collect(),
    });
    let mut padded = 0;
    let mut seeds = Vec::with_capacity(number);
    for seed in 0..number {
        let runs = rows.iter().map(|(id, runs)| {
            let skipped = match choice.last {
                true => runs.len().saturating_sub(number),
                false => 0,
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

fn list_names(names: &[&str]) -> String {
    const MAX_NAMES: usize = 5;
    let some: Vec<&str> = names.iter().take(MAX_NAMES).copied().collect();
    match names.len().checked_sub(MAX_NAMES) {
        Some(more @ 1..) => format!("{} and {more} more", some.join(", ")),
        _ => some.join(", "),
    }
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
    fn runs(text: &str) -> (Vec<GradedRun>, Vec<UngradedRun>) {
        let mut runs = (Vec::new(), Vec::new());
        for word in text.split_whitespace() {
            let competition = &word[..1];
            match &word[1..] {
                "?" => runs.1.push(UngradedRun {
                    competition: competition.to_owned(),
                    submission_path: "a.csv".to_owned(),
                    message: "not prepared".to_owned(),
                }),
                score => runs.0.push(GradedRun {
                    score: score.parse().ok(),
                    ..GradedRun::failed(competition)
                }),
            }
        }
        runs
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
            let (graded, ungraded) = runs(text);
            let found = seeds(&graded, &ungraded, &["a".into(), "b".into()], &choice).unwrap();
            assert_eq!(format_seeds(&found), expected, "{text} {choice:?}");
            // Unused runs are not reported if the number of seeds was requested or missing runs are filled in.
            let left_out = (text.starts_with(three) && choice.number.is_none() && !choice.pad)
                .then(|| LeftOut {
                    most: 3,
                    fewest: vec!["b".to_owned()],
                });
            assert_eq!(found.left_out, left_out, "{text} {choice:?}");
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
                ..GradedRun::failed("a")
            };
            let runs: Vec<GradedRun> = text.split(' ').map(run).collect();
            let found = competition("a", &runs.iter().collect::<Vec<_>>());
            assert_eq!(found.has_mixed_variants, expected, "{text}");
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
            let (graded, ungraded) = runs(text);
            let error = seeds(&graded, &ungraded, &set, &choice).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
