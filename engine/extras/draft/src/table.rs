//! Reads a table of a bundle: its columns, the types that a pipeline declares for them, and its first rows.
//!
//! The types of CSV columns are inferred as pandas infers them. When the pipeline runs, the declared types
//! `integer`, `number` and `boolean` must match the types that pandas would infer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use arrow::datatypes::DataType;
use prep_contents::read::{spool, tail};
use prep_contents::table::{
    ParquetFile, RecordLayout, Records, guess_delimiter, is_json_lines, lists_of_objects, unquoted,
};
use prep_contents::{DecodingLimits, Format, Resources, Row, TableReader as _};
use prep_failure::chain;
use prep_formats::json::{JsonValue, WriteOptions, parse};
use prep_formats::pandas::{
    CellValue, ColumnData, ColumnType, CsvError, CsvScanner, ObjectColumn, ReadOptions, read_frame,
};
use prep_formats::text_encoding::{TextEncoding, Utf8Reader};
use prep_spec::{decimal_comma, path_part};

use crate::words::{sql_name, sql_text};

/// The values of a table's first rows are kept, until these rows have this number of bytes.
const MAX_VALUE_BYTES: u64 = 24 << 20;
/// At most this number of bytes is read from a JSON or Parquet file.
const MAX_RECORD_BYTES: u64 = 256 << 20;
/// Number of bytes of a CSV file from which the delimiter is inferred.
const SNIFFED_BYTES: u64 = 1 << 18;
/// If a JSON lines file is not read to its end, its incomplete last line is removed. If this line has more bytes than
/// this limit, the file is not read as a table.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// The encodings of a CSV file that is not UTF-8, the most likely first, with their names in a pipeline. Any file can be
/// read with the last one.
const SINGLE_BYTE_ENCODINGS: [(TextEncoding, &str); 2] = [
    (TextEncoding::Windows1252, "windows-1252"),
    (TextEncoding::Latin1, "latin-1"),
];

#[derive(Debug, Default)]
pub struct BundleTable {
    /// The path of the table in a pipeline: `train.zip/train.csv`.
    pub path: String,
    pub columns: Vec<BundleColumn>,
    pub rows: u64,
    /// Whether columns and the number of rows were determined from the entire file.
    pub is_whole: bool,
    /// Size in bytes of the rows whose values are kept. It is 0 if the values were dropped.
    pub value_bytes: u64,
    /// The keys of the table's declaration that differ from their defaults, with their values.
    pub keys: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub struct BundleColumn {
    pub name: String,
    pub kind: ColumnType,
    pub is_nullable: bool,
    /// The type that a pipeline declares.
    pub declared: &'static str,
    /// Whether the column can be written only as text, for example times and lists of Parquet.
    pub as_text: bool,
    /// If the column contains a member of the JSON objects in another column: the name of the other column and the member's
    /// path, such as `info` and `id`.
    pub member_of: Option<(String, String)>,
    /// The SQL expression for the cells, if they are members of JSON objects or numbers with decimal commas.
    pub query: Option<String>,
    /// The cells of the first rows, as strings. `None` if they are unknown.
    pub values: Option<ObjectColumn>,
}

/// The reason why a file that is named like a table is not read as a table. `None` if the draft should have no note
/// about the file.
pub type NotTable = Option<String>;

impl BundleTable {
    /// Returns the file's name in lower case, without its suffix.
    pub fn stem(&self) -> String {
        path_part(&self.path, "stem").to_lowercase()
    }

    pub fn column(&self, name: &str) -> Option<&BundleColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    pub fn names(&self) -> impl DoubleEndedIterator<Item = &String> + Clone {
        self.columns.iter().map(|column| &column.name)
    }

