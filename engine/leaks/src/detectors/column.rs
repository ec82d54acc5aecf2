//! `column`: finds columns of the test table whose values, or whose presence, determine the answer.
//!
//! Intended features predict answers, too, so only columns that nearly determine the answer are reported. If all rows
//! in which a column has a value have the same answer, the column reveals it, even if few rows have a value. Therefore
//! the detector measures purity. The area under the ROC curve would hardly change.

use std::collections::{HashMap, HashSet};

use super::Tests;
use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::{by_shuffling, correlation, counts, purity, ranks};
use crate::table::{is_missing, numbers};
use crate::world::{Label, World};
use prep_failure::QuotedValue;

const NAME: &str = "column";

/// Minimum number of rows that must agree.
const MIN_ROWS: usize = 20;

pub(super) fn find(world: &World, tests: &mut Tests) -> Vec<LeakFinding> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (shown, key, items) in world.test_tables() {
        for (place, name) in shown.table.names.iter().enumerate() {
            let Some(cells) = shown.table.columns.get(place).filter(|_| place != key) else {
                continue;
            };
            for label in &world.labels {
                // A copy of a table is not reported again.
                if !seen.insert((name.clone(), label.name.clone())) {
                    continue;
                }
                let rows: Vec<(&String, &String)> = cells
                    .iter()
                    .zip(items)
                    .filter_map(|(cell, item)| Some((cell, label.values.get((*item)?)?)))
                    .collect();
                found.extend(
                    presence(name, label, &rows, tests).map(|one| prefix_path(one, &shown.path)),
                );
                found.extend(
                    value(name, label, &rows, tests).map(|one| prefix_path(one, &shown.path)),
                );
            }
        }
    }
    found
}

fn prefix_path(mut finding: LeakFinding, path: &str) -> LeakFinding {
    finding.what = format!("{path}: {}", finding.what);
    finding
}

/// Tests whether the presence of a value determines the answer. A value is absent if the cell is empty or has the most
/// frequent value of the column.
fn presence(
    name: &str,
    label: &Label,
    rows: &[(&String, &String)],
    tests: &mut Tests,
) -> Option<LeakFinding> {
    if !label.is_class() {
        return None;
    }
    let values = counts(rows.iter().map(|(cell, _)| *cell));
    let (usual, most) = values
        .iter()
        .max_by_key(|(value, count)| (**count, (**value).clone()))?;
    let absent = |cell: &str| is_missing(cell) || cell == usual.as_str();
    // The most frequent value means that the value is absent only if it is empty, or if nearly all other values are
    // unique.
    let others = rows.len() - most;
    if !is_missing(usual) && (values.len() - 1) * 2 < others {
        return None;
    }
    let present: Vec<&&String> = rows
        .iter()
        .filter(|(cell, _)| !absent(cell))
        .map(|(_, label)| label)
        .collect();
    let absent_count = rows.len() - present.len();
    if present.len() < MIN_ROWS || absent_count < MIN_ROWS {
        return None;
    }
    let labels: Vec<&String> = rows.iter().map(|(_, label)| *label).collect();
    let is_present: Vec<bool> = rows.iter().map(|(cell, _)| !absent(cell)).collect();
    for side in [true, false] {
        let own: Vec<&String> = labels
            .iter()
            .zip(&is_present)
            .filter(|(_, present)| **present == side)
            .map(|(label, _)| *label)
            .collect();
        let (answer, count) = counts(own.iter().copied())
            .into_iter()
            .max_by_key(|one| one.1)?;
        let share = count as f64 / own.len() as f64;
        let base =
            labels.iter().filter(|label| **label == answer).count() as f64 / labels.len() as f64;
        if share < 0.99 || base > 0.9 {
            continue;
        }
        let statistic = |labels: &[&String]| {
            let hits = labels
                .iter()
                .zip(&is_present)
                .filter(|(label, present)| **present == side && **label == answer);
            hits.count() as f64
        };
        let p = tests.record(by_shuffling(&labels, statistic).p);
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
        return Some(
            LeakFinding::new(LeakLevel::Leak, NAME, what)
                .evidence(examples)
                .p_value(p),
        );
    }
    None
}

