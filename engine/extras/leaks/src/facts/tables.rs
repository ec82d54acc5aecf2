//! Facts from tables: the columns of test tables, and the columns of other tables. The rows of another table are
//! assigned to items by the ids, or by any other column that has the same values in both tables. If a table has one row per
//! item but no ids, its rows are assigned to the items in order.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Channel, ItemFacts, cells, documents};
use crate::table::{CellTexts, ColumnTable, is_missing};
use crate::world::{PublicTableFile, RowOfItem, World};

/// From a test table, at most this number of successive joins may lead to another table.
const MAX_JOINS: usize = 3;

/// At most this number of columns together may identify a row of another table.
const MAX_KEYS: usize = 4;

/// Tables are not joined by a key with fewer different values than this.
const MIN_KEYS: usize = 20;

/// Tables are joined only if the other table contains the keys of at least this fraction of the items.
const MIN_FOUND_FRACTION: f64 = 0.8;

pub(crate) fn collect(world: &World, facts: &mut ItemFacts) {
    // For each joined table, by its index: the row of each item.
    let mut joined: BTreeMap<usize, RowOfItem> = BTreeMap::new();
    for (number, shown) in world.public.tables.iter().enumerate() {
        if world.is_sample(&shown.path) {
            continue;
        }
        wide(world, shown, facts);
        let Some(key) = shown.key else { continue };
        let rows: Vec<(usize, usize)> = match &shown.items {
            Some(items) => {
                let rows = items.iter().enumerate();
                let rows = rows.filter_map(|(row, item)| Some((row, (*item)?)));
                rows.filter(|(_, item)| world.has_facts(*item)).collect()
            }
            // The table contains items of both parts, or only some test items.
            None => world.items_of(&shown.table, key),
        };
        long(shown, key, &rows, facts);
        let (first, counts) = first_rows(rows);
        order(shown, &first, &counts, facts);
        if shown.items.is_some() {
            collect_test_table(&shown.path, &shown.table, key, &first, facts);
        } else {
            fields(&shown.path, &shown.table, Some(key), &first, facts);
            first
                .keys()
                .for_each(|item| facts.mention(&shown.path, *item));
        }
        joined.insert(number, first);
    }
    let train_tables = world.train_tables();
    for _ in 0..MAX_JOINS {
        if !join(world, &train_tables, &mut joined, facts) {
            break;
        }
    }
    collect_aligned(world, facts);
}

/// A table with a column for each item is ignored if it has more rows than this.
const MAX_WIDE_ROWS: usize = 50;

fn wide(world: &World, shown: &PublicTableFile, facts: &mut ItemFacts) {
    let (path, table) = (&shown.path, &shown.table);
    let columns = table.names.iter().zip(&table.columns);
    let of_items = columns.filter_map(|(name, cells)| Some((world.item_in_text(name)?, cells)));
    let of_items: Vec<(usize, &CellTexts)> = of_items.collect();
    if of_items.len() < world.min_items() || table.rows() > MAX_WIDE_ROWS {
        return;
    }
    for (item, cells) in of_items {
        for (row, cell) in cells.iter().enumerate() {
            let what = format!("the item's column in row {} of {path}", row + 1);
            facts.add(Channel::Field, &what, item, cell);
        }
    }
}

/// A column with more different values than this does not contain names of quantities, such as `height` and `weight`.
const MAX_QUANTITIES: usize = 12;

/// If a table has several rows per item, only its first columns, up to this number, are used.
const MAX_LONG_COLUMNS: usize = 12;

