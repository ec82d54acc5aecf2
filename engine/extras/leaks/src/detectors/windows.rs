//! `neighbours`: finds series of test items that are windows of a sequence whose neighbouring windows are in the training
//! part.
//!
//! The numbers of such a file also occur in a training file, shifted by some places. If eight consecutive numbers, four of
//! them different, occur again at a different place, this is not chance. A file is reported if half of its runs of eight
//! numbers occur in the same training file with the same shift. No statistics are needed, because files that are not
//! windows are not shifted copies.

use std::collections::{HashMap, HashSet};

use crate::finding::{LeakFinding, LeakLevel};
use crate::world::{Series, World};

/// Number of cells in a run.
const RUN: usize = 8;
/// Minimum number of different cells in a run.
const MIN_DIFFERENT: usize = 4;
/// Maximum number of test rows that are compared. They are selected evenly.
const MAX_ROWS: usize = 5_000;
/// Maximum number of runs of these rows.
const MAX_RUNS: usize = 1 << 21;
/// Maximum number of rows with the same run. A more frequent run proves nothing.
const MAX_RUN_ROWS: usize = 20;

pub(crate) fn find(world: &World) -> Option<LeakFinding> {
    let series = world.public.series.iter();
    let (own, other): (Vec<&Series>, Vec<&Series>) = series.partition(|one| one.is_item);
    shifted(&own, &other)
}

/// A test row that is compared.
struct TestRow {
    number: usize,
    /// Number of runs with enough different cells.
    runs: usize,
    /// For the training row with the most of these runs: their number, the row, and its shift.
    best: (usize, usize, i64),
}

/// The positions of a run in the test rows, and the number of training rows that contain it.
#[derive(Default)]
struct RunPositions {
    places: Vec<(usize, u32)>,
    seen: usize,
}

fn shifted(own: &[&Series], other: &[&Series]) -> Option<LeakFinding> {
    let width = own.iter().map(|row| row.numbers.len()).max().unwrap_or(0);
    let most = MAX_ROWS.min(MAX_RUNS / width.max(1)).max(1);
    let mut test_rows: Vec<TestRow> = Vec::new();
    let mut known: HashMap<u64, RunPositions> = HashMap::new();
    for (number, row) in own
        .iter()
        .enumerate()
        .step_by(own.len().div_ceil(most).max(1))
    {
        let mut runs = 0;
        for (place, hash) in hashes(&row.numbers) {
            let begin = usize::try_from(place).unwrap_or(0);
            let cells = row.numbers.get(begin..begin + RUN).unwrap_or_default();
            if cells.iter().collect::<HashSet<_>>().len() < MIN_DIFFERENT {
                continue;
            }
            runs += 1;
            let positions = known.entry(hash).or_default();
            if positions.places.len() <= MAX_RUN_ROWS {
                positions.places.push((test_rows.len(), place));
            }
        }
        test_rows.push(TestRow {
            number,
            runs,
            best: (0, 0, 0),
        });
    }
    for (number, row) in other.iter().enumerate() {
        let mut shifts: HashMap<(usize, i64), usize> = HashMap::new();
        for (place, hash) in hashes(&row.numbers) {
            let Some(positions) = known.get_mut(&hash).filter(|one| one.seen <= MAX_RUN_ROWS)
            else {
                continue;
            };
            positions.seen += 1;
            for (row, there) in &positions.places {
                let shift = i64::from(place) - i64::from(*there);
                if shift != 0 {
                    *shifts.entry((*row, shift)).or_default() += 1;
                }
            }
        }
        for ((row, shift), count) in shifts {
            if let Some(test_row) = test_rows.get_mut(row) {
                let rank = |best: &(usize, usize, i64)| (best.0, -best.2.abs(), best.1, best.2);
                let new = (count, number, shift);
                if rank(&new) > rank(&test_row.best) {
                    test_row.best = new;
                }
            }
        }
    }
    let is_hit = |one: &&TestRow| one.runs >= RUN && one.best.0 * 2 >= one.runs;
    let hits: Vec<&TestRow> = test_rows.iter().filter(is_hit).collect();
    let share = hits.len() as f64 / test_rows.len().max(1) as f64;
    if hits.is_empty() {
        return None;
    }
    let level = LeakLevel::Risk.if_strong(hits.len() >= 20 && share >= 0.05);
    let what = format!(
        "{} of {} examined files of test items also occur in training files, shifted: they are windows of the same sequence",
        hits.len(),
        test_rows.len()
    );
    let examples = hits.iter().filter_map(|hit| {
        let (_, row, shift) = hit.best;
        let (own, other) = (&own.get(hit.number)?.path, &other.get(row)?.path);
        Some(format!(
            "{own} is {other} shifted by {} numbers",
            shift.abs()
        ))
    });
    Some(LeakFinding::new(level, "neighbours", what).evidence(examples))
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
