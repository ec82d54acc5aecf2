//! Digests of prepared data, and the lockfile that records them.
//!
//! - `tree`: SHA-256 digests of files and directories
//! - `lock`: `prep.lock`, the lockfile of a data directory, and the digests of all data that determine scores
//!
//! A digest depends only on file contents and relative paths, so anyone can verify prepared data with `sha256sum`.
//!
//! ```
//! use prep_digests::{Sha256, TreeHasher};
//!
//! let mut tree = TreeHasher::default();
//! tree.add("train.csv", Sha256::of_bytes(b"id\n1\n"), 5);
//! let digest = tree.finish();
//! assert_eq!((digest.files, digest.bytes), (1, 5));
//! assert_eq!(digest.sha256.short(), "9c9a7de23a64");
//! ```

#![warn(missing_docs)]

mod lock;
mod tree;

pub use lock::{
    BundleDigest, BundleStatus, ChecksumStatus, DataOrigin, DatasetDigests, LockDifference,
    LockedDataset, Lockfile, LockfileError, combined_digest,
};
pub use tree::{
    Sha256, Sha256Error, Sha256Hasher, TreeDigest, TreeHasher, Trees, digest_of_directory,
    digest_of_file, digest_of_reader,
};