/// Adds facts of tables with several rows per item: the sum and the mean of each column. If a column contains
/// names of quantities, such as `height` and `weight`, each other column gives one further fact for each quantity.
fn long(shown: &PublicTableFile, key: usize, rows: &[(usize, usize)], facts: &mut ItemFacts) {
    let items: HashSet<usize> = rows.iter().map(|(_, item)| *item).collect();
    if items.len() * 2 > rows.len() || items.is_empty() {
        return;
    }
    let path = &shown.path;
    let columns = || shown.table.columns_except(key).take(MAX_LONG_COLUMNS);
    for (name, cells) in columns() {
        let mut sums: BTreeMap<usize, Option<(f64, f64)>> = BTreeMap::new();
        for (row, item) in rows {
            let number = cells
                .get(*row)
                .and_then(|cell| cell.trim().parse::<f64>().ok());
            let sum = sums.entry(*item).or_insert(Some((0.0, 0.0)));
            let added = sum
                .zip(number)
                .map(|((sum, count), one)| (sum + one, count + 1.0));
            *sum = added;
        }
        for (item, (sum, count)) in sums
            .into_iter()
            .filter_map(|(item, sum)| Some((item, sum?)))
        {
            for (how, value) in [("sum", sum), ("mean", sum / count)] {
                let what = format!("the {how} of `{name}` in {path}");
                // Sums have rounding errors, so the values are rounded.
                facts.number(Channel::Field, &what, item, (value * 1e9).round() / 1e9);
            }
        }
        let quantities: HashSet<&str> = cells.iter().take(20_000).collect();
        if quantities.len() > MAX_QUANTITIES {
            continue;
        }
        for (other, values) in columns().filter(|(other, _)| *other != name) {
            for (row, item) in rows {
                if let (Some(quantity), Some(value)) = (cells.get(*row), values.get(*row)) {
                    let what = format!("`{other}` where `{name}` is {quantity} in {path}");
                    facts.add(Channel::Field, &what, *item, value);
                }
            }
        }
    }
}

/// Returns the first row of each item, and the number of rows of each item.
fn first_rows(rows: impl IntoIterator<Item = (usize, usize)>) -> (RowOfItem, RowOfItem) {
    let (mut first, mut counts) = (RowOfItem::new(), RowOfItem::new());
    for (row, item) in rows {
        first.entry(item).or_insert(row);
        *counts.entry(item).or_default() += 1;
    }
    (first, counts)
}

fn order(shown: &PublicTableFile, first: &RowOfItem, counts: &RowOfItem, facts: &mut ItemFacts) {
    let repeated = counts.values().any(|count| *count > 1);
    let path = &shown.path;
    for (item, row) in first {
        let what = format!("the order of rows in {path}");
        let number = shown.table.number(*row);
        facts.number(Channel::Order, &what, *item, number as f64);
        // If rows alternate between classes, the remainders of row numbers predict the class.
        for divisor in 2..=16 {
            let what = format!("the remainder of row numbers in {path} divided by {divisor}");
            facts.number(Channel::Order, &what, *item, (number % divisor) as f64);
        }
        if let Some(count) = counts.get(item).filter(|_| repeated) {
            let what = format!("the number of rows of the item in {path}");
            facts.number(Channel::Field, &what, *item, *count as f64);
        }
    }
}

fn collect_test_table(
    path: &str,
    table: &ColumnTable,
    key: usize,
    first: &RowOfItem,
    facts: &mut ItemFacts,
) {
    let has_gaps = |column: &&CellTexts| column.iter().any(is_missing);
    let with_gaps = table.columns.iter().filter(has_gaps).count();
    // If only one column has gaps, their number only repeats whether this column has a value.
    for (item, row) in first.iter().filter(|_| with_gaps > 1) {
        let cells = table.columns.iter().filter_map(|column| column.get(*row));
        let gaps = cells.filter(|cell| is_missing(cell)).count();
        let what = format!("the number of missing cells in the rows of {path}");
        facts.number(Channel::Missing, &what, *item, gaps as f64);
    }
    for (name, column) in table.columns_except(key) {
        let kind = cells::kind(column);
        let counts = counts_of_codes(column);
        let is_path = is_path(column);
        let full_name = format!("`{name}` in {path}");
        for (item, row) in first {
            if let Some(cell) = column.get(*row) {
                if let Some(count) = counts.get(cell) {
                    let what = format!("how often the cell of {full_name} occurs");
                    facts.number(Channel::Form, &what, *item, *count as f64);
                }
                if is_path {
                    directories(&full_name, cell, *item, facts);
                    continue;
                }
                facts.add(Channel::Column, &full_name, *item, cell);
                documents::collect_cell(path, name, cell, *item, facts);
                cells::collect(&full_name, kind, *item, cell, facts);
            }
        }
    }
}

