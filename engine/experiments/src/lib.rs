//! From grading reports to the numbers of a leaderboard.
//!
//! An *experiment* is one agent in one setting. It consists of *run groups*, each with one grading report; a report has
//! one *run* per competition and attempt. The k-th runs of all competitions of a set make up *seed* k. Of each seed the
//! share of competitions with a medal is taken; the experiment's number is the mean over the seeds, with its standard
//! error.
//!
//! ```text
//! report   reads grading reports: the benchmark's and ours    groups   which run group belongs to which experiment
//! seeds    runs -> seeds                                      metrics  what is counted; mean and standard error
//! sets     sets of competitions                               summary  one experiment, set by set
//! list     a folder of runs -> the list of submissions that is graded
//! ```
//!
//! Nothing here prints. Figures are those of the benchmark's own script, which takes the first seeds; [`Take`] says
//! which ones are taken here.

mod error;
mod groups;
mod list;
mod metrics;
mod report;
mod seeds;
mod sets;
mod summary;

pub use error::{ExperimentsError, SeedsError};
pub use groups::{Found, Group, Missing, collect, experiments, reports_in};
pub use list::{List, Places, Submission, list};
pub use metrics::{Estimate, METRICS, Metric, estimate};
pub use report::{Report, Run, parse};
pub use seeds::{Choice, LeftOut, Seeds, Take, seeds};
pub use sets::Set;
pub use summary::{Competition, Experiment, SetSummary, summarise};
