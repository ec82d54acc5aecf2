//! Summarizes grading reports in the form of the leaderboard in the README of upstream, the benchmark MLE-bench.
//!
//! An *experiment* is one agent in one setting. It consists of *run groups*. Each run group has one grading report, which
//! contains one *run* per competition and attempt. The k-th runs of all competitions of a set make up *seed* k. A metric
//! of a seed is, for example, the percentage of its competitions with a medal. The value of the experiment is the mean
//! over the seeds, with its standard error.
//!
//! ```text
//! report   reads grading reports of upstream and of `prep`, and the table that assigns run groups to experiments
//! summary  sets of competitions; runs -> seeds; percentages, mean and standard error of an experiment for each set
//! list     lists the submissions in a directory of runs, for grading
//! budget   hours, hardware and model of an experiment, from a file that a person fills in
//! ```
//!
//! The values equal those of upstream's script, which uses the first runs of each competition. With [`Choice::last`], the
//! last runs are used instead.

mod budget;
mod list;
mod report;
mod summary;

pub use budget::{BUDGET_FIELDS, Budget, Budgets};
pub use list::{ListPlaces, Submission, list};
pub use report::{ExperimentsError, GradedRun, parse, read_report};
pub use report::{Group, GroupReport, experiments, reports_at, reports_in, reports_of_groups};
pub use summary::{Choice, Estimate, LeftOut, METRICS, OWN, SeedMetric, Set};
pub use summary::{CompetitionSummary, Experiment, SetSummary, summarise};