    /// Adds a column with a member of JSON objects. `path` is, for example, `info.id`. Returns the name of the new
    /// column, or `None` if no row has a value at this path.
    pub fn add_member(&mut self, path: &str) -> Option<String> {
        let (column, inside) = path.split_once('.')?;
        let parent = self.column(column).filter(|one| one.declared == "json")?;
        let mut name = path.replace('.', "_");
        while self.names().any(|other| other.eq_ignore_ascii_case(&name)) {
            name.push('_');
        }
        let mut member = BundleColumn {
            query: Some(format!(
                "json_get({}, {})",
                sql_name(column),
                sql_text(inside)
            )),
            member_of: Some((column.to_owned(), inside.to_owned())),
            ..BundleColumn::new(&name)
        };
        for text in parent.texts()? {
            let value = text.and_then(|text| parse(text.as_bytes()).ok());
            let found = value.as_ref().and_then(|value| {
                inside
                    .split('.')
                    .try_fold(value, |value, key| value.get(key))
            });
            member.push(&member_text(found));
        }
        member.texts()?.iter().flatten().next()?;
        self.columns.push(member);
        Some(name)
    }

    pub fn texts(&self, name: &str) -> Option<Vec<Option<&str>>> {
        self.column(name)?.texts()
    }

    /// Returns the different cells of a column that are not missing.
    pub fn different(&self, name: &str) -> Option<BTreeSet<&str>> {
        Some(self.texts(name)?.into_iter().flatten().collect())
    }

    /// Returns whether the values of all rows are known.
    pub fn is_examined(&self) -> bool {
        let texts = self.columns.first().and_then(BundleColumn::texts);
        self.is_whole && texts.is_some_and(|texts| texts.len() as u64 == self.rows)
    }
}

impl BundleColumn {
    /// Returns the first cells as text. A missing cell is `None`.
    pub fn texts(&self) -> Option<Vec<Option<&str>>> {
        let text = |value| match value {
            CellValue::Text(text) => Some(text),
            _ => None,
        };
        Some(self.values.as_ref()?.iter().map(text).collect())
    }

    /// If all cells are numbers with decimal commas, such as `1.234,5`, converts them. Numbers such as `1,234` remain texts if
    /// every comma may separate thousands. At most a tenth of the cells may contain another text, such as `n/k`, which becomes
    /// a missing cell.
    fn convert_decimals(&mut self) {
        let texts = self.texts().unwrap_or_default();
        let number = |text: &str| text.replace('.', "").replacen(',', ".", 1);
        let is_number =
            |text: &&str| text.rfind('.') <= text.find(',') && number(text).parse::<f64>().is_ok();
        let has_decimals = |text: &&str| text.find(',').is_some_and(|at| text.len() != at + 4);
        let cells = texts.iter().flatten();
        let other = cells.clone().find(|text| !is_number(text)).copied();
        let others = cells.clone().filter(|text| Some(**text) == other).count();
        let cells = cells.filter(|text| Some(**text) != other);
        let fits = others * 10 <= texts.len()
            && cells.clone().all(is_number)
            && cells.clone().any(has_decimals);
        if self.kind != ColumnType::Text || !fits {
            return;
        }
        // If a cell has thousands separators, its query is the longest.
        let queries = cells.filter_map(|text| decimal_comma(&self.name, text));
        let query = queries.max_by_key(String::len);
        let query = query.map(|query| match other {
            Some(other) => {
                let name = format!("\"{}\"", self.name.replace('"', "\"\""));
                query.replacen(&name, &format!("nullif({name}, {})", sql_text(other)), 1)
            }
            None => query,
        });
        let texts = texts.iter().map(|text| text.filter(|_| *text != other));
        let numbers = texts.map(|text| text.map_or(String::new(), number));
        let numbers: Vec<String> = numbers.collect();
        (self.kind, self.query, self.values) = (ColumnType::Float64, query, None);
        for number in &numbers {
            self.push(number);
        }
    }

    fn new(name: &str) -> BundleColumn {
        BundleColumn {
            name: name.to_owned(),
            kind: ColumnType::Text,
            is_nullable: true,
            declared: "inferred",
            as_text: false,
            member_of: None,
            query: None,
            values: Some(ObjectColumn::default()),
        }
    }

