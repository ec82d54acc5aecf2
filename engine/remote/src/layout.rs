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

/// A name's slashes would make a folder of what is a file in a store of files, so they are written as `+`. A `+` of the name
/// itself is escaped: different names have different places.
pub(crate) fn source(name: &str) -> String {
    let mut file = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '/' => file.push('+'),
            '+' => file.push_str("~p"),
            '~' => file.push_str("~t"),
            other => file.push(other),
        }
    }
    format!("{SOURCES}/{file}")
}

/// The name of the source whose record has this file's name; `None` for other files.
pub(crate) fn source_of(file: &str) -> Option<String> {
    let mut name = String::with_capacity(file.len());
    let mut letters = file.chars();
    while let Some(letter) = letters.next() {
        name.push(match letter {
            '+' => '/',
            '~' => match letters.next()? {
                'p' => '+',
                't' => '~',
                _ => return None,
            },
            other => other,
        });
    }
    Some(name)
}

/// The competition whose source has this name: `ID`, or `ID/SOURCE/FILE`.
pub(crate) fn competition_of(source: &str) -> &str {
    source.split('/').next().unwrap_or_default()
}

pub(crate) fn bundle(digest: &Digest) -> String {
    format!("{}/bundles/{digest}", Area::Private.prefix())
}

pub(crate) fn hashes(digest: &Digest) -> String {
    format!("{}.hashes", bundle(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_sources_have_different_places() {
        let names = ["a/b", "a+b", "a~pb", "a~b", "a~tb", "a", "a/b+c~d"];
        let mut places: Vec<String> = names.map(source).to_vec();
        for (name, place) in names.iter().zip(&places) {
            let file = place.strip_prefix("v1/sources/").unwrap();
            assert!(!file.contains('/'), "{place}");
            assert_eq!(source_of(file).as_deref(), Some(*name));
        }
        places.sort();
        places.dedup();
        assert_eq!(places.len(), names.len());
        // Where records of older versions are.
        assert_eq!(source("a-1/b_2/c.csv"), "v1/sources/a-1+b_2+c.csv");
        assert_eq!(source_of("a~x"), None);
        assert_eq!(competition_of("a/b/c"), "a");
        assert_eq!(competition_of("a"), "a");
    }
}
