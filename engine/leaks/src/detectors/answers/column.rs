//! `column`: finds columns of the test table whose values, or whose presence, determine the answer.
//!
//! Intended features predict answers, too, so only columns that nearly determine the answer are reported. If all rows
//! in which a column has a value have the same answer, the column reveals it, even if few rows have a value. Therefore
//! the detector measures purity. The area under the ROC curve would hardly change.

use std::collections::{HashMap, HashSet};

use super::exact::is_code;
use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::{
    Tests, by_shuffling, correlation, counts, majority, purity, ranks, separation,
};
use crate::table::{is_missing, numbers};
use crate::world::{Label, World};
use prep_failure::QuotedValue;

const NAME: &str = "column";

/// Minimum number of rows that must agree.
const MIN_ROWS: usize = 20;

pub(crate) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (shown, key, items) in world.test_tables() {
        for (name, cells) in shown.table.columns_except(key) {
            for label in &world.labels {
                // A copy of a table is not reported again.
                if !seen.insert((name, label.name.as_str())) {
                    continue;
                }
                let rows: Vec<(&str, &str)> = cells
                    .iter()
                    .zip(items)
                    .filter_map(|(cell, item)| Some((cell, label.values.get((*item)?)?)))
                    .collect();
                let findings = [
                    presence(name, label, &rows, tests),
                    value(name, label, &rows, tests),
                ];
                found.extend(findings.into_iter().flatten().map(|mut finding| {
                    finding.what = format!("{}: {}", shown.path, finding.what);
                    finding
                }));
            }
        }
    }
    found
}

/// Tests whether the presence of a value determines the answer. A value is absent if the cell is empty or has the most
/// frequent value of the column.
fn presence(
    name: &str,
    label: &Label,
    rows: &[(&str, &str)],
    tests: &mut Tests,
) -> Option<LeakFinding> {
    if !label.is_class() {
        return None;
    }
    let values = counts(rows.iter().map(|(cell, _)| *cell));
    let (usual, most) = values
        .iter()
        .max_by_key(|(value, count)| (**count, **value))?;
    let absent = |cell: &str| is_missing(cell) || cell == *usual;
    // The most frequent value means that the value is absent only if it is empty, or if nearly all other values are
    // unique.
    let others = rows.len() - most;
    if !is_missing(usual) && (values.len() - 1) * 2 < others {
        return None;
    }
    let present = rows.iter().filter(|(cell, _)| !absent(cell)).count();
    if present < MIN_ROWS || rows.len() - present < MIN_ROWS {
        return None;
    }
    let labels: Vec<&str> = rows.iter().map(|(_, label)| *label).collect();
    let is_present: Vec<bool> = rows.iter().map(|(cell, _)| !absent(cell)).collect();
    for side in [true, false] {
        let own = labels.iter().zip(&is_present);
        let own = own.filter(|(_, present)| **present == side);
        let own: Vec<&str> = own.map(|(label, _)| *label).collect();
        let (answer, count) = counts(own.iter().copied())
            .into_iter()
            .max_by_key(|one| one.1)?;
        let share = count as f64 / own.len() as f64;
        let base =
            labels.iter().filter(|label| **label == answer).count() as f64 / labels.len() as f64;
        if share < 0.99 || base > 0.9 {
            continue;
        }
        let statistic = |labels: &[&str]| {
            let rows = labels.iter().zip(&is_present);
            let hits = rows.filter(|(label, present)| **present == side && **label == answer);
            hits.count() as f64
        };
        let p = tests.record(by_shuffling(&labels, statistic));
        let presence = if side { "has a value" } else { "has no value" };
        let what = format!(
            "where `{name}` {presence}, `{}` is {answer} for {count} of {} rows, and for {:.0} % of all rows",
            label.name,
            own.len(),
            100.0 * base
        );
        let examples = rows
            .iter()
            .filter(|(cell, _)| absent(cell) != side)
            .map(|(cell, label)| format!("{}: {label}", QuotedValue(cell)));
        let finding = LeakFinding::new(LeakLevel::Leak, NAME, what).evidence(examples);
        return Some(finding.p_value(p));
    }
    None
}

/// Tests whether the value determines the answer.
fn value(
    name: &str,
    label: &Label,
    rows: &[(&str, &str)],
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let cells: Cells = rows.iter().map(|(cell, _)| cell).collect();
    let labels: Vec<&str> = rows.iter().map(|(_, label)| *label).collect();
    if rows.len() < MIN_ROWS {
        return None;
    }
    let found = |how: String, p: f64| {
        let examples = rows.iter().map(|(cell, label)| format!("{cell}: {label}"));
        let what = format!("`{name}` {how} `{}`", label.name);
        let finding = LeakFinding::new(LeakLevel::Leak, NAME, what).evidence(examples);
        Some(finding.p_value(p))
    };
    if label.is_class() {
        let different: HashMap<&str, usize> = counts(cells.iter());
        let guess = majority(&labels);
        let equal = rows.iter().filter(|(cell, label)| cell == label);
        let equal = equal.count() as f64 / cells.len() as f64;
        if different.len() > 1 && is_code(different.len(), &labels, equal) {
            let statistic = |labels: &[&str]| purity(cells.iter().zip(labels));
            let right = statistic(&labels);
            if right >= 0.99 && guess < 0.95 {
                let p = tests.record(by_shuffling(&labels, statistic));
                let how = format!("determines, for {:.1} % of rows,", 100.0 * right);
                return found(how, p);
            }
        }
    }
    let (own, truth) = (numbers(&cells)?, label.numbers.as_ref()?);
    if truth.len() != rows.len() {
        return None;
    }
    let truth = labels.iter().map(|one| one.parse().unwrap_or(f64::NAN));
    let truth: Vec<f64> = truth.collect();
    let (a, b) = (ranks(&own), ranks(&truth));
    let agreement = correlation(&a, &b).abs();
    let is_told = match label.is_class() {
        // Rows of the same class have equal ranks, which lowers the correlation. So the separation of the classes is
        // measured instead.
        true => {
            let classes: HashSet<u64> = truth.iter().map(|value| value.to_bits()).collect();
            separation(&own, &truth, classes.len()).is_some()
        }
        false => agreement >= 0.999,
    };
    if is_told {
        let statistic = |b: &[f64]| correlation(&a, b).abs();
        let p = tests.record(by_shuffling(&b, statistic));
        return found(format!("follows (rank correlation {agreement:.4})"), p);
    }
    None
}
