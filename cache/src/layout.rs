//! Paths inside the store's directory.

use std::path::{Path, PathBuf};

use crate::Digest;

/// The directories inside a store. Their names include the version of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bucket {
    /// Read-only files, each named by the digest of its content.
    ///
    /// ```text
    /// objects-v1/
    ///   ab/                 first two digits of the digest
    ///     cdef01...         the other 62 digits
    /// ```
    Objects,

    /// One JSON file per step key. The file lists the outputs of the step. Its first line is a
    /// [hash](crate::records::ledger) that detects damage. Its modification time is its last use, accurate to a day.
    ///
    /// ```text
    /// ledger-v1/
    ///   ab/
    ///     cdef01...         step key
    /// ```
    Ledger,

    /// One JSON file per combination of competition, variant and target directory. Its first line is a hash, as in the
    /// ledger. The file describes the last run.
    ///
    /// ```text
    /// history-v1/
    ///   ab/
    ///     cdef01...         digest of competition, variant and target directory
    /// ```
    History,

    /// JSON files with the digests of files outside the store. The first line of each file is a hash, as in the ledger.
    ///
    /// ```text
    /// sources-v1/
    ///   ab/
    ///     cdef01...         digest of the file's canonical path, or of a source's name
    /// ```
    Sources,

    /// One list of members for each verified bundle. A bundle is verified if its MD5 equals the MD5 that upstream
    /// publishes. `prep audit` compares other bundles with these lists.
    ///
    /// ```text
    /// bundles-v1/
    ///   0123456789abcdef0123456789abcdef.gz     MD5 of the bundle
    /// ```
    Bundles,

    /// Logs of recent runs. Steps never read these logs.
    ///
    /// ```text
    /// runs-v1/
    ///   00001764000000-4711.jsonl     seconds since 1970, process id
    /// ```
    Runs,

    /// Files that are being written. A writer locks its file, so a file without a lock was left by a killed process.
    ///
    /// ```text
    /// tmp/
    ///   .tmpA1b2C3
    /// ```
    Tmp,

    /// Empty lock files, and directories with leases. A lease is a lock that works across machines.
    ///
    /// ```text
    /// locks/
    ///   use                 locked in shared mode by runs, exclusively by garbage collection
    ///   abcdef01...         digest of a lock's name
    ///   use.holders/        leases, if other machines may see the store
    /// ```
    Locks,

    /// Damaged objects, kept for inspection. The store never reads them.
    ///
    /// ```text
    /// quarantine/
    ///   abcdef01...-1760000000000000000      digest, time in ns
    /// ```
    Quarantine,
}

impl Bucket {
    pub(crate) const ALL: [Self; 9] = [
        Self::Objects,
        Self::Ledger,
        Self::History,
        Self::Sources,
        Self::Bundles,
        Self::Runs,
        Self::Tmp,
        Self::Locks,
        Self::Quarantine,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Objects => "objects-v1",
            Self::Ledger => "ledger-v1",
            Self::History => "history-v1",
            Self::Sources => "sources-v1",
            Self::Bundles => "bundles-v1",
            Self::Runs => "runs-v1",
            Self::Tmp => "tmp",
            Self::Locks => "locks",
            Self::Quarantine => "quarantine",
        }
    }

    pub(crate) fn dir(self, root: &Path) -> PathBuf {
        root.join(self.name())
    }

    pub(crate) fn file(self, root: &Path, digest: &Digest) -> PathBuf {
        let hex = digest.to_string();
        let (first, rest) = hex.split_at(2);
        let mut path = PathBuf::with_capacity(root.as_os_str().len() + 80);
        path.extend([
            root,
            Path::new(self.name()),
            Path::new(first),
            Path::new(rest),
        ]);
        path
    }
}
