//! Compares the columns and rows of two tables, and returns the differences as findings.

use std::collections::HashSet;

use prep_contents::pairing::{
    Alone, ColumnComparison, CommonColumn, Keys, PairingResult, UnpairedKeys, pair_rows,
};
use prep_contents::{Result, Row, TableReader};
use prep_failure::Quoted;

use super::tally::{Natures, Tally, format_value};
use crate::causes::{Cause, Harm, rows, text};
use crate::finding::AuditFinding;
use crate::harm::{COLUMNS_BY_PLACE, PRIVATE, ROWS_BY_PLACE};

/// How grading and participants use a table. This decides the harm of differences.
#[derive(Debug, Clone, Default)]
pub struct TableUse {
    /// Whether the table is in the private part.
    pub answers: bool,
    /// Label columns.
    pub labels: HashSet<String>,
    /// Id columns.
    pub ids: HashSet<String>,
    /// Whether grading pairs rows by position.
    pub by_place: bool,
    /// Whether grading pairs columns by position.
    pub columns_by_place: bool,
    /// Whether submissions have the order of its rows: the answers, the sample submission or the test table.
    pub is_followed: bool,
}

impl TableUse {
    pub(crate) fn is_label(&self, column: &str) -> bool {
        let all = self.answers && self.labels.is_empty();
        (all || self.labels.contains(column)) && !self.ids.contains(column)
    }

    /// Differences of answers are harmful.
    fn harm(&self, finding: AuditFinding) -> AuditFinding {
        match self.answers {
            true => finding.raised(Harm::Answers, PRIVATE),
            false => finding,
        }
    }
}

/// The result of comparing two tables.
#[derive(Debug, Default)]
pub struct TableComparison {
    pub findings: Vec<AuditFinding>,
    /// Number of rows, if all are equal in order.
    pub rows: Option<u64>,
    /// Rows that only one side has, by the key that pairs rows. Another file may have them.
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
        findings: of_columns(path, role, &columns, theirs, ours),
        ..TableComparison::default()
    };
    if columns.common.is_empty() {
        return Ok(outcome);
    }
    let keys = Keys {
        known: &|name| role.ids.contains(name),
        never: &|name| role.is_label(name),
        strict: false,
        examples: crate::finding::EXAMPLES,
    };
    let natures = Natures::new(ours, &columns.common, is_typed);
    let new = || Tally::new(&columns.common, role, &natures);
    let paired = pair_rows(theirs, ours, &columns.common, &keys, new)?;
    natures.failed()?;
    let [_, our_rows] = paired.rows;
    if paired.equal {
        outcome.rows = Some(our_rows);
        return Ok(outcome);
    }
    let order = order(path, role, &paired);
    let alone = [
        (&rows::ROWS_MISSING, &paired.missing, false),
        (&rows::ROWS_REPEATED, &paired.repeated, true),
        (&rows::ROWS_ADDED, &paired.added, true),
    ]
    .map(|(cause, alone, theirs)| unpaired(path, role, cause, alone, theirs, &columns.common));
    let findings = &mut outcome.findings;
    findings.extend(paired.differences.findings(path));
    findings.extend(alone.into_iter().flatten());
    findings.extend(order);
    outcome.moved = paired.moved;
    Ok(outcome)
}

fn of_columns(
    path: &str,
    role: &TableUse,
    columns: &ColumnComparison,
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    if let Some(index) = &columns.index {
        let words = match index.counts {
            true => "it counts the rows from 0",
            false => "it holds the rows' numbers in another table",
        };
        let finding = AuditFinding::new(&text::INDEX_COLUMN, path).proof(words);
        findings.push(finding.example(format!("the column {}", Quoted(&index.name))));
    }
    if !columns.renamed.is_empty() {
        let mut finding = AuditFinding::new(&rows::COLUMNS_RENAMED, path)
            .cells(columns.renamed.len() as u64)
            .proof("the columns' values are equal");
        for (there, here) in &columns.renamed {
            finding = finding.example(format!("`{there}` there, `{here}` here"));
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
        // If grading pairs columns by position, it compares other columns than on the published data.
        if role.columns_by_place && role.is_followed {
            finding.raise(Harm::Answers, COLUMNS_BY_PLACE);
        }
        let finding = finding.example(format!("there: {}", theirs.columns().join(", ")));
        findings.push(finding.example(format!("here: {}", ours.columns().join(", "))));
    }
    findings
}

/// Returns the finding for rows that only one side has.
fn unpaired(
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
    Some(role.harm(finding))
}

/// Returns the finding if pairs have another order.
fn order(path: &str, role: &TableUse, paired: &PairingResult<Tally<'_>>) -> Option<AuditFinding> {
    if paired.reordered == 0 {
        return None;
    }
    let [_, count] = paired.rows;
    let mut finding = AuditFinding::new(&rows::ROW_ORDER, path)
        .rows(paired.reordered)
        .proof(format!(
            "{} of {count} rows have their pair, at any position",
            paired.pairs
        ));
    if role.by_place && role.is_followed {
        finding.raise(Harm::Answers, ROWS_BY_PLACE);
    }
    for (there, here) in &paired.elsewhere {
        finding = finding.example(format!("row {} here is row {} there", here + 1, there + 1));
    }
    Some(finding)
}
