//! Reads the answers: a CSV file, or JSON lines. The key `answer_rows` defines how each JSON record becomes rows.
//!
//! Each element of `answer_rows` is a row, which maps columns to cells. A cell is a string or a list of parts:
//!
//! - In a string, `{a.0.b}` is replaced with the member `b` of the first element of the member `a`.
//! - A part is the value at a path (`of`), or each element of the list at a path (`each`). The values of all parts are
//!   joined by spaces.

use std::collections::BTreeMap;

use prep_formats::pandas::{
    CellValue, ColumnData, CsvError, Frame, FrameColumn, ObjectColumn, ReadOptions, read_frame,
};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

/// An error in the answers.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum AnswersError {
    #[error("{0}")]
    Csv(#[from] CsvError),
    #[error("line {line} is not JSON")]
    Json {
        line: usize,
        source: serde_json::Error,
    },
    #[error("line {line}: the record has no value at `{path}`")]
    Member { line: usize, path: String },
    #[error("line {line}: `{path}` is not a list")]
    NotList { line: usize, path: String },
    #[error("{0}")]
    Encoding(#[from] std::str::Utf8Error),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum AnswerContent {
    Text(String),
    Parts(Vec<RowPart>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowPart {
    of: Option<String>,
    /// Path of a list, each of whose elements is a value.
    each: Option<String>,
    /// Leaves out values that equal this value. If this value is an object, leaves out values that contain all members of
    /// the object.
    unless: Option<Value>,
    /// Template for printing a value. Without it, the value is printed unchanged.
    text: Option<String>,
}

/// The rows that each record of the answers creates.
#[derive(Debug)]
pub(crate) struct Rows {
    rows: Vec<BTreeMap<String, AnswerContent>>,
    /// Columns of all rows, in order of appearance.
    columns: Vec<String>,
}

impl Rows {
    pub fn parse(section: &Value) -> Result<Self, serde_json::Error> {
        let given = Vec::<Map<String, Value>>::deserialize(section)?;
        let mut columns: Vec<String> = Vec::new();
        let mut rows = Vec::with_capacity(given.len());
        for row in given {
            let mut contents = BTreeMap::new();
            for (name, content) in row {
                let content = AnswerContent::deserialize(&content).map_err(|_| {
                    serde_json::Error::custom(format!(
                        "`{name}` must be a string or a list of parts, each with `of` or `each`, and optionally `unless` and `text`"
                    ))
                })?;
                content.check().map_err(serde_json::Error::custom)?;
                if !columns.contains(&name) {
                    columns.push(name.clone());
                }
                contents.insert(name, content);
            }
            rows.push(contents);
        }
        Ok(Rows { rows, columns })
    }

    fn frame(&self, text: &str) -> Result<Frame, AnswersError> {
        let mut columns: Vec<(&String, ObjectColumn)> = self
            .columns
            .iter()
            .map(|name| (name, ObjectColumn::default()))
            .collect();
        for (line, json) in (1..).zip(text.lines()) {
            let record: Value =
                serde_json::from_str(json).map_err(|source| AnswersError::Json { line, source })?;
            for row in &self.rows {
                for (name, cells) in &mut columns {
                    let text = match row.get(*name) {
                        Some(content) => content.text(&record, line)?,
                        None => String::new(),
                    };
                    cells.push(match text.as_str() {
                        "" => CellValue::Missing,
                        text => CellValue::Text(text),
                    });
                }
            }
        }
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        let columns = columns.into_iter().map(|(name, cells)| FrameColumn {
            name: name.clone(),
            data: ColumnData::Object(cells),
        });
        Ok(Frame {
            columns: columns.collect(),
            rows,
        })
    }
}

impl AnswerContent {
    fn check(&self) -> Result<(), &'static str> {
        match self {
            AnswerContent::Parts(parts)
                if parts
                    .iter()
                    .any(|part| part.of.is_some() == part.each.is_some()) =>
            {
                Err("a part must have exactly one of `of` and `each`")
            }
            _ => Ok(()),
        }
    }

    fn text(&self, record: &Value, line: usize) -> Result<String, AnswersError> {
        match self {
            AnswerContent::Text(template) => fill(template, record, line),
            AnswerContent::Parts(parts) => {
                let mut words = Vec::new();
                for part in parts {
                    part.print(record, line, &mut words)?;
                }
                Ok(words.join(" "))
            }
        }
    }
}

impl RowPart {
    fn print(
        &self,
        record: &Value,
        line: usize,
        words: &mut Vec<String>,
    ) -> Result<(), AnswersError> {
        let (path, all) = match (&self.of, &self.each) {
            (Some(path), _) => (path, std::slice::from_ref(value_at(record, path, line)?)),
            (None, Some(path)) => match value_at(record, path, line)? {
                Value::Array(items) => (path, items.as_slice()),
                _ => {
                    return Err(AnswersError::NotList {
                        line,
                        path: path.clone(),
                    });
                }
            },
            (None, None) => return Ok(()),
        };
        for value in all.iter().filter(|value| !self.leaves_out(value)) {
            words.push(match &self.text {
                Some(template) => fill(template, value, line)?,
                None => print(value, path, line)?,
            });
        }
        Ok(())
    }

    fn leaves_out(&self, value: &Value) -> bool {
        match &self.unless {
            None => false,
            Some(Value::Object(members)) => members
                .iter()
                .all(|(name, expected)| value.get(name) == Some(expected)),
            Some(expected) => value == expected,
        }
    }
}

/// Reads answers as JSON lines if `rows` is given, and otherwise as CSV.
pub(crate) fn read(bytes: &[u8], rows: Option<&Rows>) -> Result<Frame, AnswersError> {
    match rows {
        None => Ok(read_frame(bytes, &ReadOptions::default())?),
        Some(rows) => rows.frame(std::str::from_utf8(bytes)?),
    }
}

fn fill(template: &str, record: &Value, line: usize) -> Result<String, AnswersError> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, path, after)) = next_path(rest) {
        text.push_str(before);
        text.push_str(&print(value_at(record, path, line)?, path, line)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn next_path(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('{')?;
    let (path, after) = rest.split_once('}')?;
    Some((before, path, after))
}

/// Returns a string unchanged, and any other value as JSON.
fn print(value: &Value, path: &str, line: usize) -> Result<String, AnswersError> {
    match value {
        Value::Null => Err(AnswersError::Member {
            line,
            path: path.to_owned(),
        }),
        Value::String(text) => Ok(text.clone()),
        other => Ok(other.to_string()),
    }
}

fn value_at<'a>(record: &'a Value, path: &str, line: usize) -> Result<&'a Value, AnswersError> {
    path.split('.')
        .try_fold(record, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        })
        .ok_or_else(|| AnswersError::Member {
            line,
            path: path.to_owned(),
        })
}
