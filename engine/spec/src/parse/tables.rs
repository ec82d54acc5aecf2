//! Parses `tables`, and records which tables and lists their queries read.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::state::{ParseState, TableUser};
use crate::model::{Spanned, Table, TableOrigin};
use crate::query::tree::Position;
use crate::query::{offset, read};
use crate::text::align;
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::yaml::{Kind, MappingEntry, Style, YamlNode, help_if_cut};
use crate::words::query::{Query, QueryUse};

impl ParseState {
    pub fn tables(&mut self, node: &YamlNode) -> Vec<Table> {
        let entries = self.entries(node, "tables by name", "duplicate-table", "the table");
        let mut tables: Vec<Table> = Vec::new();
        for entry in entries.unwrap_or_default() {
            let before = self.diagnostics.len();
            let names = self.names(entry);
            let Some(first) = names.first().cloned() else {
                continue;
            };
            self.reads.reader = TableUser::Table(first.value.clone());
            let made = match &entry.value.kind {
                Kind::Mapping(_) => {
                    let forms = self.vocabulary.tables.clone();
                    let declaration = self.declared(&entry.value, &forms, &first, "a table");
                    declaration.map(TableOrigin::Declared)
                }
                _ => self.query(&entry.value).map(TableOrigin::Query),
            };
            // A table with an error is replaced by an empty one, so that other declarations can still refer to it.
            let known = made.is_some();
            let made = made.unwrap_or(TableOrigin::List(Vec::new()));
            if known {
                self.check_count(&names, &made);
            }
            self.check_names(&tables, &names);
            if self.diagnostics.len() > before {
                let names = names.iter().map(|name| name.value.clone());
                self.unread.extend(names);
            }
            tables.push(Table { names, made });
        }
        tables
    }

    /// Parses a key that names one table, or several tables separated by commas.
    fn names(&mut self, entry: &MappingEntry) -> Vec<Spanned<String>> {
        let mut names = Vec::new();
        let mut start = 0;
        for part in entry.key.split(',') {
            let name = part.trim();
            let span = self.part(entry, start + part.len() - part.trim_start().len(), name);
            start += part.len() + 1;
            names.push(self.name(name, span, "the name of a table"));
        }
        names
    }

    /// Returns the span of `part`, which begins at byte `at` of the key. If the key is written with escapes, returns the span
    /// of the entire key.
    fn part(&self, entry: &MappingEntry, at: usize, part: &str) -> Span {
        let written = self.source.slice(entry.key_span);
        match written.find(&entry.key) {
            Some(quote) => {
                let start = entry.key_span.start + quote + at;
                Span::new(start, start + part.len())
            }
            None => entry.key_span,
        }
    }

    /// Reports a key that names more or fewer tables than its value creates.
    fn check_count(&mut self, names: &[Spanned<String>], made: &TableOrigin) {
        let makes = match made {
            TableOrigin::Declared(declaration) => declaration.form.tables(),
            _ => 1,
        };
        let Some(first) = names.first().filter(|_| names.len() != makes) else {
            return;
        };
        self.lacks_names |= names.len() < makes;
        let what = match made {
            TableOrigin::Declared(declaration) => declaration.form.section.name,
            _ => "a query",
        };
        let count = |count: usize| match count {
            1 => "one table".to_owned(),
            2 => "two tables".to_owned(),
            count => format!("{count} tables"),
        };
        let message = format!("{what} creates {}, not {}", count(makes), names.len());
        let found = Diagnostic::error("table-count", first.span, message);
        self.report(match makes {
            1 => found.help("give it one name"),
            _ => found.help("name both, in this order: `train, test:`"),
        });
    }

