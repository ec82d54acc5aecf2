//! A content-addressed store with a ledger.
//!
//! **Objects** are contents named by their BLAKE3 digest ([`Digest`]). The
//! **ledger** says which objects a step key led to ([`LedgerEntry`]). The
//! **history** says which keys the last run had ([`History`]). **Sources** are
//! digests of files outside the store ([`SourceRecord`]).
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
//! # What it promises
//!
//! | Promise | How |
//! |---|---|
//! | A damaged object is never served | the first open in a process hashes it; damaged ones go to quarantine |
//! | Nothing is visible before it is complete | temporary file on the same file system, then rename |
//! | The digest is that of the bytes written | hashed while writing, not by reading again |
//! | An entry never outlives its objects by our doing | objects are written before, and removed after, the entries that name them |
//! | A torn or changed record is absent, not wrong | each carries a hash of its bucket, key and content |
//! | A killed process leaves nothing that is trusted | temporary files are never looked up; they are swept after a day |
//! | A mapped object never changes | its file has no name outside the store, and never gets one (`private.rs`) |
//! | Many processes may share a store | renames, advisory locks that die with their holder, and leases (`lease`) |
//!
//! # Power failure
//!
//! On a disk of this machine nothing is flushed: that would cost more than the
//! work. A power failure may lose or truncate what was written in the last half
//! minute. Nothing wrong follows: a damaged object does not have its digest when
//! it is first opened, a damaged record does not have its hash, and both are then
//! made again. The same holds if the system drops a delayed write after an I/O
//! error. Files that were *copied* out of the store have no such guard; their
//! owner compares them with their digests after a restart.
//!
//! On a file system of other machines, each file is flushed before it gets its
//! final name, so that a full server or a quota is an error of the write. A
//! server that restarts may still lose files that it confirmed.
//!
//! # What it refuses
//!
//! - It does not repair bytes. What is damaged is made again by its step.
//! - It does nothing in the background, but for the bytes of a long object
//!   that is being written: `commit` waits for them.
//! - It does not choose a folder: callers name it.
//!
//! The files are laid out as in `layout.rs`, in folders with a version in
//! their names. Only Unix-like systems are supported.

mod buffer;
mod commit;
mod consumer;
mod digest;
mod error;
mod folder;
mod gc;
mod history;
mod layout;
mod lease;
mod ledger;
mod leftovers;
mod link;
mod lock;
mod machine;
mod object;
mod private;
mod process;
mod scattered;
mod sealed;
mod source;
mod space;
mod stamp;
mod stat;
mod store;
mod threads;
mod tier;
mod verify;
mod walk;
mod writer;

pub use buffer::Buffer;
pub use commit::persist;
pub use digest::{Digest, DigestError, hex};
pub use error::StoreError;
pub use folder::make_folder;
pub use gc::{GcOptions, GcReport};
pub use history::{FailedStep, History, HistoryStep, Moment};
pub use ledger::LedgerEntry;
pub use link::LinkMode;
pub use lock::{LockGuard, is_file_at, try_lock_file};
pub use machine::{boot, host, is_shared};
pub use object::{Object, ObjectReader};
pub use private::{MappedObject, PrivateObject};
pub use scattered::ScatteredWriter;
pub use source::{Content, SourceRecord};
pub use space::free_space;
pub use stat::{Amount, StoreStat};
pub use store::Store;
pub use threads::{Permit, Threads, Usage, probe, start, start_scoped};
pub use tier::{Offer, Tier};
pub use verify::VerifyReport;
pub use writer::{ObjectWriter, Stored};
