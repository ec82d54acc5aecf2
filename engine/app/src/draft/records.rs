//! Tables in JSON, JSON lines and Parquet, as far as a draft needs them.
//!
//! Records are converted to CSV, so that everything after this module knows only one kind of table. The types are those
//! of the values in the file, not those that the CSV would have.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};

use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use prep_formats::limits::DecodingLimits;
use prep_formats::parquet::ParquetTable;
use prep_formats::read_at::ReadAt;
use serde_json::{Map, Value};

use super::bundle::{CsvFile, TableDeclaration, csv_table};

/// Maximum records that are read.
const MAX_RECORDS: usize = 50_000;
/// Maximum bytes of a JSON or Parquet file that is read.
const MAX_BYTES: u64 = 256 << 20;

/// Returns whether a file may hold a table of records.
pub fn is_records(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let ends = [".jsonl", ".ndjson", ".json", ".parquet"];
    ends.iter().any(|end| path.ends_with(end))
}

/// Reads a table of records. `whole` is whether the input has the entire file.
pub fn records(
    path: &str,
    input: &mut dyn Read,
    whole: bool,
    limits: &DecodingLimits,
) -> Option<CsvFile> {
    let lower = path.to_ascii_lowercase();
    if lower.ends_with(".parquet") {
        return parquet(path, input, whole, limits);
    }
    if !lower.ends_with(".json") {
        let (records, is_whole) = lines(input)?;
        return of_records(path, None, records, whole && is_whole);
    }
    let bytes = read_whole(input, whole)?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Array(items)) => of_records(path, None, objects(items)?, true),
        Ok(Value::Object(members)) => members.into_iter().find_map(|(name, value)| {
            // A dot separates the parts of `at`.
            let Value::Array(items) = value else {
                return None;
            };
            let is_plain = !name.is_empty() && !name.contains('.');
            let records = objects(items).filter(|records| is_plain && records.len() > 1)?;
            of_records(path, Some(name), records, true)
        }),
        // A file with one value per line may have this name, too.
        _ => {
            let (records, is_whole) = lines(&mut bytes.as_slice())?;
            let mut table = of_records(path, None, records, is_whole)?;
            if let Some(declared) = &mut table.declared {
                declared.is_lines = true;
            }
            Some(table)
        }
    }
}

/// Reads a file. Returns `None` if it is too long, or if `whole` is false because the input has only its beginning.
fn read_whole(input: &mut dyn Read, whole: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (whole && read as u64 <= MAX_BYTES).then_some(bytes)
}

/// Reads one object per line, and whether these are all lines.
fn lines(input: &mut dyn Read) -> Option<(Vec<Map<String, Value>>, bool)> {
    let mut records = Vec::new();
    for line in BufReader::new(input).lines() {
        let line = line.ok()?;
        if line.trim().is_empty() {
            continue;
        }
        if records.len() == MAX_RECORDS {
            return Some((records, false));
        }
        match serde_json::from_str(&line) {
            Ok(Value::Object(record)) => records.push(record),
            // The last line of a beginning may be cut.
            _ if records.len() > 1 => return Some((records, false)),
            _ => return None,
        }
    }
    (records.len() > 1).then_some((records, true))
}

fn objects(items: Vec<Value>) -> Option<Vec<Map<String, Value>>> {
    let object = |item| match item {
        Value::Object(record) => Some(record),
        _ => None,
    };
    items.into_iter().take(MAX_RECORDS).map(object).collect()
}

/// The type of the values of a member.
fn kind(values: &[Option<&Value>]) -> &'static str {
    let all = |is: fn(&Value) -> bool| {
        values
            .iter()
            .flatten()
            .all(|value| value.is_null() || is(value))
    };
    let complete = values
        .iter()
        .all(|value| value.is_some_and(|value| !value.is_null()));
    match () {
        () if values.iter().flatten().all(|value| value.is_null()) => "json",
        () if all(Value::is_string) => "text",
        () if all(Value::is_boolean) && complete => "boolean",
        () if all(|value| value.is_i64()) && complete => "integer",
        () if all(Value::is_number) => "number",
        () => "json",
    }
}

fn of_records(
    path: &str,
    at: Option<String>,
    records: Vec<Map<String, Value>>,
    whole: bool,
) -> Option<CsvFile> {
    let mut names: Vec<&String> = Vec::new();
    for record in &records {
        for name in record.keys() {
            if !names.contains(&name) && names.len() < 500 {
                names.push(name);
            }
        }
    }
    let mut kinds = BTreeMap::new();
    for name in &names {
        let values: Vec<Option<&Value>> = records.iter().map(|record| record.get(*name)).collect();
        kinds.insert((*name).clone(), kind(&values));
    }
    let mut csv = String::new();
    add_line(&mut csv, names.iter().map(|name| quoted(name)));
    for record in &records {
        let cells = names.iter().map(|name| match record.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => quoted(text),
            Some(Value::Bool(true)) => "True".to_owned(),
            Some(Value::Bool(false)) => "False".to_owned(),
            Some(other) => quoted(&other.to_string()),
        });
        add_line(&mut csv, cells);
    }
    let declared = TableDeclaration {
        kinds,
        at,
        ..TableDeclaration::default()
    };
    of_csv(path, &csv, whole, declared)
}

