//! Counts differing cells by cause.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use prep_contents::pairing::{CommonColumn, RowDifferences, RowPair};
use prep_contents::{ContentsError, Result, Row, TableReader};
use prep_failure::QuotedValue;

use super::TableUse;
use super::cell::{ColumnType, Difference};
use crate::causes::{Cause, Harm};
use crate::finding::{AuditFinding, IDS, LABELS, PRIVATE};

/// Number of characters up to which an example shows the entire value.
const MAX_VALUE_LENGTH: usize = 200;
/// Maximum number of entries in [`Count::changes`].
const MAX_CHANGES: usize = 64;

#[derive(Debug, Default)]
struct Count {
    cells: u64,
    rows: u64,
    last_row: Option<u64>,
    examples: Vec<String>,
    by_column: BTreeMap<String, u64>,
    /// Number of cells for each change of a label, by `(ours, theirs)`.
    changes: BTreeMap<(String, String), u64>,
    /// The largest distance between two numbers that differ only in the last digits. The distance is in units in the
    /// last place.
    ulps: u64,
    /// Number of cells whose difference pandas' default parser explains.
    parsed: u64,
}

/// The types of the columns of `ours`. The first use reads all rows.
pub(crate) struct ColumnTypes<'a> {
    ours: &'a dyn TableReader,
    columns: &'a [CommonColumn],
    /// Whether the format distinguishes text from numbers.
    is_typed: bool,
    found: OnceCell<Vec<ColumnType>>,
    failed: RefCell<Option<ContentsError>>,
}

impl<'a> ColumnTypes<'a> {
    pub(crate) fn new(
        ours: &'a dyn TableReader,
        columns: &'a [CommonColumn],
        is_typed: bool,
    ) -> Self {
        let found = OnceCell::new();
        ColumnTypes {
            ours,
            columns,
            is_typed,
            found,
            failed: RefCell::default(),
        }
    }

    /// Fails if the types could not be read. The counts of differences are then invalid.
    pub(crate) fn failed(&self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn adjust(&self, column: usize, difference: Difference) -> Difference {
        let matters = matches!(
            difference,
            Difference::NumberSpelling
                | Difference::DecimalComma
                | Difference::LastDigit { .. }
                | Difference::Single
                | Difference::BooleanWords
        );
        if self.is_typed || !matters {
            return difference;
        }
        let column_type = self.types().get(column);
        column_type.map_or(difference, |column_type| column_type.adjust(difference))
    }

    fn contains_numbers(&self, column: usize) -> bool {
        let column_type = self.types().get(column);
        !self.is_typed && column_type.is_some_and(|column_type| column_type.numbers)
    }

    fn types(&self) -> &[ColumnType] {
        self.found.get_or_init(|| {
            self.read_types().unwrap_or_else(|error| {
                self.failed.replace(Some(error));
                Vec::new()
            })
        })
    }

    fn read_types(&self) -> Result<Vec<ColumnType>> {
        let mut types = vec![ColumnType::TYPED; self.columns.len()];
        let (mut rows, mut row) = (self.ours.rows()?, Row::default());
        while rows.next(&mut row)? {
            for (column, column_type) in self.columns.iter().zip(&mut types) {
                if column_type.numbers || column_type.booleans {
                    column_type.add(row.cell(column.here));
                }
            }
        }
        Ok(types)
    }
}

pub(crate) struct Tally<'a> {
    columns: &'a [CommonColumn],
    role: &'a TableUse,
    types: &'a ColumnTypes<'a>,
    counts: BTreeMap<Cause, Count>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(
        columns: &'a [CommonColumn],
        role: &'a TableUse,
        types: &'a ColumnTypes<'a>,
    ) -> Self {
        Self {
            columns,
            role,
            types,
            counts: BTreeMap::new(),
        }
    }

    fn position(&self, pair: &RowPair<'_>) -> String {
        if let Some(key) = pair.key {
            return format!("{} {}", key.name, format_value(pair.ours.cell(key.here)));
        }
        let number = pair.here + 1;
        match self.columns {
            [first, _, ..] => {
                let id = format_value(pair.ours.cell(first.here));
                format!("row {number} ({} {id})", first.name)
            }
            _ => format!("row {number}"),
        }
    }