    /// Reports names of a table that are also the name of another table or of a list.
    fn check_names(&mut self, tables: &[Table], names: &[Spanned<String>]) {
        let mut own: Vec<&Spanned<String>> = Vec::new();
        for name in names {
            let before = tables.iter().flat_map(|table| &table.names);
            let mut before = before.chain(own.iter().copied());
            if let Some(first) = before.find(|other| other.value == name.value) {
                let message = format!("the table `{}` appears twice", name.value);
                let found = Diagnostic::error("duplicate-table", name.span, message);
                self.report(found.label(first.span, "first here"));
            } else if let Some(list) = self.lists.places.get(&name.value).copied() {
                let message = format!("`{}` is also the name of a list", name.value);
                let found = Diagnostic::error("duplicate-table", name.span, message);
                let found = found.label(list, "the list");
                self.report(
                    found.help("queries can read lists as tables, so rename the list or the table"),
                );
            }
            own.push(name);
        }
    }
}

impl ParseState {
    pub fn query(&mut self, node: &YamlNode) -> Option<Query> {
        self.query_of(node, QueryUse::Rows)
    }

    /// Parses the query for a directory of files.
    pub fn placed_query(&mut self, node: &YamlNode) -> Option<Query> {
        self.query_of(node, QueryUse::Files)
    }

    /// Parses a query, and records the tables and lists that it uses. Reports an error at its position in the file.
    fn query_of(&mut self, node: &YamlNode, purpose: QueryUse) -> Option<Query> {
        let help = "write a SELECT after the name, for example `NAME: SELECT id FROM train`";
        let text = self.text_or_help(node, "a query", help)?.value;
        let style = match &node.kind {
            Kind::Scalar(scalar) => scalar.style,
            _ => Style::Plain,
        };
        let parsed = read(&text, &self.lists.texts, purpose);
        let source = Arc::clone(&self.source);
        let at = |at: Position| {
            let offset = offset(&text, at);
            align::place(&source, node.span, style, &text, offset)
        };
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(fault) => {
                let start = at(fault.at);
                let span = Span::new(start, start);
                let is_incomplete = fault.message.starts_with("unterminated")
                    || offset(&text, fault.at) >= text.trim_end().len();
                let cut = help_if_cut(&source, node.span).filter(|_| is_incomplete);
                let mut diagnostic = Diagnostic::error(fault.code, span, fault.message);
                diagnostic.help = cut.map(str::to_owned).or(fault.help);
                self.report(diagnostic);
                return None;
            }
        };
        for (start, end) in parsed.comments {
            self.check_comment(Span::new(at(start), at(end)));
        }
        let mut tables = BTreeSet::new();
        for (name, start, end) in parsed.tables {
            let span = Span::new(at(start), at(end));
            tables.insert(name.clone());
            self.read(Spanned { value: name, span });
        }
        self.lists.used.extend(parsed.used_lists);
        let (line, column) = source.position(node.span.start);
        Some(Query {
            place: format!("{}:{line}:{column}", source.name),
            key: parsed.tree.key(),
            is_copy: parsed.tree.copied_table().is_some(),
            span: node.span,
            style: Some(style),
            purpose,
            text,
            tables,
            lists: Arc::clone(&self.lists.texts),
            tree: OnceLock::new(),
        })
    }

    /// Creates the query for a short form in the file, such as a named check. `span` is the position of the short form.
    pub fn generated_query(&self, text: String, span: Span) -> Result<Query, String> {
        let (line, column) = self.source.position(span.start);
        Ok(Query {
            span,
            place: format!("{}:{line}:{column}", self.source.name),
            ..Query::parse(&text)?
        })
    }

    /// Reports the comment (`-- ...`) at `span` if it has several lines in the file. YAML joined these lines, so the comment
    /// hides all lines after its first one.
    fn check_comment(&mut self, span: Span) {
        if !self.source.slice(span).trim_end().contains('\n') {
            return;
        }
        let message =
            "this comment hides the following lines, because YAML joins them into one line";
        let found = Diagnostic::error("comment-hides", span, message);
        let help = "write the query as a block with `|`, or the comment as `/* ... */`";
        self.report(found.help(help));
    }
}
