//! Facts from files without ids that have as many rows as a test table. Their rows may describe the test items in the
//! same order.

use std::collections::HashSet;

use prep_contents::DecodingLimits;
use prep_contents::TableReader as _;
use prep_contents::table::npy::ArrayFile;

use super::{Channel, Facts};
use crate::world::World;

/// Maximum number of columns of an array that are read.
const MAX_COLUMNS: usize = 64;

/// Adds lines of text files, cells of tables and numbers of arrays by their row number.
pub(crate) fn collect(world: &World, limits: &DecodingLimits, facts: &mut Facts) {
    // The items in the order of the answers, and of test tables.
    let mut orders: Vec<Vec<usize>> = vec![(0..world.ids.len()).collect()];
    for (_, _, items) in world.test_tables() {
        let order: Option<Vec<usize>> = items.iter().copied().collect();
        if let Some(order) = order.filter(|order| !orders.contains(order)) {
            orders.push(order);
        }
    }
    let tables: HashSet<&str> = world
        .public
        .tables
        .iter()
        .map(|shown| shown.path.as_str())
        .collect();
    let texts = world.common_texts();
    for (path, text) in texts.filter(|(path, _)| !tables.contains(path)) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, order) in orders.iter().enumerate() {
            // The first line may be a header.
            let skip = lines.len().checked_sub(order.len());
            let Some(skip) = skip.filter(|skip| *skip <= 1) else {
                continue;
            };
            let what = name("the lines", path, number);
            let rows = lines.get(skip..).unwrap_or_default();
            add(world, &what, order, rows, facts);
        }
    }
    let train_tables = world.train_tables();
    for (number, shown) in world.public.tables.iter().enumerate() {
        if shown.items.is_some() || world.is_sample(&shown.path) || train_tables.contains(&number) {
            continue;
        }
        for (number, order) in orders.iter().enumerate() {
            if shown.table.is_sample() || shown.table.rows() != order.len() {
                continue;
            }
            for (column, cells) in shown.table.names.iter().zip(&shown.table.columns) {
                let what = name(&format!("`{column}`"), &shown.path, number);
                add(world, &what, order, cells.iter(), facts);
            }
        }
    }
    for (path, cells) in &world.public.vectors {
        for (number, order) in orders.iter().enumerate() {
            if cells.len() == order.len() {
                let what = name("the list", path, number);
                add(world, &what, order, cells.iter(), facts);
            }
        }
    }
    for array in &world.public.arrays {
        let Ok(file) = ArrayFile::open(&array.place, limits) else {
            continue;
        };
        let columns = file.columns().len();
        let elements: u64 = file.header().shape.iter().product();
        let rows = elements / (columns.max(1) as u64);
        for (number, order) in orders.iter().enumerate() {
            if rows == order.len() as u64 && columns <= MAX_COLUMNS {
                let name = |column| name(&format!("column {}", column + 1), &array.path, number);
                let names: Vec<String> = (0..columns).map(name).collect();
                collect_array(world, &file, &names, order, facts);
            }
        }
    }
}

fn name(what: &str, path: &str, order: usize) -> String {
    let by = match order {
        0 => "the order of the answers",
        _ => "the order of the test table",
    };
    format!("{what} in {path}, which has no ids, by {by},")
}

fn add(
    world: &World,
    what: &str,
    order: &[usize],
    rows: impl IntoIterator<Item = impl AsRef<str>>,
    facts: &mut Facts,
) {
    for (item, row) in order.iter().zip(rows) {
        if world.has_facts(*item) {
            facts.add(Channel::Aligned, what, *item, row.as_ref());
        }
    }
}

/// Adds the rows of an array. `names` are the names of the facts by column.
fn collect_array(
    world: &World,
    file: &ArrayFile,
    names: &[String],
    order: &[usize],
    facts: &mut Facts,
) {
    let Ok(mut rows) = file.rows() else { return };
    let mut row = prep_contents::Row::default();
    for item in order {
        if !matches!(rows.next(&mut row), Ok(true)) {
            return;
        }
        if !world.has_facts(*item) {
            continue;
        }
        for (column, name) in names.iter().enumerate() {
            let cell = String::from_utf8_lossy(row.cell(column));
            facts.add(Channel::Aligned, name, *item, &cell);
        }
    }
}
