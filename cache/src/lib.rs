//! A content-addressed store on local disk with a ledger of step results.
//!
//! - **Objects** are files named by the BLAKE3 digest of their content ([`Digest`]).
//! - The **ledger** maps the key of a step to the objects that it produced ([`LedgerEntry`]).
//! - The **history** records the steps of the last run and their keys ([`History`]).
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
//! - A file gets its final name only when it is complete.
//! - A damaged object is never returned: a process hashes each object when it first opens it.
//! - A truncated or modified record is treated as absent, because each record contains a hash.
//! - Objects are written before the ledger entry that names them, and removed after this entry.
//! - The bytes of a memory-mapped object never change. `objects/private.rs` contains the proof.
//! - Many processes and machines can share a store. The module `locks` coordinates them.
//!
//! The store cannot repair a damaged object. Instead, the step that produced the object must run again. The store does not
//! flush *copied* files to disk. Therefore, after a power failure, the caller must compare copied files with their digests.
//!
//! `docs/architecture.md` describes a store's directories and what a power failure damages. Only Unix-like systems are
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
pub use locks::file::{
    LockGuard, describe_holder, is_file_at, lock_at_within, try_lock_at, try_lock_data,
};
pub use objects::buffer::Buffer;
pub use objects::object::{Object, ObjectReader};
pub use objects::private::{MappedObject, PrivateObject};
pub use objects::writer::{ObjectWriter, ScatteredWriter, Stored};
pub use records::ledger::{
    EarlierRun, FailedStep, History, HistoryScope, HistoryStep, LedgerEntry, StepResult,
    unix_seconds,
};
pub use records::source::{Content, SourceRecord};
pub use store::{LinkMode, Offer, Store, Tier, persist};
pub use system::machine::{
    CLOCK_TICK, Stamp, boot, create_directory, free_space, host, is_coarse, is_shared,
    lacks_inodes, modification_time, time_until_settled,
};
pub use system::permissions::{
    GROUP_MAY_WRITE, SETGID, Unwritable, closed_directory, group_name, group_remedy, is_read_only,
    ownership, share_commands,
};
pub use system::threads::{Permit, Threads, Usage, check_threads, try_spawn, try_spawn_scoped};
pub use upkeep::gc::{GcOptions, GcReport};
pub use upkeep::stat::{Amount, StoreStat};
pub use upkeep::verify::VerifyReport;
