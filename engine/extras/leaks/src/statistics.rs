//! Computes p-values by shuffling, and controls the false discovery rate.
//!
//! A statistic is compared with its values for shuffled answers. The seed of the generator is fixed, so two runs have
//! the same result. The p-value is the fraction of shuffles that reach the statistic. If no shuffle does, the p-value
//! is the tail of the normal distribution with the mean and deviation of the shuffles, but at most `1 / (number of
//! shuffles + 1)`. Benjamini and Yekutieli's procedure, which allows dependent tests, limits the false discovery rate
//! over all tests of a competition to 1 %.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of shuffles per test.
const SHUFFLES: usize = 199;

/// Maximum number of rows of a test. If there are more, only the first ones are used.
const MAX_ROWS: usize = 20_000;

/// Maximum false discovery rate.
const FALSE_DISCOVERY_RATE: f64 = 0.01;

/// The random number generator SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
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

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}

/// Estimates the probability that the statistic of shuffled labels is at least as large as that of `labels`.
pub(crate) fn by_shuffling<T: Clone>(labels: &[T], statistic: impl Fn(&[T]) -> f64) -> f64 {
    let labels = labels.get(..MAX_ROWS).unwrap_or(labels);
    let found = statistic(labels);
    let mut shuffled = labels.to_vec();
    let mut random = Random::new(0x5eed);
    let values: Vec<f64> = (0..SHUFFLES)
        .map(|_| {
            random.shuffle(&mut shuffled);
            statistic(&shuffled)
        })
        .collect();
    let count = SHUFFLES as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let reached = values.iter().filter(|value| **value >= found).count();
    let share = (reached as f64 + 1.0) / (count + 1.0);
    match reached {
        0 if variance > 0.0 => share.min(normal_tail((found - mean) / variance.sqrt())),
        0 if found > mean => 1e-12,
        _ => share,
    }
}

/// Returns an upper bound of P(Z >= z) for a standard normal Z. For z > 1 it has the right order of magnitude.
pub(crate) fn normal_tail(z: f64) -> f64 {
    match z {
        z if z <= 1.0 => 1.0,
        z => ((-z * z / 2.0).exp() / (z * (2.0 * std::f64::consts::PI).sqrt())).max(1e-300),
    }
}

/// Returns the probability of at least `hits` hits in `count` independent draws, each with probability `rate`.
pub(crate) fn tail_of_binomial(count: usize, hits: usize, rate: f64) -> f64 {
    // The probability of no hit, then of one more hit in each iteration.
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
    /// Adds the p-value of a test, and returns it.
    pub(crate) fn record(&mut self, p: f64) -> f64 {
        self.p_values.push(p);
        p
    }
}

/// Returns the largest p-value among these tests that is significant by Benjamini and Yekutieli's procedure, or 0.
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

/// Returns a hash of a value that is equal in all runs.
pub(crate) fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Counts how often each value occurs.
pub(crate) fn counts<T: Eq + Hash>(values: impl IntoIterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// Returns the fraction of the most frequent value.
pub(crate) fn majority<T: Eq + Hash>(values: impl IntoIterator<Item = T>) -> f64 {
    let counts = counts(values);
    let total: usize = counts.values().sum();
    match counts.values().max() {
        Some(most) => *most as f64 / total as f64,
        None => 0.0,
    }
}

/// Returns the fraction of rows whose label is the most frequent one of their group.
pub(crate) fn purity<G: Eq + Hash, L: Eq + Hash>(rows: impl IntoIterator<Item = (G, L)>) -> f64 {
    let mut groups: HashMap<G, HashMap<L, usize>> = HashMap::new();
    let mut total = 0_usize;
    for (group, label) in rows {
        *groups.entry(group).or_default().entry(label).or_default() += 1;
        total += 1;
    }
    let right: usize = groups
        .values()
        .filter_map(|labels| labels.values().max())
        .sum();
    right as f64 / total.max(1) as f64
}

/// Divides values into bins of about the same size, and returns the bin of each value. Equal values are in the same
/// bin.
pub(crate) fn bins(values: &[f64], wanted: usize) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let edges = edges(&sorted, wanted);
    values
        .iter()
        .map(|value| edges.partition_point(|edge| edge <= value))
        .collect()
}

/// Returns the edges between bins with about the same number of sorted values.
pub(crate) fn edges(sorted: &[f64], bins: usize) -> Vec<f64> {
    (1..bins)
        .filter_map(|bin| sorted.get(bin * sorted.len() / bins).copied())
        .collect()
}

/// Returns the values that are not infinite or NaN.
pub(crate) fn finite(values: &[f64]) -> Vec<f64> {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.copied().collect()
}

/// Returns the mean, or 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the standard deviation of all values, not of a sample.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len().max(1) as f64).sqrt()
}

/// Returns the area under the ROC curve if nearly all values of one of two classes are above those of the other class.
pub(crate) fn separation<T: PartialEq>(values: &[f64], classes: &[T], count: usize) -> Option<f64> {
    let first = classes.first().filter(|_| count == 2)?;
    let (mut sum, mut own) = (0.0, 0.0);
    for (rank, class) in ranks(values).iter().zip(classes) {
        if class == first {
            sum += rank;
            own += 1.0;
        }
    }
    let others = classes.len() as f64 - own;
    if own < 10.0 || others < 10.0 {
        return None;
    }
    let area = (sum - own * (own - 1.0) / 2.0) / (own * others);
    let area = area.max(1.0 - area);
    (area >= 0.995).then_some(area)
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
    let count = a.len().min(b.len()) as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
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
    fn sorted_labels_are_significant_and_shuffled_ones_are_not() {
        let agree = |labels: &[u8]| {
            let pairs = labels.windows(2).filter(|pair| pair[0] == pair[1]);
            pairs.count() as f64
        };
        let mut labels: Vec<u8> = (0..200).map(|n| u8::from(n < 100)).collect();
        assert!(by_shuffling(&labels, agree) < 1e-9);
        Random::new(7).shuffle(&mut labels);
        assert!(by_shuffling(&labels, agree) > 0.01);
    }

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
    fn ranks_bins_purity_and_correlation_are_correct() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [1.5, 0.0, 1.5]);
        assert_eq!(bins(&[1.0, 2.0, 3.0, 4.0], 2), [0, 0, 1, 1]);
        assert_eq!(purity([(1, 'a'), (1, 'a'), (1, 'b'), (2, 'b')]), 0.75);
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-12);
        assert_eq!(majority(["a", "a", "b"]), 2.0 / 3.0);
    }
}
