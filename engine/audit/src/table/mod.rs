//! Compares two tables, from bytes to keys: columns, then rows in order, as multisets, by a key. Each differing cell has its own cause,
//! and so has the form of the file.

pub(crate) mod cell;
mod compare;
mod forms;
mod tally;

use std::path::Path;

use prep_contents::table::DetectedFile;
use prep_contents::{ContentsError, DecodingLimits, Format, Result};

use crate::causes::{files, rows};
use crate::finding::AuditFinding;

pub use compare::{TableComparison, TableUse};

/// Compares two files of different bytes as tables.
///
/// # Errors
/// When ours cannot be read as such.
pub fn compare(
    path: &str,
    theirs: &Path,
    ours: &Path,
    format: Format,
    role: &TableUse,
    limits: &DecodingLimits,
) -> Result<TableComparison> {
    let ours = DetectedFile::open(ours, format, limits)?;
    let theirs = match DetectedFile::open(theirs, format, limits) {
        Ok(theirs) => theirs,
        Err(ContentsError::Damaged(reason)) => {
            let finding = AuditFinding::new(&files::FILES_DAMAGED, path).example(reason);
            return Ok(TableComparison {
                findings: vec![finding],
                ..TableComparison::default()
            });
        }
        Err(error) => return Err(error),
    };
    let is_typed = !matches!(ours, DetectedFile::Csv(_));
    let mut outcome = compare::compare(path, theirs.table(), ours.table(), role, is_typed)?;
    let findings = &mut outcome.findings;
    match (&theirs, &ours) {
        (DetectedFile::Csv(theirs), DetectedFile::Csv(ours)) => {
            findings.extend(forms::of_text(path, &theirs.form, &ours.form));
        }
        (DetectedFile::Parquet(theirs), DetectedFile::Parquet(ours)) => {
            findings.extend(forms::of_parquet(path, theirs, ours, outcome.rows));
        }
        (DetectedFile::Records(theirs), DetectedFile::Records(ours)) => {
            // Columns are listed in order of first appearance, so their order has no meaning here.
            findings.retain(|finding| finding.cause.id != rows::COLUMN_ORDER.id);
            let equal = outcome.rows.is_some();
            findings.extend(forms::of_records(path, theirs, ours, equal));
        }
        (DetectedFile::Array(theirs), DetectedFile::Array(ours)) => {
            findings.extend(forms::of_arrays(path, theirs, ours, outcome.rows));
        }
        _ => {}
    }
    if findings.is_empty() {
        findings.push(AuditFinding::new(&crate::causes::NOT_CLASSIFIED, path));
    }
    Ok(outcome)
}
