//! Summarizes grading reports in the same form as the leaderboard in the README of MLE-bench. MLE-bench is called
//! *upstream* here.
//!
//! - An *experiment* is one agent in one setting. It consists of *run groups*.
//! - A *run group* has one grading report, which contains one *run* per competition and attempt.
//! - A *set* is a list of competitions. *Seed* k of a set consists of the k-th run of each competition.
//! - A *metric* of a seed is, for example, the percentage of its competitions with a medal. The metric of the experiment is
//!   the mean over the seeds, with its standard error.
//!
//! ```text
//! report   reads grading reports, and the file that assigns run groups to experiments
//! summary  combines runs into seeds, and computes the metrics of an experiment for each set
//! caution  states why figures may mislead
//! list     lists the submissions in a directory of runs, for grading
//! budget   hours, hardware and model of an experiment, from a file that a person fills in
//! ```
//!
//! The values equal those of upstream's script.

mod budget;
mod caution;
mod list;
mod report;
mod summary;

pub use budget::{BUDGET_FIELDS, Budget, Budgets};
pub use caution::{Caution, CautionKind};
pub use list::{ListPlaces, RunGroup, Submission, list};
pub use report::{ExperimentsError, GradedRun, LeftOutGroup, RepeatedRun, Runs, UngradedRun};
pub use report::{Group, agents, experiments, reports_at, reports_in, reports_of_groups};
pub use report::{parse, read_reports};
pub use summary::{Choice, Estimate, GRADED, LeftOut, METRICS, OWN, SeedMetric, Set};
pub use summary::{CompetitionSummary, Experiment, SetSummary, summarise, summarise_competition};