    pub(crate) fn findings(self, path: &str) -> Vec<AuditFinding> {
        let role = self.role;
        let all = self.counts.into_iter();
        all.map(|(cause, count)| finding(path, cause, count, role))
            .collect()
    }
}

impl RowDifferences for Tally<'_> {
    fn pair(&mut self, pair: &RowPair<'_>) -> bool {
        let (mut has_changed_value, number) = (false, pair.here);
        for (place, column) in self.columns.iter().enumerate() {
            let (a, b) = (pair.theirs.cell(column.there), pair.ours.cell(column.here));
            let column = &column.name;
            if a == b {
                continue;
            }
            let is_label = self.role.is_label(column);
            let spaces_matter = is_label || self.role.ids.contains(column);
            let difference = match Difference::classify(a, b) {
                // Spaces matter in labels and ids that are text.
                Difference::Blanks if spaces_matter && !self.types.contains_numbers(place) => {
                    Difference::Value
                }
                difference => self.types.adjust(place, difference),
            };
            let cause = match difference {
                Difference::Value if is_label => Cause::LabelsChanged,
                other => other.cause(),
            };
            has_changed_value |= difference == Difference::Value;
            let count = self.counts.entry(cause).or_default();
            count.cells += 1;
            if count.last_row.replace(number) != Some(number) {
                count.rows += 1;
            }
            *count.by_column.entry(column.clone()).or_default() += 1;
            let wanted = count.examples.len() < crate::finding::MAX_EXAMPLES;
            if let Difference::LastDigit { ulps, parser } = difference {
                count.ulps = count.ulps.max(ulps);
                count.parsed += u64::from(parser);
            }
            if cause == Cause::LabelsChanged {
                let change = (format_value(b), format_value(a));
                if count.changes.len() < MAX_CHANGES || count.changes.contains_key(&change) {
                    *count.changes.entry(change).or_default() += 1;
                }
            }
            if wanted {
                let place = self.position(pair);
                let example = format!(
                    "{place}, `{column}`: theirs {}, ours {}",
                    format_value(a),
                    format_value(b)
                );
                if let Some(count) = self.counts.get_mut(&cause) {
                    count.examples.push(example);
                }
            }
        }
        has_changed_value
    }
}

fn finding(path: &str, cause: Cause, count: Count, role: &TableUse) -> AuditFinding {
    let mut finding = AuditFinding::new(cause, path)
        .rows(count.rows)
        .cells(count.cells);
    let columns: Vec<String> = count
        .by_column
        .iter()
        .map(|(name, cells)| format!("`{name}` {cells}"))
        .collect();
    let shown: Vec<&str> = columns.iter().take(5).map(String::as_str).collect();
    let mut proof = format!("differing cells by column: {}", shown.join(", "));
    if columns.len() > shown.len() {
        proof.push_str(&format!(
            " and {} further columns",
            columns.len() - shown.len()
        ));
    }
    if cause == Cause::FloatLastDigit {
        proof.push_str(&format!(
            "; the difference is at most {} units in the last place; in {} of {} cells, the default parser of pandas \
             before 3.1 reads the text of one side as the number of the other side",
            count.ulps, count.parsed, count.cells
        ));
    }
    if cause == Cause::LabelsChanged {
        let mut changes: Vec<_> = count.changes.iter().collect();
        changes.sort_by_key(|((_, _), cells)| std::cmp::Reverse(**cells));
        let words = changes
            .iter()
            .take(4)
            .map(|((from, to), cells)| format!("ours {from}, theirs {to}: {cells}"));
        proof.push_str(&format!("; {}", words.collect::<Vec<_>>().join(", ")));
        finding.rule = LABELS;
    }
    let has_ids = count.by_column.keys().any(|name| role.ids.contains(name));
    if cause == Cause::NumberSpelling && has_ids {
        finding.raise(Harm::Content, IDS);
    }
    if finding.harm >= Harm::Content && role.is_private {
        finding.raise(Harm::Answers, PRIVATE);
    }
    finding.proof(proof).examples(count.examples)
}

/// Formats a value for a message, in quotes. Long values are shortened.
pub(crate) fn format_value(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if text.chars().count() <= MAX_VALUE_LENGTH {
        return QuotedValue(&text).to_string();
    }
    let begin: String = text.chars().take(MAX_VALUE_LENGTH).collect();
    format!("{}... ({} bytes)", QuotedValue(&begin), value.len())
}
