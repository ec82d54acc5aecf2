//! What lies where in a remote.
//!
//! ```text
//! v1/ledger/KEY                    what a step key led to, signed
//! v1/sources/NAME                  what a competition's bundle holds, signed
//! v1/objects/ab/cdef...            contents that anybody may see who may see prepared public data
//! private/v1/objects/ab/cdef...    all others: answers, and what outputs were made of
//! private/v1/bundles/DIGEST        bundles as Kaggle serves them
//! private/v1/bundles/DIGEST.hashes hashes of a bundle's stretches
//! ```
//!
//! So a role that may read all but `private/` sees no answers. `v1` is the version of the format: another one takes
//! another name, and is never misread.

use prep_cache::Digest;

/// Who may see an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    /// Whoever may see prepared public data.
    Open,
    /// Who prepares and grades.
    Private,
}

impl Area {
    pub(crate) const ALL: [Area; 2] = [Area::Private, Area::Open];

    fn prefix(self) -> &'static str {
        match self {
            Area::Open => "v1",
            Area::Private => "private/v1",
        }
    }
}

/// Whether a name lies where only those look who prepare and grade.
pub(crate) fn is_private(name: &str) -> bool {
    name.starts_with(Area::Private.prefix())
}

pub(crate) const SOURCES: &str = "v1/sources";

pub(crate) fn object(area: Area, digest: &Digest) -> String {
    let hex = digest.to_string();
    let (first, rest) = hex.split_at(2);
    format!("{}/objects/{first}/{rest}", area.prefix())
}

pub(crate) fn entry(key: &Digest) -> String {
    format!("v1/ledger/{key}")
}

/// A name's slashes would make a folder of what is a file in a store of files.
pub(crate) fn source(name: &str) -> String {
    format!("{SOURCES}/{}", name.replace('/', "+"))
}

pub(crate) fn bundle(digest: &Digest) -> String {
    format!("{}/bundles/{digest}", Area::Private.prefix())
}

pub(crate) fn hashes(digest: &Digest) -> String {
    format!("{}.hashes", bundle(digest))
}
