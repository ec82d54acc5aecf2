//! The ways of publishing an object outside the store.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How an object was published outside the store, cheapest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LinkMode {
    /// A hard link: another name of the store's own file.
    #[default]
    HardLink,
    /// A new file that shares the blocks (Btrfs, XFS, bcachefs).
    Reflink,
    /// A new file with its own blocks.
    Copy,
}

impl LinkMode {
    /// All ways, cheapest first.
    pub const ALL: [LinkMode; 3] = [LinkMode::HardLink, LinkMode::Reflink, LinkMode::Copy];

    /// Returns the name that records and settings use.
    pub const fn name(self) -> &'static str {
        match self {
            LinkMode::HardLink => "hardlink",
            LinkMode::Reflink => "reflink",
            LinkMode::Copy => "copy",
        }
    }

    /// Returns the next mode to try after this one.
    pub(crate) fn next(self) -> Option<Self> {
        match self {
            Self::HardLink => Some(Self::Reflink),
            Self::Reflink => Some(Self::Copy),
            Self::Copy => None,
        }
    }
}

impl fmt::Display for LinkMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LinkMode {
    type Err = String;

    fn from_str(text: &str) -> Result<LinkMode, String> {
        let mut all = LinkMode::ALL.into_iter();
        all.find(|mode| mode.name() == text)
            .ok_or_else(|| "expected hardlink, reflink or copy".to_owned())
    }
}