    /// Appends a cell. Returns its length in bytes, including a separator.
    fn push(&mut self, text: &str) -> u64 {
        let value = match text {
            "" => CellValue::Missing,
            text => CellValue::Text(text),
        };
        self.values.get_or_insert_default().push(value);
        text.len() as u64 + 1
    }
}

/// Returns the format of a file, if a draft reads files with this name as tables.
pub fn format(path: &str) -> Option<Format> {
    Format::from_path(path).filter(|format| match format {
        Format::Csv(_) | Format::JsonLines | Format::Parquet => true,
        // In a pipeline, other names of JSON files do not imply the format.
        Format::Json => path.to_ascii_lowercase().ends_with(".json"),
        Format::Lines | Format::Bson | Format::Array => false,
    })
}

/// Reads a table's columns and first rows. `is_whole` is false if only the beginning of the file is available.
pub fn read<'r>(
    path: &str,
    open: &dyn Fn() -> Result<Box<dyn Read + 'r>, NotTable>,
    is_whole: bool,
    resources: &Resources<'_>,
) -> Result<BundleTable, NotTable> {
    let table = match format(path).ok_or(None)? {
        Format::Csv(delimiter) => csv(open, delimiter, is_whole)?,
        format => {
            let mut input = open()?.take(MAX_RECORD_BYTES);
            let place = spool(&mut input, resources).map_err(|error| Some(chain(&error)))?;
            let is_cut = input.limit() == 0;
            if is_cut {
                cut_last_line(&place).ok_or(None)?;
            }
            let (limits, is_whole) = (&resources.limits, is_whole && !is_cut);
            match format {
                Format::Parquet => parquet(&place, limits),
                Format::JsonLines => lines(&place, limits, is_whole),
                _ => match is_json_lines(&place) {
                    Ok(false) if is_whole => list(&place, limits),
                    Ok(true) => lines(&place, limits, is_whole).map(|table| {
                        let keys = vec![("format", "json_lines".to_owned())];
                        BundleTable { keys, ..table }
                    }),
                    _ => None,
                },
            }
            .ok_or(None)?
        }
    };
    let path = path.to_owned();
    match table.columns.is_empty() {
        true => Err(None),
        false => Ok(BundleTable { path, ..table }),
    }
}

/// Removes the text after the last line break, because the last line is incomplete.
fn cut_last_line(place: &Path) -> Option<()> {
    let length = place.metadata().ok()?.len();
    let begin = length.saturating_sub(MAX_LINE_BYTES);
    let end = tail(place, begin, MAX_LINE_BYTES as usize).ok()?;
    let end = begin + memchr::memrchr(b'\n', &end)? as u64 + 1;
    File::options()
        .write(true)
        .open(place)
        .ok()?
        .set_len(end)
        .ok()
}

/// Reads a CSV file. `usual` is the usual delimiter for the file's suffix. A file that is not UTF-8 is read as
/// Windows-1252, or as Latin-1 if it has bytes that Windows-1252 does not define.
fn csv<'r>(
    open: &dyn Fn() -> Result<Box<dyn Read + 'r>, NotTable>,
    usual: u8,
    is_whole: bool,
) -> Result<BundleTable, NotTable> {
    let mut front = Vec::new();
    let read = open()?.take(SNIFFED_BYTES).read_to_end(&mut front);
    read.map_err(|error| Some(chain(&error)))?;
    let words = match front.contains(&0) {
        true => "it contains zero bytes, as UTF-16 does; convert it to UTF-8",
        false => "a title is above its header; remove the lines before the header",
    };
    if front.contains(&0) || has_title(&front, usual) {
        return Err(Some(words.to_owned()));
    }
    let mut table = csv_text(&mut open()?, usual, is_whole);
    for (encoding, name) in SINGLE_BYTE_ENCODINGS {
        if let Err(CsvError::InvalidUtf8 { .. } | CsvError::Io(_)) = table {
            let mut input = Utf8Reader::new(open()?, encoding);
            table = csv_text(&mut input, usual, is_whole).map(|mut table| {
                table.keys.push(("encoding", name.to_owned()));
                table
            });
        }
    }
    let table = table.map_err(|error| Some(chain(&error)))?;
    match table.columns.is_empty() {
        true => Err(Some("it has no columns".to_owned())),
        false => Ok(table),
    }
}

