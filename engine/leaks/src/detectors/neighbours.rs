//! `neighbours`: rows of the test part that are windows of a sequence, of which the training part has the next windows.
//!
//! Such a row is in a train row again, shifted by some cells. If eight cells in a line, four of them different, occur again at another
//! place, that is not chance. A row is a finding if half of its stretches occur again in one train row with one shift. This needs no
//! statistics, because nothing is shifted in data that are not windows.
//!
//! Stretches of some test rows are held; train rows pass by, one after the other, so arrays may be as long as they like.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use prep_contents::table::npy::ArrayFile;
use prep_contents::{ContentsError, DecodingLimits, Result, TableReader as _};

use super::patterns::{is_test, is_train};
use crate::finding::{LeakFinding, LeakLevel};
use crate::table::Table;
use crate::world::World;

const NAME: &str = "neighbours";

/// Cells of a stretch, and how many of them are different.
const STRETCH: usize = 8;
const DIFFERENT: usize = 4;
/// Fewer columns make no windows.
const FEWEST: usize = 3 * STRETCH;
/// Test rows that are read, evenly chosen, and their stretches.
const ROWS: usize = 5_000;
const STRETCHES: usize = 1 << 21;
/// Maximum rows with a stretch. A stretch in more rows proves nothing.
const MAX_STRETCH_ROWS: usize = 20;

