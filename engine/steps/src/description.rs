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
use prep_spec::{joined, path_part, without_extension};
use serde::Serialize;

use crate::kinds::FunctionStep;
use crate::value::{Opener, Tree, input, single_file};

/// For each file, at most this number of columns is listed, and the others are counted.
const SHOWN_COLUMNS: usize = 24;
/// Number of lines of the sample submission that are shown, with the header.
const SHOWN_LINES: usize = 4;
/// Number of bytes at the beginning of the sample submission that are read.
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

/// Stands for a label in [`SubmissionFacts::meaning`].
const LABEL: &str = "{label}";
/// Replaces [`LABEL`] if the answers do not have exactly two labels.
const LARGER_LABEL: &str = "the larger of the two labels (1, if the labels are 0 and 1)";

/// Facts about submissions, for participants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SubmissionFacts {
    /// Sentences about the rules.
    pub requirements: Vec<String>,
    /// A sentence about the numbers in a submission. `{label}` stands for the label whose probability these
    /// numbers are.
    pub meaning: Option<String>,
    /// The columns that are graded, if the section `grade` names them. In the answers, they contain the true values.
    pub graded: Vec<String>,
    /// The SQL expressions with which the query of the answers computes graded columns.
    pub computed: BTreeMap<String, String>,
    /// The columns that identify rows.
    pub ids: Vec<String>,
}

impl SubmissionFacts {
    /// Returns whether the description depends on the values of the answers.
    pub(crate) fn needs_answers(&self) -> bool {
        let names_label = |meaning: &String| meaning.contains(LABEL);
        !self.computed.is_empty() || self.meaning.as_ref().is_some_and(names_label)
    }
}

/// The first rows of a table, or all its rows.
struct PublicTable<'a> {
    path: &'a str,
    frame: Frame,
    is_entire: bool,
}

