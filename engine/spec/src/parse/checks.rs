//! Parses `checks`: queries, and the named checks `unique`, `disjoint` and `each`, which become queries.

use super::state::ParseState;
use crate::model::{Check, Spanned};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::yaml::{Kind, MappingEntry, YamlNode};
use crate::words;

/// Columns of a table: `labelled.id` or `labelled.(label, image_id)`.
struct Reference<'t> {
    table: &'t str,
    columns: Vec<&'t str>,
}

impl ParseState {
    pub(super) fn checks(&mut self, node: &YamlNode) -> Vec<Check> {
        let entries = self.entries(node, "checks by name", "duplicate-check", "the check");
        let mut checks = Vec::new();
        for entry in entries.unwrap_or_default() {
            match words::CHECKS.iter().find(|word| word.name == entry.key) {
                Some(word) => self.named_checks(word.name, entry, &mut checks),
                None => {
                    let name = entry.name();
                    if let Kind::Scalar(value) = &entry.value.kind
                        && value.text.contains('.')
                        && !value.text.contains([' ', '\n'])
                    {
                        let message = format!("there is no built-in check `{}`", name.value);
                        let help = "the built-in checks are `unique`, `disjoint` and `each`; any other check is a query that must return no row";
                        self.report(Diagnostic::error("bad-check", name.span, message).help(help));
                        continue;
                    }
                    let query = self.query(&entry.value);
                    checks.extend(query.map(|query| Check { name, query }));
                }
            }
        }
        checks
    }

    fn named_checks(&mut self, kind: &'static str, entry: &MappingEntry, checks: &mut Vec<Check>) {
        let one = std::slice::from_ref(&entry.value);
        let nodes = match &entry.value.kind {
            Kind::Sequence(items) => items,
            _ => one,
        };
        for node in nodes {
            let help = "for example `unique: train.id`";
            let Some(text) = self.text_or_help(node, "a check, or a list of checks", help) else {
                continue;
            };
            let name = match nodes.len() {
                1 => kind.to_owned(),
                _ => format!("{kind} {}", text.value),
            };
            if let Some(first) = checks.iter().find(|check| check.name.value == name) {
                let message = format!("the check `{name}` appears twice");
                let found = Diagnostic::error("duplicate-check", node.span, message);
                self.report(found.label(first.name.span, "first here"));
            } else {
                checks.extend(self.named_check(kind, name, node.span, &text.value));
            }
        }
    }

    fn named_check(
        &mut self,
        kind: &'static str,
        name: String,
        span: Span,
        text: &str,
    ) -> Option<Check> {
        let query = match sql(kind, text) {
            Ok((sql, tables)) => {
                for table in tables {
                    let value = table.to_owned();
                    self.read(Spanned { value, span });
                }
                self.generated_query(sql, span)
            }
            Err(message) => Err(message),
        };
        match query {
            Ok(query) => Some(Check {
                name: Spanned { value: name, span },
                query,
            }),
            Err(message) => {
                let found = Diagnostic::error("bad-check", span, message);
                self.report(found.help(help(kind, text)));
                None
            }
        }
    }
}

/// Returns the help for a named check that is not valid.
fn help(kind: &str, text: &str) -> String {
    let form = match kind {
        "unique" => "labelled.id",
        "disjoint" => "train.id and test.id",
        _ => "labelled.id in photos.stem",
    };
    let starts_query = ["select ", "with "].iter().any(|word| {
        let start = text.trim_start().get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    });
    match starts_query {
        true => format!(
            "write `{kind}: {form}`, or give the check a different name if it has its own query"
        ),
        false => format!("write `{kind}: {form}`; write several columns as `labelled.(a, b)`"),
    }
}

