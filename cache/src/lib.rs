//! A content-addressed store on local disk with a ledger of step results.
//!
//! - **Objects** are contents named by their BLAKE3 digest ([`Digest`]).
//! - The **ledger** maps the key of a step to the objects that it produced ([`LedgerEntry`]).
//! - The **history** records the step keys of the last run ([`History`]).
//! - **Sources** are digests of files outside the store ([`SourceRecord`]).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use std::io::Write;
//! let store = prep_cache::Store::open(&dir.path().join("store"))?;
//! let mut writer = store.writer()?;
//! writer.write_all(b"id,label\n")?;
//! let stored = writer.commit()?;
//! store.materialise(&stored.digest, &dir.path().join("prepared/train.csv"))?;
//! assert_eq!(store.read(&stored.digest)?, b"id,label\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! | Guarantee | Mechanism |
//! |---|---|
//! | A damaged object is never returned | the first open in a process hashes it; a damaged object moves to quarantine |
//! | No file is visible before it is complete | temporary file on the same file system, then rename |
//! | The digest is that of the bytes written | hashed while writing, not by reading back |
//! | The store never leaves an entry without its objects | objects are written before, and removed after, the entries that name them |
//! | A truncated or modified record is treated as absent | each record carries a hash of its bucket, key and content |
//! | Files of a killed process are never used | temporary files are never looked up; they are removed after a day |
//! | A mapped object never changes | its file has no name outside the store, and never gets one (`objects/private.rs`) |
//! | Many processes can share a store | renames, advisory locks that end with their holder, and leases (`locks/lease`) |
//!
//! # Power failure
//!
//! On a local disk, files are not flushed, because a flush would cost more than the work itself. A power failure may
//! lose or truncate files of the last half minute. This does not lead to wrong data: a damaged object does not match
//! its digest when it is first opened, and a damaged record does not match its hash. Both are then produced again. The
//! same applies if the system drops a delayed write after an I/O error. Files that were *copied* out of the store are
//! not protected in this way. Their owner has to compare them with their digests after a restart.
//!
//! On a file system that other machines share, each file is flushed before it gets its final name. Therefore a full
//! server or an exceeded quota is reported as an error of the write. A server that restarts may still lose files that
//! it confirmed.
//!
//! # Limits
//!
//! - The store does not repair bytes. The step that produced a damaged object runs again.
//! - The store does no background work, except for writing the bytes of a long object. `commit` waits for them.
//! - The store does not choose its directory. Callers pass it.
//!
//! # Modules
//!
//! ```text
//! store      the handle, and what it requests from a tier       layout     the files of a store
//! objects    written, verified, published, mapped               records    ledger, history, digests of other files
//! locks      between threads, processes and machines            upkeep     counting, checking, garbage collection
//! tier       a shared second level                              system     machine, threads, disk
//! ```
//!
//! `layout.rs` describes the files. Their directories have a format version in the name. Only Unix-like systems are
//! supported.

#![warn(missing_docs)]

mod digest;
mod error;
mod layout;
mod store;

mod locks {
    //! Locks between threads, processes and machines.

    pub(crate) mod file;
    pub(crate) mod lease;
    pub(crate) mod process;
}

mod objects {
    //! Objects: writing them, reading and verifying them, publishing them, and mapping them into memory.

    pub(crate) mod buffer;
    pub(crate) mod link;
    pub(crate) mod object;
    pub(crate) mod private;
    pub(crate) mod writer;
}

mod records {
    //! Records in sealed JSON: the ledger, the history, and the digests of files outside the store.

    pub(crate) mod ledger;
    pub(crate) mod source;
}

mod system {
    //! The machine: its identity, disk space, threads, and the files of the operating system.

    pub(crate) mod machine;
    pub(crate) mod permissions;
    pub(crate) mod threads;
}

mod upkeep {
    //! Work on all files of a store: counting, checking and removing them.

    pub(crate) mod gc;
    pub(crate) mod stat;
    pub(crate) mod verify;
}

pub use digest::{Digest, DigestError, hex};
pub use error::StoreError;
pub use locks::file::{LockGuard, is_file_at, try_lock_file};
pub use objects::buffer::Buffer;
pub use objects::object::{Object, ObjectReader};
pub use objects::private::{MappedObject, PrivateObject};
pub use objects::writer::{ObjectWriter, ScatteredWriter, Stored};
pub use records::ledger::{
    EarlierRun, FailedStep, History, HistoryScope, HistoryStep, LedgerEntry, unix_seconds,
};
pub use records::source::{Content, SourceRecord};
pub use store::{LinkMode, Offer, Store, Tier, persist};
pub use system::machine::{
    CLOCK_TICK, Stamp, boot, create_directory, free_space, host, is_coarse, is_shared,
    modification_time, time_until_settled,
};
pub use system::permissions::{Unwritable, ownership};
pub use system::threads::{Permit, Threads, Usage, check_threads, try_spawn, try_spawn_scoped};
pub use upkeep::gc::{GcOptions, GcReport};
pub use upkeep::stat::{Amount, StoreStat};
pub use upkeep::verify::VerifyReport;
