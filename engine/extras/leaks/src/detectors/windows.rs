//! `neighbours`: finds test rows that are windows of a sequence whose neighbouring windows are in the training part.
//!
//! The cells of such a row also occur in a training row, shifted by some cells. If eight consecutive cells, four of
//! them different, occur again at a different position, this is not chance. A row is reported if half of its runs of
//! eight cells occur in the same training row with the same shift. No statistics are needed, because rows that are not
//! windows are not shifted copies.
//!
//! The runs of some test rows are in memory, and training rows are read one by one. So arrays can have any length.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use prep_contents::table::npy::ArrayFile;
use prep_contents::{ContentsError, DecodingLimits, Result, TableReader as _};

use crate::finding::{LeakFinding, LeakLevel};
use crate::statistics::hash_of;
use crate::table::{Cells, Table};
use crate::text::{is_test, is_train};
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
    let files = |is_item| {
        let series = world.public.series.iter();
        let own = series.filter(|one| one.is_item == is_item);
        Side::Rows(own.map(|one| Cow::Borrowed(&*one.numbers)).collect())
    };
    let (own, other) = ("the files of test items", "the files of training items");
    found.extend(shifted(own, other, &files(true), &files(false))?);
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

/// The rows of the test part, or of the training part, as numbers. Equal cells have equal numbers.
enum Side<'a> {
    Rows(Vec<Cow<'a, [u64]>>),
    /// An array may be larger than the memory, so it is read row by row.
    Array(&'a ArrayFile),
}

impl Side<'_> {
    fn rows(&self) -> u64 {
        match self {
            Side::Rows(rows) => rows.len() as u64,
            Side::Array(array) => {
                let elements: u64 = array.header().shape.iter().product();
                elements / array.columns().len().max(1) as u64
            }
        }
    }

    fn width(&self) -> usize {
        match self {
            Side::Rows(rows) => rows.iter().map(|row| row.len()).max().unwrap_or(0),
            Side::Array(array) => array.columns().len(),
        }
    }

    /// Calls `visit` for each row, with the row number and the cells.
    fn for_each_row(&self, visit: &mut dyn FnMut(u64, &[u64])) -> Result<()> {
        match self {
            Side::Rows(rows) => (0..).zip(rows).for_each(|(number, row)| visit(number, row)),
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

/// Returns the columns that both tables have, in the order of the test table.
fn shared(test: &Table, train: &Table) -> Option<(Side<'static>, Side<'static>)> {
    let columns = test.names.iter().zip(&test.columns);
    let both = columns.filter_map(|(name, cells)| Some((cells, train.column(name)?)));
    let (own, other): (Vec<&Cells>, Vec<&Cells>) = both.unzip();
    let side = |columns: &[&Cells], rows: usize| {
        let row = |at| columns.iter().map(move |cells| hash_of(&cells.get(at)));
        Side::Rows((0..rows).map(|at| row(at).collect()).collect())
    };
    let is_wide = own.len() >= MIN_COLUMNS;
    is_wide.then(|| (side(&own, test.rows()), side(&other, train.rows())))
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
