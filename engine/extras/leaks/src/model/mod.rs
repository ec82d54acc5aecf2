//! Models that predict the answers from all intended features, or from a single fact such as the length of a file.
//!
//! Answers are first converted to a matrix of numbers ([`Targets`]). A prediction is a matrix of the same shape, from a
//! model that does not know the answers of the predicted items. The *skill* of a prediction is the fraction of the
//! answers' variance that the prediction explains.

mod baseline;
mod folds;
mod targets;

pub(crate) use baseline::{Intended, predict_from_intended};
pub(crate) use folds::Folds;
pub(crate) use targets::{
    Targets, by_nearest, by_value, is_sorted, nearest_from_train, value_from_train,
};

use crate::statistics::{mean, normal_tail};

/// Predicted targets by item. `None` if the model has no basis for a prediction.
pub(crate) type Prediction = Vec<Option<Vec<f64>>>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Gain {
    /// The fraction of the answers' variance that the fact explains by itself.
    pub alone: f64,
    /// The variance that the fact explains beyond the baseline, as a fraction of the variance that the baseline leaves
    /// unexplained.
    pub beyond: f64,
    /// The variance that the fact explains beyond the baseline, as a fraction of the total variance.
    pub absolute: f64,
    /// The probability of an equal or larger gain from a fact without information.
    pub p: f64,
}

/// Measures how much the prediction of a fact improves on the baseline. Fits the targets by least squares to the
/// baseline's prediction, once with and once without the fact's prediction, and compares the errors.
///
/// The p-value is from a t-test of the differences between the squared errors of both fits. Its observations are items
/// or, if the items are grouped, the means of the groups.
pub(crate) fn gain(targets: &Targets, baseline: Option<&Prediction>, fact: &Prediction) -> Gain {
    let count = targets.test.len();
    let mut differences = vec![0.0; count];
    let (mut total, mut left, mut left_alone, mut left_both) = (0.0, 0.0, 0.0, 0.0);
    for column in 0..targets.width {
        let truth = targets.test.iter();
        let truth: Vec<f64> = truth.map(|row| value_of(row, column)).collect();
        let cell = |prediction: &Prediction, item: usize| {
            let row = prediction.get(item).and_then(Option::as_ref);
            row.map(|row| value_of(row, column))
        };
        let base = |item| baseline.and_then(|baseline| cell(baseline, item));
        // The second feature shows whether the fact has no prediction for the item.
        let of_fact = |item| cell(fact, item).map_or([0.0, 1.0], |value| [value, 0.0]);
        let errors = |has_base: bool, has_fact: bool| {
            let features = |item| {
                let base = base(item).filter(|_| has_base);
                let fact = if has_fact { of_fact(item) } else { [0.0; 2] };
                [1.0, base.unwrap_or(0.0), fact[0], fact[1]]
            };
            residuals(&truth, &targets.folds, features)
        };
        let [none, of_base, of_fact, of_both] =
            [(false, false), (true, false), (false, true), (true, true)]
                .map(|(has_base, has_fact)| errors(has_base, has_fact));
        for (item, difference) in differences.iter_mut().enumerate() {
            let square = |residuals: &[f64]| value_of(residuals, item).powi(2);
            total += square(&none);
            left_alone += square(&of_fact);
            let (base, both) = (square(&of_base), square(&of_both));
            left += base;
            left_both += both;
            *difference += base - both;
        }
    }
    Gain {
        alone: 1.0 - left_alone / total.max(1e-12),
        beyond: 1.0 - left_both / left.max(1e-12),
        absolute: (left - left_both) / f64::max(total, 1e-12),
        p: one_sided(&targets.folds.means(&differences)),
    }
}

fn value_of(values: &[f64], place: usize) -> f64 {
    values.get(place).copied().unwrap_or(0.0)
}

/// Number of features of a least-squares fit: a constant, the baseline's prediction, the fact's prediction, and whether
/// the fact's prediction is missing.
const WIDTH: usize = 4;

/// Place of the fact's prediction among the features.
const OF_FACT: usize = 2;

/// The equations of a least-squares fit. The last column contains the right-hand sides.
type LinearSystem = [[f64; WIDTH + 1]; WIDTH];

