//! Reads objects as rows: lines of JSON, elements of a JSON list, or BSON documents. Each key of an object is a column.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use prep_formats::bson::BsonDocuments;
use prep_formats::json::{JsonElements, JsonLines, JsonValue, NestedValues, WriteOptions, parse};
use prep_formats::limits::{DecodingLimits, Limit};

use super::{Row, Rows, TableReader, check_cells, short};
use crate::read::open_buffered;
use crate::{ContentsError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordLayout {
    Lines,
    /// The document is a list, or an object whose longest list is used.
    List,
    Bson,
}

pub struct Records {
    path: PathBuf,
    source: RecordLayout,
    /// The member that contains the list. `None` if the document is the list.
    member: Option<String>,
    columns: Vec<String>,
    /// Whether keys and values are written without a space between colon and value: `"a":1`.
    pub compact: bool,
    /// A hash of the order of keys in all objects.
    pub key_order: u128,
    limits: DecodingLimits,
}

/// Name of the column for values that are not objects.
const VALUE: &str = "value";

pub type Values = Box<dyn Iterator<Item = Result<JsonValue>>>;

impl Records {
    /// Opens a file. Uses the longest list of objects of a JSON document.
    pub fn open(path: &Path, source: RecordLayout, limits: &DecodingLimits) -> Result<Records> {
        let member = match source {
            RecordLayout::List => longest(path, limits)?,
            RecordLayout::Lines | RecordLayout::Bson => None,
        };
        Records::open_member(path, source, member, limits)
    }

    /// Opens a file. If the document is an object that contains the list of rows, `member` is the key of the list. If the
    /// document itself is the list, or if `source` is not [`RecordLayout::List`], `member` must be `None`.
    pub fn open_member(
        path: &Path,
        source: RecordLayout,
        member: Option<String>,
        limits: &DecodingLimits,
    ) -> Result<Records> {
        let mut records = Records {
            path: path.to_owned(),
            source,
            member,
            columns: Vec::new(),
            compact: source != RecordLayout::Lines || is_compact(path)?,
            key_order: 0,
            limits: *limits,
        };
        let (mut seen, mut order) = (HashSet::new(), blake3::Hasher::new());
        let (mut count, mut name_bytes) = (0, 0);
        for value in records.values()? {
            let value = value?;
            let keys: Vec<String> = match &value {
                JsonValue::Object(object) => object
                    .keys()
                    .map(|key| key.to_string_lossy().into_owned())
                    .collect(),
                _ => vec![VALUE.to_owned()],
            };
            hash_keys(&value, &mut order);
            count += 1;
            for key in keys {
                if !seen.contains(&key) {
                    name_bytes += key.len() as u64;
                    seen.insert(key.clone());
                    records.columns.push(key);
                }
            }
            let checked = limits.check_columns(records.columns.len());
            let checked = checked.and_then(|()| limits.check(Limit::Record, name_bytes));
            checked.map_err(ContentsError::Limit)?;
        }
        // Each row has a cell for each key of any object.
        let bytes = path
            .metadata()
            .map_err(ContentsError::system_error(path))?
            .len();
        check_cells(limits, bytes, count, records.columns.len())?;
        records.key_order = short(&order);
        Ok(records)
    }

    /// Reads the values of the file one by one. Usually they are objects.
    pub fn values(&self) -> Result<Values> {
        let input = open_buffered(&self.path)?;
        Ok(match self.source {
            RecordLayout::Lines => {
                let lines = JsonLines::new(input).with_limits(&self.limits);
                Box::new(lines.map(|line| line.map_err(ContentsError::classify)))
            }
            RecordLayout::List => {
                let elements = elements(input, self.member.clone(), &self.limits);
                let items = elements.map(|item| Ok(item.map_err(ContentsError::classify)?.1));
                Box::new(items)
            }
            RecordLayout::Bson => {
                let documents = BsonDocuments::new(input);
                let value = |document: Result<prep_formats::bson::BsonDocument, _>| {
                    let document = document.map_err(ContentsError::classify)?;
                    document.to_json().map_err(ContentsError::classify)
                };
                Box::new(documents.map(value))
            }
        })
    }
}

fn elements<R: Read>(
    input: R,
    path: impl IntoIterator<Item = String>,
    limits: &DecodingLimits,
) -> JsonElements<R> {
    JsonElements::new(input, path).with_limits(limits)
}

/// Parses JSON within the limit of memory for one record.
pub fn parse_within(text: &[u8], limits: &DecodingLimits) -> Result<JsonValue> {
    prep_formats::json::parse_within(text, limits).map_err(ContentsError::classify)
}

/// Returns whether no colon after a key is followed by a space.
fn is_compact(path: &Path) -> Result<bool> {
    const SPACED: &[u8] = b"\": ";
    let mut input = open_buffered(path)?;
    let mut tail: Vec<u8> = Vec::new();
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        // The pattern may be divided between two chunks.
        let begin = bytes.get(..SPACED.len().min(bytes.len()));
        tail.extend_from_slice(begin.unwrap_or_default());
        let found = memchr::memmem::find(bytes, SPACED).is_some();
        if found || memchr::memmem::find(&tail, SPACED).is_some() {
            return Ok(false);
        }
        let end = bytes.len().saturating_sub(SPACED.len() - 1);
        if bytes.len() >= SPACED.len() {
            tail.clear();
        }
        tail.extend_from_slice(bytes.get(end..).unwrap_or_default());
        let length = bytes.len();
        input.consume(length);
    }
}

