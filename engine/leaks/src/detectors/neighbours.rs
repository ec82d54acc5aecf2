//! `neighbours`: rows of the test part that are windows of a sequence, of which the training part has the next windows.
//!
//! Such a row stands in a train row once more, shifted by some cells. Eight cells in a line, four of them different, that come
//! again at another place are no chance; a row counts when half of its stretches come again in one train row with one shift.
//! No statistics: on data that are no windows, nothing is shifted.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::patterns::{is_test, is_train};
use crate::finding::{Finding, Level};
use crate::table::Table;
use crate::world::World;

const NAME: &str = "neighbours";

/// Cells of a stretch, and how many of them are different.
const STRETCH: usize = 8;
const DIFFERENT: usize = 4;
/// Fewer columns make no windows.
const FEWEST: usize = 3 * STRETCH;
/// Test rows that are looked at, evenly taken.
const ROWS: usize = 5_000;
/// Rows in which a stretch may stand; one in more rows tells nothing.
const MOST: usize = 20;

pub(super) fn find(world: &World) -> Vec<Finding> {
    let mut found = Vec::new();
    let wide = || {
        let tables = world.tables.iter();
        tables.filter(|shown| shown.table.names.len() >= FEWEST)
    };
    for test in wide().filter(|shown| shown.items.is_some() || is_test(&shown.path)) {
        for train in wide().filter(|shown| shown.items.is_none() && is_train(&shown.path)) {
            if train.path == test.path || is_train(&test.path) {
                continue;
            }
            let shared = shared(&test.table, &train.table);
            if shared.len() >= FEWEST {
                found.extend(shifted(&test.path, &train.path, &shared));
            }
        }
    }
    found
}

/// Columns that both have, in the test table's order: its cells, and those of train.
type Shared<'a> = Vec<(&'a [String], &'a [String])>;

fn shared<'a>(test: &'a Table, train: &'a Table) -> Shared<'a> {
    let columns = test.names.iter().zip(&test.columns);
    columns
        .filter_map(|(name, cells)| Some((cells.as_slice(), train.column(name)?)))
        .collect()
}

fn shifted(test: &str, train: &str, shared: &[(&[String], &[String])]) -> Option<Finding> {
    let (own_rows, other_rows) = shared
        .first()
        .map(|(own, other)| (own.len(), other.len()))?;
    let row = |at: usize, own: bool| -> Vec<&str> {
        shared
            .iter()
            .map(|(test, train)| {
                let cells = if own { test } else { train };
                cells.get(at).map_or("", String::as_str)
            })
            .collect()
    };
    let mut known: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
    for at in 0..other_rows {
        for (place, hash) in stretches(&row(at, false)) {
            let rows = known.entry(hash).or_default();
            if rows.len() <= MOST {
                rows.push((u32::try_from(at).ok()?, place));
            }
        }
    }
    let step = own_rows.div_ceil(ROWS).max(1);
    let (mut looked, mut hits, mut examples) = (0_usize, 0_usize, Vec::new());
    for at in (0..own_rows).step_by(step) {
        looked += 1;
        let own = stretches(&row(at, true));
        let mut shifts: HashMap<(u32, i64), usize> = HashMap::new();
        for (place, hash) in &own {
            for (other, there) in known.get(hash).into_iter().flatten() {
                let shift = i64::from(*there) - i64::from(*place);
                if shift != 0 {
                    *shifts.entry((*other, shift)).or_default() += 1;
                }
            }
        }
        let best = shifts
            .into_iter()
            .max_by_key(|((row, shift), count)| (*count, -shift.abs(), *row));
        if let Some(((other, shift), count)) = best
            && own.len() >= STRETCH
            && count * 2 >= own.len()
        {
            hits += 1;
            examples.push(format!(
                "row {} is row {} of train shifted by {} cells",
                at + 1,
                other + 1,
                shift.abs()
            ));
        }
    }
    let share = hits as f64 / looked.max(1) as f64;
    if hits == 0 {
        return None;
    }
    let level = match hits >= 20 && share >= 0.05 {
        true => Level::Risk,
        false => Level::Note,
    };
    let what = format!(
        "{hits} of {looked} rows of {test} that were looked at are in {train} once more, shifted: windows of one sequence"
    );
    Some(Finding::new(level, NAME, what).evidence(examples))
}

/// Places and hashes of stretches whose cells are different enough.
fn stretches(row: &[&str]) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    for (place, cells) in (0..).zip(row.windows(STRETCH)) {
        let mut sorted = cells.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() >= DIFFERENT {
            let mut hasher = DefaultHasher::new();
            cells.hash(&mut hasher);
            found.push((place, hasher.finish()));
        }
    }
    found
}
