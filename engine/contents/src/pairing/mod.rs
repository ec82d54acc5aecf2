//! Pairs the rows of two tables, `theirs` and `ours`. `there` is the index of a row or column in `theirs`, and `here` is an
//! index in `ours`.
//!
//! 1. Find the columns that both tables contain. Only these columns are compared.
//! 2. Compare rows at the same position. Pair all rows by position if three conditions hold: both tables have the same
//!    number of rows, no row moved, and less than half of the rows differ.
//! 3. Otherwise, pair equal rows at any position, by hash.
//! 4. Pair the remaining rows by a key: a column with unique values in both tables, or a known id.
//!
//! Pairing needs 32 bytes for each row that differs from the row at the same position. It also keeps at most
//! `MAX_KEPT_BYTES` of unpaired rows.

mod columns;
mod pairs;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

pub use columns::{ColumnComparison, CommonColumn, IndexColumn};
use pairs::{InPlace, count_moves, pair};

use crate::Result;
use crate::table::{Row, TableReader};

/// Limits of the unpaired rows in memory: their number, and their total size in bytes.
const MAX_KEPT_ROWS: u64 = 2_000_000;
const MAX_KEPT_BYTES: u64 = 256 << 20;
/// Maximum number of hashes in memory while columns are checked for unique values. If there are too many columns for this
/// limit, the tables are read several times.
const MAX_KEPT_HASHES: u64 = 8 << 20;

pub struct RowPair<'a> {
    /// Position of the row `theirs` in its table, from 0.
    pub there: u64,
    /// Position of the row `ours` in its table, from 0.
    pub here: u64,
    pub theirs: &'a Row,
    pub ours: &'a Row,
    /// The key by which the rows were paired. `None` if they were paired by position.
    pub key: Option<&'a CommonColumn>,
}

pub trait RowDifferences {
    /// Receives a pair of rows that differ. Returns `false` if the rows have the same values, written differently.
    fn pair(&mut self, pair: &RowPair<'_>) -> bool;
}

/// The rules for choosing the key column, by which rows are paired.
pub struct Keys<'a> {
    /// Whether a column is known to be an id.
    pub known: &'a dyn Fn(&str) -> bool,
    /// Whether a column must not be the key.
    pub never: &'a dyn Fn(&str) -> bool,
    /// Whether rows must be paired by a key even if they could be paired by position.
    pub strict: bool,
    /// Maximum number of example rows of each table.
    pub examples: usize,
}

/// Rows that only one table has: their number, and the first of them.
#[derive(Debug, Default)]
pub struct Alone {
    pub count: u64,
    pub examples: Vec<Row>,
}

/// Hashes of the keys of unpaired rows. With these hashes, the caller can find the rows in other files.
#[derive(Debug, Clone, Default)]
pub struct UnpairedKeys {
    /// Name of the key column.
    pub key: String,
    pub only_there: HashSet<u128>,
    pub only_here: HashSet<u128>,
}

#[derive(Debug)]
pub struct PairingResult<D> {
    /// Number of rows of `theirs` and of `ours`.
    pub rows: [u64; 2],
    /// Whether all rows are equal and in the same order.
    pub equal: bool,
    /// The receiver of the pairs that differ.
    pub differences: D,
    /// The column by which the rows without an equal row were paired. `None` if no key was used.
    pub key: Option<CommonColumn>,
    /// Rows only of `ours`.
    pub missing: Alone,
    /// Rows only of `theirs`.
    pub added: Alone,
    /// Rows that `theirs` has more often than `ours`.
    pub repeated: Alone,
    /// Number of pairs, including pairs of equal rows.
    pub pairs: u64,
    /// Number of rows that would have to move to give both tables the same order.
    pub reordered: u64,
    /// The first pairs whose two positions differ.
    pub elsewhere: Vec<(u64, u64)>,
    /// The keys of unpaired rows. `None` if no key was used, or if all keys were paired.
    pub moved: Option<UnpairedKeys>,
}

