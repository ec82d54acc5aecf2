//! Digests of what a score rests on, and the lock file that holds them.
//!
//! ```text
//! sha256   one digest: 64 hex digits, of which 12 are shown where there is little room
//! tree     of a folder: what `find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum` prints in it
//! facts    public files, answers, leaderboard, rules, variant; and the one digest of them all
//! lock     `prep.lock`: the facts of every prepared competition, one per line
//! origin   which pipeline made prepared data, and whether their published checksums hold
//! ```
//!
//! No digest depends on a machine, a path outside the tree, a time, an owner or a mode; and none is of anything but the
//! bytes as they are, so that whoever has a file and `sha256sum` can say whether it is the one that was meant.

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
