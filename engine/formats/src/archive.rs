//! What archives have in common that are read from the beginning to the end.

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A file of this size in bytes.
    File {
        /// Size in bytes.
        size: u64,
    },
    /// A folder.
    Directory,
}
