//! Compares the columns and rows of two tables.

use prep_contents::pairing::{
    Alone, ColumnComparison, CommonColumn, Keys, PairingResult, UnpairedKeys, pair_rows,
};
use prep_contents::{Result, Row, TableReader};
use prep_failure::Quoted;

use super::TableUse;
use super::tally::{ColumnTypes, Tally, format_value};
use crate::causes::{Cause, Harm};
use crate::finding::{AuditFinding, COLUMNS_BY_PLACE, ROWS_BY_PLACE};

#[derive(Debug, Default)]
pub struct TableComparison {
    pub findings: Vec<AuditFinding>,
    /// Number of rows if all rows are equal and in the same order.
    pub rows: Option<u64>,
    /// Keys of the rows that only one side has. The other side may have these rows in a different file.
    pub moved: Option<UnpairedKeys>,
}

#[derive(Clone, Copy)]
pub(super) struct TablePair<'a> {
    pub path: &'a str,
    pub theirs: &'a dyn TableReader,
    pub ours: &'a dyn TableReader,
    pub role: &'a TableUse,
    pub is_typed: bool,
}

impl TablePair<'_> {
    pub(super) fn compare(&self) -> Result<TableComparison> {
        let TablePair {
            path,
            theirs,
            ours,
            role,
            ..
        } = *self;
        let columns = ColumnComparison::compare(theirs, ours)?;
        let mut outcome = TableComparison {
            findings: self.column_findings(&columns),
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
        let types = ColumnTypes::new(ours, &columns.common, self.is_typed);
        let new = || Tally::new(&columns.common, role, &types);
        let paired = pair_rows(theirs, ours, &columns.common, &keys, new)?;
        types.failed()?;
        let [_, our_rows] = paired.rows;
        if paired.equal {
            outcome.rows = Some(our_rows);
            return Ok(outcome);
        }
        let here = |row: &Row| first_cells(row, &columns.common, |column| column.here);
        let there = |row: &Row| first_cells(row, &columns.common, |column| column.there);
        let unpaired = [
            self.unpaired_finding(Cause::RowsMissing, &paired.missing, here),
            self.unpaired_finding(Cause::RowsRepeated, &paired.repeated, there),
            self.unpaired_finding(Cause::RowsAdded, &paired.added, there),
        ];
        let order = self.row_order_finding(&paired);
        let findings = &mut outcome.findings;
        findings.extend(paired.differences.findings(path));
        findings.extend(unpaired.into_iter().flatten());
        findings.extend(order);
        outcome.moved = paired.moved;
        Ok(outcome)
    }

    fn column_findings(&self, columns: &ColumnComparison) -> Vec<AuditFinding> {
        let path = self.path;
        let mut findings = Vec::new();
        if let Some(index) = &columns.index {
            let words = match index.counts {
                true => "the column counts the rows from 0",
                false => "the column contains the row numbers of a different table",
            };
            let finding = AuditFinding::new(Cause::IndexColumn, path).proof(words);
            findings.push(finding.example(format!("the column {}", Quoted(&index.name))));
        }
        if !columns.renamed.is_empty() {
            let finding = AuditFinding::new(Cause::ColumnsRenamed, path)
                .cells(columns.renamed.len() as u64)
                .proof("the columns' values are equal");
            let renamed = columns.renamed.iter();
            findings.push(finding.examples(
                renamed.map(|(theirs, ours)| format!("theirs: `{theirs}`, ours: `{ours}`")),
            ));
        }
        for (cause, names) in [
            (Cause::ColumnsMissing, &columns.missing),
            (Cause::ColumnsAdded, &columns.added),
        ] {
            if !names.is_empty() {
                let finding = AuditFinding::new(cause, path).cells(names.len() as u64);
                findings.push(finding.examples(names.iter().map(|name| format!("`{name}`"))));
            }
        }
        if columns.reordered {
            let mut finding = AuditFinding::new(Cause::ColumnOrder, path);
            // Grading would compare the wrong columns.
            if self.role.columns_by_position && self.role.is_followed {
                finding.raise(Harm::Answers, COLUMNS_BY_PLACE);
            }
            let finding = finding.example(format!("theirs: {}", self.theirs.columns().join(", ")));
            findings.push(finding.example(format!("ours: {}", self.ours.columns().join(", "))));
        }
        findings
    }

    /// Returns the finding for rows that only one side has. `describe` returns the first cells of a row.
    fn unpaired_finding(
        &self,
        cause: Cause,
        alone: &Alone,
        describe: impl Fn(&Row) -> String,
    ) -> Option<AuditFinding> {
        if alone.count == 0 {
            return None;
        }
        let finding = AuditFinding::new(cause, self.path).rows(alone.count);
        let finding = finding.examples(alone.examples.iter().map(describe));
        Some(self.role.raise_if_private(finding))
    }

    fn row_order_finding(&self, paired: &PairingResult<Tally<'_>>) -> Option<AuditFinding> {
        if paired.reordered == 0 {
            return None;
        }
        let [_, count] = paired.rows;
        let mut finding = AuditFinding::new(Cause::RowOrder, self.path)
            .rows(paired.reordered)
            .proof(format!(
                "{} of {count} rows are in both tables, regardless of their position",
                paired.pairs
            ));
        if self.role.rows_by_position && self.role.is_followed {
            finding.raise(Harm::Answers, ROWS_BY_PLACE);
        }
        let elsewhere = paired.elsewhere.iter();
        Some(finding.examples(elsewhere.map(|(theirs, ours)| {
            format!(
                "row {} of the prepared file is row {} of the audited file",
                ours + 1,
                theirs + 1
            )
        })))
    }
}

/// Formats the first three columns of a row for an example. `place` returns the index of a column in the row's table.
fn first_cells(
    row: &Row,
    columns: &[CommonColumn],
    place: impl Fn(&CommonColumn) -> usize,
) -> String {
    let cells = columns.iter().take(3);
    let cells =
        cells.map(|column| format!("{} {}", column.name, format_value(row.cell(place(column)))));
    cells.collect::<Vec<_>>().join(", ")
}
