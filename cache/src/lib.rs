//! A content-addressed store on local disk with a ledger of step results.
//!
//! - **Objects** are files named by the BLAKE3 digest of their content ([`Digest`]).
//! - The **ledger** maps the key of a step to the objects that it produced ([`LedgerEntry`]).
//! - The **history** records the step keys of the last run ([`History`]).
//! - **Sources** are records with the digests of files outside the store ([`SourceRecord`]).
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
//! | A damaged object is never returned | a process hashes each object at the first open; damaged ones move to quarantine |
//! | No file is visible before it is complete | temporary file on the same file system, then rename |
//! | The digest is that of the bytes written | bytes are hashed while they are written, not read back |
//! | The store never leaves an entry without its objects | objects are written before their entry, and removed after it |
//! | A truncated or modified record is treated as absent | each record carries a hash of its bucket, key and content |
//! | Files of a killed process are never used | temporary files are never looked up; they are removed after a day |
//! | A memory-mapped object never changes | its file has no hard link outside the store, and never gets one (`private.rs`) |
//! | Many processes can share a store | atomic renames, advisory locks that end with their process, leases (`locks/lease`) |
//!
//! # Power failure
//!
//! On a local disk, files are not flushed, because a flush would take longer than producing most files. A power failure may
//! lose or truncate files of the last half minute. This does not lead to wrong data: a damaged object does not match its
//! digest when it is first opened, and a damaged record does not match its hash. The object or record is then produced
//! again. The same applies if the system drops a delayed write after an I/O error. The store does not verify files that were
//! *copied* out of it. After a restart, the caller has to compare such copies with their digests.
//!
//! On a file system that several machines share, each file is flushed before it gets its final name. Therefore, if the
//! server is full or a quota is exceeded, the write returns an error. A server that restarts may still lose files whose
//! flush it confirmed.
//!
//! # Limits
//!
//! - The store does not repair bytes. The step that produced a damaged object runs again.
//! - The store does no background work, except for writing the bytes of a long object. `commit` waits for these bytes.
//! - The store does not choose its directory. Callers pass it.
//!
//! # Modules
//!
//! ```text
//! store      the handle to a store, and tiers                   layout     the files of a store
//! objects    writing, verifying, publishing, mapping them       records    ledger, history, digests of other files
//! locks      between threads, processes and machines            upkeep     counting, checking, garbage collection
//! digest     hashes that name contents                          system     machine, threads, disk
//! ```
//!
//! `layout.rs` describes the files. The name of each directory of data contains the version of its format. Only Unix-like
//! systems are supported.

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
    //! The machine: its identity, disk space and threads, and the permissions of files.

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
pub use locks::file::{LockGuard, is_file_at, lock_file_within, try_lock_file};
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
pub use system::permissions::{Unwritable, is_read_only, ownership};
pub use system::threads::{Permit, Threads, Usage, check_threads, try_spawn, try_spawn_scoped};
pub use upkeep::gc::{GcOptions, GcReport};
pub use upkeep::stat::{Amount, StoreStat};
pub use upkeep::verify::VerifyReport;
