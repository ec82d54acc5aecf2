//! `neighbours`: finds test rows that are windows of a sequence whose neighbouring windows are in the training part.
//!
//! The cells of such a row also occur in a training row, shifted by some cells. If eight consecutive cells, four of
//! them different, occur again at a different position, this is not chance. A row is reported if half of its runs of
//! eight cells occur in the same training row with the same shift. No statistics are needed, because rows that are not
//! windows are not shifted copies.
//!
//! The runs of some test rows are in memory, and training rows are read one by one. So arrays can have any length.

use std::collections::{HashMap, HashSet};

use prep_contents::table::npy::ArrayFile;
use prep_contents::{ContentsError, DecodingLimits, Result, TableReader as _};

use crate::cells::Cells;
use crate::finding::{LeakFinding, LeakLevel};
use crate::paths::{is_test, is_train};
use crate::statistics::hash_of;
use crate::table::Table;
use crate::world::World;

const NAME: &str = "neighbours";

/// Number of cells in a run.
const RUN: usize = 8;
/// Minimum number of different cells in a run.
const MIN_DIFFERENT: usize = 4;
/// Minimum number of columns of a window.
const MIN_COLUMNS: usize = 3 * RUN;
/// Maximum number of test rows that are compared. They are selected evenly.
const MAX_ROWS: usize = 5_000;
/// Maximum number of runs of these rows.
const MAX_RUNS: usize = 1 << 21;
/// Maximum number of rows with the same run. A more frequent run proves nothing.
const MAX_RUN_ROWS: usize = 20;

/// # Errors
/// If an array cannot be read.
pub(crate) fn find(world: &World, limits: &DecodingLimits) -> Result<Vec<LeakFinding>> {
    let mut found = Vec::new();
    let wide = || {
        let tables = world.public.tables.iter();
        tables.filter(|shown| shown.table.names.len() >= MIN_COLUMNS)
    };
    for test in wide().filter(|shown| shown.items.is_some() || is_test(&shown.path)) {
        for train in wide().filter(|shown| shown.items.is_none() && is_train(&shown.path)) {
            if train.path == test.path || is_train(&test.path) {
                continue;
            }
            if let Some((own, other)) = shared(&test.table, &train.table) {
                found.extend(shifted(&test.path, &train.path, &own, &other)?);
            }
        }
    }
    let files = |is_item| -> Vec<&[u64]> {
        let series = world
            .public
            .series
            .iter()
            .filter(|one| one.is_item == is_item);
        series.map(|one| one.numbers.as_slice()).collect()
    };
    let (test, train) = (Side::Files(files(true)), Side::Files(files(false)));
    if test.rows() > 0 && train.rows() > 0 {
        let (own, other) = ("the files of test items", "the files of training items");
        found.extend(shifted(own, other, &test, &train)?);
    }
    found.extend(long_tables(world)?);
    let mut arrays: Vec<(&str, ArrayFile)> = Vec::new();
    for array in &world.public.arrays {
        match ArrayFile::open(&array.place, limits) {
            Ok(file) if file.columns().len() >= MIN_COLUMNS => arrays.push((&array.path, file)),
            Err(error) if error.is_of_the_system() => return Err(error),
            // A file that is not an array, although its name has the suffix, is skipped.
            Ok(_) | Err(_) => {}
        }
    }
    for (path, test) in &arrays {
        let trained = arrays.iter().filter(|(other, train)| {
            is_train(other) && train.header().descr == test.header().descr
        });
        for (other, train) in trained.filter(|_| is_test(path) && !is_train(path)) {
            let (test, train) = (Side::Array(test), Side::Array(train));
            found.extend(shifted(path, other, &test, &train)?);
        }
    }
    Ok(found)
}

