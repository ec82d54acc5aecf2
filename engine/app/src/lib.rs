//! Plans, prepares and grades competitions, without a terminal. The command line, the server and other programs use this
//! library.
//!
//! ```text
//! task         combines the settings, the catalog, the options and the network of a request
//! settings     holds the directories and the limits, which the calling program sets
//! catalog      finds the competitions of the benchmark, of the samples, of packs and of the user
//! stages       plans and runs a task, and returns a summary of each competition
//! reasons      describes in words why a step has to run
//! run_log      logs the steps of each run: when and why they ran
//! prepared     finds the state of a competition in a data directory
//! bundles      finds bundles on this machine, and formats notes about a run for the user
//! grading      grades one submission or a list of submissions
//! digests      computes the digests on which a score depends
//! inspect      audits data, finds leaks, compares data and runs, lists bundles, reruns steps
//! export       copies prepared data in a form for other machines
//! sealed       encrypts the private files of a competition into one file
//! push         sends results and bundles to the remote
//! jobs         generates scripts and manifests for clusters
//! packs        adds, removes and checks packs
//! draft        writes a first pipeline for a bundle
//! check        finds mistakes in a pipeline file, and formats the file
//! outline      converts a pipeline to a map of its settings
//! doctor       checks directories and disk space before a run
//! writable     checks that directories can be written
//! permissions  finds the bundles that a Kaggle account may download
//! remove       deletes prepared data, bundles and cached results
//! error        defines the error of this library: its cause, its help, and who must act
//! ```
//!
//! This library exports the types of all results, including those that the libraries below it define.
//!
//! A [`Task`] is a request. [`Plan::preview`] finds the steps that the task would run, and writes nothing. [`Run::begin`]
//! and [`Run::execute`] run these steps. [`Grading::open`] reads the answers for grading. An [`Error`] names the party that
//! must act.
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
mod grading;
mod inspect {
    //! Functions that inspect prepared data. They prepare and publish nothing.

    pub(crate) mod audit;
    pub(crate) mod diff;
    pub(crate) mod listing;
    pub(crate) mod rerun;
    pub(crate) mod runs;
    mod unpublished;
}
mod jobs;
mod outline;
mod packs;
mod permissions;
mod prepared;
mod push;
pub mod reasons;
mod remove;
mod run_log;
mod sealed;
mod settings;
mod stages;
mod task;
mod writable;

pub use bundles::{BorrowedBundle, Lender, Note};
pub use catalog::{
    Catalog, CatalogEntry, CompetitionDefinition, OWN_SET, SAMPLES, SampleBundle, competition_set,
    definition, definitions, lists, set_names, upstream_facts,
};
pub use check::{check, format_pipeline, pipeline_files, schema};
pub use digests::facts;
pub use draft::{Draft, draft};
pub use error::{Error, for_people};
pub use export::harbor::{HarborExport, HarborTask, export_harbor};
pub use export::{CopyContent, Export, ExportForm, export};
pub use grading::claim::{Claim, Expectations, parse_report};
pub use grading::list::{GradedList, grade_list, write_report};
pub use grading::{
    Comparability, GradeOverrides, Grading, GradingLog, LOG_FILE, NO_SUBMISSION, Submission,
    SubmissionDirectory, SubmissionError, Validation, leaderboard, read_leaderboard,
};
pub use inspect::audit::{Audit, BundleAudit, OutputsAudit, TreeAudit, audit, leaks};
pub use inspect::diff::{
    DataDifferences, PipelineDifference, diff_data, diff_pipelines, diff_variants,
};
pub use inspect::listing::{BundleListing, ListedFile, ListedSource, PreviewSource, listing, rows};
pub use inspect::rerun::{Difference, Rerun, RerunPlace, RerunResult, RerunStep, rerun};
pub use inspect::runs::diff_publications;
pub use jobs::{JobPlan, PodOptions, Slurm, Unit, kubernetes, slurm, unit};
pub use packs::add::{PackOrigin, add_pack, add_pack_temporarily, remove_pack};
pub use packs::check::{NOT_REPRODUCIBLE, PackCheck, PackChecks, SILENT_FAILURE};
pub use packs::lock::LockComparison;
pub use packs::{InstalledPack, installed_packs};
pub use permissions::{Permission, PermissionCheck};
pub use prep_audit::{AuditReport, BUNDLE_NOT_VERIFIED, Block, Cause, Verdict};
pub use prep_cache::LinkMode;
pub use prep_core::Remedy;
pub use prep_diff::{FileDifference, TableDifference};
pub use prep_digests::Lockfile;
pub use prep_digests::{DatasetDigests, Sha256, TreeDigest, combined_digest};
pub use prep_draft::DraftChoices;
pub use prep_leaks::{LeakLevel, LeakReport, MIN_ITEMS as MIN_TEST_ITEMS};
pub use prep_steps::{
    Expand, FailedRun, PathSummary, Preview, PreviewColumn, RememberedOptions, RemovedFiles, Verify,
};
pub use prep_trust::{Identity, ReadLog, Recipient, SealError, reports_of, sign};
pub use prepared::{
    PreparedData, PreparedState, damaged_files, manifest, not_prepared, pipeline_change,
    pipeline_warnings, prepared_ids, replaceable_manifest,
};
pub use push::{PushProgress, PushResult, fetch, mirror, push, recalled_for_fetch, remote_of};
pub use remove::{Removal, RemovalResult, RemovedCompetition, disk_use, remove};
pub use run_log::{
    LoggedRun, LoggedStep, RefusedCompetition, RunEnd, RunResult, local_time, logged_runs,
};
pub use sealed::{AnswersState, SealedAnswers, seal};
pub use settings::{Settings, prepared_dir};
pub use stages::forecast::{Download, MissingInput, Peak, ask_all};
pub use stages::load::{Competition, FurtherSource, Verification};
pub use stages::resolve::{
    CompetitionGraph, Plan, PlannedStep, Runs, StepWork, require_credentials_for,
};
pub use stages::run::{CompetitionState, PUBLISH_STEP, Run};
pub use stages::summary::{Checksums, Preparation, StepFailure, Summary};
pub use task::{PreparationOptions, RecalledOption, Task, ViewOptions};

/// The program's version, for logs and records.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
