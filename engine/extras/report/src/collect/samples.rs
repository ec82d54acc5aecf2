//! Reads the first rows of the tables and JSON files of `public`, as text.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use prep_formats::json::{
    JsonElements, JsonLines, JsonObject, JsonString, JsonValue, WriteOptions,
};
use prep_formats::pandas::ColumnData;
use prep_steps::Manifest;

use super::csv::PublicTable;

/// Maximum number of JSON files per competition.
const MAX_FILES: usize = 4;
const MAX_ROWS: usize = 4;
const MAX_COLUMNS: usize = 10;
/// Maximum length of a cell, in characters.
const MAX_CHARACTERS: usize = 60;
/// Maximum number of bytes that are read of a file with JSON lines.
const MAX_LINES_BYTES: u64 = 4 << 20;
/// Maximum length of a JSON file that is read.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// The first rows of a file.
pub struct FileSample {
    /// Path relative to `prepared`, for example `public/train.csv`.
    pub path: String,
    /// Number of rows of the entire file, if it is known.
    pub rows: Option<u64>,
    pub header: Vec<String>,
    /// Whether each column has numbers.
    pub is_number: Vec<bool>,
    /// The first rows. A missing cell is `None`.
    pub first: Vec<Vec<Option<String>>>,
    /// Number of columns that are not shown.
    pub more_columns: usize,
    /// Number of rows that the charts use. `None` if they use all rows.
    pub read_rows: Option<u64>,
}

/// Returns the first rows of the tables, and then of the JSON files among the outputs. Skips files that cannot be read
/// as rows.
pub fn samples(prepared: &Path, manifest: &Manifest, tables: &[PublicTable]) -> Vec<FileSample> {
    let mut samples: Vec<FileSample> = tables.iter().map(table_sample).collect();
    let outputs = manifest.outputs.iter();
    let outputs = outputs.filter(|output| output.files == 1 && output.path.starts_with("public/"));
    let json = outputs.filter_map(|output| {
        let path = prepared.join(&output.path);
        let (objects, rows) = match output.path.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" => (lines(&path)?, None),
            "json" => array(&path)?,
            _ => return None,
        };
        object_sample(&output.path, output.rows.or(rows), &objects)
    });
    samples.extend(json.take(MAX_FILES));
    samples
}

fn table_sample(table: &PublicTable) -> FileSample {
    let columns = || table.frame.columns.iter().take(MAX_COLUMNS);
    let row = |row: usize| {
        let cells = columns().map(|column| column.text(row).map(|text| shortened(&text)));
        cells.collect()
    };
    let is_text = |data: &ColumnData| matches!(data, ColumnData::Object(_) | ColumnData::Bool(_));
    FileSample {
        path: table.path.clone(),
        rows: table.rows,
        header: columns().map(|column| column.name.clone()).collect(),
        is_number: columns().map(|column| !is_text(&column.data)).collect(),
        first: (0..table.frame.rows.min(MAX_ROWS)).map(row).collect(),
        more_columns: table.frame.columns.len().saturating_sub(MAX_COLUMNS),
        read_rows: (!table.is_complete).then_some(table.frame.rows as u64),
    }
}

/// Reads the first objects of a file with one JSON object per line. An invalid line, for example one that the limit
/// truncates, ends the sample.
fn lines(path: &Path) -> Option<Vec<JsonObject>> {
    let input = BufReader::new(File::open(path).ok()?.take(MAX_LINES_BYTES));
    let objects = JsonLines::new(input).map_while(|value| object(value.ok()?));
    Some(objects.take(MAX_ROWS).collect())
}

/// Reads the first objects of a file that contains an array of objects, and the number of all its values.
fn array(path: &Path) -> Option<(Vec<JsonObject>, Option<u64>)> {
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_JSON_BYTES {
        return None;
    }
    let (mut objects, mut count) = (Vec::new(), 0);
    for value in JsonElements::list(BufReader::new(file)).values() {
        let value = value.ok()?;
        if objects.len() < MAX_ROWS {
            objects.push(object(value)?);
        }
        count += 1;
    }
    Some((objects, Some(count)))
}

