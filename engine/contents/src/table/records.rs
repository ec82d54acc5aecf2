//! Objects, one after the other, as a table: the keys of all of them are the columns. Lines of JSON, lists in JSON documents,
//! and BSON.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use prep_formats::bson::BsonDocuments;
use prep_formats::json::{JsonElements, JsonString, Value, WriteOptions, parse};

use super::row::{Row, Rows, Table};

const BUFFER: usize = 1 << 18;

/// How the objects stand in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One on each line.
    Lines,
    /// The document is a list, or an object with lists: then the longest of them.
    List,
    Bson,
}

/// The objects of a file.
pub struct Records {
    path: PathBuf,
    source: Source,
    /// Where in a document the list is.
    member: Option<String>,
    columns: Vec<String>,
    /// No blanks behind colons; of lines.
    pub compact: bool,
    /// A hash of the order of all objects' keys.
    pub key_order: u64,
}

/// Name of the column of what is no object.
const VALUE: &str = "value";

type Values = Box<dyn Iterator<Item = io::Result<Value>>>;

impl Records {
    /// # Errors
    /// When the file cannot be read, or is not of this format.
    pub fn open(path: &Path, source: Source) -> io::Result<Records> {
        let mut records = Records {
            path: path.to_owned(),
            source,
            member: match source {
                Source::List => longest(path)?,
                Source::Lines | Source::Bson => None,
            },
            columns: Vec::new(),
            compact: source != Source::Lines || is_compact(path)?,
            key_order: 0,
        };
        let (mut seen, mut order) = (HashSet::new(), DefaultHasher::new());
        for value in records.values()? {
            let value = value?;
            let keys: Vec<String> = match &value {
                Value::Object(object) => object
                    .keys()
                    .map(|key| key.to_string_lossy().into_owned())
                    .collect(),
                _ => vec![VALUE.to_owned()],
            };
            hash_keys(&value, &mut order);
            for key in keys {
                if !seen.contains(&key) {
                    seen.insert(key.clone());
                    records.columns.push(key);
                }
            }
        }
        records.key_order = order.finish();
        Ok(records)
    }

    fn values(&self) -> io::Result<Values> {
        let input = BufReader::with_capacity(BUFFER, File::open(&self.path)?);
        Ok(match self.source {
            Source::Lines => Box::new(lines(input)),
            Source::List => {
                let elements = JsonElements::new(input, self.member.clone());
                let items = elements.map(|item| Ok(item.map_err(io::Error::other)?.1));
                Box::new(items)
            }
            Source::Bson => {
                let documents = BsonDocuments::new(input);
                let value = |document: Result<prep_formats::bson::Document, _>| {
                    let document = document.map_err(io::Error::other)?;
                    document.to_json().map_err(io::Error::other)
                };
                Box::new(documents.map(value))
            }
        })
    }
}

fn is_compact(path: &Path) -> io::Result<bool> {
    let mut input = BufReader::with_capacity(BUFFER, File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(true);
        }
        if memchr::memmem::find(&line, b"\": ").is_some() {
            return Ok(false);
        }
    }
}

fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<Value>> {
    let mut line = Vec::new();
    std::iter::from_fn(move || {
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => return Some(parse(line.trim_ascii()).map_err(io::Error::other)),
                Err(error) => return Some(Err(error)),
            }
        }
    })
}

/// The member of a document whose list is the longest; none if the document is a list itself.
fn longest(path: &Path) -> io::Result<Option<String>> {
    let mut head = BufReader::new(File::open(path)?);
    loop {
        match head.fill_buf()?.first() {
            Some(byte) if byte.is_ascii_whitespace() => head.consume(1),
            Some(b'[') => return Ok(None),
            Some(b'{') => break,
            _ => return Err(io::Error::other("neither a list nor an object")),
        }
    }
    let mut best: Option<(usize, JsonString)> = None;
    let input = BufReader::with_capacity(BUFFER, File::open(path)?);
    for member in JsonElements::new(input, [] as [String; 0]) {
        let (key, value) = member.map_err(io::Error::other)?;
        if let (Some(key), Some(items)) = (key, value.as_list())
            && items.iter().all(|item| item.as_object().is_some())
            && best.as_ref().is_none_or(|(most, _)| items.len() > *most)
        {
            best = Some((items.len(), key));
        }
    }
    match best {
        Some((_, key)) => Ok(Some(key.to_string_lossy().into_owned())),
        None => Err(io::Error::other("there is no list of objects in it")),
    }
}

impl Table for Records {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn rows(&self) -> io::Result<Box<dyn Rows + '_>> {
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
    fn next(&mut self, row: &mut Row) -> io::Result<bool> {
        row.clear();
        let Some(value) = self.values.next() else {
            return Ok(false);
        };
        let value = value?;
        for column in self.columns {
            let cell = match &value {
                Value::Object(object) => object.get(column),
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

/// A text as it is, unless it would read as another value; anything else as JSON.
fn push(value: &Value, out: &mut Vec<u8>) -> io::Result<()> {
    if let Value::String(text) = value
        && !is_ambiguous(text.as_wtf8())
    {
        out.extend_from_slice(text.as_wtf8());
        return Ok(());
    }
    let options = WriteOptions {
        sort_keys: true,
        ..WriteOptions::default()
    };
    let json = value.to_json(&options).map_err(io::Error::other)?;
    out.extend_from_slice(&json);
    Ok(())
}

/// The keys at all depths, in their order.
fn hash_keys(value: &Value, order: &mut DefaultHasher) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter() {
                key.as_wtf8().hash(order);
                hash_keys(inner, order);
            }
        }
        Value::List(items) => items.iter().for_each(|item| hash_keys(item, order)),
        _ => {}
    }
}

/// Whether a text looks like nothing, or like a value that is no text.
fn is_ambiguous(text: &[u8]) -> bool {
    match text.first() {
        None | Some(b'"' | b'[' | b'{') => true,
        Some(b'0'..=b'9' | b'-') => parse(text).is_ok(),
        _ => matches!(text, b"null" | b"true" | b"false" | b"NaN" | b"Infinity"),
    }
}

/// The text of a cell that stands in quotes for its ambiguity; any other cell as it is.
pub fn unquoted(cell: &[u8]) -> Vec<u8> {
    match cell.first().map(|_| parse(cell)) {
        Some(Ok(Value::String(text))) => text.as_wtf8().to_vec(),
        _ => cell.to_vec(),
    }
}