/// Reads records that were converted to CSV.
fn of_csv(path: &str, csv: &str, whole: bool, declared: TableDeclaration) -> Option<CsvFile> {
    let texts = declared.kinds.iter();
    let texts = texts.filter(|(_, kind)| matches!(**kind, "text" | "json"));
    let texts: Vec<String> = texts.map(|(name, _)| name.clone()).collect();
    let mut table = csv_table(path, &mut csv.as_bytes(), whole, b',', &texts).ok()?;
    table.declared = Some(declared);
    Some(table)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn add_line(csv: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(csv, "{}", cells.join(","));
}

/// Reads the names and types of the columns, and the first rows.
fn parquet(
    path: &str,
    input: &mut dyn Read,
    whole: bool,
    limits: &DecodingLimits,
) -> Option<CsvFile> {
    let bytes = read_whole(input, whole)?;
    let end = bytes.len() as u64;
    let parquet = ParquetTable::open(bytes, 0..end, limits).ok()?;
    let mut declared = TableDeclaration::default();
    let fields = parquet.schema().fields().iter();
    for field in fields.clone() {
        let data_type = field.data_type();
        let kind = match format!("{data_type:?}").as_str() {
            _ if data_type.is_nested() => "json",
            "Boolean" if !field.is_nullable() => "boolean",
            "Utf8" | "LargeUtf8" | "Utf8View" => "text",
            name if name.starts_with("Float") => "number",
            _ => "inferred",
        };
        let is_plain = data_type.is_integer() || data_type.is_floating() || data_type.is_string();
        if !is_plain && *data_type != DataType::Boolean {
            declared.as_text.push(field.name().clone());
        }
        declared.kinds.insert(field.name().clone(), kind);
    }
    let mut csv = String::new();
    add_line(&mut csv, fields.map(|field| quoted(field.name())));
    parquet_rows(&parquet, &mut csv);
    let mut table = of_csv(path, &csv, whole, declared)?;
    table.rows = parquet.rows();
    let kinds = table.declared.iter_mut();
    let kinds = kinds.flat_map(|declared| declared.kinds.values_mut());
    for kind in kinds.filter(|kind| **kind == "json") {
        *kind = "inferred";
    }
    Some(table)
}

/// Appends the first rows of a Parquet file to a CSV. Stops at a damaged page.
fn parquet_rows<R: ReadAt + Send + Sync + 'static>(parquet: &ParquetTable<R>, csv: &mut String) {
    let options = FormatOptions::default();
    let mut rows = 0;
    for batch in parquet.batches(None, None, 1024).into_iter().flatten() {
        let Ok(batch) = batch else { return };
        let columns = batch.columns().iter();
        let formatters = columns.map(|column| ArrayFormatter::try_new(column, &options));
        let Ok(formatters) = formatters.collect::<Result<Vec<_>, _>>() else {
            return;
        };
        for row in 0..batch.num_rows() {
            let cells = formatters.iter().zip(batch.columns());
            let cells = cells.map(|(format, column)| match column.is_null(row) {
                true => String::new(),
                false => quoted(&format.value(row).to_string()),
            });
            add_line(csv, cells);
        }
        rows += batch.num_rows();
        if rows >= MAX_RECORDS || csv.len() as u64 > MAX_BYTES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(path: &str, text: &str) -> Option<CsvFile> {
        let limits = DecodingLimits::from_budgets(1 << 24, 1 << 24);
        records(path, &mut text.as_bytes(), true, &limits)
    }

    #[test]
    fn json_lines_become_a_table() {
        let text = "{\"id\": \"007\", \"n\": 1, \"x\": 0.5, \"ok\": true, \"tags\": [1]}\n{\"id\": \"008\", \"n\": 2}\n";
        let table = table("a/train.jsonl", text).unwrap();
        let declared = table.declared.unwrap();
        let kind = |name: &str| declared.kinds[name];
        assert_eq!(table.rows, 2);
        assert_eq!(
            ["id", "n", "x", "ok", "tags"].map(kind),
            ["text", "integer", "number", "json", "json"]
        );
    }

    #[test]
    fn the_rows_of_an_object_are_its_first_list_of_objects() {
        let table = table(
            "m.json",
            "{\"info\": {}, \"images\": [{\"id\": 1}, {\"id\": 2}]}",
        )
        .unwrap();
        assert_eq!(table.declared.unwrap().at.as_deref(), Some("images"));
        assert!(self::table("m.json", "{\"a\": 1}").is_none());
        assert!(self::table("m.json", "[1, 2]").is_none());
    }

    #[test]
    fn lines_under_the_name_of_one_value_are_found() {
        let table = table("train.json", "{\"id\": 1}\n{\"id\": 2}\n").unwrap();
        assert!(table.declared.unwrap().is_lines);
    }
}
