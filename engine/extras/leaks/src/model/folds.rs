//! Divides items into folds for cross-validation. The model that predicts a fold is trained on the other folds.

use std::collections::{HashMap, HashSet};

use crate::statistics::{SplitMix, mean};

pub(crate) const FOLDS: usize = 5;

/// The fold of each item. All items of a group that is entirely in the test part are in the same fold, because
/// participants know no answer of the group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folds {
    /// The group of each item. Empty if there are no such groups.
    groups: Vec<usize>,
    number_of_groups: usize,
    /// Whether the groups are sections of an ordered list of items. Adjacent sections are in the same fold, because the
    /// boundaries of sections are only estimates.
    are_sections: bool,
}

impl Folds {
    /// Creates the folds of groups that are numbered from 0.
    pub(crate) fn of_groups(groups: Vec<usize>) -> Folds {
        let number_of_groups = groups.iter().collect::<HashSet<_>>().len();
        Folds {
            groups,
            number_of_groups,
            are_sections: false,
        }
    }

    /// Same as [`Folds::of_groups`], for groups that are sections of an ordered list of items and are numbered in this
    /// order.
    pub(crate) fn of_sections(groups: Vec<usize>) -> Folds {
        Folds {
            are_sections: true,
            ..Folds::of_groups(groups)
        }
    }

    /// Returns the fold of an item. Without groups, folds are pseudorandom, so that neighbours are usually separated. If
    /// each fold consisted of every fifth item, a group of every fifth item would be in a single fold, and its items could
    /// not predict each other.
    pub(crate) fn fold(&self, item: usize) -> usize {
        match self.groups.get(item) {
            Some(group) if self.are_sections => group * FOLDS / self.number_of_groups.max(1),
            Some(group) => group % FOLDS,
            None => SplitMix::new(item as u64).below(FOLDS),
        }
    }

    /// Returns, for each fold, the items in this fold and the items of other folds.
    pub(crate) fn splits(&self, items: usize) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> {
        (0..FOLDS).map(move |fold| (0..items).partition(|item| self.fold(*item) == fold))
    }

    pub(crate) fn number_of_groups(&self) -> Option<usize> {
        (!self.groups.is_empty()).then_some(self.number_of_groups)
    }

    /// Returns the number of independent observations: the number of groups to which `items` belong, or the number of
    /// `items` if there are no groups.
    pub(crate) fn observations(&self, items: impl Iterator<Item = usize>) -> usize {
        match self.groups.is_empty() {
            true => items.count(),
            false => {
                let groups = items.filter_map(|item| self.groups.get(item));
                groups.collect::<HashSet<_>>().len()
            }
        }
    }

    /// Returns whether nearly all values occur in more than one group. Otherwise the values may be names of groups.
    /// `values` contains the value of each item.
    pub(crate) fn recur(&self, values: &[Option<&str>]) -> bool {
        if self.groups.is_empty() {
            return true;
        }
        let mut groups_of: HashMap<&str, HashSet<usize>> = HashMap::new();
        let both = || values.iter().zip(&self.groups);
        for (value, group) in both().filter_map(|(value, group)| Some(((*value)?, *group))) {
            groups_of.entry(value).or_default().insert(group);
        }
        let known = values.iter().flatten();
        let recurring = known
            .clone()
            .filter(|value| groups_of.get(*value).map_or(0, HashSet::len) > 1);
        recurring.count() * 10 >= known.count() * 9
    }

    /// Returns the mean value of each group, or the values themselves if there are no groups.
    pub(crate) fn means(&self, values: &[f64]) -> Vec<f64> {
        if self.groups.is_empty() {
            return values.to_vec();
        }
        let mut by_group: HashMap<usize, Vec<f64>> = HashMap::new();
        for (group, value) in self.groups.iter().zip(values) {
            by_group.entry(*group).or_default().push(*value);
        }
        let mut groups: Vec<(usize, Vec<f64>)> = by_group.into_iter().collect();
        groups.sort_unstable_by_key(|(group, _)| *group);
        groups.iter().map(|(_, values)| mean(values)).collect()
    }
}
