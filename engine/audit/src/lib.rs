//! Why data are not what was published.
//!
//! A mismatch has three corners: the bundle against its published MD5, what was prepared here against the published sums
//! of the outputs, and somebody else's tree against what was prepared here. Each is a function of this crate; together
//! they tell whose side a difference is on.
//!
//! ```text
//! causes/     the closed vocabulary: one file per family, each cause with harm, meaning and what to do
//! finding     one cause in one file            report      findings by cause, the verdict, JSON
//! bundle/     an archive as it was downloaded: damaged, cut off, not an archive, another one
//! table/      two tables: a ladder from bytes to keys; where they become equal is the cause
//! tree/       two trees of files: names, documents, images, archives, splits
//! published/  one file and a published sum: forms of its content that have that sum
//! ```
//!
//! **The cause is the first normalisation that makes both sides equal**, which is also its proof. Every difference of a
//! file gets a cause of its own, cell by cell, so a harmless one never hides a harmful one. What no rule explains is
//! `not-classified`, never the nearest guess; and a supposed cause of another checksum counts only if that sum comes out.
//!
//! How files, members and rows are read and paired is `prep-contents`; here is what their differences mean. Nothing is
//! written but members of archives, for the time of reading them.

pub mod bundle;
pub mod causes;
mod error;
mod finding;
pub mod published;
mod read;
mod report;
pub mod table;
pub mod tree;

pub use causes::{Cause, Family, Harm};
pub use error::AuditError;
pub use finding::Finding;
pub use report::{Block, Report, Verdict};
