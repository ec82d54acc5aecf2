//! Groups of rows, defined by a column of the answers.

use std::collections::HashMap;

use crate::refusal::Refusal;
use crate::table::key::key;
use crate::table::pair::{CellValue, Pair};

/// Returns the positions of the rows of each group. Groups are in the order of their first row. Rows without a group
/// are left out.
pub(super) fn groups(pair: &Pair<'_>, column: &str) -> Result<Vec<Vec<usize>>, Refusal> {
    let column = pair.answers.column(column)?;
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (position, value) in column.values().enumerate() {
        if value == CellValue::Missing {
            continue;
        }
        let place = *places.entry(key(&column, position)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(position),
            None => groups.push(vec![position]),
        }
    }
    Ok(groups)
}

/// Returns the values at these positions.
pub(super) fn select(values: &[f64], positions: &[usize]) -> Vec<f64> {
    positions
        .iter()
        .filter_map(|&position| values.get(position).copied())
        .collect()
}
