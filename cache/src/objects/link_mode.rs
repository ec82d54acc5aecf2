//! The ways of publishing an object outside the store.

/// How an object was published outside the store, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkMode {
    /// A hard link: another name of the store's own file.
    HardLink,
    /// A new file that shares the blocks (Btrfs, XFS, bcachefs).
    Reflink,
    /// A new file with its own blocks.
    Copy,
}

impl LinkMode {
    /// Returns the next mode to try after this one.
    pub(crate) fn next(self) -> Option<Self> {
        match self {
            Self::HardLink => Some(Self::Reflink),
            Self::Reflink => Some(Self::Copy),
            Self::Copy => None,
        }
    }
}
