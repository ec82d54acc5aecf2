//! Digests of the data, rules and leaderboards that scores depend on, and the lockfile with these digests.
//!
//! ```text
//! sha256   one digest: 64 hex digits, or 12 in short form
//! tree     digest of a directory, as `find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum` prints it
//! facts    digests of public files, answers, leaderboard, rules and variant, and the digest of all of them
//! lock     `prep.lock`: the facts of every prepared competition, one per line
//! origin   the pipeline that made prepared data, and whether their published checksums match
//! ```
//!
//! Digests depend only on bytes, not on a machine, a path outside the tree, a time, an owner or a mode. So anyone with a file and
//! `sha256sum` can check a digest.

mod facts;
mod lock;
mod origin;
mod sha256;
mod tree;

pub use facts::{Facts, root_of};
pub use lock::{BundleDigest, BundleStatus, Difference, Lock, LockError, Locked};
pub use origin::{ChecksumStatus, Origin};
pub use sha256::{Hasher, Sha256, ShaError};
pub use tree::{TreeDigest, TreeHasher, Trees, digest_of_file, digest_of_folder, digest_of_reader};
