//! Explains why files differ from the published ones.
//!
//! The audit compares a tree that another program prepared (*theirs*) with the tree that `prep` prepared (*ours*). It
//! also compares the bundle with its published MD5, and the outputs of `prep` with their published checksums.
//!
//! ```text
//! causes      all causes; `causes.txt` has the harm, meaning and suggested action of each
//! finding     one cause in one file, and its harm             report      findings grouped by cause, the verdict, JSON
//! bundle/     checks a downloaded archive: damaged, truncated, not an archive, a different archive
//! table/      compares two tables: rows, cells, and how the files are written
//! tree/       compares the two trees: names, documents, images, archives, splits
//! published/  writes a prepared file in other ways until it has the published checksum
//! ```
//!
//! **The cause of a difference is the first normalization that makes both sides equal.** For example, if two cells are
//! equal after replacing CR LF by LF, the cause is different line endings. A difference that no rule explains is
//! `not-classified`.
//!
//! Every differing cell gets its own cause, so a harmless difference never hides a harmful one. If an output does not
//! have its published checksum, a cause is accepted only if a test confirms it: the audit writes the output in the way
//! that the cause describes, and the written file has the published checksum.

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
pub use read::md5;
pub use report::{AuditReport, Block, Verdict};
