//! `column`: finds columns of the test table whose values, or whose presence, determine the answer, and answers that
//! are exactly a sum or product of columns.
//!
//! Intended features predict answers, too, so only columns that nearly determine the answer are reported. If all rows
//! in which a column has a value have the same answer, the column reveals it, even if few rows have a value. Therefore
//! the detector measures purity. The area under the ROC curve would hardly change.
//!
//! A model of real data always has an error. If a linear combination of columns, or of their logarithms, has no error
//! for items that it was not fitted to, the answer was computed from these columns, or the columns from the answer.

use std::collections::{HashMap, HashSet};

use prep_failure::QuotedValue;

use super::exact::is_code;
use crate::cells::Cells;
use crate::facts::Channel;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{FOLDS, Folds, Targets, least_squares};
use crate::statistics::{
    Tests, by_shuffling, correlation, counts, deviation, majority, mean, purity, ranks, separation,
};
use crate::table::{is_missing, numbers};
use crate::view::View;
use crate::whole_groups::is_whole;
use crate::world::{Label, World};

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
                // Groups that are entirely in the test part determine the answers of their items.
                let trained = world
                    .train_table(label)
                    .and_then(|train| train.column(name));
                let trained: Vec<&str> = trained.into_iter().flat_map(Cells::iter).collect();
                let own: Vec<Option<&str>> = cells.iter().map(Some).collect();
                if is_whole(&own, &trained) {
                    continue;
                }
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

/// Maximum number of columns that are tried.
const MAX_COLUMNS: usize = 40;

/// Minimum number of items per fitted column.
const ITEMS_PER_COLUMN: usize = 4;

/// Maximum error of nine of ten items, as a fraction of the standard deviation of the answers.
const MAX_ERROR: f64 = 1e-3;

/// Minimum effect of a column: its coefficient times its standard deviation, as a fraction of that of the answers.
const MIN_EFFECT: f64 = 1e-2;

pub(super) fn find_formula(
    view: &View<'_>,
    (label, targets): (&Label, &Targets),
    tests: &mut Tests,
) -> Option<LeakFinding> {
    if label.is_class() {
        return None;
    }
    let truth = label.numbers.as_ref()?;
    let mut columns: Vec<(&str, Vec<f64>)> = Vec::new();
    for ((channel, name), values) in &view.facts.all {
        let is_cell = matches!(channel, Channel::Column | Channel::Field);
        if !is_cell || values.len() < view.chosen.len() || columns.len() >= MAX_COLUMNS {
            continue;
        }
        let numbers: Option<Vec<f64>> = view
            .cells(values)
            .iter()
            .map(|cell| cell.and_then(|cell| cell.trim().parse::<f64>().ok()))
            .map(|cell| cell.filter(|one| one.is_finite()))
            .collect();
        if let Some(numbers) = numbers.filter(|numbers| deviation(numbers) > 0.0) {
            columns.push((name, numbers));
        }
    }
    let is_finite = truth.iter().all(|one| one.is_finite());
    if columns.len() < 2 || truth.len() < ITEMS_PER_COLUMN * columns.len() || !is_finite {
        return None;
    }
    let found = exact(&columns, truth, &targets.folds)
        .map(|names| ("sum", names))
        .or_else(|| {
            let positive: Vec<(&str, Vec<f64>)> = columns
                .iter()
                .filter(|(_, numbers)| numbers.iter().all(|one| *one > 0.0))
                .map(|(name, numbers)| (*name, numbers.iter().map(|one| one.ln()).collect()))
                .collect();
            let is_positive = truth.iter().all(|one| *one > 0.0);
            let logarithms: Vec<f64> = truth.iter().map(|one| one.ln()).collect();
            let names = exact(&positive, &logarithms, &targets.folds).filter(|_| is_positive)?;
            Some(("product", names))
        });
    let (how, names) = found?;
    let p = tests.record(1e-12);
    let what = format!(
        "`{}` is exactly a {how} of {}, each with a factor",
        label.name,
        names.join(" and ")
    );
    let examples = (0..3.min(view.chosen.len())).map(|place| {
        let cells = columns.iter().filter(|(name, _)| names.contains(name));
        let cells = cells.map(|(_, numbers)| numbers.get(place).copied().unwrap_or(0.0));
        let cells: Vec<String> = cells.map(|one| one.to_string()).collect();
        let (id, cells) = (view.id(place), cells.join(" and "));
        format!("{id}: {cells}, answer {}", view.answer(label, place))
    });
    let finding = LeakFinding::new(LeakLevel::Leak, "column", what).evidence(examples);
    Some(finding.p_value(p))
}

