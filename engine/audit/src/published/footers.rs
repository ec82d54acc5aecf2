//! Finds the versions of fastparquet and pandas that wrote a published Parquet file. All bytes before the footer are hashed
//! once, and then continued with one footer per pair of versions.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use md5::Digest as _;
use prep_formats::parquet::{ParquetFooter, WriterVersions, with_versions};

use crate::read::{hasher, hex};

/// Known releases, one per line: `LIBRARY VERSION`.
const RELEASES: &str = include_str!("releases.txt");

pub(super) enum FooterMatch {
    /// The versions of the published file, and those of our file.
    Versions(WriterVersions, WriterVersions),
    /// No pair of versions matches. Contains the number of pairs that were tried.
    Tried(usize),
    OtherWriter,
}

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
            let mut whole = before.clone();
            whole.update(&end);
            if hex(whole).eq_ignore_ascii_case(md5) {
                return Ok(FooterMatch::Versions(versions, tail.versions));
            }
        }
    }
    Ok(FooterMatch::Tried(tried))
}

fn releases(library: &str) -> impl Iterator<Item = &'static str> + '_ {
    RELEASES
        .lines()
        .filter_map(move |line| line.strip_prefix(library)?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_releases_are_versions() {
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
