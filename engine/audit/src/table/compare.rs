//! The ladder itself.

use std::collections::{HashMap, HashSet};
use std::io;

use super::columns::{Common, common};
use super::pairs::{moved, pair};
use super::row::{Row, Table};
use super::tally::{Tally, shown};
use crate::causes::{Harm, rows};
use crate::finding::Finding;

/// What a table is for.
#[derive(Debug, Clone, Default)]
pub struct Role {
    /// It lies in the private part.
    pub answers: bool,
    /// Columns that tell what is to be predicted.
    pub labels: HashSet<String>,
    /// Columns that name items.
    pub ids: HashSet<String>,
    /// Grading pairs rows by their place.
    pub by_place: bool,
}

impl Role {
    pub(crate) fn is_label(&self, column: &str) -> bool {
        let all = self.answers && self.labels.is_empty();
        (all || self.labels.contains(column)) && !self.ids.contains(column)
    }
}

/// How two tables compare.
#[derive(Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    /// Number of rows, if all are equal in order.
    pub rows: Option<u64>,
    /// Rows of one side only, by the key that pairs rows: perhaps they are in another file.
    pub moved: Option<Moved>,
}

/// Rows that have no pair, by hashes of their key.
#[derive(Debug, Clone, Default)]
pub struct Moved {
    pub key: String,
    pub only_there: HashSet<u64>,
    pub only_here: HashSet<u64>,
}

/// Rows without an equal that are kept in memory, a side.
const KEPT: usize = 2_000_000;

pub(super) fn compare(
    path: &str,
    theirs: &dyn Table,
    ours: &dyn Table,
    role: &Role,
) -> io::Result<Outcome> {
    let Common { columns, findings } = common(path, theirs, ours)?;
    let mut outcome = Outcome {
        findings,
        ..Outcome::default()
    };
    if columns.is_empty() {
        return Ok(outcome);
    }
    let there: Vec<usize> = columns.iter().map(|(_, place, _)| *place).collect();
    let here: Vec<usize> = columns.iter().map(|(_, _, place)| *place).collect();
    // In order, cell by cell.
    let mut in_place = Tally::new(&columns, role);
    let (mut their_rows, mut our_rows) = (theirs.rows()?, ours.rows()?);
    let (mut one, mut two) = (Row::default(), Row::default());
    let (mut their_hashes, mut our_hashes) = (Vec::new(), Vec::new());
    let mut differ_in_place = 0;
    loop {
        let (more_there, more_here) = (their_rows.next(&mut one)?, our_rows.next(&mut two)?);
        if more_there {
            their_hashes.push(one.hash(&there));
        }
        if more_here {
            our_hashes.push(two.hash(&here));
        }
        match (more_there, more_here) {
            (false, false) => break,
            (true, true) if their_hashes.last() != our_hashes.last() => {
                differ_in_place += 1;
                let number = our_hashes.len() as u64;
                in_place.pair(number, &one, &two, || row_name(number, &columns, &two));
            }
            _ => {}
        }
    }
    drop((their_rows, our_rows));
    let same_length = their_hashes.len() == our_hashes.len();
    if same_length && differ_in_place == 0 {
        outcome.rows = Some(our_hashes.len() as u64);
        return Ok(outcome);
    }
    // As multisets.
    let mut pairs = pair(&their_hashes, &our_hashes);
    let unmatched = pairs.only_here.len().max(pairs.only_there.len());
    let soft = in_place.hard_rows == 0;
    let stays = same_length
        && differ_in_place == unmatched
        && (soft || in_place.hard_rows * 2 < our_hashes.len() as u64);
    if stays {
        outcome.findings.extend(in_place.findings(path));
        return Ok(outcome);
    }
    let left = Left {
        theirs: kept(theirs, &pairs.only_there)?,
        ours: kept(ours, &pairs.only_here)?,
    };
    let key = left.key(&columns, role);
    let Some(key) = key else {
        if same_length && left.theirs.len() == left.ours.len() && differ_in_place == unmatched {
            // Nothing tells which row is which but their places.
            outcome.findings.extend(in_place.findings(path));
            return Ok(outcome);
        }
        outcome.findings.extend(unpaired(
            path,
            role,
            &pairs.only_there,
            &pairs.only_here,
            &left,
            &their_hashes,
            &columns,
        ));
        outcome
            .findings
            .extend(order(path, role, &mut pairs.equal, our_hashes.len()));
        return Ok(outcome);
    };
    // By key.
    let mut by_key: HashMap<&[u8], &(u64, Row)> = HashMap::new();
    for kept in &left.theirs {
        by_key.insert(kept.1.cell(key.there), kept);
    }
    let mut tally = Tally::new(&columns, role);
    let mut only_here = Vec::new();
    for (place, row) in &left.ours {
        match by_key.remove(row.cell(key.here)) {
            Some((other, theirs)) => {
                pairs.equal.push((*other, *place));
                tally.pair(*place, theirs, row, || {
                    format!("{} {}", key.name, shown(row.cell(key.here)))
                });
            }
            None => only_here.push(*place),
        }
    }
    let mut only_there: Vec<u64> = by_key.values().map(|kept| kept.0).collect();
    only_there.sort_unstable();
    let hash = |row: &Row, place: usize| row.hash(&[place]);
    let chosen = |rows: &[(u64, Row)], wanted: &[u64], place: usize| -> HashSet<u64> {
        let wanted: HashSet<u64> = wanted.iter().copied().collect();
        let rows = rows.iter().filter(|(number, _)| wanted.contains(number));
        rows.map(|(_, row)| hash(row, place)).collect()
    };
    if !only_here.is_empty() || !only_there.is_empty() {
        outcome.moved = Some(Moved {
            key: key.name.clone(),
            only_there: chosen(&left.theirs, &only_there, key.there),
            only_here: chosen(&left.ours, &only_here, key.here),
        });
    }
    outcome.findings.extend(tally.findings(path));
    outcome.findings.extend(unpaired(
        path,
        role,
        &only_there,
        &only_here,
        &left,
        &their_hashes,
        &columns,
    ));
    outcome
        .findings
        .extend(order(path, role, &mut pairs.equal, our_hashes.len()));
    Ok(outcome)
}