/// Pairs the rows of two tables by the values of `columns`. Passes pairs whose rows differ to a receiver from `new`. The
/// first receiver gets the pairs of rows at the same position. If the rows must be paired by key instead, a second receiver
/// gets the pairs of rows with equal keys.
pub fn pair_rows<D: RowDifferences>(
    theirs: &dyn TableReader,
    ours: &dyn TableReader,
    columns: &[CommonColumn],
    keys: &Keys<'_>,
    new: impl Fn() -> D,
) -> Result<PairingResult<D>> {
    let there: Vec<usize> = columns.iter().map(|column| column.there).collect();
    let here: Vec<usize> = columns.iter().map(|column| column.here).collect();
    let mut by_place = new();
    let (mut their_rows, mut our_rows) = (theirs.rows()?, ours.rows()?);
    let (mut one, mut two) = (Row::default(), Row::default());
    let (mut their_hashes, mut our_hashes) = (Vec::new(), Vec::new());
    let mut in_place = InPlace::default();
    let mut rows = [0, 0];
    let mut pairs_with_changed_values = 0;
    loop {
        let (more_there, more_here) = (their_rows.next(&mut one)?, our_rows.next(&mut two)?);
        let [a, b] = rows;
        rows = [a + u64::from(more_there), b + u64::from(more_here)];
        let is_equal = more_there && more_here && one.equals(&there, &two, &here);
        if more_there && more_here {
            in_place.push(is_equal);
        }
        if !is_equal {
            if more_there {
                their_hashes.push((one.hash(&there), a));
            }
            if more_here {
                our_hashes.push((two.hash(&here), b));
            }
        }
        match (more_there, more_here) {
            (false, false) => break,
            (true, true) if !is_equal => {
                pairs_with_changed_values += u64::from(by_place.pair(&RowPair {
                    there: a,
                    here: b,
                    theirs: &one,
                    ours: &two,
                    key: None,
                }));
            }
            _ => {}
        }
    }
    drop((their_rows, our_rows));
    let [their_count, our_count] = rows;
    let mut paired = PairingResult {
        rows,
        equal: their_hashes.is_empty() && our_hashes.is_empty(),
        differences: by_place,
        key: None,
        missing: Alone::default(),
        added: Alone::default(),
        repeated: Alone::default(),
        pairs: in_place.count(),
        reordered: 0,
        elsewhere: Vec::new(),
        moved: None,
    };
    if paired.equal {
        return Ok(paired);
    }
    let mut found = pair(their_hashes, our_hashes);
    let no_row_moved = their_count == our_count && found.equal.is_empty();
    if no_row_moved && !keys.strict && pairs_with_changed_values * 2 < our_count.max(1) {
        return Ok(paired);
    }
    let sides = UnpairedRows {
        theirs,
        ours,
        only_there: &found.only_there,
        only_here: &found.only_here,
    };
    // A single common column would be the key itself. All unpaired rows differ in this column, so it cannot pair them.
    let key = match no_row_moved && columns.len() == 1 && !keys.strict {
        true => None,
        false => sides.key(columns, keys)?,
    };
    let Some(key) = key else {
        if no_row_moved {
            return Ok(paired);
        }
        // Rows moved, or were added or removed, so drop the pairs by position.
        paired.differences = new();
        sides.count_alone(&mut paired, &there, keys.examples)?;
        count_pairs_and_moves(&mut paired, &mut found.equal, &in_place);
        return Ok(paired);
    };
    paired.differences = new();
    let by_key = sides.by_key(&key, &mut paired.differences)?;
    found.equal.extend(&by_key.pairs);
    let sides = UnpairedRows {
        only_there: &by_key.only_there,
        only_here: &by_key.only_here,
        ..sides
    };
    sides.count_alone(&mut paired, &there, keys.examples)?;
    let unpaired = &by_key.unpaired;
    if !unpaired.only_there.is_empty() || !unpaired.only_here.is_empty() {
        paired.moved = Some(UnpairedKeys {
            key: key.column.name.clone(),
            ..by_key.unpaired
        });
    }
    paired.key = Some(key.column);
    count_pairs_and_moves(&mut paired, &mut found.equal, &in_place);
    Ok(paired)
}

