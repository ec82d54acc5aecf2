//! Lines of JSON as a table: the keys of all objects are the columns.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::row::{Row, Rows, Table};

pub struct JsonLines {
    path: PathBuf,
    columns: Vec<String>,
    /// No blanks behind colons.
    pub compact: bool,
    /// A hash of the order of all objects' keys.
    pub key_order: u64,
}

/// Name of the column of lines that are no objects.
const VALUE: &str = "value";

impl JsonLines {
    /// # Errors
    /// When the file cannot be read, or a line is no JSON.
    pub fn open(path: &Path) -> io::Result<JsonLines> {
        let mut columns: Vec<String> = Vec::new();
        let (mut compact, mut key_order) = (true, DefaultHasher::new());
        for line in BufReader::new(File::open(path)?).lines() {
            let line = line?;
            compact &= !line.contains("\": ");
            match parse(&line)? {
                Value::Object(object) => {
                    for key in object.keys() {
                        key.hash(&mut key_order);
                        if !columns.contains(key) {
                            columns.push(key.clone());
                        }
                    }
                }
                Value::Null if line.trim().is_empty() => {}
                _ if !columns.iter().any(|column| column == VALUE) => {
                    columns.push(VALUE.to_owned())
                }
                _ => {}
            }
        }
        Ok(JsonLines {
            path: path.to_owned(),
            columns,
            compact,
            key_order: key_order.finish(),
        })
    }
}

fn parse(line: &str) -> io::Result<Value> {
    match line.trim() {
        "" => Ok(Value::Null),
        text => serde_json::from_str(text).map_err(io::Error::other),
    }
}

impl Table for JsonLines {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> io::Result<Box<dyn Rows + '_>> {
        Ok(Box::new(JsonRows {
            lines: BufReader::new(File::open(&self.path)?),
            columns: &self.columns,
            line: String::new(),
        }))
    }
}

struct JsonRows<'a> {
    lines: BufReader<File>,
    columns: &'a [String],
    line: String,
}

impl Rows for JsonRows<'_> {
    fn next(&mut self, row: &mut Row) -> io::Result<bool> {
        row.clear();
        loop {
            self.line.clear();
            if self.lines.read_line(&mut self.line)? == 0 {
                return Ok(false);
            }
            if !self.line.trim().is_empty() {
                break;
            }
        }
        let value = parse(&self.line)?;
        for column in self.columns {
            let cell = match &value {
                Value::Object(object) => object.get(column),
                other => (column == VALUE).then_some(other),
            };
            match cell {
                None => {}
                Some(Value::String(text)) => row.open().extend_from_slice(text.as_bytes()),
                Some(cell) => row.open().extend_from_slice(cell.to_string().as_bytes()),
            }
            row.end_cell();
        }
        Ok(true)
    }
}
