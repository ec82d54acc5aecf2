//! The answers that are predicted.

use std::collections::HashSet;

use crate::cells::Cells;
use crate::table::numbers;

/// A column of answers.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub name: String,
    /// The answer of each item. If an item has several rows, the first one.
    pub values: Cells,
    /// The answers in all rows of the chosen items, with their item.
    pub rows: Vec<(usize, String)>,
    pub numbers: Option<Vec<f64>>,
}

impl Label {
    /// Returns the label of these items only, in their order.
    pub(crate) fn of_items(&self, items: &[usize]) -> Label {
        let pick = |item: &usize| self.values.get(*item).unwrap_or_default();
        let values: Cells = items.iter().map(pick).collect();
        Label {
            name: self.name.clone(),
            numbers: numbers(&values),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_numbers(name: &str, numbers: &[f64]) -> Label {
        let values: Cells = numbers.iter().map(f64::to_string).collect();
        Label {
            name: name.to_owned(),
            rows: values.iter().map(str::to_owned).enumerate().collect(),
            values,
            numbers: Some(numbers.to_vec()),
        }
    }

    /// Returns whether the answers are classes: few different values, each of them frequent.
    pub(crate) fn is_class(&self) -> bool {
        let different: HashSet<&str> = self.values.iter().collect();
        different.len() > 1 && different.len() * 4 <= self.values.len()
    }
}