/// Tests whether the value determines the answer.
fn value(
    name: &str,
    label: &Label,
    rows: &[(&String, &String)],
    tests: &mut Tests,
) -> Option<LeakFinding> {
    let cells: Vec<String> = rows.iter().map(|(cell, _)| (*cell).clone()).collect();
    let labels: Vec<&String> = rows.iter().map(|(_, label)| *label).collect();
    if rows.len() < MIN_ROWS {
        return None;
    }
    let found = |how: String, p: f64| {
        let examples = rows.iter().map(|(cell, label)| format!("{cell}: {label}"));
        let what = format!("`{name}` {how} `{}`", label.name);
        Some(
            LeakFinding::new(LeakLevel::Leak, NAME, what)
                .evidence(examples)
                .p_value(p),
        )
    };
    if label.is_class() {
        let different: HashMap<&String, usize> = counts(&cells);
        let guess = crate::statistics::majority(&labels);
        // Many values with one answer each are groups, and different groups in the test part are legitimate.
        let classes = labels.iter().collect::<HashSet<_>>().len();
        // If some cells are the answer, the task is to rewrite texts, and equal texts have equal answers.
        let equal = cells
            .iter()
            .zip(&labels)
            .filter(|(cell, label)| *cell == **label);
        let share = equal.count() as f64 / cells.len() as f64;
        let is_word = labels.iter().all(|label| label.parse::<f64>().is_err());
        let is_input = is_word && (0.1..0.9).contains(&share);
        let is_code = different.len() <= 20.max(5 * classes) && !is_input;
        if is_code && different.len() * 4 <= cells.len() && different.len() > 1 {
            let statistic = |labels: &[&String]| purity(cells.iter().zip(labels));
            let right = statistic(&labels);
            if right >= 0.99 && guess < 0.95 {
                let p = tests.record(by_shuffling(&labels, statistic).p);
                return found(
                    format!("determines, for {:.1} % of rows,", 100.0 * right),
                    p,
                );
            }
        }
    }
    let (own, truth) = (numbers(&cells)?, label.numbers.as_ref()?);
    let truth: Vec<f64> = match truth.len() == rows.len() {
        true => labels
            .iter()
            .map(|one| one.parse().unwrap_or(f64::NAN))
            .collect(),
        false => return None,
    };
    let (a, b) = (ranks(&own), ranks(&truth));
    let agreement = correlation(&a, &b).abs();
    let is_told = match label.is_class() {
        // Rows of the same class have equal ranks, which lowers the correlation. So the separation of the classes is
        // measured instead.
        true => separates(&own, &truth),
        false => agreement >= 0.999,
    };
    if is_told {
        let statistic = |b: &[f64]| correlation(&a, b).abs();
        let p = tests.record(by_shuffling(&b, statistic).p);
        return found(format!("follows (rank correlation {agreement:.4})"), p);
    }
    None
}

/// Returns whether nearly all values of one class are above nearly all values of the other class (area under the curve
/// of at least 0.995).
fn separates(own: &[f64], truth: &[f64]) -> bool {
    let classes: HashSet<u64> = truth.iter().map(|value| value.to_bits()).collect();
    let Some(first) = truth.first().filter(|_| classes.len() == 2) else {
        return false;
    };
    let ranks = ranks(own);
    let (mut sum, mut count) = (0.0, 0.0);
    for (rank, value) in ranks.iter().zip(truth) {
        if value == first {
            sum += rank;
            count += 1.0;
        }
    }
    let others = truth.len() as f64 - count;
    if count < 10.0 || others < 10.0 {
        return false;
    }
    let area = (sum - count * (count - 1.0) / 2.0) / (count * others);
    area.max(1.0 - area) >= 0.995
}