/// Fits `truth` by least squares, and returns the error of each item. For each fold, the fit uses only the items of the
/// other folds. A feature that is always 0 has no effect.
fn residuals(truth: &[f64], folds: &Folds, features: impl Fn(usize) -> [f64; WIDTH]) -> Vec<f64> {
    let mut errors = truth.to_vec();
    for (wanted, known) in folds.splits(truth.len()) {
        let mut system = LinearSystem::default();
        for item in known {
            let row = features(item);
            for (line, x) in system.iter_mut().zip(row) {
                for (sum, y) in line.iter_mut().zip(row.iter().chain(truth.get(item))) {
                    *sum += x * y;
                }
            }
        }
        for (number, line) in system.iter_mut().enumerate() {
            if let Some(diagonal) = line.get_mut(number) {
                *diagonal += 1e-6;
            }
        }
        let mut weights = solved(system);
        // A negative weight also occurs without a leak: if the answers in a fold are high, the mean answer of the other
        // folds is low. Therefore the fact's prediction is dropped, and the fit is repeated.
        if weights[OF_FACT] < 0.0 {
            system[OF_FACT] = [0.0; WIDTH + 1];
            system.iter_mut().for_each(|line| line[OF_FACT] = 0.0);
            weights = solved(system);
        }
        for item in wanted {
            if let Some(error) = errors.get_mut(item) {
                let terms = features(item).into_iter().zip(weights);
                *error -= terms.map(|(x, weight)| x * weight).sum::<f64>();
            }
        }
    }
    errors
}

/// Solves a linear system by Gaussian elimination with pivoting. If a column has no pivot, its unknown is 0.
fn solved(mut system: LinearSystem) -> [f64; WIDTH] {
    for column in 0..WIDTH {
        let size = |line: &usize| {
            system
                .get(*line)
                .map_or(0.0, |line| value_of(line, column).abs())
        };
        let pivot = (column..WIDTH).max_by(|one, other| size(one).total_cmp(&size(other)));
        system.swap(column, pivot.unwrap_or(column));
        let own = system.get(column).copied().unwrap_or_default();
        let divisor = value_of(&own, column);
        if divisor.abs() < 1e-12 {
            continue;
        }
        for (number, line) in system.iter_mut().enumerate() {
            if number != column {
                let factor = value_of(line, column) / divisor;
                for (cell, own) in line.iter_mut().zip(&own) {
                    *cell -= factor * own;
                }
            }
        }
    }
    std::array::from_fn(|number| {
        let line = system.get(number).copied().unwrap_or_default();
        match value_of(&line, number) {
            diagonal if diagonal.abs() < 1e-12 => 0.0,
            diagonal => value_of(&line, WIDTH) / diagonal,
        }
    })
}

/// Returns the p-value of a one-sided t-test of whether the true mean of `differences` is greater than 0.
fn one_sided(differences: &[f64]) -> f64 {
    let count = differences.len() as f64;
    let mean = mean(differences);
    let squares = differences.iter().map(|one| (one - mean).powi(2));
    let squares: f64 = squares.sum();
    let freedom = (count - 1.0).max(1.0);
    let deviation = (squares / freedom).sqrt() / count.sqrt();
    if deviation <= 0.0 || mean <= 0.0 {
        return 1.0;
    }
    // Wallace's approximation of the normal quantile with the same tail probability as a t-value.
    let t = mean / deviation;
    let z = (freedom * (1.0 + t * t / freedom).ln()).sqrt();
    normal_tail(z * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SplitMix;

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut random = SplitMix::new(seed);
        let unit = |random: &mut SplitMix| random.below(10_000) as f64 / 10_000.0 - 0.5;
        (0..count)
            .map(|_| (0..6).map(|_| unit(&mut random)).sum())
            .collect()
    }

    #[test]
    fn a_fact_that_the_baseline_contains_has_no_gain() {
        let (honest, hidden, noise) = (numbers(400, 1), numbers(400, 2), numbers(400, 3));
        let truth: Vec<f64> = honest.iter().zip(&hidden).map(|(a, b)| a + b).collect();
        let label = crate::world::AnswerColumn::of_numbers("y", &truth);
        let targets = Targets::new(&label).unwrap();
        let prediction =
            |values: &[f64]| -> Prediction { values.iter().map(|one| Some(vec![*one])).collect() };
        let base = prediction(&honest);
        let again = gain(&targets, Some(&base), &prediction(&honest));
        assert!(
            again.alone > 0.4 && again.beyond < 0.01 && again.p > 0.01,
            "{again:?}"
        );
        let new = gain(&targets, Some(&base), &prediction(&hidden));
        assert!(new.beyond > 0.8 && new.p < 1e-12, "{new:?}");
        let nothing = gain(&targets, None, &prediction(&noise));
        assert!(nothing.beyond < 0.02 && nothing.p > 1e-3, "{nothing:?}");
    }
}
