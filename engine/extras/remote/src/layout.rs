//! Defines the names of files in a remote. Also combines ranges of a bundle into requests.
//!
//! ```text
//! v1/ledger/KEY                    signed list of the outputs of the step with this key
//! v1/sources/NAME                  signed record of the digests and the length of a competition's bundle
//! v1/objects/ab/cdef...            objects (content by digest) for everybody who may read prepared public data
//! private/v1/objects/ab/cdef...    all other objects: answers, and data from which outputs were computed
//! private/v1/bundles/DIGEST        bundles as Kaggle serves them
//! private/v1/bundles/DIGEST.hashes hash list of a bundle
//! ```
//!
//! Credentials for everything except `private/` cannot read answers. `v1` is the version of the format, so other
//! versions of `prep` do not misread these files.

use std::ops::Range;

use prep_cache::Digest;

/// The depth of the directories in a remote: `private/v1/objects/ab`.
pub const MAX_DEPTH: usize = 4;

/// The users who may read an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Area {
    /// Everybody who may read prepared public data.
    Open,
    /// Only users who prepare and grade.
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

/// Returns the file name of the record of a source, for example of a competition's bundle. `/` becomes `+`, because the
/// name must not contain directories. `+` and `~` are escaped. Therefore different names have different files.
pub(crate) fn source(name: &str) -> String {
    let file = name.replace('~', "~t").replace('+', "~p").replace('/', "+");
    format!("{SOURCES}/{file}")
}

/// Returns the name of the source whose record has this file name. Returns `None` for other files.
pub(crate) fn source_of(file: &str) -> Option<String> {
    let name = file.replace('+', "/").replace("~p", "+").replace("~t", "~");
    (source(&name).strip_prefix(SOURCES)?.strip_prefix('/') == Some(file)).then_some(name)
}

/// Returns the id of the competition to which a source belongs. If the source is a bundle, its name is the id. The name
/// of any other source is `ID/SOURCE/DIGEST/FILE`. The id of a competition in a pack has the form `PACK/ID`.
pub(crate) fn competition_of(source: &str) -> &str {
    let mut slashes = source.match_indices('/').map(|(place, _)| place);
    let is_of_pack = matches!(slashes.clone().count(), 1 | 4);
    let end = slashes.nth(usize::from(is_of_pack));
    source.get(..end.unwrap_or(source.len())).unwrap_or(source)
}

pub(crate) fn bundle(digest: &Digest) -> String {
    format!("{}/bundles/{digest}", Area::Private.prefix())
}

pub(crate) fn hashes(digest: &Digest) -> String {
    format!("{}.hashes", bundle(digest))
}

pub(crate) const REQUEST_BYTES: u64 = 8 << 20;
/// Two ranges with a gap of more bytes than this between them are fetched in separate requests.
const MAX_GAP_BYTES: u64 = 128 << 10;
/// The bytes of all fetched gaps are at most the requested bytes divided by this number.
const MAX_GAP_FRACTION: u64 = 32;

/// Combines ranges that are adjacent or have a small gap between them. Splits requests longer than [`REQUEST_BYTES`].
pub(crate) fn combine(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    let (mut useful, mut waste) = (0, 0);
    for range in ranges {
        useful += range.end - range.start;
        if let Some(last) = joined.last_mut() {
            let gap = range.start.saturating_sub(last.end);
            if gap == 0 || (gap <= MAX_GAP_BYTES && (waste + gap) * MAX_GAP_FRACTION <= useful) {
                waste += gap;
                last.end = last.end.max(range.end);
                continue;
            }
        }
        joined.push(range);
    }
    let pieces = joined.into_iter().flat_map(|range| {
        let starts = (range.start..range.end).step_by(REQUEST_BYTES as usize);
        starts.map(move |start| start..(start + REQUEST_BYTES).min(range.end))
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_sources_have_different_file_names() {
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
        // Older versions store their records under these names, so the names must not change.
        assert_eq!(source("a-1/b_2/c.csv"), "v1/sources/a-1+b_2+c.csv");
        assert_eq!(source_of("a~x"), None);
        for (source, competition) in [
            ("a", "a"),
            ("a/s/0f/f.csv", "a"),
            ("p/a", "p/a"),
            ("p/a/s/0f/f.csv", "p/a"),
        ] {
            assert_eq!(competition_of(source), competition);
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init, reason = "one range is expected")]
    fn adjacent_ranges_are_combined_and_large_gaps_are_skipped() {
        let k = 1u64 << 10;
        let m = 1u64 << 20;
        assert_eq!(combine(vec![]), Vec::<Range<u64>>::new());
        let touching = vec![32 * k..48 * k, 0..16 * k, 16 * k..32 * k];
        assert_eq!(combine(touching), [0..48 * k]);
        // A small gap is fetched together with large ranges, but a long gap is not.
        assert_eq!(combine(vec![0..4 * m, 4 * m + 64 * k..5 * m]), [0..5 * m]);
        assert_eq!(
            combine(vec![0..4 * m, 6 * m..7 * m]),
            [0..4 * m, 6 * m..7 * m]
        );
        let long = combine(vec![0..20 * m]);
        assert_eq!(long, [0..8 * m, 8 * m..16 * m, 16 * m..20 * m]);
    }
}
