//! Zip archives: listing, reading in place, writing.
//!
//! A member is a *reference* into the base file: [`ZipEntry`] holds where its
//! record begins, how long it is and its CRC, so a member of an archive (also
//! of an archive inside an archive, see [`ZipEntry::section`] for one that is
//! stored and [`ZipEntry::indexer`] for one that is deflated) is read without
//! extracting anything first.
//!
//! The central directory is the truth, as in Python's `zipfile`. A listing is
//! refused as a whole when any member of it is unsafe or inconsistent, because
//! a pipeline that silently skips members makes a wrong data set. Local headers
//! are read when a member is opened (a million of them would be a million
//! seeks), and have to agree with the central directory then.
//!
//! The structures themselves are parsed by the crate `rawzip`; this module adds
//! the policy: names, limits, overlaps, duplicates, and checked contents.

mod check;
mod directory;
mod entry;
mod error;
mod indexed;
mod list;
mod local;
mod member;
mod names;
mod whole;
mod write;

pub use directory::{Directory, Member};
pub use entry::{EntryKind, Method, ZipEntry};
pub use error::ZipError;
pub use indexed::MemberIndexer;
pub use list::ZipListing;
pub use member::MemberReader;
pub use whole::MemberInflater;
pub use write::{ZipWriteError, ZipWriter};
