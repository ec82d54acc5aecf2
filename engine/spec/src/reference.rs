//! The reference of the language, as Markdown, printed from the vocabulary.

use std::fmt::Write as _;

use crate::words::{
    BUNDLE, COLUMN_KINDS, FLOAT_PRECISION, FORMATS, GRADE, Key, METHODS, OUTPUTS, PIPELINE,
    QUOTING, SPLIT, Section, TABLES, Value, Word,
};

const INTRODUCTION: &str = "\
# The pipeline language

<!-- Printed from engine/spec/src/words: change it there, then run `UPDATE=1 cargo test -p prep-spec`. -->

A pipeline is the file `pipelines/ID/pipeline.yaml`. It is YAML without anchors, aliases and tags. A text that contains
`: ` or ` #` needs quotes or a block (`|`); inside `{ }` so does one that contains a comma.

Paths are relative, with `/` between folders, and stay in their folder. Tables and lists have names of lower-case
letters, digits and `_`.
";

const QUERIES: &str = "\
## Queries

A query is one SELECT in DataFusion's SQL. `FROM` names tables of the file and those that the split makes.

Every table has an order, and the hidden column `_row`: a row's position, from 0. It is no part of `*`, and no column
can be given its name. The rows of a query come in the order of its tables in `FROM`, the first table first, unless
`ORDER BY` says otherwise.

Two functions stand for several columns. They are items of a list after `SELECT`:

| item | columns |
|---|---|
| `one_hot(column, list)`, `one_hot(column, 'a', 'b')` | for each text one of that name: 1 where the column equals the text, else 0 |
| `constants(value, list)`, `constants(value, 'a', 'b')` | for each text one of that name, with the value |
";

/// The reference as Markdown.
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    heading(&mut text, 2, "Pipeline", &PIPELINE);
    heading(&mut text, 2, "Bundle: `bundle`", &BUNDLE);
    title(
        &mut text,
        2,
        "Tables: `tables`",
        "A table is a query, or one of these.",
    );
    for section in TABLES {
        heading(&mut text, 3, &format!("`{}`", section.head()), section);
    }
    words(&mut text, "format", FORMATS);
    words(&mut text, "float_precision", FLOAT_PRECISION);
    words(&mut text, "columns", COLUMN_KINDS);
    heading(&mut text, 2, "Split: `split`", &SPLIT);
    for method in METHODS {
        heading(&mut text, 3, &format!("`method: {}`", method.name), method);
    }
    title(
        &mut text,
        2,
        "Outputs: `public`, `private`",
        "The key is a path. It ends in `/` when the output is a folder; `./` is the section's own folder. A query becomes a file in the format that the path's end tells (`.csv`, `.tsv`, `.json`, `.parquet`, `.npy`); for a folder it has the columns `file` (what is written) and `path` (where, below the folder). Or an output is one of these.",
    );
    for section in OUTPUTS {
        heading(&mut text, 3, &format!("`{}`", section.head()), section);
    }
    words(&mut text, "quoting", QUOTING);
    heading(&mut text, 2, "Grading: `grade`", &GRADE);
    text.push('\n');
    text.push_str(QUERIES);
    text
}

fn title(text: &mut String, level: usize, name: &str, doc: &str) {
    let _ = write!(text, "\n{} {name}\n\n{doc}\n", "#".repeat(level));
}

fn heading(text: &mut String, level: usize, name: &str, section: &Section) {
    title(text, level, name, section.doc);
    text.push_str("\n| key | value | meaning | example |\n|---|---|---|---|\n");
    for key in section.keys {
        let name = match key.required {
            true => format!("**`{}`**", key.name),
            false => format!("`{}`", key.name),
        };
        let (kind, doc, example) = (kind(key), cell(key.doc), cell(key.example));
        let _ = writeln!(text, "| {name} | {kind} | {doc} | `{example}` |");
    }
}

fn words(text: &mut String, key: &str, words: &[Word]) {
    let _ = write!(text, "\n| `{key}` | meaning |\n|---|---|\n");
    for word in words {
        let _ = writeln!(text, "| `{}` | {} |", word.name, cell(word.doc));
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// What a value is, in a few words.
fn kind(key: &Key) -> String {
    match &key.value {
        Value::Map { key, value } => format!("mapping from {key} to {}", simple(value)),
        Value::Word(words) => words
            .iter()
            .map(|word| format!("`{}`", word.name))
            .collect::<Vec<_>>()
            .join(", "),
        other => simple(other).to_owned(),
    }
}

fn simple(value: &Value) -> &'static str {
    match value {
        Value::Text => "text",
        Value::Md5 => "32 hex digits",
        Value::Query => "query",
        Value::Path => "path",
        Value::Glob => "path with wildcards",
        Value::Table => "a table's name",
        Value::Column => "a column's name",
        Value::Delimiter => "one character, or `tab`",
        Value::Natural => "whole number",
        Value::Number => "number",
        Value::Size => "number or query",
        Value::True => "`true`",
        Value::Word(_) => "a word",
        Value::Method => "a method's name",
        Value::Texts => "list of texts",
        Value::Columns => "list of names, or mapping from names to types",
        Value::Pair => "two names",
        Value::Section(_) | Value::Split | Value::Grade => "mapping, see below",
        Value::Map { .. } => "mapping",
        Value::QueryOr(_) => "query or mapping, see below",
        Value::Members => "mapping from paths to outputs",
        Value::Patch => "part of a pipeline",
    }
}