fn count_pairs_and_moves<D>(
    paired: &mut PairingResult<D>,
    pairs: &mut [(u64, u64)],
    in_place: &InPlace,
) {
    paired.pairs = in_place.count() + pairs.len() as u64;
    paired.reordered = count_moves(pairs, in_place);
    let elsewhere = pairs.iter().filter(|(there, here)| there != here);
    paired.elsewhere = elsewhere.take(2).copied().collect();
}

/// Returns the rows at the first `count` positions of `places`, which must be sorted.
fn first(table: &dyn TableReader, places: &[u64], count: usize) -> Result<Vec<Row>> {
    let mut wanted = places.iter().copied().take(count).peekable();
    let mut found = Vec::new();
    if wanted.peek().is_none() {
        return Ok(found);
    }
    for_each_row(table, |place, row| {
        if wanted.next_if_eq(&place).is_some() {
            found.push(row.clone());
        }
        Ok(wanted.peek().is_some())
    })?;
    Ok(found)
}

/// Visits rows with their positions, until `visit` returns `false`.
fn for_each_row(
    table: &dyn TableReader,
    mut visit: impl FnMut(u64, &Row) -> Result<bool>,
) -> Result<()> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let mut place = 0;
    while rows.next(&mut row)? && visit(place, &row)? {
        place += 1;
    }
    Ok(())
}

/// Visits the rows at the positions `places`, which must be sorted, until `visit` returns `false`.
fn each_at(
    table: &dyn TableReader,
    places: &[u64],
    mut visit: impl FnMut(u64, &Row) -> Result<bool>,
) -> Result<()> {
    let mut left = places.iter().copied().peekable();
    if left.peek().is_none() {
        return Ok(());
    }
    for_each_row(table, |place, row| {
        let more = left.next_if_eq(&place).is_none() || visit(place, row)?;
        Ok(more && left.peek().is_some())
    })
}

/// The first unpaired rows of a table, kept in memory.
struct Sample {
    rows: Vec<Row>,
    /// Whether `rows` contains all unpaired rows.
    is_all: bool,
    /// Memory of all unpaired rows in bytes, including rows that are not kept.
    bytes: u64,
}

impl Sample {
    fn read(table: &dyn TableReader, places: &[u64]) -> Result<Sample> {
        let mut sample = Sample {
            rows: Vec::new(),
            is_all: true,
            bytes: 0,
        };
        each_at(table, places, |_, row| {
            sample.is_all &=
                (sample.rows.len() as u64) < MAX_KEPT_ROWS && sample.bytes < MAX_KEPT_BYTES;
            if sample.is_all {
                sample.rows.push(row.clone());
            }
            sample.bytes += row.bytes();
            Ok(true)
        })?;
        Ok(sample)
    }
}

struct UnpairedRows<'a> {
    theirs: &'a dyn TableReader,
    ours: &'a dyn TableReader,
    only_there: &'a [u64],
    only_here: &'a [u64],
}

#[derive(Default)]
struct ByKey {
    pairs: Vec<(u64, u64)>,
    only_there: Vec<u64>,
    only_here: Vec<u64>,
    unpaired: UnpairedKeys,
}