/// Counts the cells with each value of a column. Returns an empty map for categories, measurements, and unique names.
fn counts_of_codes(column: &CellTexts) -> HashMap<&str, usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let is_measured = |cell: &&str| cell.contains('.') && cell.trim().parse::<f64>().is_ok();
    if column.iter().filter(is_measured).count() * 2 > column.len() {
        return counts;
    }
    for cell in column.iter().filter(|cell| !is_missing(cell)) {
        *counts.entry(cell).or_default() += 1;
    }
    let is_codes = counts.len() * 3 >= column.len() && counts.len() < column.len();
    if is_codes { counts } else { HashMap::new() }
}

fn is_path(column: &CellTexts) -> bool {
    let some = column.iter().take(200);
    let paths = some.filter(|cell| {
        let is_url = cell.contains("://");
        cell.matches(['/', '\\']).count() >= 2 && !is_url && !cell.contains(char::is_whitespace)
    });
    let paths = paths.count();
    paths > 0 && paths * 10 >= column.len().min(200) * 9
}

/// `column` names a column and its file.
fn directories(column: &str, path: &str, item: usize, facts: &mut ItemFacts) {
    let mut parts: Vec<&str> = path.split(['/', '\\']).collect();
    parts.pop();
    for (depth, directory) in parts.into_iter().enumerate() {
        let what = format!("directory level {} of the paths in {column}", depth + 1);
        facts.add(Channel::Name, &what, item, directory);
    }
}

/// Adds the cells of a table, except the column `key`. `rows` contains the row of each item.
fn fields(
    path: &str,
    table: &ColumnTable,
    key: Option<usize>,
    rows: &RowOfItem,
    facts: &mut ItemFacts,
) {
    for (name, column) in table.columns_except(key.unwrap_or(usize::MAX)) {
        for (item, row) in rows {
            if let Some(cell) = column.get(*row) {
                facts.add(Channel::Field, &format!("`{name}` in {path}"), *item, cell);
                documents::collect_cell(path, name, cell, *item, facts);
            }
        }
    }
}

/// Adds tables to `joined`, and returns whether any table was added. A table is added if nearly all its keys are unique,
/// and if most items of a table in `joined` have a key that is also in the new table. A key is one column, or several
/// columns with the same names in both tables.
fn join(
    world: &World,
    train_tables: &HashSet<usize>,
    joined: &mut BTreeMap<usize, RowOfItem>,
    facts: &mut ItemFacts,
) -> bool {
    let mut keys: Vec<(usize, usize)> = Vec::new();
    for number in joined.keys() {
        let Some(shown) = world.public.tables.get(*number) else {
            continue;
        };
        keys.extend((0..shown.table.columns.len()).map(|column| (*number, column)));
    }
    let mut found = false;
    for (number, shown) in world.public.tables.iter().enumerate() {
        // A training table describes different items, even if it shares values with a test table.
        if joined.contains_key(&number)
            || world.is_sample(&shown.path)
            || train_tables.contains(&number)
        {
            continue;
        }
        let mut columns = shown.table.columns.iter().enumerate();
        let by_one = columns.find_map(|(place, column)| {
            let there = unique(&[column])?;
            let found = keys.iter().find_map(|(other, column)| {
                let table = &world.public.tables.get(*other)?.table;
                matched(&[table.columns.get(*column)?], joined.get(other)?, &there)
            });
            Some((Some(place), found?))
        });
        let match_of = by_one.or_else(|| {
            let rows = joined.iter().find_map(|(other, own)| {
                let table = &world.public.tables.get(*other)?.table;
                let names = table.names.iter();
                let pairs =
                    names.filter_map(|name| Some((table.column(name)?, shown.table.column(name)?)));
                let (here, there): (Vec<&CellTexts>, Vec<&CellTexts>) =
                    pairs.take(MAX_KEYS).unzip();
                matched(&here, own, &unique(&there).filter(|_| here.len() > 1)?)
            });
            Some((None, rows?))
        });
        if let Some((place, rows)) = match_of {
            fields(&shown.path, &shown.table, place, &rows, facts);
            order(shown, &rows, &RowOfItem::new(), facts);
            joined.insert(number, rows);
            found = true;
        }
    }
    found
}

