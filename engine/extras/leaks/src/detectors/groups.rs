//! `groups`: finds test items whose group also contains training items. Groups are recognized by names of files in the
//! bundle and by parts of ids. [`super::kin`] recognizes groups by columns.
//!
//! - Names of files: the bundle contains the original name of a renamed test file. If a word of the original name, such as
//!   a speaker, is also in names of training files, the test file and these training files belong to the same group.
//! - Parts of ids: items whose ids have a part in common (`0042_01` and `0042_02`) form a family. If a family contains
//!   both test items and training items, and the family's answers are similar, its training items reveal answers of its
//!   test items.
//!
//! The test statistic is the mean agreement of pairs of items of the same family. The agreement of two items is the
//! product of their standardized answers. This product has mean 0 and variance 1 if families have no effect.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::facts::ids;
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::Targets;
use crate::sketch::ContentDigest;
use crate::statistics::{Tests, deviation, mean, normal_tail};
use crate::text::{file_name, is_train, stem};
use crate::view::View;
use crate::world::World;

const NAME: &str = "groups";

/// With fewer renamed test files than this, groups are not recognized by the names of files in the bundle.
const MIN_HIDDEN: usize = 20;

const MIN_GROUPS: usize = 10;

/// Finds words that the preparation removed from the names of files. If test files and training files had such a word in
/// common in the bundle, they belong to the same group.
pub(crate) fn find_hidden_names(world: &World) -> Option<LeakFinding> {
    // For each content: the new names of training files and the new names of test files.
    let mut shown: HashMap<ContentDigest, [HashSet<&str>; 2]> = HashMap::new();
    for file in world.public.files.iter().filter(|file| file.bytes > 0) {
        let [train, test] = shown.entry(file.content).or_default();
        if is_train(&file.path) {
            train.insert(file_name(&file.path));
        }
        if world.item_of_path(&file.path).is_some() {
            test.insert(file_name(&file.path));
        }
    }
    // The words of original names. The key is the number of words in a name, and the index of the word. The value
    // contains the words in names of training files, then the words in names of test files.
    let mut words: BTreeMap<(usize, usize), [Vec<&str>; 2]> = BTreeMap::new();
    let mut hidden = 0_usize;
    for file in &world.bundle {
        let name = file_name(&file.path);
        let Some([train, test]) = shown.get(&file.content) else {
            continue;
        };
        let is_trained = train.contains(name);
        // Skip a test file that kept its name. If several test files have the same content, any of them may be this file,
        // so all of them must have its name.
        if !is_trained && test.iter().all(|other| *other == name) {
            continue;
        }
        hidden += usize::from(!is_trained);
        let parts: Vec<&str> = stem(name).split(['_', '-']).collect();
        for (place, part) in parts.iter().enumerate() {
            let [train, test] = words.entry((parts.len(), place)).or_default();
            if is_trained { train } else { test }.push(part);
        }
    }
    words.iter().find_map(|((_, place), [train, test])| {
        let different: BTreeSet<&&str> = train.iter().chain(test).collect();
        let is_name = |word: &&&&str| word.len() >= 4 && word.chars().any(|c| c.is_ascii_digit());
        let (groups, named) = (different.len(), different.iter().filter(is_name).count());
        let is_group = groups >= MIN_GROUPS
            && groups * 2 <= train.len() + test.len()
            && named * 2 > groups
            && hidden >= MIN_HIDDEN
            && test.len() * 2 >= hidden;
        let both: Vec<&str> = test.iter().copied().filter(|word| train.contains(word)).collect();
        let what = format!(
            "in the bundle, {:.0} % of the renamed test files share word {} of their name with training files ({groups} different words at this place); the new names do not contain this word",
            100.0 * both.len() as f64 / test.len() as f64,
            place + 1
        );
        let finding = LeakFinding::new(LeakLevel::Risk, NAME, what).evidence(both.iter().copied());
        (is_group && both.len() * 10 >= test.len()).then_some(finding)
    })
}

/// Maximum number of members of a family. Larger sets of items are classes or sites, not families.
const MAX_FAMILY: usize = 50;

/// At most this number of members of a family, an even selection, is paired with each other.
const MAX_PAIRED: usize = 8;

/// If families have at least this number of items on average, they are categories, and are not examined.
const MAX_MEAN_FAMILY: usize = 8;

/// Families are reported only if at least this fraction of the test items has a training item in the family.
const MIN_DIVIDED: f64 = 0.1;

/// Families are reported only if the mean agreement of pairs of items is at least this number.
const MIN_AGREEMENT: f64 = 0.02;