impl UnpairedRows<'_> {
    /// Counts the rows that only one table has, by kind: missing, added and repeated.
    fn count_alone<D>(
        &self,
        paired: &mut PairingResult<D>,
        columns: &[usize],
        examples: usize,
    ) -> Result<()> {
        let UnpairedRows {
            theirs,
            ours,
            only_there,
            only_here,
        } = *self;
        paired.missing = Alone {
            count: only_here.len() as u64,
            examples: first(ours, only_here, examples)?,
        };
        if only_there.is_empty() {
            return Ok(());
        }
        // An unpaired row that occurs several times in `theirs` is repeated. Other unpaired rows are added.
        let mut counts: HashMap<u128, u32> = HashMap::new();
        let mut wanted = only_there.iter().copied().peekable();
        let mut hashes = Vec::with_capacity(only_there.len());
        for_each_row(theirs, |place, row| {
            if wanted.next_if_eq(&place).is_some() {
                let hash = row.hash(columns);
                counts.insert(hash, 0);
                hashes.push(hash);
            }
            Ok(wanted.peek().is_some())
        })?;
        for_each_row(theirs, |_, row| {
            if let Some(count) = counts.get_mut(&row.hash(columns)) {
                *count += 1;
            }
            Ok(true)
        })?;
        let is_repeated = |hash: &u128| counts.get(hash).is_some_and(|count| *count > 1);
        let (mut repeated, mut added) = (Vec::new(), Vec::new());
        for (place, hash) in only_there.iter().zip(&hashes) {
            match is_repeated(hash) {
                true => repeated.push(*place),
                false => added.push(*place),
            }
        }
        for (kind, places) in [
            (&mut paired.repeated, &repeated),
            (&mut paired.added, &added),
        ] {
            *kind = Alone {
                count: places.len() as u64,
                examples: first(theirs, places, examples)?,
            };
        }
        Ok(())
    }

    /// Returns the column that identifies rows: the first existing column in this list:
    ///
    /// 1. a known id with unique values;
    /// 2. the column with unique values that shares the most values between the tables, if at least half of the values of
    ///    one table are also in the other table;
    /// 3. a known id with repeated values;
    /// 4. the first column with unique values.
    fn key(&self, columns: &[CommonColumn], keys: &Keys<'_>) -> Result<Option<Key>> {
        let theirs = Sample::read(self.theirs, self.only_there)?;
        let ours = Sample::read(self.ours, self.only_here)?;
        let bytes = theirs.bytes;
        let is_sampled = !theirs.is_all || !ours.is_all;
        let (theirs, ours) = (theirs.rows, ours.rows);
        let mut found: Vec<(usize, &CommonColumn)> = Vec::new();
        for column in columns.iter().filter(|column| !(keys.never)(&column.name)) {
            let is_known = (keys.known)(&column.name);
            let may_repeat = is_known && !keys.strict;
            let values = |rows: &[Row], place: usize| -> Option<HashSet<u128>> {
                let mut seen = HashSet::new();
                let mut each = rows.iter().map(|row| row.hash(&[place]));
                match may_repeat {
                    true => seen.extend(each),
                    false => {
                        if !each.all(|value| seen.insert(value)) {
                            return None;
                        }
                    }
                }
                Some(seen)
            };
            let (Some(their_values), Some(our_values)) =
                (values(&theirs, column.there), values(&ours, column.here))
            else {
                continue;
            };
            let common = their_values.intersection(&our_values).count();
            let half_is_common = common * 2 >= their_values.len().min(our_values.len());
            let repeats = their_values.len() < theirs.len() || our_values.len() < ours.len();
            let score = match (is_known, repeats) {
                (true, false) => usize::MAX,
                (true, true) => 1,
                (false, _) if half_is_common => common.saturating_add(1),
                (false, _) => 0,
            };
            found.push((score, column));
        }
        // Puts the best column first. Equally good columns keep their order.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        drop((theirs, ours));
        let columns: Vec<&CommonColumn> = found.into_iter().map(|(_, column)| column).collect();
        let key = |column: Option<CommonColumn>| Ok(column.map(|column| Key { column, bytes }));
        if keys.strict {
            return key(first_unique(
                &columns,
                [(self.theirs, None), (self.ours, None)],
            )?);
        }
        let is_known = |column: &CommonColumn| (keys.known)(&column.name);
        let known = columns.iter().position(|column| is_known(column));
        if !is_sampled || known == Some(0) {
            return key(columns.first().map(|column| (*column).clone()));
        }
        // A column before a known id is used only if its values are unique.
        let before = columns.get(..known.unwrap_or(columns.len()));
        let theirs = (self.theirs, Some(self.only_there));
        let ours = (self.ours, Some(self.only_here));
        let unique = first_unique(before.unwrap_or_default(), [theirs, ours])?;
        key(unique.or_else(|| Some((**columns.get(known?)?).clone())))
    }

    /// Pairs rows with equal keys. If the rows of `theirs` do not fit in memory, divides the keys by hash into parts, and
    /// reads both tables once for each part.
    fn by_key(&self, key: &Key, differences: &mut impl RowDifferences) -> Result<ByKey> {
        let parts_by_rows = (self.only_there.len() as u64).div_ceil(MAX_KEPT_ROWS);
        let parts_by_bytes = key.bytes.div_ceil(MAX_KEPT_BYTES);
        let parts = u128::from(parts_by_rows.max(parts_by_bytes).max(1));
        let key = &key.column;
        let mut found = ByKey::default();
        for part in 0..parts {
            let is_within =
                |row: &Row, place: usize| parts == 1 || row.hash(&[place]) % parts == part;
            let mut by_key: HashMap<Vec<u8>, (u64, Row)> = HashMap::new();
            each_at(self.theirs, self.only_there, |place, row| {
                if is_within(row, key.there) {
                    // Only the first row of `theirs` with a key can be paired.
                    match by_key.entry(row.cell(key.there).to_vec()) {
                        Entry::Vacant(entry) => {
                            entry.insert((place, row.clone()));
                        }
                        Entry::Occupied(_) => found.only_there.push(place),
                    }
                }
                Ok(true)
            })?;
            each_at(self.ours, self.only_here, |here, row| {
                if !is_within(row, key.here) {
                    return Ok(true);
                }
                match by_key.remove(row.cell(key.here)) {
                    Some((there, other)) => {
                        found.pairs.push((there, here));
                        differences.pair(&RowPair {
                            there,
                            here,
                            theirs: &other,
                            ours: row,
                            key: Some(key),
                        });
                    }
                    None => {
                        found.only_here.push(here);
                        found.unpaired.only_here.insert(row.hash(&[key.here]));
                    }
                }
                Ok(true)
            })?;
            for (there, row) in by_key.into_values() {
                found.only_there.push(there);
                found.unpaired.only_there.insert(row.hash(&[key.there]));
            }
        }
        found.only_there.sort_unstable();
        found.only_here.sort_unstable();
        Ok(found)
    }
}

