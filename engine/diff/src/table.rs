//! Tables as texts: enough to look for what gives answers away.

use std::collections::HashMap;

use serde_json::Value;

/// Columns of cells; a missing one is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    pub names: Vec<String>,
    /// Column by column.
    pub columns: Vec<Vec<String>>,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub fn column(&self, name: &str) -> Option<&[String]> {
        let place = self.names.iter().position(|own| own == name)?;
        self.columns.get(place).map(Vec::as_slice)
    }

    /// Reads CSV: quotes, and the ends of lines of all systems. Rows of another width than the header are left out.
    pub fn of_csv(text: &str, delimiter: char) -> Table {
        let mut table = Table::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, cells) in Records::new(text, delimiter).enumerate() {
            if number == 0 {
                table.columns = vec![Vec::new(); cells.len()];
                table.names = cells;
            } else if cells.len() == table.names.len() {
                for (column, cell) in table.columns.iter_mut().zip(cells) {
                    column.push(cell);
                }
            }
        }
        table
    }

    /// Reads records: a list of objects, an object of lists of objects (the longest one), or an object per line.
    pub fn of_json(text: &str) -> Option<Table> {
        let records: Vec<Value> = match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(items)) => items,
            Ok(Value::Object(members)) => members
                .into_iter()
                .filter_map(|(_, value)| match value {
                    Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
                    _ => None,
                })
                .max_by_key(Vec::len)?,
            Ok(_) => return None,
            Err(_) => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                let records = lines.map(serde_json::from_str);
                records.collect::<Result<Vec<Value>, _>>().ok()?
            }
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut table = Table::default();
        for (row, record) in records.iter().enumerate() {
            let Value::Object(members) = record else {
                return None;
            };
            for (key, value) in members {
                let place = *places.entry(key.clone()).or_insert_with(|| {
                    table.names.push(key.clone());
                    table.columns.push(Vec::new());
                    table.names.len() - 1
                });
                let cell = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                if let Some(column) = table.columns.get_mut(place) {
                    column.resize(row, String::new());
                    column.push(cell);
                }
            }
        }
        for column in &mut table.columns {
            column.resize(records.len(), String::new());
        }
        Some(table)
    }
}

/// The records of a CSV text.
struct Records<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    delimiter: char,
}

impl<'a> Records<'a> {
    fn new(text: &'a str, delimiter: char) -> Records<'a> {
        Records {
            rest: text.chars().peekable(),
            delimiter,
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        self.rest.peek()?;
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        while let Some(c) = self.rest.next() {
            match c {
                '"' if quoted && self.rest.peek() == Some(&'"') => {
                    self.rest.next();
                    cell.push('"');
                }
                '"' if quoted => quoted = false,
                '"' if cell.is_empty() => quoted = true,
                c if quoted => cell.push(c),
                c if c == self.delimiter => cells.push(std::mem::take(&mut cell)),
                '\r' if self.rest.peek() == Some(&'\n') => {}
                '\n' | '\r' => break,
                c => cell.push(c),
            }
        }
        cells.push(cell);
        Some(cells)
    }
}

/// Cells that mean that there is no value.
pub fn is_missing(cell: &str) -> bool {
    matches!(
        cell.trim().to_ascii_lowercase().as_str(),
        "" | "na" | "n/a" | "nan" | "null" | "none" | "unknown"
    )
}

/// The numbers of a column, if nearly all cells are numbers; those that are not are NaN.
pub fn numbers(cells: &[String]) -> Option<Vec<f64>> {
    let parsed: Vec<f64> = cells
        .iter()
        .map(|cell| cell.trim().parse().unwrap_or(f64::NAN))
        .collect();
    let numbers = parsed.iter().filter(|value| value.is_finite()).count();
    (numbers > 0 && numbers * 10 >= cells.len() * 9).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_json_are_read_alike() {
        let csv = Table::of_csv("id,text\r\n1,\"a \"\"b\"\", c\"\r\n2,\r\n", ',');
        assert_eq!(csv.names, ["id", "text"]);
        assert_eq!(csv.columns, [vec!["1", "2"], vec!["a \"b\", c", ""]]);
        let list = r#"[{"id": 1, "text": "a \"b\", c"}, {"id": 2}]"#;
        assert_eq!(Table::of_json(list).unwrap(), csv);
        let inside = format!(r#"{{"info": {{}}, "rows": {list}}}"#);
        assert_eq!(Table::of_json(&inside).unwrap(), csv);
        let lines = "{\"id\": 1, \"text\": \"a \\\"b\\\", c\"}\n{\"id\": 2}\n";
        assert_eq!(Table::of_json(lines).unwrap(), csv);
        assert!(Table::of_json("3").is_none());
    }
}
