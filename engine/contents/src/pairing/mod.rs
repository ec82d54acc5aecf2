//! Two tables: which rows belong together.
//!
//! 1. Columns: what follows looks at the common ones.
//! 2. Row by row in order. If all rows agree, or differ in cells only, they are paired by their places.
//! 3. Else as multisets of rows, by hash: rows that are equal are paired wherever they stand.
//! 4. The rest is paired by a key: a column whose values are unique on both sides, or which is known to name items. What has no
//!    pair is missing or added.
//!
//! The order of the pairs tells whether rows moved. What pairs differ in is told to a [`Differences`], which judges it.
//! Memory: 16 bytes for each row that is not equal in its place, and of those without an equal two million rows at a time.

mod columns;
mod pairs;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io;

pub use columns::{Column, Columns, IndexColumn};
use pairs::{InPlace, moved, pair};

use crate::table::{Row, Table};

/// Rows without an equal that are kept in memory, a side.
const KEPT: u64 = 2_000_000;

/// Two rows that belong together and differ.
pub struct Pair<'a> {
    /// Places, from 0.
    pub there: u64,
    pub here: u64,
    pub theirs: &'a Row,
    pub ours: &'a Row,
    /// What paired them; none: their places.
    pub key: Option<&'a Column>,
}

/// Who is told of rows that differ.
pub trait Differences {
    /// Whether other values differ, and not only their spelling.
    fn pair(&mut self, pair: &Pair<'_>) -> bool;
}

/// What may pair rows.
pub struct Keys<'a> {
    /// Columns that are known to name items.
    pub known: &'a dyn Fn(&str) -> bool,
    /// Columns that name none.
    pub never: &'a dyn Fn(&str) -> bool,
    /// A key names each row of the whole table, and pairs rows even where places would do.
    pub strict: bool,
    /// Rows of one side of which the cells are given.
    pub examples: usize,
}

/// Rows of one side: places, and the cells of the first of them.
#[derive(Debug, Default)]
pub struct Alone {
    pub count: u64,
    pub examples: Vec<Row>,
}

/// Keys of rows without a pair, as hashes: perhaps they are in another file.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    pub key: String,
    pub only_there: HashSet<u64>,
    pub only_here: HashSet<u64>,
}

/// How the rows of two tables belong together.
#[derive(Debug)]
pub struct Paired<D> {
    /// Number of rows there and here.
    pub rows: [u64; 2],
    /// All are equal, in order.
    pub equal: bool,
    /// What was told of pairs that differ.
    pub differences: D,
    pub key: Option<Column>,
    pub missing: Alone,
    pub added: Alone,
    /// Theirs that stand there more often than here.
    pub repeated: Alone,
    /// Pairs, and how many of them stand elsewhere; the first of those.
    pub pairs: u64,
    pub reordered: u64,
    pub elsewhere: Vec<(u64, u64)>,
    pub moved: Option<Moved>,
}

