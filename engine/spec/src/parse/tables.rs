//! `tables`.

use crate::context::{Context, Fields, Reader, quoted};
use crate::diagnostic::Diagnostic;
use crate::model::{Column, ColumnKind, FloatPrecision, Format, Read, Spanned, Table, TableKind};
use crate::query::is_row;
use crate::suggest::nearest;
use crate::words::{self, Section};
use crate::yaml::{Kind, Node};

impl Context {
    pub fn tables(&mut self, node: &Node) -> Vec<Table> {
        let entries = self.entries(node, "tables by name", "duplicate-table", "the table");
        let mut tables = Vec::new();
        for entry in entries.unwrap_or_default() {
            let name = self.name(&entry.key, entry.key_span, "the name of a table");
            self.reader = Reader::Table(entry.key.clone());
            let before = self.diagnostics.len();
            let kind = match &entry.value.kind {
                Kind::Mapping(_) => self.table(&entry.value),
                _ => self.query(&entry.value).map(TableKind::Query),
            };
            // A table that is wrong still has a name that others may use.
            let kind = kind.unwrap_or_else(|| TableKind::Files(name.clone()));
            if self.diagnostics.len() > before {
                self.unread.insert(entry.key.clone());
            }
            tables.push(Table { name, kind });
        }
        tables
    }

    fn table(&mut self, node: &Node) -> Option<TableKind> {
        let (section, fields) = self.one_of(node, words::TABLES, "a table")?;
        match section.head() {
            "read" => self.file(&fields).map(TableKind::Read),
            "files" => Some(TableKind::Files(self.glob(fields.get("files")?)?)),
            "text_lines" => Some(TableKind::TextLines(
                self.table_name(fields.get("text_lines")?)?,
            )),
            "pixels" => Some(TableKind::Pixels(self.table_name(fields.get("pixels")?)?)),
            _ => {
                let features = fields.get("features").map(|node| self.columns(node));
                Some(TableKind::TfRecords {
                    files: self.table_name(fields.get("tfrecords")?)?,
                    features: features?,
                })
            }
        }
    }

    /// One of several sections, told by the first key of each.
    pub fn one_of<'n>(
        &mut self,
        node: &'n Node,
        sections: &[&'static Section],
        name: &str,
    ) -> Option<(&'static Section, Fields<'n>)> {
        let entries = self.keys(node, name)?;
        let heads = || sections.iter().map(|section| section.head());
        let told: Vec<_> = sections
            .iter()
            .filter_map(|section| {
                let entry = entries.iter().find(|entry| entry.key == section.head())?;
                Some((*section, entry.key_span))
            })
            .collect();
        match told.as_slice() {
            [(section, _)] => {
                let known = self.known(&entries, node, &[section], section.name);
                Some((section, self.select(&known, node, section, section.name)))
            }
            [] => {
                self.known(&entries, node, sections, name);
                let near = entries
                    .iter()
                    .find_map(|entry| nearest(&entry.key, heads()));
                if near.is_none() {
                    let message = format!("{name} has one of the keys {}", quoted(heads()));
                    self.report(
                        Diagnostic::error("missing-key", node.span, message)
                            .help("or it is a query: SELECT ..."),
                    );
                }
                None
            }
            [(first, first_span), (second, span), ..] => {
                let message = format!(
                    "{name} cannot have both `{}` and `{}`",
                    first.head(),
                    second.head()
                );
                self.report(
                    Diagnostic::error("conflicting-keys", *span, message)
                        .label(*first_span, "first here"),
                );
                None
            }
        }
    }

    /// The name of a table that is read.
    pub fn table_name(&mut self, node: &Node) -> Option<Spanned<String>> {
        let name = self.text(node, "the name of a table")?;
        self.read(name.clone());
        Some(name)
    }