/// Returns the query of a named check, and the tables that it reads. `kind` is the name of the check.
fn sql<'t>(kind: &str, text: &'t str) -> Result<(String, Vec<&'t str>), String> {
    let (separator, operator) = match kind {
        "disjoint" => (" and ", "INTERSECT"),
        _ => (" in ", "EXCEPT"),
    };
    if kind == "unique" {
        let of = reference(text)?;
        let columns = of.list();
        let from = quoted(of.table);
        let sql = format!("SELECT {columns} FROM {from} GROUP BY {columns} HAVING count(*) > 1");
        return Ok((sql, vec![of.table]));
    }
    let Some((left, right)) = text.split_once(separator) else {
        return Err(format!("`{kind}` lacks `{}`", separator.trim()));
    };
    let (left, right) = (reference(left)?, reference(right)?);
    if left.columns.len() != right.columns.len() {
        let (left, right) = (count(&left), count(&right));
        return Err(format!("`{kind}` compares {left} with {right}"));
    }
    let sql = format!("{} {operator} {}", left.select(), right.select());
    Ok((sql, vec![left.table, right.table]))
}

fn count(reference: &Reference<'_>) -> String {
    match reference.columns.len() {
        1 => "one column".to_owned(),
        columns => format!("{columns} columns"),
    }
}

impl Reference<'_> {
    fn list(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        columns.join(", ")
    }

    fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.list(), quoted(self.table))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Parses `TABLE.COLUMN` or `TABLE.(COLUMN, COLUMN)`.
fn reference(text: &str) -> Result<Reference<'_>, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is not a column in the form `TABLE.COLUMN`");
    let (table, columns) = text.split_once('.').ok_or_else(wrong)?;
    let columns: Vec<&str> = match columns.strip_prefix('(') {
        Some(list) => {
            let list = list.strip_suffix(')').ok_or_else(wrong)?;
            list.split(',').map(|name| column(name.trim())).collect()
        }
        None => vec![column(columns)],
    };
    let is_name = |name: &str| !name.is_empty() && !name.contains(['"', '(', ')']);
    match is_table(table) && columns.iter().all(|name| is_name(name)) {
        true => Ok(Reference { table, columns }),
        false => Err(wrong()),
    }
}

/// Removes the quotes of `"a column"`. Returns an empty string for a name that needs quotes but has none.
fn column(text: &str) -> &str {
    let quotes = text.strip_prefix('"');
    let quotes = quotes.and_then(|text| text.strip_suffix('"'));
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    match quotes {
        Some(name) => name,
        None if text.chars().all(plain) => text,
        None => "",
    }
}

fn is_table(text: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::sql;

    #[test]
    fn named_checks_are_translated_to_queries() {
        for (kind, text, query) in [
            (
                "unique",
                "labelled.id",
                "SELECT \"id\" FROM \"labelled\" GROUP BY \"id\" HAVING count(*) > 1",
            ),
            (
                "unique",
                "a.(x, \"y z\")",
                "SELECT \"x\", \"y z\" FROM \"a\" GROUP BY \"x\", \"y z\" HAVING count(*) > 1",
            ),
            (
                "disjoint",
                "train.id and test.id",
                "SELECT \"id\" FROM \"train\" INTERSECT SELECT \"id\" FROM \"test\"",
            ),
            (
                "each",
                "a.(x, y) in b.(dir, stem)",
                "SELECT \"x\", \"y\" FROM \"a\" EXCEPT SELECT \"dir\", \"stem\" FROM \"b\"",
            ),
        ] {
            assert_eq!(sql(kind, text).unwrap().0, query);
        }
    }

    #[test]
    fn invalid_named_checks_are_rejected() {
        for (kind, text) in [
            ("unique", "id"),
            ("unique", "a."),
            ("unique", "a.(x, y"),
            ("unique", "a.x, a.y"),
            ("unique", "SELECT id FROM a"),
            ("disjoint", "train.id, test.id"),
            ("disjoint", "train.id and test.(a, b)"),
            ("each", "a.id not in b.id"),
            ("each", "a.id in B.id"),
        ] {
            assert!(sql(kind, text).is_err(), "{kind}: {text}");
        }
    }
}
