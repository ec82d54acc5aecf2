//! Chooses the split of a draft. It simulates splits, because a metric may need both labels of a target among the test rows.

use std::collections::HashMap;

use prep_spec::path_part;
use prep_splits::{KeyRole, SplitAlgorithm, SplitKeys, SplitSize, split};

use crate::bundle::{FileGroup, MAX_NAMES};
use crate::guess::{MissingTargets, Target, TargetKind, TargetTable, target_kind};

/// The values of a column with more different values are not the classes of a stratified split.
const MAX_CLASSES: usize = 20;
/// Number of seeds that are tried for each test size.
const SEEDS: u32 = 20;
/// The split of a longer table is not simulated.
const MAX_ROWS: usize = 500_000;
/// Test sizes, each with the number of rows that the rarer label of each target needs.
const SIZES: [(f64, usize); 4] = [(0.1, 10), (0.2, 5), (0.3, 4), (0.5, 2)];

pub struct SplitDraft {
    /// The column whose classes have the same proportions in both parts.
    pub stratify: Option<String>,
    pub test_size: f64,
    /// Number of rows that are split.
    pub rows: usize,
    pub seed: u32,
    /// Whether a part may lack a label of a binary target.
    pub may_lack_label: bool,
}

/// Chooses the first test size and seed with which both parts have both labels of each target with two labels.
pub fn choose(rows: &TargetTable<'_>) -> SplitDraft {
    let answers = rows.answers().unwrap_or_default().into_iter();
    let columns = answers.map(|(name, cells)| (name, Classes::new(&cells, true)));
    let columns: Vec<(&str, Classes)> = columns.collect();
    let is_pair = |(_, classes): &&(&str, Classes)| classes.counts.len() == 2;
    let pairs = || columns.iter().filter(is_pair);
    let rarest = pairs().min_by_key(|(_, classes)| classes.rarest());
    let rarest = rarest.map(|(name, classes)| (*name, classes.rarest()));
    let kind = |name: &&str| target_kind(rows.table, name);
    let count = columns.first().map_or(0, |(_, keys)| keys.codes.len());
    let is_binary = |(name, _): &(&str, Classes)| kind(name) == TargetKind::Binary;
    let mut chosen = SplitDraft {
        stratify: None,
        rows: count,
        test_size: 0.1,
        seed: 0,
        may_lack_label: columns.iter().any(is_binary),
    };
    let stratify = match (&rows.target, rows.target.columns().as_slice()) {
        (Target::PerClass { is_multi: true, .. }, _) => None,
        (_, [only]) => Some(*only).filter(|only| kind(only) != TargetKind::Numbers),
        // Without `stratify`, the target with the rarest label is most likely to lack it.
        _ => rarest.map(|(name, _)| name),
    };
    // A split needs a class in every row, so an empty mask is not a class. Lists and objects are not classes, either.
    let is_plain = |name: &&str| {
        let column = rows.table.column(name);
        let is_plain = column.is_some_and(|one| one.declared != "json" && !one.as_text);
        is_plain && rows.missing != MissingTargets::Masks
    };
    let stratify = stratify.filter(is_plain);
    let keys_of = |name: &str, is_sorted| Some(Classes::new(&rows.cells(name)?, is_sorted));
    let stratify = stratify.and_then(|name| Some((name, keys_of(name, true)?)));
    let stratify = stratify.filter(|(_, keys)| (2..=MAX_CLASSES).contains(&keys.counts.len()));
    if !rows.table.is_examined() || !(2..=MAX_ROWS).contains(&count) {
        chosen.may_lack_label &= rarest.is_none_or(|(_, rows)| rows < 10);
        return chosen;
    }
    let group = rows.group.as_ref().and_then(|name| keys_of(name, false));
    let keys = match (group, stratify) {
        (Some(keys), _) => vec![Some((None, KeyRole::Groups, keys.codes))],
        (None, Some((name, keys))) => vec![Some((Some(name), KeyRole::Stratify, keys.codes)), None],
        (None, None) => vec![None],
    };
    let fits = |(_, least): &(f64, usize)| rarest.is_none_or(|(_, rows)| rows >= *least);
    let sizes = SIZES.into_iter().filter(fits);
    let attempts = sizes.flat_map(|(size, _)| (0..SEEDS).map(move |seed| (size, seed)));
    let attempts = keys
        .iter()
        .flat_map(|key| attempts.clone().map(move |attempt| (key, attempt)));
    for (key, (test_size, seed)) in attempts {
        let method = SplitAlgorithm::Shuffle {
            test_size: Some(SplitSize::Fraction(test_size)),
            train_size: None,
            seed,
            order: None,
        };
        let codes = key.as_ref();
        let codes = codes.map(|(_, role, codes)| SplitKeys { role: *role, codes });
        // scikit-learn rejects a stratified split with fewer test rows than classes.
        let Ok(parts) = split(&method, count, codes) else {
            continue;
        };
        let has_labels = |part| pairs().all(|(_, classes)| classes.has_both(part));
        if has_labels(&parts.train) && has_labels(&parts.test) {
            chosen.stratify = key.as_ref().and_then(|(name, ..)| name.map(str::to_owned));
            (chosen.test_size, chosen.seed, chosen.may_lack_label) = (test_size, seed, false);
            break;
        }
    }
    chosen
}

/// Returns whether a stratified split of files by their directories is possible with a test size of 0.1.
pub fn can_stratify(files: &FileGroup) -> bool {
    let directories = files.paths.iter();
    let directories = directories.map(|path| path_part(path, "folder").to_owned());
    let classes = Classes::new(&directories.collect::<Vec<_>>(), true);
    let count = classes.counts.len();
    let fits = classes.rarest() >= 2 && (2..=files.count.div_ceil(10)).contains(&count);
    fits && files.count <= MAX_NAMES
}

/// The different values of a column.
struct Classes {
    /// For each row, the position of its value.
    codes: Vec<u32>,
    /// Number of rows with each value.
    counts: Vec<usize>,
}

impl Classes {
    /// Numbers the values in sorted order, or in order of first appearance.
    fn new(cells: &[String], is_sorted: bool) -> Classes {
        let mut found: HashMap<&str, (usize, usize)> = HashMap::new();
        for (row, cell) in cells.iter().enumerate() {
            found.entry(cell).or_insert((row, 0)).1 += 1;
        }
        let mut values: Vec<_> = found.into_iter().collect();
        let number = |value: &str| value.parse::<f64>().map_or(0, |number| number as i64);
        match is_sorted {
            true => values.sort_by_key(|(value, _)| (number(value), *value)),
            false => values.sort_by_key(|(_, (row, _))| *row),
        }
        let positions: HashMap<&str, u32> =
            values.iter().map(|(value, _)| *value).zip(0..).collect();
        let codes = cells
            .iter()
            .filter_map(|cell| positions.get(cell.as_str()).copied());
        Classes {
            codes: codes.collect(),
            counts: values.iter().map(|(_, (_, count))| *count).collect(),
        }
    }

    fn rarest(&self) -> usize {
        self.counts.iter().copied().min().unwrap_or(0)
    }

    fn has_both(&self, rows: &[u32]) -> bool {
        let mut codes = rows.iter().map(|row| self.codes.get(*row as usize));
        let first = codes.next();
        codes.any(|code| Some(code) != first)
    }
}
