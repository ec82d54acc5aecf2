//! Counts differences of cells by cause.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use prep_contents::pairing::{CommonColumn, RowDifferences, RowPair};
use prep_contents::{ContentsError, Result, Row, TableReader};
use prep_failure::QuotedValue;

use super::cell::{Difference, Nature};
use super::compare::TableUse;
use crate::causes::{Cause, Harm, labels, text};
use crate::finding::AuditFinding;
use crate::harm::{IDS, LABELS, PRIVATE};

/// Maximum characters of a value that an example shows entirely.
const MAX_VALUE_LENGTH: usize = 200;
/// Maximum changes of a label that are counted separately.
const CHANGES: usize = 64;

#[derive(Debug, Default)]
struct Count {
    cells: u64,
    rows: u64,
    last_row: Option<u64>,
    examples: Vec<String>,
    by_column: BTreeMap<String, u64>,
    /// Number of each change of a label, `ours → theirs`.
    changes: BTreeMap<(String, String), u64>,
    /// For differences in the last digits: the largest distance, and the number of cells that pandas' default parser explains.
    ulps: u64,
    parsed: u64,
}

/// The types of our columns. To find them, all rows are read, on first use.
pub(crate) struct Natures<'a> {
    ours: &'a dyn TableReader,
    columns: &'a [CommonColumn],
    /// Whether the format distinguishes texts and numbers.
    is_typed: bool,
    found: OnceCell<Vec<Nature>>,
    failed: RefCell<Option<ContentsError>>,
}

impl<'a> Natures<'a> {
    pub(crate) fn new(
        ours: &'a dyn TableReader,
        columns: &'a [CommonColumn],
        is_typed: bool,
    ) -> Self {
        let found = OnceCell::new();
        Natures {
            ours,
            columns,
            is_typed,
            found,
            failed: RefCell::default(),
        }
    }

    /// # Errors
    /// When reading all rows failed. The counts are then invalid.
    pub(crate) fn failed(&self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn judge(&self, column: usize, difference: Difference) -> Difference {
        let matters = matches!(
            difference,
            Difference::NumberSpelling
                | Difference::LastDigit { .. }
                | Difference::Single
                | Difference::BooleanWords
        );
        if self.is_typed || !matters {
            return difference;
        }
        let nature = self.natures().get(column);
        nature.map_or(difference, |nature| nature.judge(difference))
    }

    fn is_of_numbers(&self, column: usize) -> bool {
        let nature = self.natures().get(column);
        !self.is_typed && nature.is_some_and(|nature| nature.numbers)
    }

    fn natures(&self) -> &[Nature] {
        self.found.get_or_init(|| {
            self.look().unwrap_or_else(|error| {
                self.failed.replace(Some(error));
                Vec::new()
            })
        })
    }

    fn look(&self) -> Result<Vec<Nature>> {
        let mut natures = vec![Nature::TYPED; self.columns.len()];
        let (mut rows, mut row) = (self.ours.rows()?, Row::default());
        while rows.next(&mut row)? {
            for (column, nature) in self.columns.iter().zip(&mut natures) {
                if nature.numbers || nature.booleans {
                    nature.add(row.cell(column.here));
                }
            }
        }
        Ok(natures)
    }
}

/// All differences between paired rows of two tables.
pub(crate) struct Tally<'a> {
    columns: &'a [CommonColumn],
    role: &'a TableUse,
    natures: &'a Natures<'a>,
    counts: BTreeMap<&'static str, (&'static Cause, Count)>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(
        columns: &'a [CommonColumn],
        role: &'a TableUse,
        natures: &'a Natures<'a>,
    ) -> Self {
        Self {
            columns,
            role,
            natures,
            counts: BTreeMap::new(),
        }
    }

    /// The position of a pair, for examples.
    fn name(&self, pair: &RowPair<'_>) -> String {
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
        let all = self.counts.into_values();
        all.map(|(cause, count)| finding(path, cause, count, role))
            .collect()
    }
}

