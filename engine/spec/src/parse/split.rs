//! `split`.

use serde::Deserialize as _;
use serde_json::Value as Json;

use crate::context::{Context, quoted};
use crate::diagnostic::{Diagnostic, Span};
use crate::json;
use crate::model::{Spanned, Split};
use crate::suggest::nearest;
use crate::words::{self, Section, Value};
use crate::yaml::{Entry, Kind, Node};

/// Stands for a size that a query computes.
const PLACEHOLDER: f64 = 0.5;

impl Context {
    pub fn split(&mut self, node: &Node) -> Option<Split> {
        let entries = self.keys(node, words::SPLIT.name)?;
        let fields = self.select(&entries, node, &words::SPLIT, words::SPLIT.name);
        let rows = fields.get("rows").and_then(|node| self.table_name(node));
        let group_by = fields
            .get("group_by")
            .and_then(|node| self.text(node, "the name of a column"));
        let into = match fields.get("into") {
            Some(node) => self.pair(node),
            None => Some(["train".to_owned(), "test".to_owned()]),
        };
        let name = fields
            .get("method")
            .and_then(|node| self.text(node, "the name of a method"));
        let section = name.as_ref().and_then(|name| self.method(name))?;
        let title = format!("the split `{}`", section.name);
        let known = self.known(&entries, node, &[&words::SPLIT, section], &title);
        let parameters = self.select(&known, node, section, &title);
        let mut test_size = None;
        let mut tree = serde_json::Map::new();
        tree.insert("method".to_owned(), Json::from(section.name));
        let mut right = true;
        for key in section.keys {
            let Some(value) = parameters.get(key.name) else {
                // Missing ones are reported.
                right &= !key.required;
                continue;
            };
            let json = match &key.value {
                Value::Size if is_query(value) => {
                    test_size = self.query(value);
                    right &= test_size.is_some();
                    Json::from(PLACEHOLDER)
                }
                kind => {
                    right &= self.parameter(value, kind);
                    json::tree(self, value)
                }
            };
            tree.insert(key.name.to_owned(), json);
        }
        let method = match right {
            true => self.deserialise(&Json::Object(tree), name.as_ref()?.span, &known, section),
            false => None,
        };
        if let Some(method) = &method {
            self.check_keys(
                method,
                group_by.as_ref(),
                name.as_ref().map_or(node.span, |name| name.span),
            );
        }
        Some(Split {
            rows: rows?,
            group_by,
            method: method?,
            test_size,
            into: into?,
            span: node.span,
        })
    }
}

impl Context {
    fn pair(&mut self, node: &Node) -> Option<[String; 2]> {
        let wanted = "two names of tables, `[train, test]`";
        let items = self.list(node, wanted)?;
        let [first, second] = items else {
            let message = format!("expected {wanted}, found a list of {}", items.len());
            self.error("wrong-type", node.span, message);
            return None;
        };
        let mut name = |node: &Node| {
            let name = self.text(node, "the name of a table")?;
            Some(self.name(&name.value, name.span, "the name of a table"))
        };
        let (first, second) = (name(first)?, name(second)?);
        if first.value == second.value {
            let message = format!("both tables are named `{}`", first.value);
            self.error("duplicate-table", second.span, message);
        }
        Some([first.value, second.value])
    }

    /// Methods that work on groups need the column that makes them; the others have no use for it.
    fn check_keys(
        &mut self,
        method: &prep_splits::Method,
        group_by: Option<&Spanned<String>>,
        span: Span,
    ) {
        match (method.needs_keys(), group_by) {
            (Some(true), None) => {
                let message = format!("the split `{}` lacks `group_by`", method.name());
                let help = "name the column whose values it works with: `group_by: patient`";
                self.report(Diagnostic::error("missing-key", span, message).help(help));
            }
            (Some(false), Some(column)) => {
                let message = format!("the split `{}` has no use for `group_by`", method.name());
                self.report(Diagnostic::error("no-effect", column.span, message).help("remove it"));
            }
            _ => {}
        }
    }

    fn method(&mut self, name: &Spanned<String>) -> Option<&'static Section> {
        let names = || words::METHODS.iter().map(|method| method.name);
        let found = words::METHODS
            .iter()
            .find(|method| method.name == name.value);
        if found.is_none() {
            let message = format!("there is no split method `{}`", name.value);
            let diagnostic = Diagnostic::error("unknown-method", name.span, message);
            self.report(match nearest(&name.value, names()) {
                Some(near) => diagnostic.suggest(Some(near)),
                None => diagnostic.help(format!("the methods are {}", quoted(names()))),
            });
        }
        found
    }

    /// Whether a parameter is of the kind that its key says.
    fn parameter(&mut self, node: &Node, kind: &Value) -> bool {
        match kind {
            Value::Word(words) => self.word(node, words).is_some(),
            Value::Natural => self.natural(node).is_some(),
            _ => self.number(node).is_some(),
        }
    }

    /// The method with its parameters, which have the right types; what is left are numbers out of their range. The
    /// guilty one is found by reading the others without it.
    fn deserialise(
        &mut self,
        tree: &Json,
        span: Span,
        entries: &[&Entry],
        section: &Section,
    ) -> Option<prep_splits::Method> {
        let fault = |tree: &Json| {
            let error = prep_splits::Method::deserialize(tree).err()?;
            Some(error.to_string())
        };
        let message = match prep_splits::Method::deserialize(tree) {
            Ok(method) => return Some(method),
            Err(error) => error.to_string(),
        };
        let culprit = entries.iter().find(|entry| {
            let mut rest = tree.clone();
            let members = rest.as_object_mut();
            let removed = members.and_then(|members| members.shift_remove(&entry.key));
            let parameter = section.key(&entry.key).is_some() && removed.is_some();
            parameter && fault(&rest).as_ref() != Some(&message)
        });
        let (span, message) = match culprit {
            Some(entry) => (entry.value.span, format!("`{}`: {message}", entry.key)),
            None => (span, message),
        };
        self.error("bad-parameter", span, message);
        None
    }
}

/// Whether a value is meant as a query: a text that is no number.
fn is_query(node: &Node) -> bool {
    match &node.kind {
        Kind::Scalar(scalar) => scalar.text.parse::<f64>().is_err(),
        _ => false,
    }
}
