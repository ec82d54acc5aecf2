//! `description`: completes the competition's text with facts from its pipeline.
//!
//! The step appends sections about files, submission format and metric to `pipelines/ID/description.md`. Its inputs are the
//! outputs, so the sections agree with the published files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::io::Read as _;

use prep_cache::Stored;
use prep_core::{Context, FileValue, Inputs, StepError, Value, units};
use prep_formats::pandas::{CellValue, Frame, ReadOptions, read_frame};
use prep_spec::joined;
use serde::Serialize;

use crate::kinds::FunctionStep;
use crate::value::{Opener, Tree, input, single_file};

/// For each file, at most this number of columns is listed, and the others are counted.
const SHOWN_COLUMNS: usize = 24;
/// Number of lines of the sample submission that are shown, with the header.
const SHOWN_LINES: usize = 4;
/// Bytes of the sample submission that are read.
const SHOWN_BYTES: usize = 4096;
/// Number of bytes at the beginning of a JSON lines file that are searched for the end of the first line.
const FIRST_LINE_BYTES: usize = 1 << 16;
/// Number of bytes at the beginning of a table whose cells are compared with paths of files.
const FIRST_ROWS_BYTES: usize = 1 << 16;
/// Number of rows whose cells are compared with paths of files.
const COMPARED_ROWS: usize = 10;
/// The values of graded columns are listed only for tables with at most this number of bytes.
const MAX_VALUES_BYTES: usize = 8 << 20;
/// Columns with more different values, or with a longer value, have no list of values.
const MAX_VALUES: usize = 24;
const MAX_VALUE_BYTES: usize = 60;

/// Facts about submissions, for participants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SubmissionFacts {
    /// Sentences about the rules.
    pub requirements: Vec<String>,
    /// The columns with true values, if the section `grade` names them.
    pub graded: Vec<String>,
    /// The columns that identify rows.
    pub ids: Vec<String>,
}

/// The first rows of a public table.
struct PublicTable<'a> {
    path: &'a str,
    frame: Frame,
    is_entire: bool,
}

pub(crate) struct Description {
    pub prose: String,
    /// Whether `prose` is published unchanged.
    pub is_complete: bool,
    pub metric: Option<String>,
    /// See [`BuildOptions::submissions`](crate::BuildOptions::submissions).
    pub submissions: Option<SubmissionFacts>,
    /// For each public output, the name of the input, and the path below `public`.
    pub outputs: Vec<(String, String)>,
    /// Name of the input with the sample submission, and its path below `public` or `private`.
    pub sample: Option<(String, String)>,
}

impl Description {
    pub(crate) fn step(self) -> FunctionStep {
        let paths: Vec<&String> = self.outputs.iter().map(|(_, path)| path).collect();
        let sample = self.sample.as_ref().map(|(_, path)| path);
        let mut params = match self.is_complete {
            true => serde_json::json!({ "text": self.prose }),
            false => {
                serde_json::json!({ "prose": self.prose, "metric": self.metric, "outputs": paths, "sample": sample })
            }
        };
        if let (Some(facts), false) = (&self.submissions, self.is_complete) {
            params["submissions"] = serde_json::json!(facts);
        }
        // Without these facts, the text is the same as that of version 1.
        let version = if self.submissions.is_some() { 3 } else { 1 };
        let run = move |context: &Context, inputs: &Inputs| self.run(context, inputs);
        FunctionStep::new("description", version, params, run)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        if self.is_complete {
            return Description::stored(context, &self.prose);
        }
        let mut text = self.prose.trim_end().to_owned();
        text.push_str("\n\n## Files\n\n");
        let tables = self.tables(context, inputs)?;
        for (name, path) in &self.outputs {
            self.push_file(context, inputs, name, path, &tables, &mut text)?;
        }
        if let Some((name, path)) = &self.sample {
            self.push_submission(context, inputs, name, path, &tables, &mut text)?;
        }
        if let Some(metric) = &self.metric {
            text.push_str("\n## Metric\n\n");
            text.push_str(metric.trim());
            text.push('\n');
        }
        Description::stored(context, &text)
    }