fn csv_text(input: &mut dyn Read, usual: u8, is_whole: bool) -> Result<BundleTable, CsvError> {
    let mut front = Vec::new();
    Read::take(&mut *input, SNIFFED_BYTES).read_to_end(&mut front)?;
    let delimiter = guess_delimiter(&front, usual);
    let options = ReadOptions {
        delimiter,
        ..ReadOptions::default()
    };
    let mut scanner = CsvScanner::new(&options);
    scanner.feed(&front)?;
    let mut buffer = vec![0; SNIFFED_BYTES as usize];
    let mut is_cut = false;
    loop {
        let count = input.read(&mut buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        if read.is_empty() {
            break;
        }
        scanner.feed(read)?;
        is_cut |= front.len() as u64 >= MAX_VALUE_BYTES;
        if !is_cut {
            front.extend_from_slice(read);
        }
    }
    if is_cut {
        front.truncate(memchr::memrchr(b'\n', &front).map_or(0, |end| end + 1));
    }
    let schema = scanner.finish()?.schema;
    let padded = padded(&front, &options);
    let options = ReadOptions {
        text: padded,
        ..options
    };
    // If `front` ends within a quoted cell, the frame is empty. But the scanner already found the columns.
    let frame = read_frame(&front, &options).unwrap_or_default();
    let columns = schema.columns.into_iter().map(|column| {
        let mut column = BundleColumn {
            kind: match options.text.contains(&column.name) {
                true => ColumnType::Text,
                false => column.kind,
            },
            is_nullable: column.nullable,
            values: frame.column(&column.name).map(|column| texts(&column.data)),
            ..BundleColumn::new(&column.name)
        };
        column.declared = declared(&column, is_whole);
        column.convert_decimals();
        column
    });
    let keys = match delimiter {
        delimiter if delimiter == usual => Vec::new(),
        b'\t' => vec![("delimiter", "tab".to_owned())],
        other => vec![("delimiter", char::from(other).to_string())],
    };
    Ok(BundleTable {
        columns: columns.collect(),
        rows: schema.rows,
        is_whole,
        value_bytes: front.len() as u64,
        keys,
        ..BundleTable::default()
    })
}

/// Returns whether the first line of a CSV file has only one name, and the next line has several names and no number.
fn has_title(front: &[u8], usual: u8) -> bool {
    const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];
    let text = String::from_utf8_lossy(front);
    let (title, rest) = text.trim_start().split_once('\n').unwrap_or_default();
    let title = title.trim_end().trim_end_matches(DELIMITERS);
    let header = rest.trim_start().lines().next().unwrap_or_default();
    let delimiter = char::from(guess_delimiter(rest.trim_start().as_bytes(), usual));
    let names = || header.split(delimiter).map(str::trim);
    let has_names = names().all(|name| name.parse::<f64>().is_err());
    has_names && names().count() > 1 && !title.is_empty() && !title.contains(DELIMITERS)
}

/// Returns the columns that contain numbers such as `0042`. These columns are read as text, so that their values can be
/// compared with names of files such as `0042`.
fn padded(front: &[u8], options: &ReadOptions) -> Vec<String> {
    let options = ReadOptions {
        all_text: true,
        ..options.clone()
    };
    let mut columns = read_frame(front, &options).unwrap_or_default().columns;
    columns.retain(|column| column.data.values().any(is_padded));
    columns.into_iter().map(|column| column.name).collect()
}

fn is_padded(value: CellValue<'_>) -> bool {
    let CellValue::Text(text) = value else {
        return false;
    };
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn texts(data: &ColumnData) -> ObjectColumn {
    let mut texts = ObjectColumn::default();
    for value in data.values() {
        let text = value.text();
        texts.push(text.as_deref().map_or(CellValue::Missing, CellValue::Text));
    }
    texts
}

/// Returns the type that a pipeline declares for a CSV column. The type is `inferred` if a later row may change it.
fn declared(column: &BundleColumn, is_whole: bool) -> &'static str {
    match column.kind {
        // No later row can change the type of a text column.
        ColumnType::Text => "text",
        _ if !is_whole => "inferred",
        ColumnType::Int64 => "integer",
        ColumnType::Float64 => "number",
        ColumnType::Bool if !column.is_nullable => "boolean",
        _ => "inferred",
    }
}

