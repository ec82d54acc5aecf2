//! Types that the readers of sequential archives (tar, 7z) share.

/// Whether a member of an archive is a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File {
        /// Uncompressed size in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
}
