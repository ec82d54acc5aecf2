//! Explains why files differ from the published ones.
//!
//! An *audited tree* is a tree that another program prepared. This crate compares it with the tree that `prep` prepared. It
//! also compares the bundle with its published MD5, and the outputs of `prep` with their published checksums. Together,
//! these comparisons show which of the two trees differs from the published files. In this crate, *ours* is the tree that
//! `prep` prepared, or a file of it. *Theirs* is the audited tree, or a file of it.
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
//! **The cause of a difference is the first normalization that makes both sides equal.** For example, if two cells are equal
//! after replacing CR LF by LF, the cause is different line endings. Every differing cell gets its own cause, so a harmless
//! difference never hides a harmful one. A difference that no rule explains is `not-classified`. A cause for a different
//! checksum is accepted only if applying it to the prepared file reproduces the published checksum.
//!
//! `prep-contents` reads and pairs files, members and rows. This crate interprets the differences. The only files that it
//! writes are temporary copies of members, and the member lists of verified bundles.

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
