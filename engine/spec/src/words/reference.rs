//! Generates the Markdown reference of the language from the vocabulary.

use std::fmt::Write as _;

use super::{
    BUNDLE, CHECKS, COLUMN_KINDS, GRADE, KeyType, KindSpec, PIPELINE, Produces, SOURCE, Section,
    SectionKey, Vocabulary, Word,
};

const INTRODUCTION: &str = "\
# The pipeline language

<!-- Printed from engine/steps/src/kinds and engine/spec/src/words: change it there, then run
     `UPDATE=1 cargo test -p prep-spec`. -->

A pipeline is the file `pipelines/ID/pipeline.yaml`. It is YAML without anchors, aliases and tags.

A string that contains `: ` or ` #` needs quotes or the form of a block scalar (`|`). Inside `{ }`, a string that contains a
comma also needs quotes.

Paths are relative, use `/` as the separator, and must not contain `..`. A path that begins with `NAME:` is in the source of
that name. Any other path of an input is in the bundle.

Names of tables, lists and sources consist of lower-case letters, digits and `_`.
";

const CHECKS_INTRODUCTION: &str = "
## Checks: `checks`

A check has a name of your choice, and its value is a query that must return no row. The three names in the following table
are different: their value is a condition, or a list of conditions.

In a condition, `TABLE.(COLUMN, COLUMN)` compares the combinations of the values of several columns. A column whose name
contains characters other than letters, digits and `_` must be in double quotes.
";

const QUERIES: &str = "\
## Queries

A query is one SELECT. `FROM` names tables of the section `tables`.

A list of the section `lists` can be used as a table with the single column `value`. `column IN list` tests whether a cell is
one of the list's strings.

Every table is ordered and has a hidden column `_row`, the position of the row from 0. `*` does not include `_row`, and no
other column can have this name. Without `ORDER BY`, the result of a query is sorted by `_row` of the first table in `FROM`,
then by `_row` of the second table, and so on.

Four functions create several columns. `one_hot`, `multi_hot` and `constants` must be separate items in the list after
`SELECT`. `columns` is part of an expression:

| item | columns |
|---|---|
| `one_hot(column, list)`, `one_hot(column, 'a', 'b')` | for each string a column with that name: 1 if the cell equals the string, otherwise 0 |
| `multi_hot(column, list)`, `multi_hot(column, 'a', 'b')` | for each string a column with that name: 1 if the cell contains the string, otherwise 0. The cell contains strings separated by commas, or a JSON list, or it is a list of strings |
| `constants(value, list)`, `constants(value, 'a', 'b')` | for each string a column with that name, which contains the value in every row |
| an expression with `columns(list)`, `columns('a', 'b')` or `table.columns(list)` | for each string a column with that name: the expression for the column of this name, as in `columns(votes) / total` |

`* EXCLUDE columns(list)` leaves out the columns of a list.
";

/// Returns the reference as Markdown.
pub fn markdown(vocabulary: &Vocabulary) -> String {
    let mut text = INTRODUCTION.to_owned();
    heading(&mut text, 2, "Pipeline", &PIPELINE);
    heading(&mut text, 2, "Bundle: `bundle`", &BUNDLE);
    heading(&mut text, 2, "Sources: `sources`", &SOURCE);
    title(
        &mut text,
        2,
        "Tables: `tables`",
        "A table is a query, or one of the following kinds.",
    );
    let mut printed = Vec::new();
    for kind in &vocabulary.tables {
        form(&mut text, kind, &mut printed);
    }
    title(
        &mut text,
        3,
        "Types of columns",
        "The default is `inferred`.",
    );
    words(&mut text, "type", COLUMN_KINDS);
    title(
        &mut text,
        2,
        "Outputs: `public`, `private`",
        "Each key of these sections is the path of an output. The path of a directory ends in `/`; `./` is the \
        directory `public` or `private` itself.\n\nThe value is a mapping of one of the following kinds, or only a \
        query. If the value is only a query, the suffix of the path determines the kind.",
    );
    for kind in &vocabulary.outputs {
        form(&mut text, kind, &mut printed);
    }
    text.push_str(CHECKS_INTRODUCTION);
    words(&mut text, "key", CHECKS);
    heading(&mut text, 2, "Grading: `grade`", &GRADE);
    text.push('\n');
    text.push_str(QUERIES);
    text
}

/// Writes a kind and its methods. Also writes the word lists of the kind's keys, except the lists that are already in
/// `printed`, and adds them to `printed`.
fn form(text: &mut String, form: &KindSpec, printed: &mut Vec<&'static [Word]>) {
    heading(text, 3, &format!("`{}`", form.head()), &form.section);
    if let Produces::File(endings) = form.makes
        && !endings.is_empty()
    {
        let endings: Vec<String> = endings.iter().map(|end| format!("`{end}`")).collect();
        let _ = write!(
            text,
            "\nIf the value of an output is only a query, these suffixes of its path select this kind: {}.\n",
            endings.join(", ")
        );
    }
    if matches!(form.makes, Produces::Folder) {
        text.push_str("\nIf the value of an output is only a query, the suffix `/` of its path selects this kind.\n");
    }
    for key in form.section.keys {
        if let KeyType::Items(sections) = key.value {
            for section in sections {
                heading(text, 4, &format!("`NAME: {}`", section.name), section);
            }
        }
    }
    for method in form.methods {
        heading(text, 4, &format!("`method: {}`", method.name), method);
    }
    let methods = form.methods.iter().flat_map(|method| method.keys);
    for key in form.section.keys.iter().chain(methods) {
        if let KeyType::Word(list) = key.value
            && !printed.contains(&list)
        {
            printed.push(list);
            words(text, key.name, list);
        }
    }
}