fn object(value: JsonValue) -> Option<JsonObject> {
    match value {
        JsonValue::Object(object) => Some(object),
        _ => None,
    }
}

/// Returns the objects as rows. Their members are the columns, in order of first appearance.
fn object_sample(path: &str, rows: Option<u64>, objects: &[JsonObject]) -> Option<FileSample> {
    let mut header: Vec<&JsonString> = Vec::new();
    for name in objects.iter().flat_map(JsonObject::keys) {
        if !header.contains(&name) {
            header.push(name);
        }
    }
    let more_columns = header.len().saturating_sub(MAX_COLUMNS);
    header.truncate(MAX_COLUMNS);
    let compact = WriteOptions {
        separators: Some((",".to_owned(), ":".to_owned())),
        ensure_ascii: false,
        ..WriteOptions::default()
    };
    let cell = |value: &JsonValue| match value {
        JsonValue::Null => None,
        JsonValue::String(text) => Some(shortened(&text.to_string_lossy())),
        other => {
            let json = other.to_json(&compact).ok()?;
            Some(shortened(&String::from_utf8_lossy(&json)))
        }
    };
    let first = objects.iter().map(|object| {
        let cells = header
            .iter()
            .map(|name| object.get_key(name).and_then(cell));
        cells.collect()
    });
    let is_number = header.iter().map(|name| {
        let mut values = objects.iter().filter_map(|object| object.get_key(name));
        values.all(|value| {
            matches!(
                value,
                JsonValue::Int(_) | JsonValue::BigInt(_) | JsonValue::Float(_)
            )
        })
    });
    (!header.is_empty()).then(|| FileSample {
        path: path.to_owned(),
        rows,
        is_number: is_number.collect(),
        first: first.collect(),
        header: header
            .iter()
            .map(|name| shortened(&name.to_string_lossy()))
            .collect(),
        more_columns,
        read_rows: None,
    })
}

/// Puts a text on one line, and shortens it to the maximum length of a cell.
pub fn shortened(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_of(name: &str, content: &str) -> Option<FileSample> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        match name.ends_with(".jsonl") {
            true => object_sample(name, None, &lines(&path)?),
            false => array(&path).and_then(|(objects, rows)| object_sample(name, rows, &objects)),
        }
    }

    #[test]
    fn members_of_json_lines_are_columns() {
        let found = sample_of(
            "a.jsonl",
            "{\"id\": 7, \"text\": \"x\\ny\"}\n{\"id\": 8, \"tags\": [1, 2]}\n",
        );
        let found = found.unwrap();
        assert_eq!(found.header, ["id", "text", "tags"]);
        assert_eq!(found.is_number, [true, false, false]);
        let cell = |text: &str| Some(text.to_owned());
        assert_eq!(found.first[0], [cell("7"), cell("x y"), None]);
        assert_eq!(found.first[1], [cell("8"), None, cell("[1,2]")]);
    }

    #[test]
    fn only_an_array_of_objects_is_a_table() {
        let found = sample_of("a.json", "[{\"a\": 1}, {\"a\": 2}]").unwrap();
        assert_eq!((found.rows, found.first.len()), (Some(2), 2));
        for content in ["[1, 2]", "{\"a\": 1}", "[", ""] {
            assert!(sample_of("a.json", content).is_none(), "{content}");
        }
        assert!(sample_of("a.jsonl", "1\n").is_none());
    }

    #[test]
    fn long_texts_are_shortened() {
        let cut = shortened(&"é".repeat(MAX_CHARACTERS + 1));
        assert_eq!(cut.chars().count(), MAX_CHARACTERS + 1);
        assert_eq!(shortened("a\tb"), "a b");
    }
}