    fn stored(context: &Context, text: &str) -> Result<Value, StepError> {
        let stored = Stored {
            digest: context.store.put(text.as_bytes())?,
            len: text.len() as u64,
        };
        Ok(FileValue::stored(stored).into_value())
    }

    /// Reads the public tables in CSV files. A graded column is read entirely. If the bytes of the description are published,
    /// reads no table.
    fn tables(
        &self,
        context: &Context,
        inputs: &Inputs,
    ) -> Result<Vec<PublicTable<'_>>, StepError> {
        let mut tables = Vec::new();
        let Some(facts) = &self.submissions else {
            return Ok(tables);
        };
        for (name, path) in &self.outputs {
            let value = input(inputs, name)?;
            let file = FileValue::from_value(value);
            let Some(file) = file.ok().filter(|_| path.ends_with(".csv")) else {
                continue;
            };
            let is_graded = file.columns.iter().any(|name| facts.graded.contains(name));
            let max = match is_graded && file.bytes <= MAX_VALUES_BYTES as u64 {
                true => MAX_VALUES_BYTES,
                false => FIRST_ROWS_BYTES,
            };
            let (mut bytes, is_entire) = head(context, value, max)?;
            if !is_entire {
                let end = bytes.iter().rposition(|byte| *byte == b'\n');
                bytes.truncate(end.map_or(0, |end| end + 1));
            }
            let options = ReadOptions {
                all_text: true,
                ..ReadOptions::default()
            };
            if let Ok(frame) = read_frame(&bytes, &options) {
                tables.push(PublicTable {
                    path,
                    frame,
                    is_entire,
                });
            }
        }
        Ok(tables)
    }

    /// Returns a sentence with the path of the file that belongs to a row of a table. `directory` is the path of the tree.
    fn example(&self, tables: &[PublicTable<'_>], directory: &str, tree: &Tree) -> Option<String> {
        let ids = self.submissions.as_ref().map(|facts| &facts.ids)?;
        let names = tree.files().map(|file| last_part(file.path()));
        let names: HashSet<&str> = names.flat_map(|name| [name, stem(name)]).collect();
        tables.iter().find_map(|table| {
            table.frame.columns.iter().find_map(|column| {
                let cells = texts(&table.frame, &column.name)?;
                let cells: Vec<&str> = cells.into_iter().take(COMPARED_ROWS).collect();
                // Most columns contain no names of files, so the search below is rare.
                if !cells.iter().all(|cell| names.contains(last_part(cell))) {
                    return None;
                }
                let is_id = ids.contains(&column.name);
                let (cell, file) = (cells.first()?, named_file(tree, &cells, is_id)?);
                Some(format!(
                    "; for example, `{directory}{file}` belongs to the row of `{}` with the `{}` `{cell}`",
                    table.path, column.name
                ))
            })
        })
    }

    /// Returns sentences about the values of the graded columns in the public tables, without the sample submission.
    fn values(&self, tables: &[PublicTable<'_>]) -> Vec<String> {
        let graded = self.submissions.iter().flat_map(|facts| &facts.graded);
        let graded: Vec<&String> = graded.collect();
        let of_table = |table: &PublicTable<'_>| {
            let mut columns: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
            for name in graded.iter().filter(|_| table.is_entire) {
                let values: BTreeSet<&str> = match texts(&table.frame, name) {
                    Some(texts) => texts.into_iter().collect(),
                    None => continue,
                };
                let is_short = values.iter().all(|value| value.len() <= MAX_VALUE_BYTES);
                if is_short && (2..=MAX_VALUES).contains(&values.len()) {
                    let mut values: Vec<&str> = values.into_iter().collect();
                    let number = |value: &&str| value.parse().unwrap_or(f64::INFINITY);
                    values.sort_by(|one, other| number(one).total_cmp(&number(other)));
                    let values = values.into_iter().map(|value| format!("`{value}`"));
                    columns
                        .entry(values.collect())
                        .or_default()
                        .push(format!("`{name}`"));
                }
            }
            let sentences = columns.into_iter().map(|(values, names)| {
                let noun = if names.len() == 1 {
                    "column"
                } else {
                    "columns"
                };
                let names = joined(names.into_iter(), SHOWN_COLUMNS);
                let values = joined(values.into_iter(), MAX_VALUES);
                format!(
                    "In `{}`, the values of the {noun} {names} are {values}.",
                    table.path
                )
            });
            sentences.collect::<Vec<_>>()
        };
        let sample = self.sample.as_ref().map(|(_, path)| path.as_str());
        let tables = tables.iter().filter(|table| Some(table.path) != sample);
        tables.flat_map(of_table).collect()
    }

    /// Appends a list item with the path of an output, and its rows, columns or number of files.
    fn push_file(
        &self,
        context: &Context,
        inputs: &Inputs,
        name: &str,
        path: &str,
        tables: &[PublicTable<'_>],
        text: &mut String,
    ) -> Result<(), StepError> {
        let value = input(inputs, name)?;
        let _ = write!(text, "- `{path}`");
        match FileValue::from_value(value) {
            Ok(file) => {
                if let Some(rows) = file.rows {
                    let _ = write!(text, ": {rows} rows");
                }
                if !file.columns.is_empty() {
                    let names = file.columns.iter().map(|column| format!("`{column}`"));
                    let _ = write!(text, "; columns {}", joined(names, SHOWN_COLUMNS));
                } else if is_json_lines(path) && self.submissions.is_some() {
                    let fields = fields(&head(context, value, FIRST_LINE_BYTES)?.0);
                    if !fields.is_empty() {
                        let names = fields.iter().map(|field| format!("`{field}`"));
                        let _ = write!(text, "; fields {}", joined(names, SHOWN_COLUMNS));
                    }
                }
            }
            // The output is a tree.
            Err(_) => {
                let tree = Tree::load(context, value)?;
                let (files, _) = tree.size();
                if path.ends_with('/') {
                    let noun = if files == 1 { "file" } else { "files" };
                    let example = self.example(tables, path, &tree).unwrap_or_default();
                    let _ = write!(text, ": {files} {noun}{example}");
                }
            }
        }
        text.push('\n');
        Ok(())
    }

    /// Appends the section about submissions, with the first lines of the sample submission.
    fn push_submission(
        &self,
        context: &Context,
        inputs: &Inputs,
        name: &str,
        path: &str,
        tables: &[PublicTable<'_>],
        text: &mut String,
    ) -> Result<(), StepError> {
        let value = input(inputs, name)?;
        let file = FileValue::from_value(value).ok();
        let rows = file.as_ref().and_then(|file| file.rows);
        let rows = rows.filter(|_| self.submissions.is_some());
        let rows = rows.map_or_else(String::new, |rows| {
            format!(", {}", units::count(rows, "row"))
        });
        let (head, is_entire) = head(context, value, SHOWN_BYTES)?;
        let head = String::from_utf8_lossy(&head);
        // If the sample is longer than `head`, the last line of `head` may be incomplete.
        let complete_lines = match is_entire {
            true => SHOWN_LINES,
            false => head.matches('\n').count(),
        };
        let shown = complete_lines.min(SHOWN_LINES);
        let lines: Vec<&str> = head.lines().take(shown).collect();
        text.push_str("\n## Submission\n\n");
        let _ = writeln!(
            text,
            "A CSV file with a header line and a row for each row of the sample (`{path}`{rows}), like this:"
        );
        let _ = writeln!(text, "\n```\n{}\n```", lines.join("\n"));
        let Some(facts) = &self.submissions else {
            return Ok(());
        };
        let is_compared = |name: &&String| facts.ids.contains(name) || facts.graded.contains(name);
        let columns = file.iter().flat_map(|file| &file.columns);
        let others: Vec<_> = columns.filter(|name| !is_compared(name)).collect();
        let mut rules = facts.requirements.clone();
        if !others.is_empty() && !facts.graded.is_empty() {
            let (noun, verb) = match others.len() {
                1 => ("column", "is"),
                _ => ("columns", "are"),
            };
            let names = others.into_iter().map(|name| format!("`{name}`"));
            let names: Vec<String> = names.collect();
            let names = joined(names.into_iter(), SHOWN_COLUMNS);
            rules.push(format!("The {noun} {names} {verb} not graded."));
        }
        rules.extend(self.values(tables));
        if !rules.is_empty() {
            let _ = writeln!(text, "\nThese rules apply:\n\n- {}", rules.join("\n- "));
        }
        Ok(())
    }
}

/// Returns the cells of a column that are not missing.
fn texts<'f>(frame: &'f Frame, name: &str) -> Option<Vec<&'f str>> {
    let values = frame.column(name)?.data.values();
    let text = |value| match value {
        CellValue::Text(text) => Some(text),
        _ => None,
    };
    Some(values.filter_map(text).collect())
}

