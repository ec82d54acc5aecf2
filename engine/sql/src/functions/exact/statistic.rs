//! Statistics of doubles. Each is computed from exact sums as a fraction of integers, which is rounded once. Standard
//! deviation and correlation also take a square root.

use datafusion::logical_expr::AggregateUDF;
use num_bigint::BigInt;

use super::round::{fraction, rounded};
use super::sum::{DOUBLE_EXPONENT, ExactSum, PRODUCT_EXPONENT};

/// A statistic of one or two columns of doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Statistic {
    Sum,
    Average,
    Variance { of: Population, root: bool },
    Covariance { of: Population },
    Correlation,
    Slope,
    Intercept,
    Determination,
    AverageX,
    AverageY,
    SquaresX,
    SquaresY,
    Products,
}

/// States whether the rows are the entire population or a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Population {
    All,
    Sample,
}

impl Statistic {
    /// Returns the statistic that a function of DataFusion computes. `None` if it cannot be computed from sums.
    pub(super) fn from_function(function: &AggregateUDF) -> Option<Statistic> {
        let variance = |of, root| Statistic::Variance { of, root };
        Some(match function.name() {
            "sum" => Statistic::Sum,
            "avg" => Statistic::Average,
            "var" => variance(Population::Sample, false),
            "var_pop" => variance(Population::All, false),
            "stddev" => variance(Population::Sample, true),
            "stddev_pop" => variance(Population::All, true),
            "covar_samp" => Statistic::Covariance {
                of: Population::Sample,
            },
            "covar_pop" => Statistic::Covariance {
                of: Population::All,
            },
            "corr" => Statistic::Correlation,
            "regr_slope" => Statistic::Slope,
            "regr_intercept" => Statistic::Intercept,
            "regr_r2" => Statistic::Determination,
            "regr_avgx" => Statistic::AverageX,
            "regr_avgy" => Statistic::AverageY,
            "regr_sxx" => Statistic::SquaresX,
            "regr_syy" => Statistic::SquaresY,
            "regr_sxy" => Statistic::Products,
            _ => return None,
        })
    }

    /// Returns the number of argument columns.
    pub(super) fn columns(self) -> usize {
        match self.sums() {
            5 => 2,
            _ => 1,
        }
    }

    /// Returns the number of sums: 1 for the values, 2 with their squares, 5 for two columns with their squares and
    /// products.
    pub(super) fn sums(self) -> usize {
        match self {
            Statistic::Sum | Statistic::Average => 1,
            Statistic::Variance { .. } => 2,
            _ => 5,
        }
    }

    /// Returns the value of the statistic for `count` rows with these sums, in the order of [`sums`](Statistic::sums).
    /// `None` if it is undefined.
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
            (Statistic::Average, [x]) => Some(average(x, &n)),
            (Statistic::Variance { of, root }, [x, squares]) => {
                let divisor = divisor(of, count)?;
                if x.non_finite().is_some() {
                    return Some(f64::NAN);
                }
                let variance = fraction(
                    &deviation(x, x, squares, &n),
                    &(&n * divisor),
                    PRODUCT_EXPONENT,
                );
                Some(if root { variance.sqrt() } else { variance })
            }
            // The first argument of a regression function is y.
            (_, [y, x, squares_y, squares_x, products]) => {
                let pairs = Pairs {
                    count,
                    n,
                    x,
                    y,
                    squares_x,
                    squares_y,
                    products,
                };
                pairs.value(self)
            }
            _ => None,
        }
    }
}

/// Returns the number of rows, minus one for a sample. `None` if the result is zero.
fn divisor(of: Population, count: u64) -> Option<u64> {
    let divisor = match of {
        Population::All => count,
        Population::Sample => count - 1,
    };
    (divisor > 0).then_some(divisor)
}

fn average(sum: &ExactSum, n: &BigInt) -> f64 {
    sum.non_finite().unwrap_or_else(|| {
        let (sum, exponent) = sum.integer();
        fraction(&sum, n, exponent)
    })
}

/// Returns the sum as a multiple of `2^exponent`. `exponent` must not exceed the exponent of a nonzero sum.
fn integer(sum: &ExactSum, exponent: i64) -> BigInt {
    let (integer, own) = sum.integer();
    match own - exponent {
        shift if shift >= 0 => integer << shift,
        shift => integer >> -shift,
    }
}

/// Returns `n * sum(a * b) - sum(a) * sum(b)` as a multiple of `2^PRODUCT_EXPONENT`. This is n times the sum of the
/// products of the deviations from the mean.
fn deviation(a: &ExactSum, b: &ExactSum, products: &ExactSum, n: &BigInt) -> BigInt {
    integer(products, PRODUCT_EXPONENT) * n
        - integer(a, DOUBLE_EXPONENT) * integer(b, DOUBLE_EXPONENT)
}

/// The sums of two columns.
struct Pairs<'a> {
    count: u64,
    n: BigInt,
    x: &'a ExactSum,
    y: &'a ExactSum,
    squares_x: &'a ExactSum,
    squares_y: &'a ExactSum,
    products: &'a ExactSum,
}

impl Pairs<'_> {
    fn value(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::AverageX => return Some(average(self.x, &self.n)),
            Statistic::AverageY => return Some(average(self.y, &self.n)),
            _ => {}
        }
        let is_of_one = self.count == 1;
        if self.x.non_finite().is_some() || self.y.non_finite().is_some() {
            let needs_more = !matches!(
                statistic,
                Statistic::SquaresX
                    | Statistic::SquaresY
                    | Statistic::Products
                    | Statistic::Covariance {
                        of: Population::All
                    }
            );
            return (!(is_of_one && needs_more)).then_some(f64::NAN);
        }
        let n = &self.n;
        let xy = deviation(self.x, self.y, self.products, n);
        let xx = deviation(self.x, self.x, self.squares_x, n);
        let yy = deviation(self.y, self.y, self.squares_y, n);
        let zero = BigInt::ZERO;
        // There is no regression line if all x are equal, and no correlation if all y are equal.
        let is_vertical = xx == zero;
        let is_flat = yy == zero;
        Some(match statistic {
            Statistic::Covariance { of } => {
                fraction(&xy, &(n * divisor(of, self.count)?), PRODUCT_EXPONENT)
            }
            Statistic::SquaresX => fraction(&xx, n, PRODUCT_EXPONENT),
            Statistic::SquaresY => fraction(&yy, n, PRODUCT_EXPONENT),
            Statistic::Products => fraction(&xy, n, PRODUCT_EXPONENT),
            Statistic::Slope if !is_vertical => fraction(&xy, &xx, 0),
            Statistic::Intercept if !is_vertical => {
                let (x, y) = (
                    integer(self.x, DOUBLE_EXPONENT),
                    integer(self.y, DOUBLE_EXPONENT),
                );
                fraction(&(y * &xx - x * &xy), &(n * &xx), DOUBLE_EXPONENT)
            }
            Statistic::Determination if !is_vertical && !is_flat => {
                fraction(&(&xy * &xy), &(xx * yy), 0)
            }
            Statistic::Correlation if !is_vertical && !is_flat => {
                let root = fraction(&(&xy * &xy), &(xx * yy), 0).sqrt();
                if xy < zero { -root } else { root }
            }
            _ => return None,
        })
    }
}
