//! Explains why a prepared file does not have its published checksum.
//!
//! A checksum reveals nothing about the content. So the audit tries causes: it renders our content as a different
//! library, option or version would have written it. A cause is accepted only if it reproduces the published checksum.

mod footers;
mod forms;
mod members;
mod splits;

use std::path::Path;

use crate::causes::Cause;
use crate::error::AuditError;
use crate::finding::AuditFinding;
use crate::read;
use prep_contents::{ContentsError, DecodingLimits, Format};

pub use forms::Rendering;
pub use members::members;
pub use splits::search as search_split;

/// The result of checking a file against its published checksum.
#[derive(Debug)]
pub enum FileCheck {
    /// The file has its published checksum.
    Equal,
    /// The file has a different checksum. The finding explains it.
    Other(AuditFinding),
}

/// Checks a file against its published MD5. `path` is its path in the tree, which findings show; `file` is its path on
/// disk.
///
/// # Errors
/// If the file cannot be read.
pub fn check(
    path: &str,
    file: &Path,
    md5: &str,
    limits: &DecodingLimits,
) -> Result<FileCheck, AuditError> {
    let check_file = || -> Result<FileCheck, ContentsError> {
        let found = read::md5(file)?;
        if found.eq_ignore_ascii_case(md5) {
            return Ok(FileCheck::Equal);
        }
        let unknown = || {
            let proof = format!(
                "the published MD5 is {md5}, the file has {found}; no other form of its content has the published MD5"
            );
            AuditFinding::new(Cause::NotClassified, path).proof(proof)
        };
        let finding = match Format::from_path(path) {
            Some(Format::Parquet) => match footers::search(file, md5)? {
                footers::FooterMatch::Versions(published, ours) => {
                    let finding = AuditFinding::new(Cause::ParquetVersions, path);
                    finding.proof(format!(
                        "with {published} in the footer instead of {ours}, the file has the published MD5"
                    ))
                }
                footers::FooterMatch::Tried(pairs) => {
                    let finding = AuditFinding::new(Cause::ParquetUnknownVersions, path);
                    finding.proof(format!(
                        "{pairs} pairs of versions of fastparquet and pandas were tried"
                    ))
                }
                footers::FooterMatch::OtherWriter => {
                    let finding = AuditFinding::new(Cause::ParquetUnknownVersions, path);
                    finding.proof("a different library than fastparquet wrote the file")
                }
            },
            Some(format @ (Format::Csv(_) | Format::Lines)) => {
                match forms::search(file, format, md5, limits)? {
                    Some(rendering) => {
                        let proof = format!(
                            "our content has the published MD5 if it is written in this form: {}",
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
