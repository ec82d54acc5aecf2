//! Digests of prepared data, and the lock file that records them.
//!
//! | Module | Content |
//! |---|---|
//! | `sha256` | a SHA-256: 64 hex digits; reports show the first 12 |
//! | `tree` | the digest of a directory: the output of `find . -type f -exec sha256sum {} + \| LC_ALL=C sort -k 2 \| sha256sum` |
//! | `facts` | the digests that determine scores, one digest over all of them, which pipeline prepared the data, and whether its published checksums match |
//! | `lock` | `prep.lock`: these digests for all prepared competitions, one per line |
//!
//! A digest covers file contents and relative paths. It does not depend on times, owners, modes, absolute paths or the
//! computer. Therefore anyone can verify prepared data with `sha256sum`, without this program.
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
