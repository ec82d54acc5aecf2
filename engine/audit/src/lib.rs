//! Explains why data differ from the published ones.
//!
//! There are three comparisons, and each is a function of this crate: the bundle with its published MD5, the prepared outputs
//! with their published checksums, and the tree of another program with the prepared one. Together they show which side differs.
//!
//! ```text
//! causes/     all causes, one file per family, each with its harm, meaning and action
//! finding     one cause in one file            report      findings by cause, the verdict, JSON
//! bundle/     a downloaded archive: damaged, truncated, not an archive, another one
//! table/      two tables: comparisons from bytes to keys; the first one that makes them equal is the cause
//! tree/       two trees of files: names, documents, images, archives, splits
//! published/  one file and a published checksum: forms of its content that have that checksum
//! ```
//!
//! **The cause is the first normalisation that makes both sides equal**, which is also its proof. Every difference of a file gets its
//! own cause, cell by cell, so a harmless difference never hides a harmful one. A difference that no rule explains is
//! `not-classified`. The cause of a different checksum is accepted only if it reproduces the published checksum.
//!
//! `prep-contents` reads and pairs files, members and rows. This crate interprets their differences. It writes only temporary copies of
//! members.

pub mod bundle;
pub mod causes;
mod error;
mod finding;
pub mod harm;
pub mod published;
mod read;
mod report;
pub mod table;
pub mod tree;

pub use causes::{Cause, Family, Harm};
pub use error::AuditError;
pub use finding::AuditFinding;
pub use report::{AuditReport, Block, Verdict};