/// Compares tables with many rows per item. The cells of an item in a column form a row of numbers.
fn long_tables(world: &World) -> Result<Option<LeakFinding>> {
    for (test, key, _) in world.test_tables() {
        let name = test.table.names.get(key).map_or("", String::as_str);
        let others = world
            .public
            .tables
            .iter()
            .filter(|shown| shown.items.is_none());
        for train in others.filter(|shown| shown.table.names == test.table.names) {
            let (own, other) = (by_item(&test.table, name), by_item(&train.table, name));
            if own.is_empty() || other.is_empty() {
                continue;
            }
            for column in 0..own.len().min(other.len()) {
                let [own, other] = [&own, &other].map(|columns| {
                    let rows = columns.get(column).into_iter().flatten();
                    Side::Files(rows.map(Vec::as_slice).collect())
                });
                let found = shifted(&test.path, &train.path, &own, &other)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
    }
    Ok(None)
}

/// Returns the hashed cells of each item, for each column of varying numbers. Empty if items have few rows.
fn by_item(table: &Table, key: &str) -> Vec<Vec<Vec<u64>>> {
    let Some(keys) = table.column(key) else {
        return Vec::new();
    };
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for key in keys.iter() {
        let next = numbers.len();
        numbers.entry(key).or_insert(next);
    }
    if numbers.len() * MIN_COLUMNS > keys.len() || numbers.len() < 2 {
        return Vec::new();
    }
    let columns = table.names.iter().zip(&table.columns);
    let varied = columns.filter(|(name, cells)| {
        let some: HashSet<&str> = cells.iter().take(20_000).collect();
        // Row numbers are the same for all items, so columns with few different values are skipped.
        *name != key && some.len() * 10 > cells.len().min(20_000)
    });
    let by_item = |(_, cells): (&String, &Cells)| {
        let mut rows = vec![Vec::new(); numbers.len()];
        for (cell, key) in cells.iter().zip(keys.iter()) {
            if let Some(row) = numbers.get(key).and_then(|number| rows.get_mut(*number)) {
                row.push(hash_of(cell));
            }
        }
        rows
    };
    varied.map(by_item).collect()
}

/// The rows of the test part, or of the training part.
enum Side<'a> {
    /// Columns that both tables have, in the order of the test table.
    Columns(Vec<&'a Cells>),
    Array(&'a ArrayFile),
    /// One row for each file.
    Files(Vec<&'a [u64]>),
}

impl Side<'_> {
    fn rows(&self) -> u64 {
        match self {
            Side::Columns(columns) => columns.first().map_or(0, |cells| cells.len() as u64),
            Side::Files(files) => files.len() as u64,
            Side::Array(array) => {
                let elements: u64 = array.header().shape.iter().product();
                elements / array.columns().len().max(1) as u64
            }
        }
    }

    fn width(&self) -> usize {
        match self {
            Side::Columns(columns) => columns.len(),
            Side::Files(files) => files.iter().map(|file| file.len()).max().unwrap_or(0),
            Side::Array(array) => array.columns().len(),
        }
    }

    /// Calls `visit` for each row, with the row number and the cells as numbers. Equal cells have equal numbers.
    fn for_each_row(&self, visit: &mut dyn FnMut(u64, &[u64])) -> Result<()> {
        match self {
            Side::Columns(columns) => {
                for (at, number) in (0..self.rows()).enumerate() {
                    let row = columns.iter().map(|cells| hash_of(&cells.get(at)));
                    let row: Vec<u64> = row.collect();
                    visit(number, &row);
                }
            }
            Side::Files(files) => {
                for (number, file) in (0..).zip(files) {
                    visit(number, file);
                }
            }
            Side::Array(array) => {
                let mut rows = array.bits();
                for number in 0.. {
                    let Some(row) = rows.next_row()? else { break };
                    visit(number, row);
                }
            }
        }
        Ok(())
    }
}

fn shared<'a>(test: &'a Table, train: &'a Table) -> Option<(Side<'a>, Side<'a>)> {
    let columns = test.names.iter().zip(&test.columns);
    let both = columns.filter_map(|(name, cells)| Some((cells, train.column(name)?)));
    let (own, other): (Vec<&Cells>, Vec<&Cells>) = both.unzip();
    (own.len() >= MIN_COLUMNS).then_some((Side::Columns(own), Side::Columns(other)))
}

/// A test row that is compared.
struct TestRow {
    number: u64,
    /// Number of runs with enough different cells.
    runs: usize,
    /// For the training row with the most of these runs: their number, the row, and its shift.
    best: (usize, u64, i64),
}

/// The positions of a run in the test rows, and the number of training rows that contain it.
#[derive(Default)]
struct RunPositions {
    places: Vec<(u32, u32)>,
    seen: usize,
}

fn shifted(
    test: &str,
    train: &str,
    own: &Side<'_>,
    other: &Side<'_>,
) -> Result<Option<LeakFinding>> {
    let most = MAX_ROWS.min(MAX_RUNS / own.width().max(1)).max(1) as u64;
    let step = own.rows().div_ceil(most).max(1);
    let mut test_rows: Vec<TestRow> = Vec::new();
    let mut known: HashMap<u64, RunPositions> = HashMap::new();
    let mut maybe = RunFilter::default();
    let learnt = own.for_each_row(&mut |number, row| {
        if !number.is_multiple_of(step) {
            return;
        }
        let mut runs = 0;
        for (place, hash) in hashes(row) {
            let begin = usize::try_from(place).unwrap_or(0);
            let cells = row.get(begin..begin + RUN).unwrap_or_default();
            if cells.iter().collect::<HashSet<_>>().len() < MIN_DIFFERENT {
                continue;
            }
            runs += 1;
            maybe.add(hash);
            let standing = known.entry(hash).or_default();
            if standing.places.len() <= MAX_RUN_ROWS {
                let row = u32::try_from(test_rows.len()).unwrap_or(u32::MAX);
                standing.places.push((row, place));
            }
        }
        test_rows.push(TestRow {
            number,
            runs,
            best: (0, 0, 0),
        });
    });
    // The rows before the truncation have been compared.
    let mut shifts: HashMap<(u32, i64), usize> = HashMap::new();
    let passed = other.for_each_row(&mut |number, row| {
        shifts.clear();
        for (place, hash) in hashes(row) {
            if !maybe.has(hash) {
                continue;
            }
            let Some(standing) = known.get_mut(&hash).filter(|one| one.seen <= MAX_RUN_ROWS) else {
                continue;
            };
            standing.seen += 1;
            for (row, there) in &standing.places {
                let shift = i64::from(place) - i64::from(*there);
                if shift != 0 {
                    *shifts.entry((*row, shift)).or_default() += 1;
                }
            }
        }
        for ((row, shift), count) in &shifts {
            let row = usize::try_from(*row).unwrap_or(usize::MAX);
            if let Some(test_row) = test_rows.get_mut(row) {
                let rank = |best: &(usize, u64, i64)| (best.0, -best.2.abs(), best.1, best.2);
                let new = (*count, number, *shift);
                if rank(&new) > rank(&test_row.best) {
                    test_row.best = new;
                }
            }
        }
    });
    for read in [learnt, passed] {
        match read {
            Err(error @ ContentsError::System { .. }) => return Err(error),
            // An array that exceeds a limit is not compared.
            Err(ContentsError::Limit(_)) => return Ok(None),
            _ => {}
        }
    }
    let is_hit = |one: &&TestRow| one.runs >= RUN && one.best.0 * 2 >= one.runs;
    let hits: Vec<&TestRow> = test_rows.iter().filter(is_hit).collect();
    let share = hits.len() as f64 / test_rows.len().max(1) as f64;
    if hits.is_empty() {
        return Ok(None);
    }
    let level = LeakLevel::Risk.if_strong(hits.len() >= 20 && share >= 0.05);
    let what = format!(
        "{} of {} examined rows of {test} also occur in {train}, shifted: they are windows of the same sequence",
        hits.len(),
        test_rows.len()
    );
    let examples = hits.iter().map(|hit| {
        let (_, row, shift) = hit.best;
        let (own, row, shift) = (hit.number + 1, row + 1, shift.abs());
        format!("row {own} is row {row} of train shifted by {shift} cells")
    });
    Ok(Some(LeakFinding::new(level, NAME, what).evidence(examples)))
}

/// Returns positions and hashes of all runs of a row.
fn hashes(row: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    const FIRST: u64 = BASE.wrapping_pow(RUN as u32);
    // Mix the bits, so that adjacent numbers have unrelated hashes.
    let mix = |cell: u64| {
        let mixed = (cell ^ (cell >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    };
    let mut hash = 0_u64;
    let rolled = row.iter().enumerate().map(move |(at, cell)| {
        let dropped = at.checked_sub(RUN).and_then(|at| row.get(at));
        let dropped = dropped.map_or(0, |cell| mix(*cell).wrapping_mul(FIRST));
        hash = hash
            .wrapping_mul(BASE)
            .wrapping_add(mix(*cell))
            .wrapping_sub(dropped);
        hash ^ (hash >> 29)
    });
    (0..).zip(rolled.skip(RUN - 1))
}

/// A bit filter that is checked before the hash map of known runs. Most runs of training rows are unknown, and access
/// to the map is slow.
struct RunFilter(Vec<u64>);

impl Default for RunFilter {
    fn default() -> RunFilter {
        RunFilter(vec![0; 1 << 20])
    }
}

impl RunFilter {
    fn place(hash: u64) -> (usize, u64) {
        let place = hash.wrapping_mul(0xa076_1d64_78bd_642f) >> 38;
        (usize::try_from(place >> 6).unwrap_or(0), 1 << (place & 63))
    }

    fn add(&mut self, hash: u64) {
        let (word, bit) = RunFilter::place(hash);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn has(&self, hash: u64) -> bool {
        let (word, bit) = RunFilter::place(hash);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}
