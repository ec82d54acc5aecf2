//! Computes statistics of doubles from exact sums. Each sum or quotient is rounded only once. A standard deviation is the
//! square root of such a quotient.

use datafusion_expr::AggregateUDF;
use num_bigint::BigInt;

use super::round::{fraction, rounded};
use super::sum::{DOUBLE_EXPONENT, ExactSum, SQUARE_EXPONENT};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Statistic {
    Sum,
    Average,
    /// The variance, or its square root if `root` is true.
    Variance {
        of: Population,
        root: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Population {
    /// The values are the entire population.
    All,
    /// The values are a sample of the population.
    Sample,
}

impl Statistic {
    /// Returns the statistic that a function of DataFusion computes, if sums determine the statistic.
    pub(super) fn from_function(function: &AggregateUDF) -> Option<Statistic> {
        let variance = |of, root| Statistic::Variance { of, root };
        Some(match function.name() {
            "sum" => Statistic::Sum,
            "avg" => Statistic::Average,
            "var" => variance(Population::Sample, false),
            "var_pop" => variance(Population::All, false),
            "stddev" => variance(Population::Sample, true),
            "stddev_pop" => variance(Population::All, true),
            _ => return None,
        })
    }

    pub(super) fn needs_squares(self) -> bool {
        match self {
            Statistic::Sum | Statistic::Average => false,
            Statistic::Variance { .. } => true,
        }
    }

    /// Returns the statistic of `count` values. `None` if the statistic is undefined.
    pub(super) fn of_sums(self, count: u64, sums: &[ExactSum]) -> Option<f64> {
        if count == 0 {
            return None;
        }
        let n = BigInt::from(count);
        match (self, sums) {
            (Statistic::Sum, [x]) => Some(x.non_finite().unwrap_or_else(|| {
                let (sum, exponent) = x.integer();
                rounded(&sum, exponent)
            })),
            (Statistic::Average, [x]) => Some(x.non_finite().unwrap_or_else(|| {
                let (sum, exponent) = x.integer();
                fraction(&sum, &n, exponent)
            })),
            (Statistic::Variance { of, root }, [x, squares]) => {
                let divisor = divisor(of, count)?;
                if x.non_finite().is_some() {
                    return Some(f64::NAN);
                }
                let variance =
                    fraction(&deviation(x, squares, &n), &(&n * divisor), SQUARE_EXPONENT);
                Some(if root { variance.sqrt() } else { variance })
            }
            _ => None,
        }
    }
}

/// Returns the divisor of the variance of `count` values: `count` or, for a sample, `count - 1`. `None` if this is zero.
fn divisor(of: Population, count: u64) -> Option<u64> {
    let divisor = match of {
        Population::All => count,
        Population::Sample => count - 1,
    };
    (divisor > 0).then_some(divisor)
}

/// Returns `sum / 2^exponent`. Lower bits are dropped, so `sum` must be a multiple of `2^exponent`.
fn integer(sum: &ExactSum, exponent: i64) -> BigInt {
    let (integer, own) = sum.integer();
    match own - exponent {
        shift if shift >= 0 => integer << shift,
        shift => integer >> -shift,
    }
}

/// Returns `n * sum(x * x) - sum(x) * sum(x)` as a multiple of `2^SQUARE_EXPONENT`.
///
/// This is n times the sum of the squared deviations from the mean.
fn deviation(x: &ExactSum, squares: &ExactSum, n: &BigInt) -> BigInt {
    integer(squares, SQUARE_EXPONENT) * n - integer(x, DOUBLE_EXPONENT).pow(2)
}
