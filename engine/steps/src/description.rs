//! `description`: completes the competition's text with facts from its pipeline.
//!
//! The step appends sections about files, submission format and metric to `pipelines/ID/description.md`. Its inputs are the
//! outputs, so the sections agree with the published files.

use std::fmt::Write as _;
use std::io::Read as _;

use prep_cache::Stored;
use prep_core::{Context, FileValue, Inputs, StepError, Value, units};
use prep_spec::joined;

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

pub(crate) struct Description {
    pub prose: String,
    /// Whether `prose` is published unchanged.
    pub is_complete: bool,
    pub metric: Option<String>,
    /// See [`BuildOptions::requirements`](crate::BuildOptions::requirements).
    pub requirements: Option<Vec<String>>,
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
        if let (Some(requirements), false) = (&self.requirements, self.is_complete) {
            params["requirements"] = serde_json::json!(requirements);
        }
        // Without requirements, the text is the same as that of version 1.
        let version = 1 + u32::from(self.requirements.is_some());
        let run = move |context: &Context, inputs: &Inputs| self.run(context, inputs);
        FunctionStep::new("description", version, params, run)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Value, StepError> {
        if self.is_complete {
            return Description::stored(context, &self.prose);
        }
        let mut text = self.prose.trim_end().to_owned();
        text.push_str("\n\n## Files\n\n");
        for (name, path) in &self.outputs {
            self.push_file(context, inputs, name, path, &mut text)?;
        }
        if let Some((name, path)) = &self.sample {
            self.push_submission(context, inputs, name, path, &mut text)?;
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

    /// Appends a list item with the path of an output, and its rows, columns or number of files.
    fn push_file(
        &self,
        context: &Context,
        inputs: &Inputs,
        name: &str,
        path: &str,
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
                } else if is_json_lines(path) && self.requirements.is_some() {
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
                    let _ = write!(text, ": {files} {noun}");
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
        text: &mut String,
    ) -> Result<(), StepError> {
        let value = input(inputs, name)?;
        let rows = FileValue::from_value(value).ok().and_then(|file| file.rows);
        let rows = rows.filter(|_| self.requirements.is_some());
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
        if let Some(requirements) = self.requirements.as_ref().filter(|all| !all.is_empty()) {
            let _ = writeln!(
                text,
                "\nThese rules apply:\n\n- {}",
                requirements.join("\n- ")
            );
        }
        Ok(())
    }
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
