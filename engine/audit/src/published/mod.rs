//! Explains why a prepared file does not have its published checksum.
//!
//! A checksum reveals nothing about the published content. Therefore the audit renders the prepared content as a
//! different library, option or version would have written it. A cause is accepted only if the rendered file has the
//! published checksum.
//!
//! The footer of a Parquet file contains the versions of fastparquet and pandas that wrote the file. Therefore the audit
//! tries every known fastparquet version with every known pandas version. The bytes before the footer are hashed once.

mod forms;
mod splits;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::causes::Cause;
use crate::error::AuditError;
use crate::finding::AuditFinding;
use crate::read::{self, hasher, hex};
use md5::Digest as _;
use prep_contents::{DecodingLimits, Format, Resources, Result, entries};
use prep_formats::parquet::{ParquetFooter, WriterVersions, with_versions};

pub use forms::Rendering;
pub use splits::search as search_split;

#[derive(Debug)]
pub enum FileCheck {
    Equal,
    /// The finding explains the different checksum.
    Other(AuditFinding),
}

/// Checks a file against its published MD5. `path` is its path in the tree, and `file` is its path on disk.
pub fn check(
    path: &str,
    file: &Path,
    md5: &str,
    limits: &DecodingLimits,
) -> Result<FileCheck, AuditError> {
    let check_file = || -> Result<FileCheck> {
        let found = read::md5(file)?;
        if found.eq_ignore_ascii_case(md5) {
            return Ok(FileCheck::Equal);
        }
        let unknown = || {
            let proof = format!(
                "the published MD5 is {md5}, but the file has {found}; no other known form of the content has the published MD5"
            );
            AuditFinding::new(Cause::NotClassified, path).proof(proof)
        };
        let finding = match Format::from_path(path) {
            Some(Format::Parquet) => match search_footers(file, md5)? {
                FooterMatch::Versions(published, ours) => {
                    let finding = AuditFinding::new(Cause::ParquetVersions, path);
                    finding.proof(format!(
                        "with {published} in the footer instead of {ours}, the file would have the published MD5"
                    ))
                }
                FooterMatch::Tried(pairs) => {
                    let finding = AuditFinding::new(Cause::ParquetUnknownVersions, path);
                    finding.proof(format!(
                        "none of the {pairs} tried pairs of fastparquet and pandas versions gives the published MD5"
                    ))
                }
                FooterMatch::OtherWriter => {
                    let finding = AuditFinding::new(Cause::ParquetUnknownVersions, path);
                    finding.proof("a library other than fastparquet wrote the file")
                }
            },
            Some(format @ (Format::Csv(_) | Format::Lines)) => {
                match forms::search(file, format, md5, limits)? {
                    Some(rendering) => {
                        let proof = format!(
                            "the prepared content has the published MD5 if it is written in this form: {}",
                            rendering.description()
                        );
                        AuditFinding::new(rendering.cause(), path).proof(proof)
                    }
                    None => unknown(),
                }
            }
            _ => unknown(),
        };
        Ok(FileCheck::Other(finding))
    };
    check_file().map_err(AuditError::reading(file))
}

/// Known releases, one `LIBRARY VERSION` per line.
const RELEASES: &str = include_str!("releases.txt");

enum FooterMatch {
    /// The versions that wrote the published file, and the versions that wrote the prepared file.
    Versions(WriterVersions, WriterVersions),
    /// No pair of versions matches. Contains the number of pairs that were tried.
    Tried(usize),
    OtherWriter,
}

fn search_footers(path: &Path, md5: &str) -> io::Result<FooterMatch> {
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

fn releases(library: &str) -> impl Iterator<Item = &'static str> + '_ {
    RELEASES
        .lines()
        .filter_map(move |line| line.strip_prefix(library)?.strip_prefix(' '))
}

/// Finds the members of the bundle whose MD5 is in `wanted`. Returns their paths, by MD5. Also searches nested archives.
pub fn members(
    bundle: &Path,
    resources: &Resources<'_>,
    wanted: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    entries::of_file(bundle, "bundle.zip", resources, &mut |path, _, content| {
        let mut content: &mut dyn Read = content;
        let md5 = hex(hasher(&mut content)?);
        if wanted.contains(&md5) {
            let name = path.strip_prefix("bundle.zip/").unwrap_or(path);
            found.insert(md5, name.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
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
