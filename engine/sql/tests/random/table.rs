//! The tables of random queries, in a form for DataFusion and a form for the independent evaluation.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Float64Type, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use prep_spec::model::Query;
use prep_sql::{ColumnSource, QueryError, QueryLimits, Relation, RowForm, Session};

use super::value::{Kind, Value};
use crate::support::Memory;

/// The start of a pipeline with the tables, to which a test appends the query of an output.
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

/// The content of a table.
#[derive(Clone)]
pub struct Data {
    pub name: String,
    pub columns: Vec<(String, Kind)>,
    pub rows: Vec<Vec<Value>>,
}

/// Number of rows of the large table. A single text column exceeds the smallest memory limit.
const ROWS: usize = 20_000;

/// Returns the tables `t`, `u` and `e`. The numbers in `t` have different magnitudes, so that the order of a
/// floating-point sum matters.
pub fn data(is_large: bool) -> Vec<Data> {
    let text = |text: &str| {
        if text.is_empty() {
            Value::Missing
        } else {
            Value::Text(text.to_owned())
        }
    };
    let t = [
        (3, "c", Some(0.5), Some(true)),
        (1, "a", Some(1e17), None),
        (2, "", Some(2.0), Some(false)),
        (5, "a", None, Some(true)),
        (4, "B", Some(-1e17), Some(false)),
        (2, "ab", Some(2_f64.powi(-29)), None),
    ];
    let t = t.map(|(id, name, score, ok)| {
        vec![
            Value::Integer(id),
            text(name),
            score.map_or(Value::Missing, Value::Number),
            Value::from(ok),
        ]
    });
    let mut t = t.to_vec();
    if is_large {
        t.extend(large());
    }
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
    let table = |name: &str, columns: &[(&str, Kind)], rows: Vec<Vec<Value>>| Data {
        name: name.to_owned(),
        columns: columns
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), *kind))
            .collect(),
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
            t,
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

fn large() -> impl Iterator<Item = Vec<Value>> {
    let mut state = 1_u64;
    let mut below = move |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    (0..ROWS).map(move |_| {
        let id = Value::Integer(below(6000) as i64);
        let name = match below(5000) {
            n if n % 9 == 0 => Value::Missing,
            n => Value::Text(format!("{n:04} {}", "of many words ".repeat(20))),
        };
        let magnitude = [1.0, 1e15, 2_f64.powi(-30), 3.0][below(4) as usize];
        let score = match below(10) {
            0 => Value::Missing,
            n => Value::Number((below(2000) as f64 - 1000.0) * magnitude * n as f64),
        };
        let ok = Value::from([Some(true), Some(false), None][below(3) as usize]);
        vec![id, name, score, ok]
    })
}

/// The origin of row 0. It is the largest origin, because origins decrease from row to row.
const LAST_ORIGIN: u64 = 1 << 20;

/// Returns the table as the engine reads it.
pub fn memory(data: &Data) -> Memory {
    let columns = data.columns.iter().enumerate();
    let columns = columns.map(|(index, (name, kind))| {
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
        (name.clone(), false, array)
    });
    Memory::new(columns.collect()).with_origins_down_from(LAST_ORIGIN)
}

/// The tables in memory, by name.
pub type Memories = BTreeMap<String, Arc<Memory>>;

pub fn memories(is_large: bool) -> Memories {
    let data = data(is_large);
    let tables = data
        .iter()
        .map(|data| (data.name.clone(), Arc::new(memory(data))));
    tables.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedRows {
    Values,
    /// Values, and origins of columns that the query only copies.
    Origins,
    /// Values, in any order.
    AnyOrder,
}

/// Returns the rows of the engine as lines below the column names. Rows in any order are sorted.
pub async fn rows(
    session: &Session,
    query: &Query,
    memories: &Memories,
    requested: RequestedRows,
    memory: u64,
) -> Result<Vec<String>, QueryError> {
    let (names, rows) = cells(session, query, memories, requested, memory).await?;
    let mut lines: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
    if requested == RequestedRows::AnyOrder {
        lines.sort();
    }
    lines.insert(0, names.join(" | "));
    Ok(lines)
}

/// Returns the column names and the cells of the engine's rows.
pub async fn cells(
    session: &Session,
    query: &Query,
    memories: &Memories,
    requested: RequestedRows,
    memory: u64,
) -> Result<(Vec<String>, Vec<Vec<String>>), QueryError> {
    let names = query.tables.iter();
    let tables = names.map(|name| {
        let table = memories[name.as_str()].clone();
        (name.clone(), table as Arc<dyn Relation>)
    });
    let (tables, limits) = (tables.collect(), QueryLimits::with_memory(memory));
    let form = match requested {
        RequestedRows::Values => RowForm::Values,
        RequestedRows::Origins => RowForm::Cells,
        RequestedRows::AnyOrder => RowForm::Unordered,
    };
    let mut result = session.start(query, tables, form, &limits)?;
    let columns = result.columns().to_vec();
    let names = columns.iter().map(|column| column.name.clone());
    let mut lines = Vec::new();
    while let Some(batch) = result.next().await? {
        let origins = columns.iter().zip(batch.columns());
        let origins =
            origins.filter(|(column, _)| matches!(column.source, ColumnSource::Cells { .. }));
        let origins: Vec<&ArrayRef> = origins.map(|(_, array)| array).collect();
        if result.has_single_origin() {
            let is_one = |array: &&ArrayRef| array.null_count() == 0 && *array == origins[0];
            assert!(origins.iter().all(is_one), "{}", query.tree());
        }
        for row in 0..batch.num_rows() {
            let cells = columns.iter().zip(batch.columns());
            let cells = cells.map(|(column, array)| match &column.source {
                ColumnSource::Cells { table, column } => {
                    let origins = array.as_primitive::<UInt64Type>();
                    if origins.is_null(row) {
                        return Value::Missing.literal();
                    }
                    let place = usize::try_from(LAST_ORIGIN - origins.value(row)).unwrap();
                    cell(&memories[table.as_str()].arrays[*column], place)
                }
                ColumnSource::Values(_) => cell(array, row),
            });
            lines.push(cells.collect());
        }
    }
    Ok((names.collect(), lines))
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Value::Missing.literal();
    }
    if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
        return Value::Number(numbers.value(row)).literal();
    }
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).unwrap();
    let text = formatter.value(row).to_string();
    match array.data_type().is_string() {
        true => Value::Text(text).literal(),
        false => text,
    }
}
