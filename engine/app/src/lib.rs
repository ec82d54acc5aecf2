//! Planning, preparing and grading competitions, without a terminal: what the command line calls, and what a server or
//! another program links.
//!
//! ```text
//! settings   where things are, what is wanted: plain values        catalog   which competitions there are
//! loading    text -> checked pipeline                              assemble  pipelines -> one graph of steps
//! sources    what a pipeline reads beside its bundle
//! plan       what would be done and why                            run       doing it        summary  how it ended
//! forecast   what downloads move, and the disk they take (disk)    watch     times, bundles that are not wanted any more
//! prepared   what the data folder holds                            note      what is worth knowing meanwhile
//! benchmark  what the benchmark says of its competitions           fetch     bundles without preparing
//! check      whether a pipeline is sound                            draft     a first pipeline for a bundle
//! export     a copy that can be taken elsewhere                     audit     why data are not what was published
//! jobs       scripts and manifests for clusters
//! push       results and bundles for other machines (unstored)     unit     a share of many competitions
//! reasons    why steps run, in words                               rerun     whether steps give the same again
//! samples    small bundles for a first look
//! answers    which prepared answers may be trusted                 grading   one competition's submissions
//! comparable whether scores mean what the benchmark's mean          provenance  how prepared data came to be
//! leaks      what gives answers away                           diff      what differs between variants, folders
//! digests    what a score rests on                                 lock      prep.lock     grade_log  who asked the grader
//! grade_list a list of submissions, one report                     validation  an outcome in words, without a score
//! ```
//!
//! A [`Task`] says what is wanted. [`Plan::look`] answers what that would take and writes nothing; [`Run::begin`] and
//! [`Run::execute`] do it. [`Grading::open`] grades what is prepared. Errors ([`Error`]) tell who is to act. Nothing here
//! prints, reads the environment, or ends the process.
//!
//! `examples/prepare_and_grade.rs` is a complete program.

mod answers;
mod ask;
mod assemble;
mod audit;
mod benchmark;
mod catalog;
mod check;
mod comparable;
mod diff;
mod digests;
mod disk;
mod draft;
mod error;
mod export;
mod fetch;
mod forecast;
mod grade_list;
mod grade_log;
mod grading;
mod jobs;
mod leaks;
mod loading;
mod lock;
mod moments;
mod note;
mod origins;
mod plan;
mod prepared;
mod provenance;
mod push;
pub mod reasons;
mod rerun;
mod run;
mod samples;
mod settings;
mod sources;
mod summary;
mod unit;
mod unstored;
mod validation;
mod watch;

pub use ask::ask_all;
pub use assemble::{Competition, Verification};
pub use audit::{Audit, BundleAudit, OutputsAudit, TreeAudit, audit};
pub use benchmark::{Definition, definition, definitions, lists};
pub use catalog::{Catalog, Entry};
pub use check::check;
pub use comparable::Comparability;
pub use diff::{Differences, PipelineDifference, diff_data, diff_pipelines, diff_variants};
pub use digests::facts;
pub use disk::Peak;
pub use draft::{Draft, draft};
pub use error::{Blame, Error, for_people};
pub use export::{Export, Exported, Form, export};
pub use fetch::{fetch, mirror};
pub use forecast::Download;
pub use grade_list::{Graded, grade_list};
pub use grading::{Given, Grading, Log, leaderboard, read_leaderboard, report};
pub use jobs::{JobPlan, kubernetes, slurm};
pub use leaks::leaks;
pub use moments::diff_moments;
pub use note::Note;
pub use plan::{Plan, PlannedStep, Runs, Task};
pub use prep_steps::Expand;
pub use prepared::{manifest, not_prepared};
pub use push::{Pushed, push, remote_of};
pub use rerun::{Difference, Place, Rerun, RerunResult, RerunStep, rerun};
pub use run::{Preparation, Run};
pub use samples::{SAMPLES, Sample};
pub use settings::{Options, Settings};
pub use sources::{FurtherSource, Missing, sources};
pub use summary::{Checksums, State, StepFailure, Summary};
pub use unit::{Unit, unit};
pub use validation::{Validation, one_line};
pub use watch::LAST;

/// The program's version, for what outlasts a process.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