/// The key column, and the memory in bytes of the rows of `theirs` that it has to pair.
struct Key {
    column: CommonColumn,
    bytes: u64,
}

/// A table, and the positions of the rows to use. `None` means all rows.
type RowsOfTable<'a> = (&'a dyn TableReader, Option<&'a [u64]>);

/// Returns the first column whose values are unique in both tables.
fn first_unique(
    columns: &[&CommonColumn],
    [theirs, ours]: [RowsOfTable<'_>; 2],
) -> Result<Option<CommonColumn>> {
    let mut at_once = 1;
    let mut unchecked = columns;
    while !unchecked.is_empty() {
        let (checked, rest) = unchecked.split_at(at_once.min(unchecked.len()));
        let there: Vec<usize> = checked.iter().map(|column| column.there).collect();
        let here: Vec<usize> = checked.iter().map(|column| column.here).collect();
        let (unique_there, rows) = are_unique(theirs, &there)?;
        let (unique_here, other_rows) = are_unique(ours, &here)?;
        let unique = unique_there.iter().zip(&unique_here);
        let found = unique
            .zip(checked)
            .find(|((one, other), _)| **one && **other);
        if let Some((_, column)) = found {
            return Ok(Some((*column).clone()));
        }
        // Usually the first column is unique, so the first pass checks only one column. Each later pass checks as many
        // columns as the memory for hashes permits.
        let most = MAX_KEPT_HASHES / rows.max(other_rows).max(1);
        at_once = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        unchecked = rest;
    }
    Ok(None)
}

/// Returns which of these columns have unique values, and the number of rows.
fn are_unique((table, places): RowsOfTable<'_>, columns: &[usize]) -> Result<(Vec<bool>, u64)> {
    let mut hashes: Vec<Vec<u128>> = vec![Vec::new(); columns.len()];
    let mut count = 0;
    let mut add = |_: u64, row: &Row| {
        count += 1;
        for (column, hashes) in columns.iter().zip(&mut hashes) {
            hashes.push(row.hash(&[*column]));
        }
        Ok(true)
    };
    match places {
        None => for_each_row(table, &mut add)?,
        Some(places) => each_at(table, places, &mut add)?,
    }
    let is_unique = |mut hashes: Vec<u128>| {
        hashes.sort_unstable();
        hashes.windows(2).all(|pair| pair.first() != pair.last())
    };
    Ok((hashes.into_iter().map(is_unique).collect(), count))
}
