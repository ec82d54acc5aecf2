//! The tables that random queries read, for the engine and for the evaluation.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use prep_spec::model::Query;
use prep_sql::{ColumnSource, Grant, Relation, RelationColumn, ScanError, Session, Values};

use super::value::{Kind, Value};

pub const HEAD: &str = "\
name: X
category: C
bundle: { kaggle: x }
tables:
  t: { read: t.csv, columns: { id: integer, name: text, score: number, ok: boolean } }
  u: { read: u.csv, columns: { key: integer, tag: text, extra: text, more: integer } }
  e: { read: e.csv, columns: { nr: integer, word: text } }
public:
  all.csv: SELECT t.id FROM t CROSS JOIN u CROSS JOIN e
  a.csv: |
";

pub struct Data {
    pub name: &'static str,
    pub columns: Vec<(&'static str, Kind)>,
    pub rows: Vec<Vec<Value>>,
}

pub fn data() -> Vec<Data> {
    let text = |text: &str| {
        if text.is_empty() {
            Value::Missing
        } else {
            Value::Text(text.to_owned())
        }
    };
    let t = [
        (3, "c", Some(0.5), Some(true)),
        (1, "a", Some(0.5), None),
        (2, "", Some(2.0), Some(false)),
        (5, "a", None, Some(true)),
        (4, "B", Some(-1.0), Some(false)),
        (2, "ab", Some(7.25), None),
    ];
    let t = t.map(|(id, name, score, ok)| {
        vec![
            Value::Integer(id),
            text(name),
            score.map_or(Value::Missing, Value::Number),
            Value::from(ok),
        ]
    });
    let u = [
        (2, "x", "p", 9),
        (3, "y", "", 8),
        (2, "z", "a", 7),
        (9, "a", "q", 7),
    ];
    let u = u.map(|(key, tag, extra, more)| {
        vec![
            Value::Integer(key),
            text(tag),
            text(extra),
            Value::Integer(more),
        ]
    });
    let table = |name, columns: &[(&'static str, Kind)], rows: Vec<Vec<Value>>| Data {
        name,
        columns: columns.to_vec(),
        rows,
    };
    use Kind::{Boolean, Integer, Number, Text};
    vec![
        table(
            "t",
            &[
                ("id", Integer),
                ("name", Text),
                ("score", Number),
                ("ok", Boolean),
            ],
            t.to_vec(),
        ),
        table(
            "u",
            &[
                ("key", Integer),
                ("tag", Text),
                ("extra", Text),
                ("more", Integer),
            ],
            u.to_vec(),
        ),
        table("e", &[("nr", Integer), ("word", Text)], Vec::new()),
    ]
}

#[derive(Debug)]
struct Memory {
    columns: Vec<RelationColumn>,
    arrays: Vec<ArrayRef>,
    rows: usize,
}

impl Memory {
    fn new(data: &Data) -> Memory {
        let mut columns = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (index, (name, kind)) in data.columns.iter().enumerate() {
            let cells = data.rows.iter().map(|row| &row[index]);
            let array: ArrayRef = match kind {
                Kind::Integer => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
                    Value::Integer(value) => Some(*value),
                    _ => None,
                }))),
                Kind::Number => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
                    Value::Number(value) => Some(*value),
                    _ => None,
                }))),
                Kind::Text => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
                    Value::Text(value) => Some(value.clone()),
                    _ => None,
                }))),
                Kind::Boolean => Arc::new(BooleanArray::from_iter(cells.map(Value::truth))),
            };
            columns.push(RelationColumn {
                name: (*name).to_owned(),
                data_type: array.data_type().clone(),
                hidden: false,
            });
            arrays.push(array);
        }
        Memory {
            columns,
            arrays,
            rows: data.rows.len(),
        }
    }
}

impl Relation for Memory {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    /// Batches of two rows, so that nothing relies on there being one.
    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        _batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        let mut first = 0;
        Box::new(std::iter::from_fn(move || {
            let rows = (self.rows - first).min(2);
            if rows == 0 {
                return None;
            }
            let slices = columns.iter();
            let slices = slices.map(|column| self.arrays[*column].slice(first, rows));
            let columns = slices.collect();
            first += rows;
            Some(Ok(Values { rows, columns }))
        }))
    }

    /// Origins are not positions: row n is stored at 100 - n.
    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).map(|row| 100 - row).collect()
    }
}

/// The rows that the engine gives, with or without passed-on columns as origins.
pub async fn rows(
    session: &Session,
    query: &Query,
    with_origins: bool,
) -> Result<Vec<String>, String> {
    let memories: BTreeMap<String, Arc<Memory>> = data()
        .iter()
        .filter(|data| query.tables.contains(data.name))
        .map(|data| (data.name.to_owned(), Arc::new(Memory::new(data))))
        .collect();
    let tables = memories.iter();
    let tables = tables.map(|(name, table)| (name.clone(), table.clone() as Arc<dyn Relation>));
    let tables = tables.collect();
    let grant = Grant::of(64 << 20);
    let result = if with_origins {
        session.rows(query, tables, &grant).await
    } else {
        session.values(query, tables, &grant).await
    };
    let mut result = result.map_err(|error| error.to_string())?;
    let columns = result.columns().to_vec();
    let names = columns.iter().map(|column| column.name.as_str());
    let mut lines = vec![names.collect::<Vec<_>>().join(" | ")];
    while let Some(batch) = result.next().await.map_err(|error| error.to_string())? {
        for row in 0..batch.num_rows() {
            let cells = columns.iter().zip(batch.columns());
            let cells = cells.map(|(column, array)| match &column.source {
                ColumnSource::Cells { table, column } => {
                    let origins = array.as_primitive::<UInt64Type>();
                    if origins.is_null(row) {
                        return String::new();
                    }
                    let place = 100 - usize::try_from(origins.value(row)).unwrap();
                    cell(&memories[table].arrays[*column], place)
                }
                ColumnSource::Values(_) => cell(array, row),
            });
            lines.push(cells.collect::<Vec<_>>().join(" | "));
        }
    }
    Ok(lines)
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.data_type() == &DataType::Null {
        return String::new();
    }
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).unwrap();
    formatter.value(row).to_string()
}