/// If the first line has more bytes, the file is not treated as JSON lines.
const FIRST_LINE: u64 = 1 << 24;

/// Returns whether a `.json` file contains JSON lines: a complete object in the first line, and then the start of
/// another object.
pub fn is_json_lines(path: &Path) -> Result<bool> {
    let mut input = open_buffered(path)?;
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if (&mut input).take(FIRST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
    }
    let is_object = line.trim_ascii_start().first() == Some(&b'{');
    if !is_object || parse(line.trim_ascii()).is_err() {
        return Ok(false);
    }
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        if let Some(place) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) {
            return Ok(bytes.get(place) == Some(&b'{'));
        }
        let length = bytes.len();
        input.consume(length);
    }
}

/// Returns the member with the longest list. `None` if the document is the list.
fn longest(path: &Path, limits: &DecodingLimits) -> Result<Option<String>> {
    let Some(lists) = lists_of_objects(path, limits)? else {
        return Ok(None);
    };
    // The first one, if several lists are equally long.
    let longest = lists.into_iter().rev().max_by_key(|(_, length)| *length);
    match longest {
        Some((name, _)) => Ok(Some(name)),
        None => Err(ContentsError::Damaged(
            "the JSON document contains no list of objects".to_owned(),
        )),
    }
}

/// Returns the key and length of each list of objects in a JSON object. Returns `None` if the document is a list. Fails if
/// the document is neither a list nor an object.
pub fn lists_of_objects(
    path: &Path,
    limits: &DecodingLimits,
) -> Result<Option<Vec<(String, usize)>>> {
    let mut head = open_buffered(path)?;
    loop {
        match head.fill_buf()?.first() {
            Some(byte) if byte.is_ascii_whitespace() => head.consume(1),
            Some(b'[') => return Ok(None),
            Some(b'{') => break,
            _ => {
                let reason = "the JSON document is neither a list nor an object";
                return Err(ContentsError::Damaged(reason.to_owned()));
            }
        }
    }
    let mut lists = Vec::new();
    // Only the number of items matters, and whether they are objects.
    let members = elements(open_buffered(path)?, [], limits).with_nested(NestedValues::Skip);
    for member in members {
        let (key, value) = member.map_err(ContentsError::classify)?;
        if let (Some(key), Some(items)) = (key, value.as_list())
            && items.iter().all(|item| item.as_object().is_some())
        {
            lists.push((key.to_string_lossy().into_owned(), items.len()));
        }
    }
    Ok(Some(lists))
}

impl TableReader for Records {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>> {
        Ok(Box::new(RecordRows {
            values: self.values()?,
            columns: &self.columns,
        }))
    }
}

struct RecordRows<'a> {
    values: Values,
    columns: &'a [String],
}

impl Rows for RecordRows<'_> {
    fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        let Some(value) = self.values.next() else {
            return Ok(false);
        };
        let value = value?;
        for column in self.columns {
            let cell = match &value {
                JsonValue::Object(object) => object.get(column),
                other => (column == VALUE).then_some(other),
            };
            if let Some(cell) = cell {
                push(cell, row.open())?;
            }
            row.end_cell();
        }
        Ok(true)
    }
}

/// Writes a value as JSON. Writes a string without quotes unless its text could also be a value of another type.
fn push(value: &JsonValue, out: &mut Vec<u8>) -> Result<()> {
    if let JsonValue::String(text) = value
        && !is_ambiguous(text.as_wtf8())
    {
        out.extend_from_slice(text.as_wtf8());
        return Ok(());
    }
    let options = WriteOptions {
        sort_keys: true,
        ..WriteOptions::default()
    };
    let json = value.to_json(&options).map_err(ContentsError::classify)?;
    out.extend_from_slice(&json);
    Ok(())
}

/// Adds the keys of all objects in `value` to the hash, in their order.
fn hash_keys(value: &JsonValue, order: &mut blake3::Hasher) {
    match value {
        JsonValue::Object(object) => {
            for (key, inner) in object.iter() {
                let key = key.as_wtf8();
                order.update(&(key.len() as u64).to_le_bytes());
                order.update(key);
                hash_keys(inner, order);
            }
        }
        JsonValue::List(items) => items.iter().for_each(|item| hash_keys(item, order)),
        _ => {}
    }
}

/// Returns whether a string looks like a missing value, or like a value that is not a string.
fn is_ambiguous(text: &[u8]) -> bool {
    match text.first() {
        None | Some(b'"' | b'[' | b'{') => true,
        Some(b'0'..=b'9' | b'-') => parse(text).is_ok(),
        _ => matches!(text, b"null" | b"true" | b"false" | b"NaN" | b"Infinity"),
    }
}

/// Returns a cell as text, without the quotes that distinguish strings from other values.
pub fn unquoted(cell: &[u8]) -> Cow<'_, str> {
    match cell.first().map(|_| parse(cell)) {
        Some(Ok(JsonValue::String(text))) => {
            Cow::Owned(String::from_utf8_lossy(text.as_wtf8()).into_owned())
        }
        _ => String::from_utf8_lossy(cell),
    }
}