/// Returns the path of the file that the first cell names. Each cell must name exactly one file of the tree: by the end of its
/// path, or else by its name, with or without the suffix of the file. Numbers and words may equal names of files by chance.
/// Therefore a name without its suffix counts only in a column of identifiers (`is_id`).
fn named_file<'t>(tree: &'t Tree, cells: &[&str], is_id: bool) -> Option<&'t str> {
    let ways = [
        (false, is_end as fn(&str, &str) -> bool),
        (false, has_equal_name),
        (true, is_end),
        (true, has_equal_name),
    ];
    let mut ways = ways.into_iter().filter(|(is_stem, _)| is_id || !is_stem);
    ways.find_map(|(is_stem, is_match)| {
        let only = |cell: &&str| {
            let files = tree.files().map(|file| file.path());
            let mut files = files.filter(|path| match is_stem {
                true => is_match(stem(path), cell),
                false => is_match(path, cell),
            });
            files.next().filter(|_| files.next().is_none())
        };
        let found: Option<Vec<&str>> = cells.iter().map(only).collect();
        found?.first().copied()
    })
}

/// Returns whether one of two paths consists of the last parts of the other.
fn is_end(one: &str, other: &str) -> bool {
    let rest = one.strip_suffix(other).or(other.strip_suffix(one));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

fn has_equal_name(one: &str, other: &str) -> bool {
    last_part(one) == last_part(other)
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn stem(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(stem, _)| stem)
}

fn is_json_lines(path: &str) -> bool {
    path.ends_with(".jsonl") || path.ends_with(".ndjson")
}

/// Returns the names of the members of the first line of a JSON lines file. Returns no names if `head`, the beginning
/// of the file, does not contain the entire line.
fn fields(head: &[u8]) -> Vec<String> {
    let end = head.iter().position(|byte| *byte == b'\n');
    let line = head.get(..end.unwrap_or(head.len())).unwrap_or_default();
    let object = serde_json::from_slice::<serde_json::Map<_, _>>(line);
    object.map_or_else(
        |_| Vec::new(),
        |object| object.into_iter().map(|(name, _)| name).collect(),
    )
}

/// Returns at most `max` bytes from the beginning of an output that is a single file. Also returns whether these are
/// all bytes of the output.
fn head(context: &Context, value: &Value, max: usize) -> Result<(Vec<u8>, bool), StepError> {
    let content = single_file(context, value)?;
    let opener = Opener::new(context);
    let mut head = Vec::with_capacity(max);
    let source = opener.open(&content)?;
    let mut source = source.reader()?.take(max as u64);
    source.read_to_end(&mut head).map_err(StepError::input)?;
    let is_entire = head.len() as u64 == content.bytes();
    Ok((head, is_entire))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_json_lines_are_those_of_the_first_line() {
        let lines = b"{\"id\": 1, \"text\": \"{\"}\n{\"rare\": 2}\n";
        assert_eq!(fields(lines), ["id", "text"]);
        assert_eq!(fields(&lines[..10]), [""; 0]);
        assert_eq!(fields(b"[1]\n"), [""; 0]);
    }
}
