//! Finds the versions of fastparquet and pandas that wrote a published Parquet file. The bytes before the footer are
//! hashed once. Then a copy of this hash is continued with the footer of each pair of versions.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use md5::Digest as _;
use prep_formats::parquet::{ParquetFooter, WriterVersions, with_versions};

use crate::read::{hasher, hex};

/// Known releases, one `LIBRARY VERSION` per line.
const RELEASES: &str = include_str!("releases.txt");

pub(super) enum FooterMatch {
    /// The versions that wrote the published file, and those that wrote our file.
    Versions(WriterVersions, WriterVersions),
    /// No pair of versions matches. The value is the number of pairs that were tried.
    Tried(usize),
    /// A different library than fastparquet wrote our file.
    OtherWriter,
}

/// Finds the versions with which our file at `path` has the MD5 `md5`.
pub(super) fn search(path: &Path, md5: &str) -> io::Result<FooterMatch> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(trailer_at) = length.checked_sub(ParquetFooter::TRAILER) else {
        return Ok(FooterMatch::OtherWriter);
    };
    let mut trailer = [0; ParquetFooter::TRAILER as usize];
    file.seek(SeekFrom::Start(trailer_at))?;
    file.read_exact(&mut trailer)?;
    let Some(begin) = ParquetFooter::begin(length, &trailer) else {
        return Ok(FooterMatch::OtherWriter);
    };
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    (&file).take(trailer_at - begin).read_to_end(&mut footer)?;
    let Some(tail) = ParquetFooter::parse(begin, &footer) else {
        return Ok(FooterMatch::OtherWriter);
    };
    file.seek(SeekFrom::Start(0))?;
    let before = hasher(&mut (&file).take(begin))?;
    let mut tried = 0;
    for fastparquet in releases("fastparquet") {
        for pandas in releases("pandas") {
            let Ok(versions) = WriterVersions::new(fastparquet, pandas) else {
                continue;
            };
            let Some(end) = with_versions(&tail, &versions) else {
                continue;
            };
            tried += 1;
            let mut hasher = before.clone();
            hasher.update(&end);
            if hex(hasher).eq_ignore_ascii_case(md5) {
                return Ok(FooterMatch::Versions(versions, tail.versions));
            }
        }
    }
    Ok(FooterMatch::Tried(tried))
}

/// Returns the known versions of a library.
fn releases(library: &str) -> impl Iterator<Item = &'static str> + '_ {
    RELEASES
        .lines()
        .filter_map(move |line| line.strip_prefix(library)?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_known_releases_are_valid_versions() {
        let pairs = releases("fastparquet").count() * releases("pandas").count();
        assert!(pairs >= 300, "{pairs}");
        for fastparquet in releases("fastparquet") {
            for pandas in releases("pandas") {
                assert!(
                    WriterVersions::new(fastparquet, pandas).is_ok(),
                    "{fastparquet} {pandas}"
                );
            }
        }
    }
}