/// Pairs the rows of two tables. `new` makes what is told of pairs that differ; what is told of places is dropped where a
/// key does better.
///
/// # Errors
/// When a table cannot be read.
pub fn pair_rows<D: Differences>(
    theirs: &dyn Table,
    ours: &dyn Table,
    columns: &[Column],
    keys: &Keys<'_>,
    new: impl Fn() -> D,
) -> io::Result<Paired<D>> {
    let there: Vec<usize> = columns.iter().map(|column| column.there).collect();
    let here: Vec<usize> = columns.iter().map(|column| column.here).collect();
    let mut by_place = new();
    let (mut their_rows, mut our_rows) = (theirs.rows()?, ours.rows()?);
    let (mut one, mut two) = (Row::default(), Row::default());
    let (mut their_hashes, mut our_hashes) = (Vec::new(), Vec::new());
    let mut in_place = InPlace::default();
    let mut rows = [0, 0];
    let mut hard = 0;
    loop {
        let (more_there, more_here) = (their_rows.next(&mut one)?, our_rows.next(&mut two)?);
        let [a, b] = rows;
        rows = [a + u64::from(more_there), b + u64::from(more_here)];
        match (more_there, more_here) {
            (false, false) => break,
            (true, true) => {
                let (first, second) = (one.hash(&there), two.hash(&here));
                in_place.push(first == second);
                if first != second {
                    their_hashes.push((first, a));
                    our_hashes.push((second, b));
                    hard += u64::from(by_place.pair(&Pair {
                        there: a,
                        here: b,
                        theirs: &one,
                        ours: &two,
                        key: None,
                    }));
                }
            }
            (true, false) => their_hashes.push((one.hash(&there), a)),
            (false, true) => our_hashes.push((two.hash(&here), b)),
        }
    }
    drop((their_rows, our_rows));
    let [their_count, our_count] = rows;
    let mut paired = Paired {
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
    let places_do = their_count == our_count && found.equal.is_empty();
    if places_do && !keys.strict && hard * 2 < our_count.max(1) {
        return Ok(paired);
    }
    let sides = Sides {
        theirs,
        ours,
        only_there: &found.only_there,
        only_here: &found.only_here,
    };
    // One column without a value in common tells nothing of which row is which.
    let key = match places_do && columns.len() == 1 && !keys.strict {
        true => None,
        false => sides.key(columns, keys)?,
    };
    let Some(key) = key else {
        if places_do {
            return Ok(paired);
        }
        // What was told of places is nothing: rows were put in or left out.
        paired.differences = new();
        let (only_there, only_here) = (found.only_there, found.only_here);
        let sides = [theirs, ours];
        alone(
            &mut paired,
            sides,
            keys.examples,
            &there,
            &only_there,
            &only_here,
        )?;
        in_order(&mut paired, &mut found.equal, &in_place);
        return Ok(paired);
    };
    paired.differences = new();
    let by_key = sides.by_key(&key, &mut paired.differences)?;
    found.equal.extend(&by_key.pairs);
    alone(
        &mut paired,
        [theirs, ours],
        keys.examples,
        &there,
        &by_key.only_there,
        &by_key.only_here,
    )?;
    let names = &by_key.moved;
    if !names.only_there.is_empty() || !names.only_here.is_empty() {
        paired.moved = Some(Moved {
            key: key.name.clone(),
            ..by_key.moved
        });
    }
    paired.key = Some(key);
    in_order(&mut paired, &mut found.equal, &in_place);
    Ok(paired)
}

fn in_order<D>(paired: &mut Paired<D>, pairs: &mut [(u64, u64)], in_place: &InPlace) {
    paired.pairs = in_place.count() + pairs.len() as u64;
    paired.reordered = moved(pairs, in_place);
    let elsewhere = pairs.iter().filter(|(there, here)| there != here);
    paired.elsewhere = elsewhere.take(2).copied().collect();
}

/// Counts rows of one side only, and takes the first of them for examples.
fn alone<D>(
    paired: &mut Paired<D>,
    [theirs, ours]: [&dyn Table; 2],
    examples: usize,
    columns: &[usize],
    only_there: &[u64],
    only_here: &[u64],
) -> io::Result<()> {
    paired.missing = Alone {
        count: only_here.len() as u64,
        examples: first(ours, only_here, examples)?,
    };
    if only_there.is_empty() {
        return Ok(());
    }
    // A row that stands there several times was repeated, others were added.
    let mut counts: HashMap<u64, (u32, bool)> = HashMap::new();
    let mut wanted = only_there.iter().copied().peekable();
    let mut hashes = Vec::with_capacity(only_there.len());
    each(theirs, |place, row| {
        if wanted.next_if_eq(&place).is_some() {
            let hash = row.hash(columns);
            counts.insert(hash, (0, false));
            hashes.push(hash);
        }
        Ok(wanted.peek().is_some())
    })?;
    each(theirs, |_, row| {
        if let Some((count, _)) = counts.get_mut(&row.hash(columns)) {
            *count += 1;
        }
        Ok(true)
    })?;
    let is_repeated = |hash: &u64| counts.get(hash).is_some_and(|(count, _)| *count > 1);
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

/// The first rows at these places.
fn first(table: &dyn Table, places: &[u64], count: usize) -> io::Result<Vec<Row>> {
    let mut wanted = places.iter().copied().take(count).peekable();
    let mut found = Vec::new();
    if wanted.peek().is_none() {
        return Ok(found);
    }
    each(table, |place, row| {
        if wanted.next_if_eq(&place).is_some() {
            found.push(row.clone());
        }
        Ok(wanted.peek().is_some())
    })?;
    Ok(found)
}

/// Goes through a table as long as `visit` wants.
fn each(table: &dyn Table, mut visit: impl FnMut(u64, &Row) -> io::Result<bool>) -> io::Result<()> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let mut place = 0;
    while rows.next(&mut row)? && visit(place, &row)? {
        place += 1;
    }
    Ok(())
}

/// Rows at these places for which `wanted` holds.
fn kept(
    table: &dyn Table,
    places: &[u64],
    wanted: impl Fn(&Row) -> bool,
) -> io::Result<Vec<(u64, Row)>> {
    let mut left = places.iter().copied().peekable();
    let mut found = Vec::new();
    if left.peek().is_none() {
        return Ok(found);
    }
    each(table, |place, row| {
        if left.next_if_eq(&place).is_some() && wanted(row) {
            found.push((place, row.clone()));
        }
        Ok(left.peek().is_some())
    })?;
    Ok(found)
}

/// Rows without an equal.
struct Sides<'a> {
    theirs: &'a dyn Table,
    ours: &'a dyn Table,
    only_there: &'a [u64],
    only_here: &'a [u64],
}