    fn file(&mut self, fields: &Fields<'_>) -> Option<Read> {
        let path = fields.get("read").and_then(|node| self.path(node));
        let columns = fields.get("columns").map(|node| self.columns(node));
        let format = match (fields.get("format"), &path) {
            (Some(node), _) => self.word(node, words::FORMATS).map(format),
            (None, Some(path)) => self.format_by_name(path),
            (None, None) => None,
        };
        for key in ["delimiter", "float_precision"] {
            if let (Some(node), Some(format)) = (fields.get(key), format)
                && format != Format::Csv
            {
                let message =
                    format!("`{key}` says something about CSV; the file is another format");
                let found = Diagnostic::error("no-effect", node.span, message);
                self.report(found.help(format!("remove `{key}`, or write `format: csv`")));
            }
        }
        let tabs = path
            .as_ref()
            .is_some_and(|path| extension(&path.value) == "tsv");
        let delimiter = match fields.get("delimiter") {
            Some(node) => self.delimiter(node),
            None => Some(if tabs { b'\t' } else { b',' }),
        };
        let float_precision = fields
            .get("float_precision")
            .and_then(|node| self.word(node, words::FLOAT_PRECISION));
        Some(Read {
            path: path?,
            format: format?,
            columns: columns.unwrap_or_default(),
            delimiter: delimiter?,
            float_precision: match float_precision {
                Some("high") => FloatPrecision::High,
                _ => FloatPrecision::RoundTrip,
            },
        })
    }

    fn format_by_name(&mut self, path: &Spanned<String>) -> Option<Format> {
        let found = match extension(&path.value).as_str() {
            "csv" | "tsv" => Format::Csv,
            "json" => Format::Json,
            "jsonl" | "ndjson" => Format::JsonLines,
            "parquet" => Format::Parquet,
            "npy" => Format::Npy,
            _ => {
                let message = format!("the name of `{}` does not tell its format", path.value);
                let names = quoted(words::FORMATS.iter().map(|word| word.name));
                let help = format!("add `format:` with one of {names}");
                self.report(Diagnostic::error("unknown-format", path.span, message).help(help));
                return None;
            }
        };
        Some(found)
    }

    /// A list of names, or a mapping from names to types.
    fn columns(&mut self, node: &Node) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        match &node.kind {
            Kind::Sequence(items) => {
                for item in items {
                    if let Some(name) = self.text(item, "the name of a column") {
                        self.column(&mut columns, name, ColumnKind::Inferred);
                    }
                }
            }
            Kind::Mapping(_) => {
                let entries = self.entries(node, "columns", "duplicate-column", "the column");
                for entry in entries.unwrap_or_default() {
                    let kind = self.word(&entry.value, words::COLUMN_KINDS);
                    let name = Spanned {
                        value: entry.key.clone(),
                        span: entry.key_span,
                    };
                    self.column(
                        &mut columns,
                        name,
                        kind.map_or(ColumnKind::Inferred, column_kind),
                    );
                }
            }
            Kind::Scalar(_) => {
                self.wrong_type(
                    node,
                    "a list of columns, or a mapping from columns to types",
                );
            }
        }
        columns
    }

    fn column(&mut self, columns: &mut Vec<Column>, name: Spanned<String>, kind: ColumnKind) {
        if is_row(&name.value) {
            let message =
                "every table has a hidden column `_row`: no other column can have its name";
            self.error("reserved-column", name.span, message);
        }
        if let Some(first) = columns
            .iter()
            .find(|column| column.name.value == name.value)
        {
            let message = format!("the column `{}` is there twice", name.value);
            let found = Diagnostic::error("duplicate-column", name.span, message);
            self.report(found.label(first.name.span, "first here"));
            return;
        }
        columns.push(Column { name, kind });
    }
}

/// What follows the last dot of a file's name, in lower case.
pub fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => extension.to_ascii_lowercase(),
        None => String::new(),
    }
}

fn format(word: &str) -> Format {
    match word {
        "json" => Format::Json,
        "json_lines" => Format::JsonLines,
        "parquet" => Format::Parquet,
        "npy" => Format::Npy,
        _ => Format::Csv,
    }
}

fn column_kind(word: &str) -> ColumnKind {
    match word {
        "integer" => ColumnKind::Integer,
        "number" => ColumnKind::Number,
        "boolean" => ColumnKind::Boolean,
        "json" => ColumnKind::Json,
        "inferred" => ColumnKind::Inferred,
        _ => ColumnKind::Text,
    }
}
