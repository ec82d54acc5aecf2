//! Implements the steps of a pipeline, and builds the graph of steps.
//!
//! ```text
//! build      turns a pipeline into steps and the edges between them
//! members    the members of the bundle that a pipeline reads
//! limits     limits for decoding untrusted bytes
//! located    errors with their location in the pipeline
//! value/     values that steps exchange: files, trees (path -> content), tables (ordered rows)
//! relation/  opens tables for queries, and runs queries
//! emit/      writes the rows of a query as CSV, JSON, parquet or a stored table
//! kinds/     the kinds of steps, and the keys of tables, outputs and splits in pipelines
//! ```
//!
//! Where possible, each byte is copied only once. A member of an archive is a *content reference* ([`value::ContentRef`]),
//! and a tree is a listing of references, so unpacking extracts no files.
//!
//! A table consists of stored rows, usually as CSV text in the form that pandas writes. A table may select some of the
//! stored rows. Only steps that read tables or write outputs, and `publish`, copy bytes.
//!
//! # Examples
//!
//! `members` returns patterns of the members that a pipeline reads, so that a run can download only these.
//!
//! ```
//! let text = "\
//! name: Harbour
//! category: Tabular
//! bundle: { kaggle: harbour }
//! tables:
//!   ships: { read: ships.zip/ships.csv, columns: { id: integer } }
//! public:
//!   train.csv: SELECT id FROM ships
//! private:
//!   test.csv: SELECT id FROM ships
//! ";
//! let vocabulary = prep_steps::vocabulary();
//! let pipeline = prep_spec::load(vocabulary, "harbour", "harbour.yaml", text, "v1")?;
//! assert_eq!(prep_steps::members(&pipeline), ["{ships.zip,ships/**}"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A tree is a sorted set of paths. Its files refer to their bytes by content references. An empty directory also has a
//! path in the tree, but no content.
//!
//! ```
//! use prep_steps::value::{Tree, TreeEntry};
//!
//! let directory = |path: &str| TreeEntry {
//!     path: path.to_owned(),
//!     content: None,
//! };
//! let tree = Tree::new(vec![directory("b"), directory("a")])?;
//! let paths: Vec<&str> = tree.files().map(|file| file.path()).collect();
//! assert_eq!(paths, ["a", "b"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod build;
mod description;
mod emit;
mod kinds;
mod limits;
mod located;
mod members;
mod ordered;
mod preview;
mod published;
mod relation;
pub mod value;

pub use build::{
    BuildError, BuildOptions, DESCRIPTION_STEP, MEMBERS_STEP, Sources, TRIAL_STEP, build,
    build_preview,
};
pub use description::SubmissionFacts;
pub use kinds::{
    ExaminedFiles, Expand, FailedRun, GradeFunction, HashFiles, LISTING_FILE, MANIFEST_FILE,
    Manifest, ManifestError, PathSummary, PreparationRecord, PublishedOutput, PublishedPaths,
    RecordedPipeline, RecordedSource, RememberedOptions, RemovedFiles, Remover, TEMP_PREFIX,
    TreeExamination, TreeState, Trial, TrialError, VerifiedTree, Verify, find_damaged, invalidate,
    is_writer_dependent, record_origin, record_preparation, renew_record, result_of,
    verify_after_restart, vocabulary,
};
pub use located::LocatedError;
pub use members::members;
pub use preview::{Preview, PreviewColumn, PreviewRequest};
pub use published::PublishedChecksums;
