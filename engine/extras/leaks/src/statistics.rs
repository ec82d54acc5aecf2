//! Statistical functions, and the procedure that limits the false discovery rate of all tests of a competition to 1 %.
//!
//! Benjamini and Yekutieli's procedure allows dependent tests. The seeds of random generators are fixed, so two runs
//! have the same result.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

const FALSE_DISCOVERY_RATE: f64 = 0.01;

#[derive(Debug, Clone)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random integer from 0 to `bound - 1`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}

/// Returns an upper bound of P(Z >= z) for a standard normal Z. For z > 1, this bound has the
/// right order of magnitude.
pub(crate) fn normal_tail(z: f64) -> f64 {
    match z {
        z if z <= 1.0 => 1.0,
        z => ((-z * z / 2.0).exp() / (z * (2.0 * std::f64::consts::PI).sqrt())).max(1e-300),
    }
}

/// Returns the probability of at least `hits` hits in `count` independent draws, each with probability `rate`.
pub(crate) fn tail_of_binomial(count: usize, hits: usize, rate: f64) -> f64 {
    // The logarithm of the probability of no hit, then of exactly `more` hits in each iteration.
    let mut log = count as f64 * (1.0 - rate).ln();
    let mut tail = if hits == 0 { log.exp() } else { 0.0 };
    for more in 1..=count {
        let left = (count - more + 1) as f64;
        log += (left / more as f64 * rate / (1.0 - rate)).ln();
        if more >= hits {
            tail += log.exp();
        }
    }
    tail.clamp(1e-300, 1.0)
}

/// The p-values of all statistical tests of the run, including those without a finding.
#[derive(Debug, Default)]
pub(crate) struct Tests {
    pub p_values: Vec<f64>,
}

impl Tests {
    pub(crate) fn record(&mut self, p: f64) -> f64 {
        self.p_values.push(p);
        p
    }
}

/// Returns the largest p-value that is significant by Benjamini and Yekutieli's procedure, or 0 if none is significant.
pub(crate) fn threshold(tests: &[f64]) -> f64 {
    let mut sorted = tests.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let harmonic: f64 = (1..=sorted.len()).map(|k| 1.0 / k as f64).sum();
    let holds = |(place, p): &(usize, f64)| {
        *p <= (*place as f64 + 1.0) * FALSE_DISCOVERY_RATE / (count * harmonic)
    };
    let last = sorted.iter().copied().enumerate().rfind(holds);
    last.map_or(0.0, |(_, p)| p)
}

/// Returns a hash of a value. Equal values have the same hash in all runs.
pub(crate) fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn counts<T: Eq + Hash>(values: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// Returns the fraction of values that are equal to the most frequent value.
pub(crate) fn majority<T: Eq + Hash>(values: impl IntoIterator<Item = T>) -> f64 {
    purity(values.into_iter().map(|value| ((), value)))
}

/// Returns the fraction of rows whose label is the most frequent one of their group.
pub(crate) fn purity<G: Eq + Hash, L: Eq + Hash>(rows: impl IntoIterator<Item = (G, L)>) -> f64 {
    let mut groups: HashMap<G, HashMap<L, usize>> = HashMap::new();
    let mut total = 0_usize;
    for (group, label) in rows {
        *groups.entry(group).or_default().entry(label).or_default() += 1;
        total += 1;
    }
    let most = groups.values().filter_map(|labels| labels.values().max());
    let right: usize = most.sum();
    right as f64 / total.max(1) as f64
}

pub(crate) fn finite(values: &[f64]) -> Vec<f64> {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.copied().collect()
}

/// Returns the mean, or 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the standard deviation of the population, not of a sample.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// Number of neighbours that [`nearest`] compares.
const NEIGHBOURS: usize = 20;

/// Returns the index and the distance of the nearest of `count` candidates, and the distance of the twentieth nearest
/// candidate. If there are fewer candidates, the last number is the distance of the farthest candidate.
///
/// `distance` receives the index of a candidate and a limit. It may return `None` for a distance that is not below the
/// limit.
pub(crate) fn nearest(
    count: usize,
    distance: impl Fn(usize, f64) -> Option<f64>,
) -> Option<(usize, f64, f64)> {
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(NEIGHBOURS + 1);
    let mut most = f64::INFINITY;
    for number in 0..count {
        let Some(apart) = distance(number, most).filter(|apart| *apart < most) else {
            continue;
        };
        let place = best.partition_point(|(known, _)| *known <= apart);
        best.insert(place, (apart, number));
        best.truncate(NEIGHBOURS);
        if best.len() == NEIGHBOURS {
            most = best.last().map_or(most, |(last, _)| *last);
        }
    }
    let (first, last) = (best.first()?, best.last()?);
    Some((first.1, first.0, last.0))
}

/// Returns the ranks, from 0. Equal values have the mean of their ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let first = order.get(start).map_or(f64::NAN, |place| value(*place));
        let mut end = start;
        while order.get(end).is_some_and(|place| value(*place) == first) {
            end += 1;
        }
        let end = end.max(start + 1);
        let rank = (start + end - 1) as f64 / 2.0;
        for place in order.get(start..end).unwrap_or_default() {
            if let Some(one) = ranks.get_mut(*place) {
                *one = rank;
            }
        }
        start = end;
    }
    ranks
}

/// Returns Pearson's correlation, or 0 if one of the inputs is constant.
pub(crate) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    match aa * bb {
        product if product > 0.0 => ab / product.sqrt(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_lower_if_there_are_more_tests() {
        assert_eq!(threshold(&[0.004]), 0.004);
        let mut tests = vec![0.5; 99];
        tests.push(0.004);
        assert_eq!(threshold(&tests), 0.0);
        tests.push(1e-6);
        assert_eq!(threshold(&tests), 1e-6);
        assert_eq!(threshold(&[]), 0.0);
    }

    #[test]
    fn binomial_tails_agree_with_scipy() {
        // Expected values from SciPy: binom.sf(hits - 1, count, rate).
        for (count, hits, rate, expected) in [
            (300, 12, 0.01, 6.292_191_27e-5),
            (2000, 10, 0.01, 0.995_163_23),
            (5, 0, 0.01, 1.0),
            (60, 60, 0.01, 1e-120),
        ] {
            let found = tail_of_binomial(count, hits, rate);
            assert!(
                (found / expected - 1.0).abs() < 1e-5,
                "{count}, {hits}: {found:e}"
            );
        }
    }

    #[test]
    fn ranks_purity_and_correlation_are_correct() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [1.5, 0.0, 1.5]);
        assert_eq!(purity([(1, 'a'), (1, 'a'), (1, 'b'), (2, 'b')]), 0.75);
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-12);
        assert_eq!(majority(["a", "a", "b"]), 2.0 / 3.0);
    }
}