impl RowDifferences for Tally<'_> {
    fn pair(&mut self, pair: &RowPair<'_>) -> bool {
        let (mut hard, number) = (false, pair.here);
        for (place, column) in self.columns.iter().enumerate() {
            let (a, b) = (pair.theirs.cell(column.there), pair.ours.cell(column.here));
            let column = &column.name;
            if a == b {
                continue;
            }
            let is_label = self.role.is_label(column);
            let is_exact = is_label || self.role.ids.contains(column);
            let difference = match Difference::classify(a, b) {
                // Labels and ids that are texts are compared with their spaces.
                Difference::Blanks if is_exact && !self.natures.is_of_numbers(place) => {
                    Difference::Value
                }
                difference => self.natures.judge(place, difference),
            };
            let cause = match difference {
                Difference::Value if is_label => &labels::LABELS_CHANGED,
                other => other.cause(),
            };
            hard |= difference == Difference::Value;
            let (_, count) = self
                .counts
                .entry(cause.id)
                .or_insert_with(|| (cause, Count::default()));
            count.cells += 1;
            if count.last_row.replace(number) != Some(number) {
                count.rows += 1;
            }
            *count.by_column.entry(column.clone()).or_default() += 1;
            let wanted = count.examples.len() < crate::finding::EXAMPLES;
            if let Difference::LastDigit { ulps, parser } = difference {
                count.ulps = count.ulps.max(ulps);
                count.parsed += u64::from(parser);
            }
            if cause.id == labels::LABELS_CHANGED.id {
                let change = (format_value(b), format_value(a));
                if count.changes.len() < CHANGES || count.changes.contains_key(&change) {
                    *count.changes.entry(change).or_default() += 1;
                }
            }
            if wanted {
                let place = self.name(pair);
                let example = format!(
                    "{place}, `{column}`: {} there, {} here",
                    format_value(a),
                    format_value(b)
                );
                if let Some((_, count)) = self.counts.get_mut(cause.id) {
                    count.examples.push(example);
                }
            }
        }
        hard
    }
}

fn finding(path: &str, cause: &'static Cause, count: Count, role: &TableUse) -> AuditFinding {
    let mut finding = AuditFinding::new(cause, path)
        .rows(count.rows)
        .cells(count.cells);
    let columns: Vec<String> = count
        .by_column
        .iter()
        .map(|(name, cells)| format!("`{name}` {cells}"))
        .collect();
    let shown: Vec<&str> = columns.iter().take(5).map(String::as_str).collect();
    let mut proof = format!("cells by column: {}", shown.join(", "));
    if columns.len() > shown.len() {
        proof.push_str(&format!(
            " and {} further columns",
            columns.len() - shown.len()
        ));
    }
    if cause.id == text::FLOAT_LAST_DIGIT.id {
        proof.push_str(&format!(
            "; at most {} units in the last place; pandas' default parser before 3.1 turns one side's text into the \
             other's number in {} of {}",
            count.ulps, count.parsed, count.cells
        ));
    }
    if cause.id == labels::LABELS_CHANGED.id {
        let mut changes: Vec<_> = count.changes.iter().collect();
        changes.sort_by_key(|((_, _), cells)| std::cmp::Reverse(**cells));
        let words = changes
            .iter()
            .take(4)
            .map(|((from, to), cells)| format!("{from} here is {to} there: {cells}"));
        proof.push_str(&format!("; {}", words.collect::<Vec<_>>().join(", ")));
        finding.rule = LABELS;
    }
    let has_ids = count.by_column.keys().any(|name| role.ids.contains(name));
    if cause.id == text::NUMBER_SPELLING.id && has_ids {
        finding.raise(Harm::Content, IDS);
    }
    if finding.harm >= Harm::Content && role.answers {
        finding.raise(Harm::Answers, PRIVATE);
    }
    finding = finding.proof(proof);
    for example in count.examples {
        finding = finding.example(example);
    }
    finding
}

/// Formats a value for a message, in quotes. Very long values are shortened.
pub(crate) fn format_value(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if text.chars().count() <= MAX_VALUE_LENGTH {
        return QuotedValue(&text).to_string();
    }
    let begin: String = text.chars().take(MAX_VALUE_LENGTH).collect();
    format!("{}... ({} bytes)", QuotedValue(&begin), value.len())
}
