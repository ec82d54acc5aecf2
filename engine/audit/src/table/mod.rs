//! Compares two tables: columns, rows, and how the files are written. First, rows at the same position are compared.
//! Then equal rows at any position are paired, and the remaining rows are paired by a key column. Each differing cell
//! gets its own cause.

pub(crate) mod cell;
mod compare;
mod forms;
mod spelling;
mod tally;

use std::collections::HashSet;
use std::path::Path;

use prep_contents::table::DetectedFile;
use prep_contents::{ContentsError, DecodingLimits, Format, Result, TableReader, read};

use crate::causes::{Cause, Harm};
use crate::finding::AuditFinding;
use crate::finding::{IDS, PRIVATE};
use spelling::{Respelled, Spelling};

pub use compare::TableComparison;
use compare::TablePair;

/// How grading and participants use a table, which determines the harm of differences.
#[derive(Debug, Clone, Default)]
pub struct TableUse {
    pub is_private: bool,
    pub labels: HashSet<String>,
    pub ids: HashSet<String>,
    pub rows_by_position: bool,
    pub columns_by_position: bool,
    /// Whether participants write submissions in the order of this table.
    pub is_followed: bool,
}

impl TableUse {
    /// Returns whether a column contains labels. Without known labels, private columns except ids are labels.
    pub(crate) fn is_label(&self, column: &str) -> bool {
        let all = self.is_private && self.labels.is_empty();
        (all || self.labels.contains(column)) && !self.ids.contains(column)
    }

    fn raise_if_private(&self, finding: AuditFinding) -> AuditFinding {
        match self.is_private {
            true => finding.raised(Harm::Answers, PRIVATE),
            false => finding,
        }
    }
}

/// Compares two files as tables. Their bytes must differ. If `theirs` is damaged, this is a finding, not an error.
pub fn compare(
    path: &str,
    [theirs, ours]: [&Path; 2],
    format: Format,
    role: &TableUse,
    limits: &DecodingLimits,
) -> Result<TableComparison> {
    let ours = DetectedFile::open(ours, format, limits)?;
    // A JSON list of records contains the same records as a file with one record per line.
    let is_list =
        format == Format::JsonLines && read::head(theirs, 64)?.trim_ascii_start().starts_with(b"[");
    let their_format = if is_list { Format::Json } else { format };
    let theirs = match DetectedFile::open(theirs, their_format, limits) {
        Ok(theirs) => theirs,
        Err(ContentsError::Damaged(reason)) => {
            let finding = AuditFinding::new(Cause::FilesDamaged, path).example(reason);
            return Ok(TableComparison {
                findings: vec![finding],
                ..TableComparison::default()
            });
        }
        Err(error) => return Err(error),
    };
    let is_typed = !matches!(ours, DetectedFile::Csv(_));
    let tables = TablePair {
        path,
        theirs: theirs.table(),
        ours: ours.table(),
        role,
        is_typed,
    };
    let mut outcome = tables.compare()?;
    if let Some(other) = compare_with_respelled_ids(&tables, &outcome)? {
        outcome = other;
    }
    let findings = &mut outcome.findings;
    match (&theirs, &ours) {
        (DetectedFile::Csv(theirs), DetectedFile::Csv(ours)) => {
            findings.extend(forms::csv_findings(path, &theirs.form, &ours.form));
        }
        (DetectedFile::Parquet(theirs), DetectedFile::Parquet(ours)) => {
            findings.extend(forms::parquet_findings(path, theirs, ours, outcome.rows));
        }
        (DetectedFile::Records(theirs), DetectedFile::Records(ours)) => {
            // In JSON records, columns are in the order in which their keys first appear. This order has no meaning, so
            // a different order is not a finding.
            findings.retain(|finding| finding.cause != Cause::ColumnOrder);
            // Additional or missing keys are not a difference in key order.
            let columns = [
                Cause::ColumnsAdded,
                Cause::ColumnsMissing,
                Cause::ColumnsRenamed,
            ];
            let has_same_columns = !findings.iter().any(|one| columns.contains(&one.cause));
            let equal = outcome.rows.is_some() && has_same_columns;
            findings.extend(forms::records_findings(path, theirs, ours, equal));
            let has_layout = findings
                .iter()
                .any(|one| one.cause == Cause::DocumentLayout);
            if is_list && !has_layout {
                let proof = "the file is one list of records instead of one record on each line";
                findings.push(AuditFinding::new(Cause::DocumentLayout, path).proof(proof));
            }
        }
        (DetectedFile::Array(theirs), DetectedFile::Array(ours)) => {
            findings.extend(forms::array_findings(path, theirs, ours, outcome.rows));
            // Rows of different widths cannot be paired, so only the different shape is reported.
            let has_other_width = theirs.columns().len() != ours.columns().len();
            if has_other_width && findings.iter().any(|one| one.cause == Cause::ArrayShape) {
                findings.retain(|one| one.cause == Cause::ArrayShape);
            }
        }
        _ => {}
    }
    if findings.is_empty() {
        findings.push(AuditFinding::new(Cause::NotClassified, path));
    }
    Ok(outcome)
}

/// Compares the tables after their ids are converted to the same spelling. Returns `None` if some rows still cannot be
/// paired.
fn compare_with_respelled_ids(
    tables: &TablePair<'_>,
    found: &TableComparison,
) -> Result<Option<TableComparison>> {
    let TablePair {
        path,
        theirs,
        ours,
        role,
        ..
    } = *tables;
    let count_unpaired = |outcome: &TableComparison| {
        let causes = [Cause::RowsMissing, Cause::RowsAdded];
        outcome
            .findings
            .iter()
            .filter(|one| causes.contains(&one.cause))
            .count()
    };
    if count_unpaired(found) < 2 {
        return Ok(None);
    }
    for spelling in Spelling::ALL {
        let (changed, zeros) = spelling::count_changed(theirs, ours, &role.ids, spelling)?;
        if changed == 0 {
            continue;
        }
        let (theirs, ours) = (
            Respelled::new(theirs, &role.ids, spelling),
            Respelled::new(ours, &role.ids, spelling),
        );
        let respelled = TablePair {
            theirs: &theirs,
            ours: &ours,
            ..*tables
        };
        let mut outcome = respelled.compare()?;
        let is_repeated = |one: &AuditFinding| one.cause == Cause::RowsRepeated;
        if count_unpaired(&outcome) > 0 || outcome.findings.iter().any(is_repeated) {
            continue;
        }
        let mut finding = AuditFinding::new(spelling.cause(zeros), path)
            .cells(if zeros > 0 { zeros } else { changed })
            .proof(spelling.proof());
        finding.raise(Harm::Content, IDS);
        if role.is_private {
            finding.raise(Harm::Answers, PRIVATE);
        }
        outcome.findings.push(finding);
        outcome.rows = None;
        return Ok(Some(outcome));
    }
    Ok(None)
}