pub(crate) struct Description {
    pub prose: String,
    /// Whether `prose` is already complete, and therefore published unchanged.
    pub is_complete: bool,
    pub metric: Option<String>,
    /// See [`BuildOptions::submissions`](crate::BuildOptions::submissions).
    pub submissions: Option<SubmissionFacts>,
    /// For each public output, the name of the input, and the path below `public`.
    pub outputs: Vec<(String, String)>,
    /// Name of the input with the sample submission, and its path below `public` or `private`.
    pub sample: Option<(String, String)>,
    /// Name of the input with the answers, and its path.
    pub answers: Option<(String, String)>,
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
        // Without these facts, the step still writes the same text as its version 1.
        let version = if self.submissions.is_some() { 4 } else { 1 };
        let run = move |context: &Context, inputs: &Inputs| self.run(context, inputs);
        FunctionStep::new("description", version, params, run)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        if self.is_complete {
            return Description::stored(context, &self.prose);
        }
        let mut text = self.prose.trim_end().to_owned();
        text.push_str("\n\n## Files\n\n");
        let tables = self.tables_of(context, inputs, &self.outputs)?;
        for (name, path) in &self.outputs {
            self.push_file(context, inputs, name, path, &tables, &mut text)?;
        }
        if let Some((name, path)) = &self.sample {
            let answers = self.tables_of(context, inputs, self.answers.as_slice())?;
            let rules = self.rules(&tables, answers.first());
            self.push_submission(context, inputs, name, path, rules, &mut text)?;
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

    /// Reads those of the `outputs` that are CSV files. Graded columns and identifiers are read entirely. If there are no
    /// facts about submissions, reads no table.
    fn tables_of<'t>(
        &self,
        context: &Context,
        inputs: &Inputs,
        outputs: &'t [(String, String)],
    ) -> Result<Vec<PublicTable<'t>>, StepError> {
        let mut tables = Vec::new();
        let Some(facts) = &self.submissions else {
            return Ok(tables);
        };
        for (name, path) in outputs {
            let value = input(inputs, name)?;
            let file = FileValue::from_value(value);
            let Some(file) = file.ok().filter(|_| path.ends_with(".csv")) else {
                continue;
            };
            let is_compared = |name| facts.graded.contains(name) || facts.ids.contains(name);
            let is_compared = file.columns.iter().any(is_compared);
            let max = match is_compared && file.bytes <= MAX_VALUES_BYTES as u64 {
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

    /// Returns the end of a sentence about a directory: which file belongs to a row of a table, and how many rows have no file.
    /// `directory` is the path of the tree. A number or word may equal the name of a file without its suffix by chance.
    /// Therefore only identifiers are compared with such names.
    fn example(&self, tables: &[PublicTable<'_>], directory: &str, tree: &Tree) -> Option<String> {
        let ids = self.submissions.as_ref().map(|facts| &facts.ids)?;
        ["name", "stem"].into_iter().find_map(|part| {
            let names = tree.files().map(|file| path_part(file.path(), part));
            let names: HashSet<&str> = names.collect();
            let is_named = |cell: &&str| names.contains(path_part(cell, "name"));
            tables.iter().find_map(|table| {
                let mut columns = table.frame.columns.iter().map(|column| &column.name);
                columns.find_map(|column| {
                    let cells = texts(&table.frame, column)?;
                    let first = cells.iter().copied().take(COMPARED_ROWS);
                    let first: Vec<&str> = first.filter(is_named).collect();
                    // `named_file` is slow. Therefore it is called only if most of the first cells are names of files.
                    let is_most = first.len() * 2 > cells.len().min(COMPARED_ROWS);
                    if !is_most || (part == "stem" && !ids.contains(column)) {
                        return None;
                    }
                    let (path, cell) = (table.path, first.first()?);
                    let file = named_file(tree, &first, part == "stem")?;
                    let missing = cells.iter().filter(|cell| !is_named(cell)).count();
                    let missing = match missing {
                        0 => String::new(),
                        _ if !table.is_entire => String::new(),
                        1 => format!("; 1 row of `{path}` has no file"),
                        many => format!("; {many} rows of `{path}` have no file"),
                    };
                    Some(format!(
                        "; for example, `{directory}{file}` belongs to the row of `{path}` with the `{column}` `{cell}`{missing}"
                    ))
                })
            })
        })
    }

    /// Returns the public tables without the sample submission.
    fn data<'t>(&self, tables: &'t [PublicTable<'t>]) -> impl Iterator<Item = &'t PublicTable<'t>> {
        let sample = self.sample.as_ref().map(|(_, path)| path.as_str());
        tables
            .iter()
            .filter(move |table| Some(table.path) != sample)
    }

    /// Returns sentences about the values of the graded columns in the public tables.
    fn values(&self, tables: &[PublicTable<'_>]) -> Vec<String> {
        let graded = self.submissions.iter().flat_map(|facts| &facts.graded);
        let graded: Vec<&String> = graded.collect();
        let of_table = |table: &PublicTable<'_>| {
            let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for name in &graded {
                if let Some(values) = table.values(name) {
                    let names = columns.entry(listed(&values)).or_default();
                    names.push(format!("`{name}`"));
                }
            }
            let sentences = columns.into_iter().map(|(values, names)| {
                let noun = if names.len() == 1 {
                    "column"
                } else {
                    "columns"
                };
                let names = joined(names.into_iter(), SHOWN_COLUMNS);
                let path = table.path;
                format!("In `{path}`, the values of the {noun} {names} are {values}.")
            });
            sentences.collect::<Vec<_>>()
        };
        self.data(tables).flat_map(of_table).collect()
    }

    /// Returns sentences about graded columns with two labels that differ from those in the public tables, because the
    /// query of the answers computes the labels.
    fn conversions(&self, tables: &[PublicTable<'_>], answers: &PublicTable<'_>) -> Vec<String> {
        let computed = self.submissions.iter().flat_map(|facts| &facts.computed);
        let converted = computed.filter_map(|(name, expression)| {
            // Columns with more than two values are omitted, because a list of their values could reveal the answers.
            let values = answers.values(name).filter(|values| values.len() == 2)?;
            let mut tables = self.data(tables).filter_map(|table| table.values(name));
            let is_other = |known: Vec<&str>| values.iter().all(|value| !known.contains(value));
            let values = listed(&values);
            tables.any(is_other).then(|| {
                format!("In the answers, the values of the column `{name}` are {values}, computed as `{expression}`.")
            })
        });
        converted.collect()
    }

    /// Returns sentences about columns whose cells are lists of graded columns.
    fn label_lists(&self, tables: &[PublicTable<'_>]) -> Vec<String> {
        let graded = self.submissions.iter().flat_map(|facts| &facts.graded);
        let graded: HashSet<&str> = graded.map(String::as_str).collect();
        let of_column = |path: &str, frame: &Frame, name: &str| {
            let cells = texts(frame, name)?;
            let longest = cells
                .iter()
                .copied()
                .max_by_key(|cell| labels(cell, &graded))?;
            let are_lists = cells.iter().all(|cell| labels(cell, &graded) > Some(0));
            (are_lists && labels(longest, &graded) > Some(1)).then(|| {
                format!("In `{path}`, each cell of the column `{name}` lists the labels of its row, for example `{longest}`.")
            })
        };
        let tables = self.data(tables);
        let found = tables.filter_map(|table| {
            let mut columns = table.frame.columns.iter();
            columns.find_map(|column| of_column(table.path, &table.frame, &column.name))
        });
        found.collect()
    }

    /// Returns the label whose probability a submission contains: the larger one, if all graded columns of the answers have the
    /// same two labels.
    fn larger_label(&self, answers: Option<&PublicTable<'_>>) -> Option<String> {
        let graded = self.submissions.iter().flat_map(|facts| &facts.graded);
        let pairs = graded.map(|name| answers?.values(name).filter(|values| values.len() == 2));
        let pairs: BTreeSet<Vec<&str>> = pairs.collect::<Option<_>>()?;
        let only = pairs.first().filter(|_| pairs.len() == 1)?;
        Some(format!("`{}`", only.last()?))
    }

    /// Returns the rules of submissions, without the sentence about columns that are not graded.
    fn rules(&self, tables: &[PublicTable<'_>], answers: Option<&PublicTable<'_>>) -> Vec<String> {
        let Some(facts) = &self.submissions else {
            return Vec::new();
        };
        let label = self.larger_label(answers);
        let label = label.unwrap_or_else(|| LARGER_LABEL.to_owned());
        let meaning = facts.meaning.iter();
        let meaning = meaning.map(|meaning| meaning.replace(LABEL, &label));
        let mut rules: Vec<String> = facts.requirements.iter().cloned().chain(meaning).collect();
        rules.extend(self.values(tables));
        rules.extend(answers.map_or_else(Vec::new, |answers| self.conversions(tables, answers)));
        rules.extend(self.label_lists(tables));
        rules
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
        mut rules: Vec<String>,
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
        if !rules.is_empty() {
            let _ = writeln!(text, "\nThese rules apply:\n\n- {}", rules.join("\n- "));
        }
        Ok(())
    }
}

impl PublicTable<'_> {
    /// Returns the distinct values of a column, sorted. Returns `None` if the values are many or long, or if the table was not
    /// read entirely.
    fn values(&self, name: &str) -> Option<Vec<&str>> {
        let values = texts(&self.frame, name).filter(|_| self.is_entire)?;
        let values: BTreeSet<&str> = values.into_iter().collect();
        let is_short = values.iter().all(|value| value.len() <= MAX_VALUE_BYTES);
        let mut values: Vec<&str> = values.into_iter().collect();
        let number = |value: &&str| value.parse().unwrap_or(f64::INFINITY);
        values.sort_by(|one, other| number(one).total_cmp(&number(other)));
        (is_short && (2..=MAX_VALUES).contains(&values.len())).then_some(values)
    }
}

fn listed(values: &[&str]) -> String {
    let values = values.iter().map(|value| format!("`{value}`"));
    joined(values.collect::<Vec<_>>().into_iter(), MAX_VALUES)
}

/// Returns the number of labels in a cell such as `a | b`, `a,b` or `['a', 'b']`. Returns `None` if the cell contains other
/// texts.
fn labels(cell: &str, known: &HashSet<&str>) -> Option<usize> {
    let cell = cell.trim_matches(['[', ']']);
    let count = |separator: &[char]| {
        let parts = cell.split(separator);
        let mut parts = parts.map(|part| part.trim().trim_matches(['\'', '"']));
        let parts: Option<Vec<&str>> = parts
            .by_ref()
            .map(|part| known.get(part).copied())
            .collect();
        parts.map(|parts| parts.len())
    };
    match cell {
        "" => Some(0),
        _ => count(&[',', '|', ';']).or_else(|| count(&[' '])),
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
/// path, or else by its name. If `is_stem`, cells name files without their suffix.
fn named_file<'t>(tree: &'t Tree, cells: &[&str], is_stem: bool) -> Option<&'t str> {
    let ways = [is_end as fn(&str, &str) -> bool, has_equal_name];
    ways.into_iter().find_map(|is_match| {
        let only = |cell: &&str| {
            let files = tree.files().map(|file| file.path());
            let mut files = files.filter(|path| match is_stem {
                true => is_match(without_extension(path), cell),
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
    path_part(one, "name") == path_part(other, "name")
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
    fn lists_of_labels_are_recognized() {
        let known = HashSet::from(["a", "b"]);
        for (cell, expected) in [
            ("a", Some(1)),
            ("a | b", Some(2)),
            ("a,b", Some(2)),
            ("b a", Some(2)),
            ("['a', 'b']", Some(2)),
            ("[]", Some(0)),
            ("a,c", None),
            ("text", None),
        ] {
            assert_eq!(labels(cell, &known), expected, "{cell}");
        }
    }

    #[test]
    fn the_fields_of_json_lines_are_those_of_the_first_line() {
        let lines = b"{\"id\": 1, \"text\": \"{\"}\n{\"rare\": 2}\n";
        assert_eq!(fields(lines), ["id", "text"]);
        assert_eq!(fields(&lines[..10]), [""; 0]);
        assert_eq!(fields(b"[1]\n"), [""; 0]);
    }
}
