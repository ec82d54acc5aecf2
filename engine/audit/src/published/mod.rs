//! Finds the form of our content that has the published checksum.
//!
//! A checksum reveals nothing about its content. So the audit tries causes: it renders our content as another library, option or
//! version would have written it. A cause is accepted only if it reproduces the published checksum.

mod footers;
mod forms;
mod members;
mod splits;

use std::path::Path;

use crate::causes::{NOT_CLASSIFIED, writer};
use crate::error::AuditError;
use crate::finding::AuditFinding;
use crate::read;
use prep_contents::{ContentsError, DecodingLimits, Format};

pub use forms::Rendering;
pub use members::members;
pub use splits::search as search_split;

/// The result of comparing a file with its published checksum.
#[derive(Debug)]
pub enum FileCheck {
    /// The file has its published checksum.
    Equal,
    /// The file has another checksum, for this reason.
    Other(AuditFinding),
}

/// Compares the file at `place`, called `path`, with its published MD5.
///
/// # Errors
/// When it cannot be read.
pub fn check(
    path: &str,
    place: &Path,
    md5: &str,
    limits: &DecodingLimits,
) -> Result<FileCheck, AuditError> {
    let look = || -> Result<FileCheck, ContentsError> {
        let found = read::md5(place)?;
        if found.eq_ignore_ascii_case(md5) {
            return Ok(FileCheck::Equal);
        }
        let unknown = || {
            let proof = format!(
                "published is MD5 {md5}, it has {found}; no other form of its content has that sum"
            );
            AuditFinding::new(&NOT_CLASSIFIED, path).proof(proof)
        };
        let finding = match Format::from_path(path) {
            Some(Format::Parquet) => match footers::search(place, md5)? {
                footers::FooterMatch::Versions(there, here) => {
                    let finding = AuditFinding::new(&writer::PARQUET_VERSIONS, path);
                    finding.proof(format!(
                        "with {there} in the footer instead of {here}, it has the published MD5"
                    ))
                }
                footers::FooterMatch::Tried(pairs) => {
                    let finding = AuditFinding::new(&writer::PARQUET_UNKNOWN_VERSIONS, path);
                    finding.proof(format!(
                        "{pairs} pairs of versions of fastparquet and pandas were tried"
                    ))
                }
                footers::FooterMatch::OtherWriter => {
                    let finding = AuditFinding::new(&writer::PARQUET_UNKNOWN_VERSIONS, path);
                    finding.proof("it was written by another library than fastparquet")
                }
            },
            Some(format @ (Format::Csv(_) | Format::Lines)) => {
                match forms::search(place, format, md5, limits)? {
                    Some(rendering) => {
                        let proof = format!(
                            "{}: rendered so, our content has the published MD5",
                            rendering.words()
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
    look().map_err(AuditError::reading(place))
}