/// How an example names a row.
fn row_name(number: u64, columns: &[(String, usize, usize)], ours: &Row) -> String {
    match columns.first() {
        Some((name, _, place)) if columns.len() > 1 => {
            format!("row {number} ({name} {})", shown(ours.cell(*place)))
        }
        _ => format!("row {number}"),
    }
}

/// Rows without an equal.
struct Left {
    theirs: Vec<(u64, Row)>,
    ours: Vec<(u64, Row)>,
}

struct Key {
    name: String,
    there: usize,
    here: usize,
}

impl Left {
    /// The column whose values are unique on both sides: one that is known to name items, else the one that is found most
    /// often on the other side, if that is at least every second time; else the first.
    fn key(&self, columns: &[(String, usize, usize)], role: &Role) -> Option<Key> {
        let mut best: Option<(usize, Key)> = None;
        for (name, there, here) in columns.iter().filter(|(name, _, _)| !role.is_label(name)) {
            let values = |rows: &[(u64, Row)], place: usize| -> Option<HashSet<u64>> {
                let mut seen = HashSet::with_capacity(rows.len());
                let unique = rows.iter().all(|(_, row)| seen.insert(row.hash(&[place])));
                unique.then_some(seen)
            };
            let (Some(theirs), Some(ours)) =
                (values(&self.theirs, *there), values(&self.ours, *here))
            else {
                continue;
            };
            let common = theirs.intersection(&ours).count();
            let telling = common * 2 >= theirs.len().min(ours.len());
            let score = match role.ids.contains(name) {
                true => usize::MAX,
                false if telling => common,
                false => 0,
            };
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                let (name, there, here) = (name.clone(), *there, *here);
                best = Some((score, Key { name, there, here }));
            }
        }
        best.map(|(_, key)| key)
    }
}

fn kept(table: &dyn Table, places: &[u64]) -> io::Result<Vec<(u64, Row)>> {
    let mut wanted = places.iter().copied().take(KEPT).peekable();
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let (mut found, mut place) = (Vec::new(), 0);
    while wanted.peek().is_some() && rows.next(&mut row)? {
        if wanted.next_if_eq(&place).is_some() {
            found.push((place, row.clone()));
        }
        place += 1;
    }
    Ok(found)
}

fn unpaired(
    path: &str,
    role: &Role,
    only_there: &[u64],
    only_here: &[u64],
    left: &Left,
    their_hashes: &[u64],
    columns: &[(String, usize, usize)],
) -> Vec<Finding> {
    let harm = |finding: Finding| {
        if role.answers {
            finding.harm(Harm::Answers)
        } else {
            finding
        }
    };
    let mut found = Vec::new();
    let name = |row: &Row, theirs: bool| {
        let cells = columns.iter().take(3).map(|(name, there, here)| {
            format!(
                "{name} {}",
                shown(row.cell(if theirs { *there } else { *here }))
            )
        });
        cells.collect::<Vec<_>>().join(", ")
    };
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for hash in their_hashes {
        *counts.entry(*hash).or_default() += 1;
    }
    let repeats = |place: &u64| {
        let hash = usize::try_from(*place)
            .ok()
            .and_then(|place| their_hashes.get(place));
        hash.is_some_and(|hash| counts.get(hash).is_some_and(|count| *count > 1))
    };
    let (repeated, added): (Vec<u64>, Vec<u64>) = only_there.iter().copied().partition(repeats);
    for (cause, places, rows, theirs) in [
        (&rows::ROWS_MISSING, only_here, &left.ours, false),
        (
            &rows::ROWS_REPEATED,
            repeated.as_slice(),
            &left.theirs,
            true,
        ),
        (&rows::ROWS_ADDED, added.as_slice(), &left.theirs, true),
    ] {
        if places.is_empty() {
            continue;
        }
        let mut finding = Finding::new(cause, path).rows(places.len() as u64);
        for (_, row) in rows
            .iter()
            .filter(|(place, _)| places.binary_search(place).is_ok())
            .take(3)
        {
            finding = finding.example(name(row, theirs));
        }
        found.push(harm(finding));
    }
    found
}

/// Whether the pairs stand in another order.
fn order(path: &str, role: &Role, pairs: &mut [(u64, u64)], rows: usize) -> Option<Finding> {
    let count = moved(pairs);
    if count == 0 {
        return None;
    }
    let mut finding = Finding::new(&rows::ROW_ORDER, path)
        .rows(count)
        .proof(format!(
            "{} of {rows} rows have their pair, wherever it stands",
            pairs.len()
        ));
    if role.by_place && role.answers {
        finding = finding.harm(Harm::Answers);
    }
    for (there, here) in pairs.iter().filter(|(there, here)| there != here).take(2) {
        finding = finding.example(format!("row {} here is row {} there", here + 1, there + 1));
    }
    Some(finding)
}