/// # Errors
/// When an array cannot be read.
pub(super) fn find(world: &World, limits: &DecodingLimits) -> Result<Vec<LeakFinding>> {
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
            if let Some((own, other)) = shared(&test.table, &train.table) {
                found.extend(shifted(&test.path, &train.path, &own, &other)?);
            }
        }
    }
    let files = |is_item| -> Vec<&[u64]> {
        let series = world.series.iter().filter(|one| one.is_item == is_item);
        series.map(|one| one.numbers.as_slice()).collect()
    };
    let (test, train) = (Side::Files(files(true)), Side::Files(files(false)));
    if test.rows() > 0 && train.rows() > 0 {
        found.extend(shifted(
            "the files of test items",
            "those of the training part",
            &test,
            &train,
        )?);
    }
    found.extend(long_tables(world)?);
    let mut arrays: Vec<(&str, ArrayFile)> = Vec::new();
    for array in &world.arrays {
        match ArrayFile::open(&array.place, limits) {
            Ok(file) if file.columns().len() >= FEWEST => arrays.push((&array.path, file)),
            Err(error) if error.is_of_the_system() => return Err(error),
            // A file that is not an array, in spite of its name, is skipped.
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

/// Tables with many rows for each item: each column of an item is a row of numbers.
fn long_tables(world: &World) -> Result<Option<LeakFinding>> {
    for (test, key, _) in world.test_tables() {
        let name = test.table.names.get(key).map_or("", String::as_str);
        let others = world.tables.iter().filter(|shown| shown.items.is_none());
        for train in others.filter(|shown| shown.table.names == test.table.names) {
            let (own, other) = (by_item(&test.table, name), by_item(&train.table, name));
            if own.is_empty() || other.is_empty() {
                continue;
            }
            for column in 0..own.len().min(other.len()) {
                let side = |columns: &'_ [Vec<Vec<u64>>]| -> Vec<Vec<u64>> {
                    columns.get(column).cloned().unwrap_or_default()
                };
                let (own, other) = (side(&own), side(&other));
                let own = Side::Files(own.iter().map(Vec::as_slice).collect());
                let other = Side::Files(other.iter().map(Vec::as_slice).collect());
                let found = shifted(&test.path, &train.path, &own, &other)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
    }
    Ok(None)
}

/// For each column of varying numbers the cells of each item, as hashes. Empty if items have few rows.
fn by_item(table: &Table, key: &str) -> Vec<Vec<Vec<u64>>> {
    let Some(keys) = table.column(key) else {
        return Vec::new();
    };
    let mut numbers: HashMap<&String, usize> = HashMap::new();
    for key in keys {
        let next = numbers.len();
        numbers.entry(key).or_insert(next);
    }
    if numbers.len() * FEWEST > keys.len() || numbers.len() < 2 {
        return Vec::new();
    }
    let columns = table.names.iter().zip(&table.columns);
    let varied = columns.filter(|(name, cells)| {
        let some: HashSet<&String> = cells.iter().take(20_000).collect();
        // Numbers of rows are the same for all items.
        *name != key && some.len() * 10 > cells.len().min(20_000)
    });
    varied
        .map(|(_, cells)| {
            let mut rows = vec![Vec::new(); numbers.len()];
            for (cell, key) in cells.iter().zip(keys) {
                let mut hasher = DefaultHasher::new();
                cell.hash(&mut hasher);
                if let Some(row) = numbers.get(key).and_then(|number| rows.get_mut(*number)) {
                    row.push(hasher.finish());
                }
            }
            rows
        })
        .collect()
}

/// Rows of the test part, or of the training part.
enum Side<'a> {
    /// Columns that both have, in the test table's order.
    Columns(Vec<&'a [String]>),
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

    /// Row by row, with their numbers; equal cells have equal numbers.
    fn for_each_row(&self, visit: &mut dyn FnMut(u64, &[u64])) -> Result<()> {
        match self {
            Side::Columns(columns) => {
                for (at, number) in (0..self.rows()).enumerate() {
                    let cell = |cells: &&[String]| {
                        let mut hasher = DefaultHasher::new();
                        cells.get(at).hash(&mut hasher);
                        hasher.finish()
                    };
                    let row: Vec<u64> = columns.iter().map(cell).collect();
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
    let both = columns.filter_map(|(name, cells)| Some((cells.as_slice(), train.column(name)?)));
    let (own, other): (Vec<&[String]>, Vec<&[String]>) = both.unzip();
    (own.len() >= FEWEST).then_some((Side::Columns(own), Side::Columns(other)))
}

/// A test row that is looked at.
struct TestRow {
    number: u64,
    /// Its stretches of cells that are different enough.
    stretches: usize,
    /// For the train row with most of them: their number, the row, and its shift.
    best: (usize, u64, i64),
}

/// The places of a stretch in the test rows, and the number of train rows with it.
#[derive(Default)]
struct StretchUse {
    places: Vec<(u32, u32)>,
    seen: usize,
}

fn shifted(
    test: &str,
    train: &str,
    own: &Side<'_>,
    other: &Side<'_>,
) -> Result<Option<LeakFinding>> {
    let most = ROWS.min(STRETCHES / own.width().max(1)).max(1) as u64;
    let step = own.rows().div_ceil(most).max(1);
    let mut looked: Vec<TestRow> = Vec::new();
    let mut known: HashMap<u64, StretchUse> = HashMap::new();
    let mut maybe = StretchFilter::default();
    let learnt = own.for_each_row(&mut |number, row| {
        if !number.is_multiple_of(step) {
            return;
        }
        let mut stretches = 0;
        for (place, hash) in hashes(row) {
            let begin = usize::try_from(place).unwrap_or(0);
            let cells = row.get(begin..begin + STRETCH).unwrap_or_default();
            if cells.iter().collect::<HashSet<_>>().len() < DIFFERENT {
                continue;
            }
            stretches += 1;
            maybe.add(hash);
            let standing = known.entry(hash).or_default();
            if standing.places.len() <= MAX_STRETCH_ROWS {
                let row = u32::try_from(looked.len()).unwrap_or(u32::MAX);
                standing.places.push((row, place));
            }
        }
        looked.push(TestRow {
            number,
            stretches,
            best: (0, 0, 0),
        });
    });
    // A file that ends too early has been compared as far as it goes.
    let mut shifts: HashMap<(u32, i64), usize> = HashMap::new();
    let passed = other.for_each_row(&mut |number, row| {
        shifts.clear();
        for (place, hash) in hashes(row) {
            if !maybe.has(hash) {
                continue;
            }
            let Some(standing) = known
                .get_mut(&hash)
                .filter(|one| one.seen <= MAX_STRETCH_ROWS)
            else {
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
            let looked = usize::try_from(*row)
                .ok()
                .and_then(|row| looked.get_mut(row));
            if let Some(looked) = looked {
                let rank = |best: &(usize, u64, i64)| (best.0, -best.2.abs(), best.1, best.2);
                let new = (*count, number, *shift);
                if rank(&new) > rank(&looked.best) {
                    looked.best = new;
                }
            }
        }
    });
    for read in [learnt, passed] {
        match read {
            Err(error @ ContentsError::System { .. }) => return Err(error),
            // An array that exceeds a limit is not read at all.
            Err(ContentsError::Limit(_)) => return Ok(None),
            _ => {}
        }
    }
    let is_hit = |one: &&TestRow| one.stretches >= STRETCH && one.best.0 * 2 >= one.stretches;
    let hits: Vec<&TestRow> = looked.iter().filter(is_hit).collect();
    let share = hits.len() as f64 / looked.len().max(1) as f64;
    if hits.is_empty() {
        return Ok(None);
    }
    let level = match hits.len() >= 20 && share >= 0.05 {
        true => LeakLevel::Risk,
        false => LeakLevel::Note,
    };
    let what = format!(
        "{} of {} rows of {test} that were looked at are in {train} once more, shifted: windows of one sequence",
        hits.len(),
        looked.len()
    );
    let examples = hits.iter().map(|hit| {
        let (_, row, shift) = hit.best;
        format!(
            "row {} is row {} of train shifted by {} cells",
            hit.number + 1,
            row + 1,
            shift.abs()
        )
    });
    Ok(Some(LeakFinding::new(level, NAME, what).evidence(examples)))
}

/// Places and hashes of all stretches of a row.
fn hashes(row: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    const FIRST: u64 = BASE.wrapping_pow(STRETCH as u32);
    // Neighbouring numbers must not be neighbours any more.
    let mix = |cell: u64| {
        let mixed = (cell ^ (cell >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    };
    let mut hash = 0_u64;
    let rolled = row.iter().enumerate().map(move |(at, cell)| {
        let gone = at.checked_sub(STRETCH).and_then(|at| row.get(at));
        let gone = gone.map_or(0, |cell| mix(*cell).wrapping_mul(FIRST));
        hash = hash
            .wrapping_mul(BASE)
            .wrapping_add(mix(*cell))
            .wrapping_sub(gone);
        hash ^ (hash >> 29)
    });
    (0..).zip(rolled.skip(STRETCH - 1))
}

/// A filter in front of the stretches that are known: most that pass by are not, and memory is slow.
struct StretchFilter(Vec<u64>);

impl Default for StretchFilter {
    fn default() -> StretchFilter {
        StretchFilter(vec![0; 1 << 20])
    }
}

impl StretchFilter {
    fn place(hash: u64) -> (usize, u64) {
        let place = hash.wrapping_mul(0xa076_1d64_78bd_642f) >> 38;
        (usize::try_from(place >> 6).unwrap_or(0), 1 << (place & 63))
    }

    fn add(&mut self, hash: u64) {
        let (word, bit) = StretchFilter::place(hash);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn has(&self, hash: u64) -> bool {
        let (word, bit) = StretchFilter::place(hash);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}