pub(crate) fn find_families(view: &View<'_>, tests: &mut Tests) -> Option<LeakFinding> {
    let (label, targets) = view.targets().next()?;
    let world = view.world;
    let (train, rows) = view.training(label, targets)?;
    let trained = world.train_ids(train)?;
    let test: Vec<&str> = (0..view.world.chosen.len())
        .map(|place| view.id(place))
        .collect();
    let count = ids::parts(test.first()?).len();
    let is_uniform = |id: &&str| ids::parts(id).len() == count;
    let both = test.iter().copied();
    let both = both.chain(trained.iter());
    if count < 2 || !both.clone().all(|id| is_uniform(&id)) {
        return None;
    }
    let answers = standardized(targets, &rows);
    let mut best: Option<LeakFinding> = None;
    let mut least = f64::INFINITY;
    for place in 0..count {
        let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, id) in both.clone().enumerate() {
            let part = ids::parts(id).get(place).copied().unwrap_or_default();
            families.entry(part).or_default().push(number);
        }
        let items = test.len() + trained.len();
        if families.len() * MAX_MEAN_FAMILY <= items || families.len() == items {
            continue;
        }
        let divided: HashSet<usize> = families
            .values()
            .filter(|family| family.len() <= MAX_FAMILY)
            .filter(|family| family.iter().any(|one| *one >= test.len()))
            .flat_map(|family| family.iter().copied().filter(|one| *one < test.len()))
            .collect();
        let fraction = divided.len() as f64 / test.len() as f64;
        if fraction < MIN_DIVIDED {
            continue;
        }
        let (agreement, pairs) = agreement(families.values(), &answers);
        let p = tests.record(normal_tail(agreement * (pairs as f64).sqrt()));
        if agreement < MIN_AGREEMENT || p >= least {
            continue;
        }
        least = p;
        let what = format!(
            "{:.0} % of the test items share word {} of their ids with training items, and items with the same word have similar values of `{}` (correlation {agreement:.2} over {pairs} pairs of items)",
            100.0 * fraction,
            place + 1,
            label.name
        );
        let examples = families.values().filter(|family| family.len() > 1).take(3);
        let examples = examples.map(|family| {
            let names = family.iter().take(4);
            let names = names.filter_map(|one| both.clone().nth(*one));
            names.collect::<Vec<_>>().join(", ")
        });
        let finding = LeakFinding::new(LeakLevel::Risk, NAME, what).evidence(examples);
        best = Some(finding.p_value(p));
    }
    best
}

/// Returns the answers of test and training items, with mean 0 and variance 1 in each column. Constant columns become 0.
fn standardized(targets: &Targets, train: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = targets.test.iter().chain(train).cloned().collect();
    for column in 0..targets.width {
        let cell = |row: &Vec<f64>| row.get(column).copied().unwrap_or(0.0);
        let cells: Vec<f64> = rows.iter().map(cell).collect();
        let (mean, spread) = (mean(&cells), deviation(&cells));
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            *cell = match spread > 0.0 {
                true => (*cell - mean) / spread,
                false => 0.0,
            };
        }
    }
    rows
}

/// Returns the mean product of the standardized answers of two members of a family, and the number of pairs.
fn agreement<'a>(
    families: impl Iterator<Item = &'a Vec<usize>>,
    answers: &[Vec<f64>],
) -> (f64, usize) {
    let (mut sum, mut pairs) = (0.0, 0_usize);
    for family in families.filter(|family| family.len() <= MAX_FAMILY) {
        // Select members evenly, so that members of both parts are paired.
        let step = family.len().div_ceil(MAX_PAIRED).max(1);
        let some = family.iter().step_by(step);
        let some: Vec<&Vec<f64>> = some.filter_map(|one| answers.get(*one)).collect();
        for (place, one) in some.iter().enumerate() {
            for other in some.get(place + 1..).unwrap_or_default() {
                let products = one.iter().zip(other.iter()).map(|(a, b)| a * b);
                sum += products.sum::<f64>() / one.len().max(1) as f64;
                pairs += 1;
            }
        }
    }
    (sum / pairs.max(1) as f64, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SplitMix;

    #[test]
    fn weak_agreement_is_significant_over_many_families() {
        let mut random = SplitMix::new(9);
        let families: Vec<Vec<usize>> = (0..2000).map(|n| vec![2 * n, 2 * n + 1]).collect();
        let mut made = |together: usize| -> Vec<Vec<f64>> {
            let pairs = (0..2000).flat_map(|_| {
                let mut coin = || if random.below(2) == 0 { 1.0 } else { -1.0 };
                let (one, other) = (coin(), coin());
                let other = if random.below(100) < together {
                    one
                } else {
                    other
                };
                [vec![one], vec![other]]
            });
            pairs.collect()
        };
        let (weak, pairs) = agreement(families.iter(), &made(12));
        assert!(
            weak > 0.07 && normal_tail(weak * (pairs as f64).sqrt()) < 1e-4,
            "{weak}"
        );
        let (none, pairs) = agreement(families.iter(), &made(0));
        assert!(normal_tail(none * (pairs as f64).sqrt()) > 1e-3, "{none}");
    }
}