/// What pairing by a key came to; places are in order.
#[derive(Default)]
struct ByKey {
    pairs: Vec<(u64, u64)>,
    only_there: Vec<u64>,
    only_here: Vec<u64>,
    moved: Moved,
}

impl Sides<'_> {
    /// The column whose values are unique on both sides: one that is known to name items, else the one that is found most
    /// often on the other side, if that is at least every second time; else one that is known to name items and has some
    /// twice; else the first that is unique.
    fn key(&self, columns: &[Column], keys: &Keys<'_>) -> io::Result<Option<Column>> {
        let limit = usize::try_from(KEPT).unwrap_or(usize::MAX);
        let sample = |places: &[u64]| -> Vec<u64> { places.iter().copied().take(limit).collect() };
        let theirs = kept(self.theirs, &sample(self.only_there), |_| true)?;
        let ours = kept(self.ours, &sample(self.only_here), |_| true)?;
        let mut found: Vec<(usize, &Column)> = Vec::new();
        for column in columns.iter().filter(|column| !(keys.never)(&column.name)) {
            // A row that was repeated has a known name all the same.
            let is_known = (keys.known)(&column.name);
            let may_repeat = is_known && !keys.strict;
            let values = |rows: &[(u64, Row)], place: usize| -> Option<HashSet<u64>> {
                let mut seen = HashSet::with_capacity(rows.len());
                let mut each = rows.iter().map(|(_, row)| row.hash(&[place]));
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
            let (Some(names), Some(own)) =
                (values(&theirs, column.there), values(&ours, column.here))
            else {
                continue;
            };
            let common = names.intersection(&own).count();
            let telling = common * 2 >= names.len().min(own.len());
            let repeats = names.len() < theirs.len() || own.len() < ours.len();
            let score = match (is_known, repeats) {
                (true, false) => usize::MAX,
                (true, true) => 1,
                (false, _) if telling => common.saturating_add(1),
                (false, _) => 0,
            };
            found.push((score, column));
        }
        // The best one, of equal ones the first.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        drop((theirs, ours));
        for (_, column) in found {
            let is_sampled = self.only_there.len().max(self.only_here.len()) > limit;
            let may_repeat = (keys.known)(&column.name);
            let unique = match (keys.strict, is_sampled && !may_repeat) {
                (false, false) => true,
                (false, true) => {
                    is_unique(self.theirs, column.there, Some(self.only_there))?
                        && is_unique(self.ours, column.here, Some(self.only_here))?
                }
                (true, _) => {
                    is_unique(self.theirs, column.there, None)?
                        && is_unique(self.ours, column.here, None)?
                }
            };
            if unique {
                return Ok(Some(column.clone()));
            }
        }
        Ok(None)
    }

    fn by_key(&self, key: &Column, differences: &mut impl Differences) -> io::Result<ByKey> {
        let most = self.only_there.len().max(self.only_here.len()) as u64;
        let stretches = most.div_ceil(KEPT).max(1);
        let mut found = ByKey::default();
        for stretch in 0..stretches {
            let within = |place: usize| move |row: &Row| row.hash(&[place]) % stretches == stretch;
            let theirs = kept(self.theirs, self.only_there, within(key.there))?;
            let ours = kept(self.ours, self.only_here, within(key.here))?;
            let mut by_key: HashMap<&[u8], &(u64, Row)> = HashMap::new();
            for one in &theirs {
                // Of several, the first; the others were repeated or added.
                match by_key.entry(one.1.cell(key.there)) {
                    Entry::Vacant(place) => {
                        place.insert(one);
                    }
                    Entry::Occupied(_) => found.only_there.push(one.0),
                }
            }
            for (here, row) in &ours {
                match by_key.remove(row.cell(key.here)) {
                    Some((there, other)) => {
                        found.pairs.push((*there, *here));
                        differences.pair(&Pair {
                            there: *there,
                            here: *here,
                            theirs: other,
                            ours: row,
                            key: Some(key),
                        });
                    }
                    None => {
                        found.only_here.push(*here);
                        found.moved.only_here.insert(row.hash(&[key.here]));
                    }
                }
            }
            for (there, row) in by_key.into_values() {
                found.only_there.push(*there);
                found.moved.only_there.insert(row.hash(&[key.there]));
            }
        }
        found.only_there.sort_unstable();
        found.only_here.sort_unstable();
        Ok(found)
    }
}

/// Whether no value of a column stands there twice, in the rows at these places or in all.
fn is_unique(table: &dyn Table, column: usize, places: Option<&[u64]>) -> io::Result<bool> {
    let mut hashes = Vec::new();
    let mut left = places.map(|places| places.iter().copied().peekable());
    each(table, |place, row| {
        let wanted = match &mut left {
            None => true,
            Some(left) => left.next_if_eq(&place).is_some(),
        };
        if wanted {
            hashes.push(row.hash(&[column]));
        }
        Ok(true)
    })?;
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes.len() == count)
}
