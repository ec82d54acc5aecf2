//! Which columns two tables have in common.

use std::collections::HashMap;
use std::io;

use crate::table::{Row, Table};

/// Rows that tell whether two columns are the same.
const LOOK: usize = 10_000;

/// A column of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name here.
    pub name: String,
    pub there: usize,
    pub here: usize,
}

/// A column of theirs that holds rows' numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexColumn {
    pub name: String,
    /// From 0, row by row.
    pub counts: bool,
}

/// How the columns of two tables compare.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Common ones, in our order.
    pub common: Vec<Column>,
    pub index: Option<IndexColumn>,
    /// Their name and ours of columns with equal values.
    pub renamed: Vec<(String, String)>,
    /// Ours that theirs lacks.
    pub missing: Vec<String>,
    /// Theirs that ours lacks.
    pub added: Vec<String>,
    pub reordered: bool,
}

impl Columns {
    /// # Errors
    /// When a table cannot be read.
    pub fn of(theirs: &dyn Table, ours: &dyn Table) -> io::Result<Columns> {
        let (there, here) = (unique(theirs.columns()), unique(ours.columns()));
        let mut common = Vec::new();
        let mut missing = Vec::new();
        let places: HashMap<&String, usize> = there.iter().zip(0..).collect();
        for (place, name) in here.iter().enumerate() {
            match places.get(name) {
                Some(other) => common.push(Column {
                    name: name.clone(),
                    there: *other,
                    here: place,
                }),
                None => missing.push(place),
            }
        }
        let mut is_common = vec![false; there.len()];
        for column in &common {
            if let Some(known) = is_common.get_mut(column.there) {
                *known = true;
            }
        }
        let mut added: Vec<usize> = (0..there.len())
            .filter(|place| is_common.get(*place) == Some(&false))
            .collect();
        let name_of = |place: usize| there.get(place).cloned().unwrap_or_default();
        let mut index = None;
        if let Some(found) = added.iter().position(|place| is_index(&name_of(*place))) {
            let place = added.remove(found);
            index = Some(IndexColumn {
                name: name_of(place),
                counts: counts_rows(theirs, place)?,
            });
        }
        // A column under another name is neither missing nor added.
        let mut renamed = Vec::new();
        let mut gone = Vec::new();
        for place in missing {
            let name = here.get(place).cloned().unwrap_or_default();
            let mut same = None;
            for (number, other) in added.iter().enumerate() {
                if same_column(theirs, *other, ours, place)? {
                    same = Some(number);
                    break;
                }
            }
            let Some(same) = same else {
                gone.push(name);
                continue;
            };
            let other = added.remove(same);
            renamed.push((name_of(other), name.clone()));
            common.push(Column {
                name,
                there: other,
                here: place,
            });
        }
        common.sort_by_key(|column| column.here);
        let reordered = common
            .windows(2)
            .any(|pair| matches!(pair, [one, next] if one.there > next.there));
        Ok(Columns {
            common,
            index,
            renamed,
            missing: gone,
            added: added.into_iter().map(name_of).collect(),
            reordered,
        })
    }
}

fn is_index(name: &str) -> bool {
    name.is_empty()
        || name.starts_with("Unnamed: ")
        || name == "index"
        || name == "__index_level_0__"
}

/// Names that occur twice get a number, as pandas gives them one.
fn unique(names: &[String]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let number = |name| {
        let count = seen.entry(name).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            count => format!("{name}.{}", count - 1),
        }
    };
    names.iter().map(String::as_str).map(number).collect()
}

fn counts_rows(table: &dyn Table, place: usize) -> io::Result<bool> {
    let (mut rows, mut row) = (table.rows()?, Row::default());
    let mut number = 0;
    while rows.next(&mut row)? {
        if row.cell(place) != number.to_string().as_bytes() {
            return Ok(false);
        }
        number += 1;
    }
    Ok(true)
}

/// Whether two columns have the same values, not all of them equal, as far as one looks.
fn same_column(
    theirs: &dyn Table,
    there: usize,
    ours: &dyn Table,
    here: usize,
) -> io::Result<bool> {
    let (mut their_rows, mut our_rows) = (theirs.rows()?, ours.rows()?);
    let (mut one, mut two) = (Row::default(), Row::default());
    let (mut first, mut varied) = (None, false);
    for _ in 0..LOOK {
        match (their_rows.next(&mut one)?, our_rows.next(&mut two)?) {
            (false, false) => break,
            (true, true) if one.cell(there) == two.cell(here) => {}
            _ => return Ok(false),
        }
        let first = first.get_or_insert_with(|| one.cell(there).to_vec());
        varied |= first.as_slice() != one.cell(there);
    }
    Ok(varied)
}