fn title(text: &mut String, level: usize, name: &str, doc: &str) {
    let _ = write!(text, "\n{} {name}\n\n{doc}\n", "#".repeat(level));
}

fn heading(text: &mut String, level: usize, name: &str, section: &Section) {
    title(text, level, name, section.doc);
    keys(text, section.keys);
}

/// Writes a table of keys, with a column of examples if the keys have examples.
pub fn keys(text: &mut String, keys: &[SectionKey]) {
    let has_examples = keys.iter().any(|key| !key.example.is_empty());
    text.push_str(match has_examples {
        true => "\n| key | value | meaning | example |\n|---|---|---|---|\n",
        false => "\n| key | value | meaning |\n|---|---|---|\n",
    });
    for key in keys {
        let name = match key.required {
            true => format!("**`{}`**", key.name),
            false => format!("`{}`", key.name),
        };
        let (kind, doc) = (kind(key), cell(key.doc));
        let _ = write!(text, "| {name} | {kind} | {doc} |");
        if has_examples {
            let _ = write!(text, " `{}` |", cell(key.example));
        }
        text.push('\n');
    }
}

fn words(text: &mut String, key: &str, words: &[Word]) {
    let _ = write!(text, "\n| `{key}` | meaning |\n|---|---|\n");
    for word in words {
        let _ = writeln!(text, "| `{}` | {} |", word.name, cell(word.doc));
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn kind(key: &SectionKey) -> String {
    match &key.value {
        KeyType::Word(words) => {
            let words = words.iter().map(|word| format!("`{}`", word.name));
            words.collect::<Vec<_>>().join(", ")
        }
        KeyType::Choice(words) => format!("`{}`", words.join("`, `")),
        other => simple(other).to_owned(),
    }
}

/// Returns the description of a type that has no list of words.
fn simple(value: &KeyType) -> &'static str {
    match value {
        KeyType::Text => "text",
        KeyType::Md5 => "32 hex digits",
        KeyType::Sha256 => "64 hex digits",
        KeyType::Url => "http or https URL",
        KeyType::Rows | KeyType::Documents | KeyType::Set => "query",
        KeyType::Placed => {
            "query with the columns `file`, `path`; without `path`, files keep their names"
        }
        KeyType::Lines => "query with one text column",
        KeyType::Entries => "query that selects the column `record` of an array's table",
        KeyType::Path => "path of an output",
        KeyType::Source => "path in the bundle",
        KeyType::Copied => "path in the bundle, or list of paths",
        KeyType::Names => "list of names and mappings `{ list: NAME }`, or one such mapping",
        KeyType::Defaults => "mapping from kinds to mappings from optional keys to values",
        KeyType::Sources => "path in the bundle, with wildcards",
        KeyType::Table => "a table's name",
        KeyType::Files => "name of a table with the column `file`",
        KeyType::Drawn => {
            "name of a table with a random generator: its kind or method has the key `after`"
        }
        KeyType::Column => "a column's name",
        KeyType::Delimiter => "one character, or `tab`",
        KeyType::Natural | KeyType::Seed => "integer",
        KeyType::Share => "number",
        KeyType::Size => "number or query",
        KeyType::Value => "text, number or query",
        KeyType::True => "`true`",
        KeyType::Word(_) => "a word",
        KeyType::Method => "a method's name, see below",
        KeyType::Texts => "list of strings",
        KeyType::Items(_) => "list of mappings, see below",
        KeyType::Operand => "number, or a column's name",
        KeyType::Condition => "condition",
        KeyType::Columns => {
            "list of names and mappings `{ list: NAME }`, or mapping from names to types"
        }
        KeyType::Selection => {
            "a column's name, a list of names, or `{ all_except: [...] }` for all other columns of the answers; `of: submission` in this mapping selects columns of the submission"
        }
        KeyType::String => "text",
        KeyType::Strings => "list of strings and mappings `{ list: NAME }`, or one such mapping",
        KeyType::Number => "number",
        KeyType::Label => "text or integer",
        KeyType::Numbers => "list of numbers",
        KeyType::NumberByName => "mapping from names to numbers",
        KeyType::Boolean => "true or false",
        KeyType::Choice(_) => "a word",
        KeyType::WeightedMetrics => {
            "list of `{ metric: ..., weight: NUMBER, complement: true or false }`"
        }
        KeyType::Section(_) | KeyType::Grade => "mapping, see below",
        KeyType::FurtherSources => "mapping from names to mappings, see below",
        KeyType::Lists => "mapping from names to lists of strings",
        KeyType::Tables => "mapping from tables' names to queries or mappings, see below",
        KeyType::Outputs => "mapping from outputs' paths to queries or mappings, see below",
        KeyType::Queries => "mapping from names to queries",
        KeyType::Checks => "mapping from names to queries or named checks, see below",
        KeyType::Reasons => "mapping from names to strings",
        KeyType::Corrections => "mapping from names to parts of a pipeline",
    }
}
