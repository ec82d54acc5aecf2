//! Plans, prepares and grades competitions, without a terminal. The command line, the server and other programs use this library.
//!
//! ```text
//! settings   directories and limits, as plain values        task        a request with its options
//! stages     from ids to a summary: load, find sources, assemble, resolve, forecast, run, record, sum up
//! grading    grades submissions, and lists of submissions
//! inspect    audits, leaks, differences, reruns             reasons     why steps run, in words
//! team       results for other machines                     fetch       bundles without preparing
//! draft      a first pipeline for a bundle                  export      a copy that can be taken elsewhere
//! catalog    all competitions (benchmark, samples)         check       finds mistakes in a pipeline, and formats it
//! prepared   state of a competition in a data directory    bundles     location of its bundle
//! recall     options of the last run in a data directory
//! digests    the digests that a score depends on            note        messages that are not errors
//! outline    a pipeline as a map of its settings            permissions bundles that an account may download
//! doctor     checks of directories and disk before a run   remove     prepared data, bundles and cached results
//! run_log    which steps ran, when and why
//! ```
//!
//! The types of results are part of this library, also those that a library below it defines.
//!
//! A [`Task`] is a request. [`Plan::preview`] finds the steps that it would run, and writes nothing. [`Run::begin`] and
//! [`Run::execute`] run these steps. [`Grading::open`] grades submissions. An [`Error`] names the party that must act.
//!
//! `examples/prepare_and_grade.rs` is a complete program that uses the library.

mod bundles;
mod catalog;
mod check;
mod digests;
pub mod doctor;
mod draft;
mod error;
mod export;
mod fetch;
mod grading;
mod inspect;
mod note;
mod outline;
mod permissions;
mod prepared;
pub mod reasons;
mod recall;
mod remove;
mod run_log;
mod settings;
mod stages;
mod task;
mod team;

pub use bundles::{BorrowedBundle, Lender};
pub use catalog::{
    Catalog, CatalogEntry, CompetitionDefinition, SAMPLES, SampleBundle, competition_set,
    definition, definitions, lists, upstream_facts,
};
pub use check::{check, format_pipeline, schema};
pub use digests::facts;
pub use draft::{Draft, draft};
pub use error::{Blame, Error, for_people};
pub use export::{CopyContent, Export, ExportForm, export};
pub use fetch::{fetch, mirror};
pub use grading::{
    Comparability, GradeOverrides, GradedList, Grading, GradingLog, Submission,
    SubmissionDirectory, SubmissionError, Validation, grade_list, leaderboard, read_leaderboard,
};
pub use inspect::{
    Audit, BundleAudit, BundleListing, DataDifferences, Difference, ListedFile, ListedSource,
    OutputsAudit, PipelineDifference, PreviewSource, Rerun, RerunPlace, RerunResult, RerunStep,
    TreeAudit, audit, diff_data, diff_pipelines, diff_runs, diff_variants, leaks, listing, rerun,
    rows,
};
pub use note::Note;
pub use permissions::{Permission, PermissionCheck};
pub use prep_audit::{AuditReport, Block, Verdict};
pub use prep_cache::LinkMode;
pub use prep_core::Remedy;
pub use prep_diff::{FileDifference, TableDifference};
pub use prep_digests::{DatasetDigests, Sha256, TreeDigest, combined_digest};
pub use prep_draft::DraftChoices;
pub use prep_leaks::{LeakLevel, LeakReport};
pub use prep_steps::{Expand, Preview, PreviewColumn, RememberedOptions, Verify};
pub use prepared::{PreparedData, PreparedState, manifest, prepared_ids};
pub use recall::RecalledOption;
pub use remove::{Removal, RemovalResult, RemovedCompetition, Space, remove};
pub use run_log::{
    LoggedRun, LoggedStep, RefusedCompetition, RunEnd, RunResult, local_time, logged_runs,
};
pub use settings::{Settings, prepared_dir};
pub use stages::assemble::Competition;
pub use stages::availability::require_credentials_for;
pub use stages::ended::CompetitionState;
pub use stages::forecast::{Download, MissingInput, Peak, ask_all};
pub use stages::load::Verification;
pub use stages::resolve::{Plan, PlannedStep, Runs};
pub use stages::run::Run;
pub use stages::sources::FurtherSource;
pub use stages::summary::{Checksums, Preparation, StepFailure, Summary};
pub use stages::watch::PUBLISH_STEP;
pub use task::{PreparationOptions, Task, ViewOptions};
pub use team::{JobPlan, PushResult, Slurm, Unit, kubernetes, push, remote_of, slurm, unit};

/// The program's version, for logs and records.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
