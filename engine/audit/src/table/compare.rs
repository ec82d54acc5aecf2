//! Compares the columns and rows of two tables and returns the differences as findings.

use std::collections::HashSet;

use prep_contents::pairing::{
    Alone, ColumnComparison, CommonColumn, Keys, PairingResult, UnpairedKeys, pair_rows,
};
use prep_contents::{Result, Row, TableReader};
use prep_failure::Quoted;

use super::tally::{ColumnTypes, Tally, format_value};
use crate::causes::{Cause, Harm, rows, text};
use crate::finding::AuditFinding;
use crate::harm::{COLUMNS_BY_PLACE, PRIVATE, ROWS_BY_PLACE};

/// How grading and participants use a table. This determines the harm of differences.
#[derive(Debug, Clone, Default)]
pub struct TableUse {
    /// Whether the table is in `private`.
    pub is_private: bool,
    /// Names of the label columns.
    pub labels: HashSet<String>,
    /// Names of the id columns.
    pub ids: HashSet<String>,
    /// Whether grading pairs rows by position.
    pub rows_by_position: bool,
    /// Whether grading pairs columns by position.
    pub columns_by_position: bool,
    /// Whether submissions follow the row order of this table: the answers, the sample submission or the test table.
    pub is_followed: bool,
}

impl TableUse {
    /// Returns whether a column contains labels. In a private table without known labels, all columns except ids do.
    pub(crate) fn is_label(&self, column: &str) -> bool {
        let all = self.is_private && self.labels.is_empty();
        (all || self.labels.contains(column)) && !self.ids.contains(column)
    }

    /// Raises the harm if the table is private.
    fn raise_if_private(&self, finding: AuditFinding) -> AuditFinding {
        match self.is_private {
            true => finding.raised(Harm::Answers, PRIVATE),
            false => finding,
        }
    }
}

/// The result of comparing two tables.
#[derive(Debug, Default)]
pub struct TableComparison {
    pub findings: Vec<AuditFinding>,
    /// Number of rows if all rows are equal and in the same order.
    pub rows: Option<u64>,
    /// Keys of the rows that only one side has. These rows may be in a different file.
    pub moved: Option<UnpairedKeys>,
}

pub(super) fn compare(
    path: &str,
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
    role: &TableUse,
    is_typed: bool,
) -> Result<TableComparison> {
    let columns = ColumnComparison::compare(theirs, ours)?;
    let mut outcome = TableComparison {
        findings: column_findings(path, role, &columns, theirs, ours),
        ..TableComparison::default()
    };
    if columns.common.is_empty() {
        return Ok(outcome);
    }
    let keys = Keys {
        known: &|name| role.ids.contains(name),
        never: &|name| role.is_label(name),
        strict: false,
        examples: crate::finding::MAX_EXAMPLES,
    };
    let types = ColumnTypes::new(ours, &columns.common, is_typed);
    let new = || Tally::new(&columns.common, role, &types);
    let paired = pair_rows(theirs, ours, &columns.common, &keys, new)?;
    types.failed()?;
    let [_, our_rows] = paired.rows;
    if paired.equal {
        outcome.rows = Some(our_rows);
        return Ok(outcome);
    }
    let order = row_order_finding(path, role, &paired);
    let alone = [
        (&rows::ROWS_MISSING, &paired.missing, false),
        (&rows::ROWS_REPEATED, &paired.repeated, true),
        (&rows::ROWS_ADDED, &paired.added, true),
    ]
    .map(|(cause, alone, theirs)| {
        unpaired_finding(path, role, cause, alone, theirs, &columns.common)
    });
    let findings = &mut outcome.findings;
    findings.extend(paired.differences.findings(path));
    findings.extend(alone.into_iter().flatten());
    findings.extend(order);
    outcome.moved = paired.moved;
    Ok(outcome)
}

/// Returns the findings for the names and the order of columns.
fn column_findings(
    path: &str,
    role: &TableUse,
    columns: &ColumnComparison,
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    if let Some(index) = &columns.index {
        let words = match index.counts {
            true => "the column counts the rows from 0",
            false => "the column contains the row numbers of a different table",
        };
        let finding = AuditFinding::new(&text::INDEX_COLUMN, path).proof(words);
        findings.push(finding.example(format!("the column {}", Quoted(&index.name))));
    }
    if !columns.renamed.is_empty() {
        let mut finding = AuditFinding::new(&rows::COLUMNS_RENAMED, path)
            .cells(columns.renamed.len() as u64)
            .proof("the columns' values are equal");
        for (theirs, ours) in &columns.renamed {
            finding = finding.example(format!("theirs: `{theirs}`, ours: `{ours}`"));
        }
        findings.push(finding);
    }
    for (cause, names) in [
        (&rows::COLUMNS_MISSING, &columns.missing),
        (&rows::COLUMNS_ADDED, &columns.added),
    ] {
        if !names.is_empty() {
            let mut finding = AuditFinding::new(cause, path).cells(names.len() as u64);
            for name in names {
                finding = finding.example(format!("`{name}`"));
            }
            findings.push(finding);
        }
    }
    if columns.reordered {
        let mut finding = AuditFinding::new(&rows::COLUMN_ORDER, path);
        // If grading pairs columns by position, a different order makes it compare the wrong columns.
        if role.columns_by_position && role.is_followed {
            finding.raise(Harm::Answers, COLUMNS_BY_PLACE);
        }
        let finding = finding.example(format!("theirs: {}", theirs.columns().join(", ")));
        findings.push(finding.example(format!("ours: {}", ours.columns().join(", "))));
    }
    findings
}

/// Returns the finding for rows that only one side has.
fn unpaired_finding(
    path: &str,
    role: &TableUse,
    cause: &'static Cause,
    alone: &Alone,
    theirs: bool,
    columns: &[CommonColumn],
) -> Option<AuditFinding> {
    if alone.count == 0 {
        return None;
    }
    let name = |row: &Row| {
        let cells = columns.iter().take(3).map(|column| {
            let place = if theirs { column.there } else { column.here };
            format!("{} {}", column.name, format_value(row.cell(place)))
        });
        cells.collect::<Vec<_>>().join(", ")
    };
    let mut finding = AuditFinding::new(cause, path).rows(alone.count);
    for row in &alone.examples {
        finding = finding.example(name(row));
    }
    Some(role.raise_if_private(finding))
}

/// Returns the finding if paired rows are in a different order.
fn row_order_finding(
    path: &str,
    role: &TableUse,
    paired: &PairingResult<Tally<'_>>,
) -> Option<AuditFinding> {
    if paired.reordered == 0 {
        return None;
    }
    let [_, count] = paired.rows;
    let mut finding = AuditFinding::new(&rows::ROW_ORDER, path)
        .rows(paired.reordered)
        .proof(format!(
            "{} of {count} rows exist in both tables, at any position",
            paired.pairs
        ));
    if role.rows_by_position && role.is_followed {
        finding.raise(Harm::Answers, ROWS_BY_PLACE);
    }
    for (theirs, ours) in &paired.elsewhere {
        let example = format!("row {} of ours is row {} of theirs", ours + 1, theirs + 1);
        finding = finding.example(example);
    }
    Some(finding)
}
