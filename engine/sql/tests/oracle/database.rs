//! The tables that queries read: random tables, and tables as text.
//!
//! A table as text consists of its name, its columns and its rows. A cell is a literal of SQL, or `NaN`, `-NaN`, `inf`.
//!
//! ```text
//! table t
//! id integer | "x y" text
//! 1 | 'it''s'
//! NULL | ''
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use super::expressions::{EDGES, TEXTS};
use super::print::name as quoted;
use crate::random::table::{Data, Memories, memory};
use crate::random::value::{Kind, Value};

pub struct Database {
    pub tables: Vec<Data>,
}

/// The column of `t` with integers near the limits of 64 bits.
pub const EDGE_COLUMN: &str = "big";

const TABLES: [(&str, &[(&str, Kind)]); 4] = [
    (
        "t",
        &[
            ("id", Kind::Integer),
            ("--c", Kind::Integer),
            ("score", Kind::Number),
            ("name", Kind::Text),
            ("ok", Kind::Boolean),
            (EDGE_COLUMN, Kind::Integer),
        ],
    ),
    (
        "u",
        &[
            ("key", Kind::Integer),
            ("a\"b", Kind::Text),
            ("it's", Kind::Number),
            ("select", Kind::Integer),
            ("flag", Kind::Boolean),
        ],
    ),
    (
        "w",
        &[
            ("id", Kind::Integer),
            ("x y", Kind::Number),
            ("back\\slash", Kind::Text),
            ("score", Kind::Number),
            ("`q`", Kind::Integer),
        ],
    ),
    (
        "e",
        &[
            ("nr", Kind::Integer),
            ("word", Kind::Text),
            ("d", Kind::Number),
        ],
    ),
];

const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.5,
    2.25,
    1e17,
    -1e17,
    1.862645149230957e-9,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -f64::NAN,
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn value(&mut self, column: &str, kind: Kind) -> Value {
        if self.below(7) == 0 {
            return Value::Missing;
        }
        match kind {
            Kind::Integer if column == EDGE_COLUMN => {
                Value::Integer(EDGES[self.below(EDGES.len())])
            }
            Kind::Integer => Value::Integer(self.below(5) as i64),
            Kind::Number => {
                let end = [4, NUMBERS.len()][self.below(2)];
                Value::Number(NUMBERS[self.below(end)])
            }
            Kind::Text => Value::Text(TEXTS[self.below(TEXTS.len())].to_owned()),
            Kind::Boolean => Value::Boolean(self.below(2) == 0),
        }
    }
}

impl Database {
    /// Returns small tables with ties, duplicates and NULLs. The last table is empty.
    pub fn random(seed: u64) -> Database {
        let mut random = Random(seed.wrapping_mul(0xD134_2543_DE82_EF95));
        random.below(2);
        let tables = TABLES.iter().map(|(name, columns)| {
            let count = match *name {
                "e" => 0,
                _ => [0, 1, 3, 4, 5, 6, 7, 8][random.below(8)],
            };
            let mut rows: Vec<Vec<Value>> = Vec::new();
            for _ in 0..count {
                let row = match rows.last() {
                    Some(last) if random.below(6) == 0 => last.clone(),
                    _ => columns
                        .iter()
                        .map(|(name, kind)| random.value(name, *kind))
                        .collect(),
                };
                rows.push(row);
            }
            Data {
                name: (*name).to_owned(),
                columns: columns
                    .iter()
                    .map(|(name, kind)| ((*name).to_owned(), *kind))
                    .collect(),
                rows,
            }
        });
        Database {
            tables: tables.collect(),
        }
    }

    pub fn memories(&self) -> Memories {
        let tables = self.tables.iter();
        tables
            .map(|data| (data.name.clone(), Arc::new(memory(data))))
            .collect()
    }

    /// Returns the start of a pipeline with these tables, to which a test appends the query of an output.
    pub fn pipeline(&self) -> String {
        let mut text = "name: X\ncategory: C\nbundle: { kaggle: x }\ntables:\n".to_owned();
        let mut names = Vec::new();
        for table in &self.tables {
            let columns = table.columns.iter().map(|(name, kind)| {
                let name = name.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{name}\": {}", kind_name(*kind))
            });
            let columns: Vec<String> = columns.collect();
            let _ = writeln!(
                text,
                "  {0}: {{ read: {0}.csv, columns: {{ {1} }} }}",
                table.name,
                columns.join(", ")
            );
            names.push(table.name.as_str());
        }
        let from = names.join(" CROSS JOIN ");
        let _ = write!(
            text,
            "public:\n  all.csv: SELECT 1 AS one FROM {from}\n  a.csv: |\n"
        );
        text
    }
}

pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Text => "text",
        Kind::Boolean => "boolean",
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_nan() && number.is_sign_negative() => "-NaN".to_owned(),
        value => value.literal(),
    }
}

pub fn print(table: &Data) -> String {
    let columns = table.columns.iter();
    let columns = columns.map(|(name, kind)| format!("{} {}", quoted(name), kind_name(*kind)));
    let mut text = format!(
        "table {}\n{}\n",
        quoted(&table.name),
        columns.collect::<Vec<_>>().join(" | ")
    );
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        let _ = writeln!(text, "{}", cells.join(" | "));
    }
    text
}

/// Splits a line at ` | ` outside of quotes.
fn split(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quote = None;
    for part in line.split_inclusive(' ') {
        if part.trim() == "|" && quote.is_none() {
            cells.push(String::new());
            continue;
        }
        for c in part.chars() {
            match quote {
                None if c == '\'' || c == '"' => quote = Some(c),
                Some(open) if c == open => quote = None,
                _ => {}
            }
        }
        cells.last_mut().expect("a cell").push_str(part);
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn unquoted(text: &str, quote: char) -> String {
    let inner = text
        .strip_prefix(quote)
        .and_then(|text| text.strip_suffix(quote));
    let doubled = format!("{quote}{quote}");
    inner.map_or(text.to_owned(), |inner| {
        inner.replace(&doubled, &quote.to_string())
    })
}

/// Parses a table without its first line `table NAME`.
pub fn parse(name: &str, lines: &[&str]) -> Data {
    let columns = split(lines[0]).into_iter().map(|column| {
        let (name, kind) = column.rsplit_once(' ').expect("a name and a type");
        let kinds = [Kind::Integer, Kind::Number, Kind::Text, Kind::Boolean];
        let kind = kinds.into_iter().find(|known| kind_name(*known) == kind);
        (unquoted(name, '"'), kind.expect("a type"))
    });
    let columns: Vec<(String, Kind)> = columns.collect();
    let rows = lines[1..].iter().map(|line| {
        let cells = split(line);
        assert_eq!(cells.len(), columns.len(), "{line}");
        let cells = cells.iter().zip(&columns);
        let cells = cells.map(|(cell, (_, kind))| match (cell.as_str(), kind) {
            ("NULL", _) => Value::Missing,
            (cell, Kind::Integer) => Value::Integer(cell.parse().expect(cell)),
            ("-NaN", Kind::Number) => Value::Number(-f64::NAN),
            (cell, Kind::Number) => Value::Number(cell.parse().expect(cell)),
            (cell, Kind::Text) => Value::Text(unquoted(cell, '\'')),
            (cell, Kind::Boolean) => Value::Boolean(cell.parse().expect(cell)),
        });
        cells.collect()
    });
    Data {
        name: unquoted(name, '"'),
        rows: rows.collect(),
        columns,
    }
}
