//! Parses queries, and records the tables and lists that they read.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::state::ParseState;
use crate::query::tree::Position;
use crate::query::{offset, read};
use crate::text::align;
use crate::text::diagnostic::{Diagnostic, Span, Spanned};
use crate::text::yaml::{Kind, Style, YamlNode};
use crate::words::query::{Query, QueryUse};

impl ParseState {
    /// Parses the query in a node, and records the tables and lists that it reads.
    pub fn query(&mut self, node: &YamlNode) -> Option<Query> {
        self.query_of(node, QueryUse::Rows)
    }

    /// Parses the query of a directory of files.
    pub fn placed_query(&mut self, node: &YamlNode) -> Option<Query> {
        self.query_of(node, QueryUse::Files)
    }

    fn query_of(&mut self, node: &YamlNode, purpose: QueryUse) -> Option<Query> {
        let text = self.text(node, "a query")?.value;
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
                let mut diagnostic = Diagnostic::error(fault.code, span, fault.message);
                diagnostic.help = fault.help;
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

    /// Creates the query for a short form in the file. `span` is the position of the short form.
    pub fn generated_query(&self, text: String, span: Span) -> Result<Query, String> {
        let (line, column) = self.source.position(span.start);
        Ok(Query {
            span,
            place: format!("{}:{line}:{column}", self.source.name),
            ..Query::parse(&text)?
        })
    }

    /// Reports a line comment that hides the lines after it, because YAML joins the lines of most scalars.
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
