//! Lists inside JSON documents. Lists of objects are treated as tables. Lists with one value per test item may be
//! answers.

use serde_json::Value;

use crate::cells::Cells;
use crate::facts::documents::plain;
use crate::facts::files::{Parts, first, parts};
use crate::table::Table;

/// Minimum number of objects in a list that is treated as a table.
const MIN_ROWS: usize = 20;

/// Maximum number of columns of such a table. The keys of larger objects are probably ids.
const MAX_COLUMNS: usize = 100;

/// Maximum depth at which lists in objects are searched.
const MAX_DEPTH: usize = 4;

/// The lists of a document.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lists {
    /// Lists of objects: the keys on the path to the list, and its table.
    pub tables: Vec<(String, Table)>,
    /// Lists of single values: the keys on the path to the list, and its values.
    pub vectors: Vec<(String, Cells)>,
}

/// Returns the lists of a document. Lists of single values are returned only if their length is `items`.
pub(super) fn of_document(text: &str, items: usize) -> Lists {
    let mut lists = Lists::default();
    if let Some((document, _)) = first(text) {
        walk(document, "", items, 0, &mut lists);
    }
    lists
}

fn walk(text: &str, path: &str, items: usize, depth: usize, lists: &mut Lists) {
    if depth > MAX_DEPTH {
        return;
    }
    match parts(text) {
        Parts::Object(members) if members.len() <= MAX_COLUMNS => {
            for (key, value) in members {
                let key = key.trim_matches('"');
                let path = match path {
                    "" => key.to_owned(),
                    path => format!("{path}.{key}"),
                };
                walk(value, &path, items, depth + 1, lists);
            }
        }
        Parts::List(values) if values.len() >= MIN_ROWS => {
            let is_object = |value: &&str| value.trim_start().starts_with('{');
            if values.iter().all(is_object) {
                let table = table(&values);
                lists
                    .tables
                    .extend(table.map(|table| (path.to_owned(), table)));
            } else if values.len() == items {
                let cells: Option<Cells> = values.iter().map(|value| cell(value)).collect();
                lists
                    .vectors
                    .extend(cells.map(|cells| (path.to_owned(), cells)));
            }
        }
        _ => {}
    }
}

/// Returns a text, a number or a boolean as a cell. `None` for lists and objects.
fn cell(text: &str) -> Option<String> {
    match serde_json::from_str(text).ok()? {
        Value::Null => Some(String::new()),
        value => plain(&value),
    }
}

fn table(objects: &[&str]) -> Option<Table> {
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<Cells> = Vec::new();
    for (row, object) in objects.iter().enumerate() {
        let Ok(Value::Object(members)) = serde_json::from_str(object) else {
            return None;
        };
        for (name, value) in members {
            let Some(value) = plain(&value) else { continue };
            let place = names.iter().position(|own| *own == name);
            let place = place.unwrap_or_else(|| {
                names.push(name);
                columns.push(Cells::default());
                names.len() - 1
            });
            if names.len() > MAX_COLUMNS {
                return None;
            }
            if let Some(column) = columns.get_mut(place) {
                column.fill_up_to(row);
                column.push(&value);
            }
        }
    }
    for column in &mut columns {
        column.fill_up_to(objects.len());
    }
    (names.len() > 1).then(|| Table::new(names, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_objects_are_tables() {
        let objects: Vec<String> = (0..20)
            .map(|n| match n {
                3 => r#"{"id": 3}"#.to_owned(),
                n => format!(r#"{{"id": {n}, "box": [1, 2], "kind": "k{n}"}}"#),
            })
            .collect();
        let numbers: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        let text = format!(
            r#"{{"info": {{"y": [{}]}}, "items": [{}], "few": [1, 2]}}"#,
            numbers.join(","),
            objects.join(", ")
        );
        let lists = of_document(&text, 25);
        let [(path, table)] = lists.tables.as_slice() else {
            panic!("{lists:?}")
        };
        assert_eq!((path.as_str(), table.rows()), ("items", 20));
        assert_eq!(table.names, ["id", "kind"]);
        let cells = (2..5).map(|row| table.columns[1].get(row));
        assert!(cells.eq(["k2", "", "k4"].map(Some)));
        assert_eq!(
            lists.vectors,
            [("info.y".to_owned(), Cells::from_iter(numbers))]
        );
    }
}
