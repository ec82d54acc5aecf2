//! `column`: finds answers that are exactly a sum or product of columns.
//!
//! A model of real data always has an error. If a linear combination of columns, or of their logarithms, has no error
//! for items that it was not fitted to, the answer was computed from these columns, or the columns from the answer.

use crate::facts::Channel;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::least_squares;
use crate::statistics::{Tests, deviation, mean};
use crate::view::View;
use crate::world::Label;

/// Maximum number of columns that are tried.
const MAX_COLUMNS: usize = 40;

/// Minimum number of items per fitted column.
const ITEMS_PER_COLUMN: usize = 4;

/// Maximum error of nine of ten items, as a fraction of the standard deviation of the answers.
const MAX_ERROR: f64 = 1e-3;

/// Minimum effect of a column: its coefficient times its standard deviation, as a fraction of that of the answers.
const MIN_EFFECT: f64 = 1e-2;

pub(super) fn find(view: &View<'_>, label: &Label, tests: &mut Tests) -> Option<LeakFinding> {
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
    let found = exact(&columns, truth)
        .map(|names| ("sum", names))
        .or_else(|| {
            let positive: Vec<(&str, Vec<f64>)> = columns
                .iter()
                .filter(|(_, numbers)| numbers.iter().all(|one| *one > 0.0))
                .map(|(name, numbers)| (*name, numbers.iter().map(|one| one.ln()).collect()))
                .collect();
            let is_positive = truth.iter().all(|one| *one > 0.0);
            let logarithms: Vec<f64> = truth.iter().map(|one| one.ln()).collect();
            let names = exact(&positive, &logarithms).filter(|_| is_positive)?;
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
fn exact<'a>(columns: &[(&'a str, Vec<f64>)], truth: &[f64]) -> Option<Vec<&'a str>> {
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
    // Fit on every second item.
    let fitted = truth.iter().enumerate().step_by(2);
    let rows: Vec<(Vec<f64>, f64)> = fitted.map(|(item, truth)| (row(item), *truth)).collect();
    let weights = least_squares(&rows);
    let others = truth.iter().enumerate().skip(1).step_by(2);
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
        let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let columns = vec![("a", a.clone()), ("b", b.clone()), ("c", c.clone())];
        assert_eq!(exact(&columns, &difference), Some(vec!["a", "b"]));
        let noisy: Vec<f64> = difference
            .iter()
            .zip(&numbers())
            .map(|(one, noise)| one + 0.02 * noise)
            .collect();
        assert_eq!(exact(&columns, &noisy), None);
        // A single column is found by the detector `exact`.
        assert_eq!(exact(&columns, &a), None);
    }
}
