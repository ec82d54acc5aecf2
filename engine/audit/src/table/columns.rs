//! Which columns two tables have in common.

use std::collections::HashMap;
use std::io;

use super::row::{Row, Table};
use crate::causes::{rows, text};
use crate::finding::Finding;

/// Rows that tell whether a column counts rows, or whether two columns are the same.
const LOOK: usize = 10_000;

/// Common columns: name, place there, place here; in our order.
pub(super) struct Common {
    pub columns: Vec<(String, usize, usize)>,
    pub findings: Vec<Finding>,
}

pub(super) fn common(path: &str, theirs: &dyn Table, ours: &dyn Table) -> io::Result<Common> {
    let mut findings = Vec::new();
    let (there, here) = (unique(theirs.columns()), unique(ours.columns()));
    let mut columns = Vec::new();
    let mut missing = Vec::new();
    for (place, name) in here.iter().enumerate() {
        match there.iter().position(|other| other == name) {
            Some(other) => columns.push((name.clone(), other, place)),
            None => missing.push(place),
        }
    }
    let mut added: Vec<usize> = (0..there.len())
        .filter(|place| columns.iter().all(|(_, own, _)| own != place))
        .collect();
    if let Some(index) = added.iter().position(|place| {
        let name = there.get(*place).map_or("", String::as_str);
        name.is_empty()
            || name.starts_with("Unnamed: ")
            || name == "index"
            || name == "__index_level_0__"
    }) {
        let place = added.remove(index);
        let name = there.get(place).cloned().unwrap_or_default();
        let counts = counts_rows(theirs, place)?;
        let finding = Finding::new(&text::INDEX_COLUMN, path);
        let words = if counts {
            "it counts the rows from 0"
        } else {
            "it holds the rows' numbers in another table"
        };
        findings.push(finding.proof(words).example(format!("the column {name:?}")));
    }
    // A column under another name is neither missing nor added.
    let mut renamed = Finding::new(&rows::COLUMNS_RENAMED, path);
    let mut renames = 0;
    missing.retain(|place| {
        let same = added
            .iter()
            .position(|other| same_column(theirs, *other, ours, *place).unwrap_or(false));
        let Some(same) = same else { return true };
        let other = added.remove(same);
        let (Some(there), Some(here)) = (there.get(other), here.get(*place)) else {
            return true;
        };
        renames += 1;
        renamed = renamed
            .clone()
            .example(format!("`{there}` there, `{here}` here"));
        columns.push((here.clone(), other, *place));
        false
    });
    if renames > 0 {
        findings.push(
            renamed
                .cells(renames)
                .proof("the columns' values are equal"),
        );
    }
    columns.sort_by_key(|(_, _, place)| *place);
    for (cause, places, names) in [
        (&rows::COLUMNS_MISSING, &missing, &here),
        (&rows::COLUMNS_ADDED, &added, &there),
    ] {
        let names: Vec<&str> = places
            .iter()
            .filter_map(|place| names.get(*place))
            .map(String::as_str)
            .collect();
        if !names.is_empty() {
            let mut finding = Finding::new(cause, path).cells(names.len() as u64);
            for name in names {
                finding = finding.example(format!("`{name}`"));
            }
            findings.push(finding);
        }
    }
    if columns
        .windows(2)
        .any(|pair| matches!(pair, [(_, one, _), (_, two, _)] if one > two))
    {
        let order = theirs.columns().join(", ");
        let finding = Finding::new(&rows::COLUMN_ORDER, path).example(format!("there: {order}"));
        findings.push(finding.example(format!("here: {}", ours.columns().join(", "))));
    }
    Ok(Common { columns, findings })
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
    let values = |table: &dyn Table, place: usize| -> io::Result<Vec<Vec<u8>>> {
        let (mut rows, mut row) = (table.rows()?, Row::default());
        let mut values = Vec::new();
        while values.len() < LOOK && rows.next(&mut row)? {
            values.push(row.cell(place).to_vec());
        }
        Ok(values)
    };
    let (a, b) = (values(theirs, there)?, values(ours, here)?);
    let varied = a.iter().any(|value| Some(value) != a.first());
    Ok(varied && a == b)
}