/// The number of values of each JSON type in a column.
type TypeCounts = BTreeMap<&'static str, u64>;

fn json_type(value: &JsonValue) -> &'static str {
    match value {
        // A column of strings cannot contain unpaired surrogates.
        JsonValue::String(text) if text.as_str().is_some() => "text",
        JsonValue::Bool(_) => "boolean",
        JsonValue::Int(_) => "integer",
        JsonValue::BigInt(_) | JsonValue::Float(_) => "number",
        _ => "json",
    }
}

/// Returns the type that a pipeline declares for a column. `records` is the number of all objects.
fn declared_of(counts: &TypeCounts, records: u64) -> (&'static str, ColumnType) {
    let count = |name| counts.get(name).copied().unwrap_or(0);
    match counts.values().sum() {
        0 => ("json", ColumnType::Text),
        all if count("text") == all => ("text", ColumnType::Text),
        _ if count("boolean") == records => ("boolean", ColumnType::Bool),
        _ if count("integer") == records => ("integer", ColumnType::Int64),
        all if count("integer") + count("number") == all => ("number", ColumnType::Float64),
        _ => ("json", ColumnType::Text),
    }
}

/// Reads the rows of a JSON document. If the document is a list, the rows are its elements. Otherwise the rows are the
/// elements of the first list of objects in the document.
fn list(place: &Path, limits: &DecodingLimits) -> Option<BundleTable> {
    let at = match lists_of_objects(place, limits).ok()? {
        None => None,
        Some(lists) => {
            // A name with a dot cannot be written in `at`, because a dot separates the parts of a path.
            let mut lists = lists.into_iter();
            let fits = |(name, rows): &(String, usize)| {
                *rows > 1 && !name.is_empty() && !name.contains('.')
            };
            Some(lists.find(fits)?.0)
        }
    };
    let records = Records::open_member(place, RecordLayout::List, at.clone(), limits).ok()?;
    let keys = at.map(|name| ("at", name)).into_iter().collect();
    Some(BundleTable {
        keys,
        ..of_records(&records)?
    })
}

fn lines(place: &Path, limits: &DecodingLimits, is_whole: bool) -> Option<BundleTable> {
    let records = Records::open(place, RecordLayout::Lines, limits).ok()?;
    let table = of_records(&records).filter(|table| table.rows > 1)?;
    Some(BundleTable { is_whole, ..table })
}

fn of_records(records: &Records) -> Option<BundleTable> {
    let names = records.columns().iter();
    let mut columns: Vec<_> = names
        .map(|name| (BundleColumn::new(name), TypeCounts::new()))
        .collect();
    let (mut rows, mut value_bytes) = (0, 0);
    for record in records.values().ok()? {
        let JsonValue::Object(record) = record.ok()? else {
            return None;
        };
        rows += 1;
        let keeps_values = value_bytes < MAX_VALUE_BYTES;
        for (column, types) in &mut columns {
            let member = record.get(&column.name);
            let member = member.filter(|member| **member != JsonValue::Null);
            if let Some(member) = member {
                *types.entry(json_type(member)).or_default() += 1;
            }
            if keeps_values {
                value_bytes += column.push(&member_text(member));
            }
        }
    }
    for (column, types) in &mut columns {
        (column.declared, column.kind) = declared_of(types, rows);
        column.is_nullable = types.values().sum::<u64>() < rows;
    }
    Some(BundleTable {
        columns: columns.into_iter().map(|(column, _)| column).collect(),
        rows,
        is_whole: true,
        value_bytes,
        ..BundleTable::default()
    })
}

fn member_text(member: Option<&JsonValue>) -> String {
    match member {
        None => String::new(),
        Some(JsonValue::String(text)) => text.to_string_lossy().into_owned(),
        Some(JsonValue::Bool(value)) => if *value { "True" } else { "False" }.to_owned(),
        Some(other) => {
            let json = other.to_json(&WriteOptions::default()).unwrap_or_default();
            String::from_utf8_lossy(&json).into_owned()
        }
    }
}

