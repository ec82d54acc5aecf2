//! Explains why files differ from the published ones.
//!
//! The audit compares a tree that another program prepared (*theirs*) with the tree that `prep` prepared (*ours*). It
//! also compares the bundle with its published MD5, and the outputs of `prep` with their published checksums.
//!
//! ```text
//! causes      all causes; `causes.txt` has the harm, meaning and suggested action of each
//! finding     one cause in one file, rules of harm            report      findings grouped by cause, the verdict, JSON
//! bundle/     checks a downloaded archive: damaged, truncated, not an archive, a different archive
//! table/      compares two tables: rows, cells, and the form of the files
//! tree/       compares the two trees: names, documents, images, archives, splits
//! published/  renders a file in other forms until one of them has the published checksum
//! ```
//!
//! **The cause of a difference is the first normalization that makes both sides equal.** For example, if two cells are
//! equal after replacing CR LF by LF, the cause is different line endings. A difference that no rule explains is
//! `not-classified`.
//!
//! Every differing cell gets its own cause, so a harmless difference never hides a harmful one. A cause for a different
//! checksum is accepted only if it reproduces the published checksum.

pub mod bundle;
mod causes;
mod error;
mod finding;
pub mod published;
mod read;
mod report;
pub mod system_files;
mod table;
pub mod tree;

pub use causes::{Cause, CauseText, Harm};
pub use error::AuditError;
pub use finding::{AuditFinding, BUNDLE_NOT_VERIFIED, OUTPUTS_VERIFIED};
pub use report::{AuditReport, Block, Verdict};