/// Returns the columns of which the truth is a linear combination, if there are at least two.
/// Items of the same group are either all fitted or not fitted.
fn exact<'a>(
    columns: &[(&'a str, Vec<f64>)],
    truth: &[f64],
    folds: &Folds,
) -> Option<Vec<&'a str>> {
    let usual = deviation(truth);
    if usual <= 0.0 || columns.len() < 2 {
        return None;
    }
    let means: Vec<f64> = columns.iter().map(|(_, numbers)| mean(numbers)).collect();
    let spreads = columns.iter().map(|(_, numbers)| deviation(numbers));
    let spreads: Vec<f64> = spreads.collect();
    let row = |item: usize| -> Vec<f64> {
        let scaled = columns.iter().zip(means.iter().zip(&spreads));
        let scaled = scaled.map(|((_, numbers), (mean, spread))| {
            (numbers.get(item).copied().unwrap_or(0.0) - mean) / spread.max(1e-300)
        });
        std::iter::once(1.0).chain(scaled).collect()
    };
    let is_fitted = |item: usize| folds.fold(item) < FOLDS.div_ceil(2);
    let fitted = truth.iter().enumerate();
    let fitted = fitted.filter(|(item, _)| is_fitted(*item));
    let rows: Vec<(Vec<f64>, f64)> = fitted.map(|(item, truth)| (row(item), *truth)).collect();
    let weights = least_squares(&rows);
    let others = truth.iter().enumerate();
    let others = others.filter(|(item, _)| !is_fitted(*item));
    let error = |(item, truth): (usize, &f64)| {
        let predicted: f64 = row(item).iter().zip(&weights).map(|(x, w)| x * w).sum();
        (predicted - truth).abs() / usual
    };
    let mut errors: Vec<f64> = others.map(error).collect();
    errors.sort_by(f64::total_cmp);
    let most = errors.get(errors.len() * 9 / 10);
    if most.is_none_or(|most| *most > MAX_ERROR) {
        return None;
    }
    let names: Vec<&str> = columns
        .iter()
        .zip(weights.iter().skip(1))
        .filter(|(_, weight)| weight.abs() >= MIN_EFFECT * usual)
        .map(|((name, _), _)| *name)
        .collect();
    (names.len() >= 2).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    #[test]
    fn sums_and_products_of_columns_are_found() {
        let mut random = Random::new(5);
        let mut numbers = || -> Vec<f64> {
            (0..200)
                .map(|_| 1.0 + random.below(10_000) as f64 / 100.0)
                .collect()
        };
        let (a, b, c) = (numbers(), numbers(), numbers());
        let folds = Folds::default();
        let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let columns = vec![("a", a.clone()), ("b", b.clone()), ("c", c.clone())];
        assert_eq!(exact(&columns, &difference, &folds), Some(vec!["a", "b"]));
        let noisy: Vec<f64> = difference
            .iter()
            .zip(&numbers())
            .map(|(one, noise)| one + 0.02 * noise)
            .collect();
        assert_eq!(exact(&columns, &noisy, &folds), None);
        // A single column is found by the detector `exact`.
        assert_eq!(exact(&columns, &a, &folds), None);
    }
}