fn parquet(place: &Path, limits: &DecodingLimits) -> Option<BundleTable> {
    let file = ParquetFile::open(place, limits).ok()?;
    let mut columns: Vec<BundleColumn> = Vec::new();
    for field in file.schema().fields() {
        let data_type = field.data_type();
        let (kind, declared) = match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => (ColumnType::Text, "text"),
            DataType::Boolean if !field.is_nullable() => (ColumnType::Bool, "boolean"),
            DataType::Boolean => (ColumnType::Bool, "inferred"),
            _ if data_type.is_integer() => (ColumnType::Int64, "inferred"),
            _ if data_type.is_floating() => (ColumnType::Float64, "number"),
            _ if data_type.is_numeric() => (ColumnType::Float64, "inferred"),
            _ => (ColumnType::Text, "inferred"),
        };
        let is_plain = data_type.is_integer() || data_type.is_floating() || data_type.is_string();
        columns.push(BundleColumn {
            kind,
            declared,
            as_text: !is_plain && *data_type != DataType::Boolean,
            ..BundleColumn::new(field.name())
        });
    }
    let (mut rows, mut row, mut value_bytes) = (file.rows().ok()?, Row::default(), 0);
    // If a page is damaged, the values before it are kept.
    while value_bytes < MAX_VALUE_BYTES && matches!(rows.next(&mut row), Ok(true)) {
        for (place, column) in columns.iter_mut().enumerate() {
            value_bytes += column.push(&unquoted(row.cell(place)));
        }
    }
    Some(BundleTable {
        columns,
        rows: file.row_count(),
        is_whole: true,
        value_bytes,
        ..BundleTable::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(path: &str, text: &str) -> Option<BundleTable> {
        let temp = tempfile::tempdir().unwrap();
        let resources = Resources {
            limits: DecodingLimits::from_budgets(1 << 24, 1 << 24),
            temp: temp.path(),
        };
        let open = || Ok(Box::new(text.as_bytes()) as Box<dyn Read>);
        read(path, &open, true, &resources).ok()
    }

    #[test]
    fn json_lines_become_a_table() {
        let text = "{\"id\": \"007\", \"n\": 1, \"x\": 0.5, \"ok\": true, \"tags\": [1], \"s\": \"\\ud800\"}\n{\"id\": \"008\", \"n\": 2}\n";
        let table = table("a/train.jsonl", text).unwrap();
        let declared = |name: &str| table.column(name).unwrap().declared;
        assert_eq!(table.rows, 2);
        assert_eq!(
            ["id", "n", "x", "ok", "tags", "s"].map(declared),
            ["text", "integer", "number", "json", "json", "json"]
        );
        assert_eq!(table.texts("tags").unwrap(), [Some("[1]"), None]);
    }

    #[test]
    fn the_rows_of_an_object_are_its_first_list_of_objects() {
        let text =
            "{\"info\": {}, \"kinds\": [{\"a\": 1}], \"images\": [{\"id\": 1}, {\"id\": 2}]}";
        let found = table("m.json", text).unwrap();
        assert_eq!(found.keys, [("at", "images".to_owned())]);
        for other in [
            "{\"a\": 1}",
            "[1, 2]",
            "[{\"a\": 1}, 2]",
            "[]",
            "{\"a.b\": [{\"id\": 1}]}",
        ] {
            assert!(table("m.json", other).is_none(), "{other}");
        }
    }

    /// A file with the suffix `.json` may contain JSON lines instead of a single JSON value.
    #[test]
    fn json_lines_in_a_json_file_are_found() {
        let table = table("train.json", "{\"id\": 1}\n{\"id\": 2}\n").unwrap();
        assert_eq!(table.keys, [("format", "json_lines".to_owned())]);
    }

    #[test]
    fn numbers_with_leading_zeros_are_texts() {
        let table = table("a.tsv", "id,x\n0042,1\n0043,\n").unwrap();
        assert_eq!(table.keys, [("delimiter", ",".to_owned())]);
        let declared = table.columns.iter().map(|column| column.declared);
        assert_eq!(declared.collect::<Vec<_>>(), ["text", "number"]);
        assert_eq!(table.texts("id").unwrap(), [Some("0042"), Some("0043")]);
    }
}
