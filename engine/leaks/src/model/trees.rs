//! Boosted regression trees on coarse features.
//!
//! Every feature is divided into 16 bins with about the same number of items. So the model learns trends, but cannot
//! recognize a single training item by its values.

/// Number of bins of a feature.
pub(super) const BINS: usize = 16;
/// Number of trees.
const ROUNDS: usize = 60;
const LEARNING_RATE: f64 = 0.12;
const MAX_DEPTH: usize = 3;
/// Minimum number of items on each side of a split.
const MIN_LEAF: usize = 8;

/// A feature: the bin of each item.
pub(super) type Feature = Vec<u8>;

/// A split of a tree. Items up to this bin are on the lower side.
#[derive(Debug, Clone, Copy)]
struct Split {
    feature: usize,
    upto: u8,
}

#[derive(Debug)]
enum Node {
    Leaf(f64),
    Inner(Split, Box<Node>, Box<Node>),
}

/// Fits a model to `truth` of the items `known`. Returns the predictions for the items `wanted`.
pub(super) fn fit_and_predict(
    features: &[Feature],
    truth: &[f64],
    known: &[usize],
    wanted: &[usize],
) -> Vec<f64> {
    let value = |item: &usize| truth.get(*item).copied().unwrap_or(0.0);
    let mean = known.iter().map(value).sum::<f64>() / known.len().max(1) as f64;
    let mut left: Vec<f64> = truth.iter().map(|one| one - mean).collect();
    let mut out = vec![mean; wanted.len()];
    for _ in 0..ROUNDS {
        let tree = grown(features, &left, known.to_vec(), MAX_DEPTH);
        for item in known {
            let predicted = tree.value(features, *item);
            if let Some(left) = left.get_mut(*item) {
                *left -= LEARNING_RATE * predicted;
            }
        }
        for (out, item) in out.iter_mut().zip(wanted) {
            *out += LEARNING_RATE * tree.value(features, *item);
        }
    }
    out
}

impl Node {
    fn value(&self, features: &[Feature], item: usize) -> f64 {
        match self {
            Node::Leaf(value) => *value,
            Node::Inner(split, low, high) => match split.is_low(features, item) {
                true => low.value(features, item),
                false => high.value(features, item),
            },
        }
    }
}

impl Split {
    fn is_low(self, features: &[Feature], item: usize) -> bool {
        let bin = features.get(self.feature).and_then(|bins| bins.get(item));
        bin.is_some_and(|bin| *bin <= self.upto)
    }
}

fn grown(features: &[Feature], left: &[f64], items: Vec<usize>, depth: usize) -> Node {
    let value = |item: &usize| left.get(*item).copied().unwrap_or(0.0);
    let sum: f64 = items.iter().map(value).sum();
    let leaf = Node::Leaf(sum / (items.len() as f64 + 2.0));
    if depth == 0 || items.len() < 2 * MIN_LEAF {
        return leaf;
    }
    let mut best: Option<(f64, Split)> = None;
    let count = items.len() as f64;
    for (feature, bins) in features.iter().enumerate() {
        let mut sums = [(0.0_f64, 0_usize); BINS];
        for item in &items {
            let bin = bins.get(*item).copied().unwrap_or(0);
            if let Some((sum, count)) = sums.get_mut(usize::from(bin)) {
                *sum += value(item);
                *count += 1;
            }
        }
        let (mut below, mut number) = (0.0, 0_usize);
        for (bin, (part, size)) in (0_u8..).zip(sums.iter()) {
            below += part;
            number += size;
            let above = items.len() - number;
            if *size == 0 || number < MIN_LEAF || above < MIN_LEAF {
                continue;
            }
            let gain = below * below / number as f64 + (sum - below).powi(2) / above as f64
                - sum * sum / count;
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, Split { feature, upto: bin }));
            }
        }
    }
    match best {
        Some((gain, split)) if gain > 1e-9 => {
            let (low, high): (Vec<usize>, Vec<usize>) = items
                .into_iter()
                .partition(|item| split.is_low(features, *item));
            let [low, high] =
                [low, high].map(|part| Box::new(grown(features, left, part, depth - 1)));
            Node::Inner(split, low, high)
        }
        _ => leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_learn_interactions_of_two_features() {
        let features: Vec<Feature> = [7, 11]
            .map(|step| (0..600).map(|n| (n * step / 3 % 16) as u8).collect())
            .to_vec();
        let truth: Vec<f64> = (0..600)
            .map(|n| f64::from(u8::from((features[0][n] > 7) != (features[1][n] > 7))))
            .collect();
        let known: Vec<usize> = (0..400).collect();
        let wanted: Vec<usize> = (400..600).collect();
        let predicted = fit_and_predict(&features, &truth, &known, &wanted);
        let right = predicted
            .iter()
            .zip(&wanted)
            .filter(|(one, at)| (**one > 0.5) == (truth[**at] > 0.5));
        assert!(right.count() > 170);
    }
}
