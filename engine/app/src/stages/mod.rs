//! The stages of a task, from ids to a summary, one per file. Each stage uses the result of the previous one.
//!
//! ```text
//! stage      input        result
//! choose     ids          Chosen: the entries of the catalog, and prep.lock if the data must match it
//! load       an entry     Loaded: the checked pipeline, and its published checksums    (loader: records of earlier checks)
//! sources    Loaded       Found: the bundle and the further sources, each with its path or its download
//! assemble   Chosen       Assembly: one graph of all steps; calls load and sources for each competition
//! resolve    Assembly     Plan: the steps that would run, and why
//! availability Plan       leaves out competitions with missing bundles, or reports one error
//! forecast   Plan         bytes to download, and the disk that they take               (disk)
//! run        Plan         Ended: the report of the engine                              (watch: times; origins: sources)
//! record     Ended        records about prepared data              (provenance, lock)
//! summary    Ended        Preparation: one summary per competition
//! ```
//!
//! `plan` and `why` stop after `resolve`; `push` and `cache rerun` continue from there differently.

pub(crate) mod assemble;
pub(crate) mod availability;
pub(crate) mod choose;
mod description;
pub(crate) mod disk;
pub(crate) mod forecast;
pub(crate) mod load;
pub(crate) mod loader;
pub(crate) mod lock;
pub(crate) mod origins;
mod provenance;
mod record;
pub(crate) mod resolve;
pub(crate) mod run;
pub(crate) mod sources;
pub(crate) mod summary;
pub(crate) mod watch;