/// Finds the row of each item in another table. `own` is the item's row in a joined table with the key columns `here`,
/// and `there` maps keys to rows of the other table. Returns `None` if many items have no row, or if many items
/// have the same row.
fn matched(
    here: &[&CellTexts],
    own: &RowOfItem,
    there: &HashMap<String, usize>,
) -> Option<RowOfItem> {
    let of_item = own.iter();
    let of_item = of_item.filter_map(|(item, row)| Some((*item, *there.get(&key(here, *row))?)));
    let of_item: RowOfItem = of_item.collect();
    let different = of_item.values().collect::<HashSet<_>>().len();
    let is_key = of_item.len() as f64 >= MIN_FOUND_FRACTION * own.len() as f64
        && different * 4 >= of_item.len()
        && different >= MIN_KEYS;
    is_key.then_some(of_item)
}

fn key(columns: &[&CellTexts], row: usize) -> String {
    let cells = columns.iter().filter_map(|cells| cells.get(row));
    cells.map(normal).collect::<Vec<_>>().join("\u{1f}")
}

/// Normalizes a cell for joins: reduces a path to the file name without its suffix, and converts letters to lower case.
fn normal(cell: &str) -> String {
    let name = cell.trim().rsplit('/').next().unwrap_or(cell);
    let stem = match name.rsplit_once('.') {
        Some((stem, end)) if !end.is_empty() && end.chars().all(char::is_alphabetic) => stem,
        _ => name,
    };
    stem.to_lowercase()
}

/// Maps each key to its row. Returns `None` unless nearly all keys are unique. Measurements can also be keys, so rows that
/// were copied without their ids are found by their measurements.
fn unique(columns: &[&CellTexts]) -> Option<HashMap<String, usize>> {
    let count = columns.first()?.len();
    let mut rows = HashMap::new();
    for row in 0..count {
        rows.entry(key(columns, row)).or_insert(row);
    }
    (count >= MIN_KEYS && rows.len() * 10 >= count * 9).then_some(rows)
}

/// Adds the lines of text files and the cells of tables without ids, because they may describe the test items in the
/// same order. The number of lines or rows must equal the number of test items, or the number of rows of a test table.
fn collect_aligned(world: &World, facts: &mut ItemFacts) {
    // The items in the order of the answers, and in the orders of test tables.
    let mut orders: Vec<Vec<usize>> = vec![world.answers_order.clone()];
    for (_, _, items) in world.test_tables() {
        let order: Option<Vec<usize>> = items.iter().copied().collect();
        if let Some(order) = order.filter(|order| !orders.contains(order)) {
            orders.push(order);
        }
    }
    let mut add = |what: &str, path: &str, rows: &[&str], headers: usize| {
        for (number, order) in orders.iter().enumerate() {
            let skip = rows.len().checked_sub(order.len());
            let Some(skip) = skip.filter(|skip| *skip <= headers) else {
                continue;
            };
            let name = aligned_name(what, path, number);
            let rows = order.iter().zip(rows.iter().skip(skip));
            for (item, row) in rows.filter(|(item, _)| world.has_facts(**item)) {
                facts.add(Channel::Aligned, &name, *item, row);
            }
        }
    };
    let tables = world.public.tables.iter();
    let paths: HashSet<&str> = tables.clone().map(|shown| shown.path.as_str()).collect();
    for (path, text) in world
        .common_texts()
        .filter(|(path, _)| !paths.contains(path))
    {
        // The first line may be a header.
        add("the lines", path, &text.lines().collect::<Vec<_>>(), 1);
    }
    let train_tables = world.train_tables();
    for (number, shown) in tables.enumerate() {
        let is_described = shown.items.is_some() || world.is_sample(&shown.path);
        if is_described || train_tables.contains(&number) || shown.table.is_sample() {
            continue;
        }
        for (column, cells) in shown.table.names.iter().zip(&shown.table.columns) {
            let rows: Vec<&str> = cells.iter().collect();
            add(&format!("`{column}`"), &shown.path, &rows, 0);
        }
    }
}

fn aligned_name(what: &str, path: &str, order: usize) -> String {
    let by = match order {
        0 => "the order of the answers",
        _ => "the order of the test table",
    };
    format!("{what} in {path}, which has no ids and is read in {by},")
}
