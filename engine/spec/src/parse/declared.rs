//! Parses declarations of tables and outputs by the kinds of the vocabulary.

use std::collections::BTreeMap;

use prep_splits::SplitSize;
use serde::Deserialize as _;

use super::json;
use super::state::{ParseState, quoted, scalar_style};
use crate::model::{Column, ColumnKind, Query, Spanned};
use crate::query::{RESERVED_ROW, is_row};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::suggest::nearest;
use crate::text::yaml::{Kind, MappingEntry, Style, YamlNode};
use crate::words::declaration::{Declaration, Setting, Settings};
use crate::words::{self, KeyType, KindSpec, Section, SectionKey};

/// Returns 20 for `20%`.
fn percentage(node: &YamlNode) -> Option<f64> {
    let Kind::Scalar(scalar) = &node.kind else {
        return None;
    };
    scalar.text.trim().strip_suffix('%')?.trim().parse().ok()
}

impl ParseState {
    /// Parses a mapping that declares a table or an output. `forms` are the possible kinds, and `place` is the name of the
    /// table or the path of the output. `what` describes the declaration in messages, for example `a table`.
    pub fn declared(
        &mut self,
        node: &YamlNode,
        forms: &[&'static KindSpec],
        place: &Spanned<String>,
        what: &str,
    ) -> Option<Declaration> {
        let entries = self.keys(node, what)?;
        let form = self.form(&entries, node, forms, what)?;
        let method = match form.methods {
            [] => None,
            methods => Some(self.method(&entries, node, form, methods)?),
        };
        let title = match method {
            Some(method) => format!("{} `{}`", form.section.name, method.name),
            None => form.section.name.to_owned(),
        };
        let sections: Vec<&'static Section> =
            std::iter::once(&form.section).chain(method).collect();
        let known = self.known_entries(&entries, node, &sections, &title);
        let mut settings = BTreeMap::new();
        let mut defaulted = Vec::new();
        let mut complete = true;
        for section in sections {
            let fields = self.select(&known, node, section, &title);
            for key in section.keys {
                let is_written = known.iter().any(|entry| entry.key == key.name);
                let default = match is_written {
                    true => None,
                    false => self.default_of(form, key),
                };
                if default.is_some() {
                    defaulted.push(key.name);
                }
                let value = fields.get(key.name).or(default.as_ref());
                complete &= self.add_setting(key, value, &mut settings);
            }
        }
        let mut declaration = Declaration {
            form,
            method,
            name: place.clone(),
            span: node.span,
            settings,
        };
        drop_inapplicable(&mut declaration, &defaulted);
        complete &= self.run_check(&declaration);
        complete.then_some(declaration)
    }

    /// Parses `node`, the value of a key, into `settings`. Returns false after an error.
    pub fn add_setting(
        &mut self,
        key: &'static SectionKey,
        node: Option<&YamlNode>,
        settings: &mut Settings,
    ) -> bool {
        let Some(node) = node else {
            return !key.required;
        };
        let Some(value) = self.setting(key, node) else {
            return false;
        };
        let span = node.span;
        settings.insert(key.name, Spanned { value, span });
        true
    }

    /// Parses `NAME: QUERY`, the short form of `NAME: { KEY: QUERY }`. `KEY` is the first key of the kind `form`.
    pub fn by_query(
        &mut self,
        node: &YamlNode,
        form: &'static KindSpec,
        place: &Spanned<String>,
    ) -> Option<Declaration> {
        let mut settings = BTreeMap::new();
        if !self.add_setting(form.section.keys.first()?, Some(node), &mut settings) {
            return None;
        }
        for key in form.section.keys {
            let default = self.default_of(form, key);
            if default.is_some() && !self.add_setting(key, default.as_ref(), &mut settings) {
                return None;
            }
        }
        let declaration = Declaration {
            form,
            method: None,
            name: place.clone(),
            span: node.span,
            settings,
        };
        self.run_check(&declaration).then_some(declaration)
    }

    /// Reports the findings of the kind's check, and returns whether there are none. Other errors may have left the
    /// declaration incomplete.
    fn run_check(&mut self, declaration: &Declaration) -> bool {
        let check = declaration.form.check;
        let findings = check.map_or_else(Vec::new, |check| check(declaration));
        let is_sound = findings.is_empty();
        self.diagnostics.extend(findings);
        is_sound
    }

    /// Returns the kind whose first key the mapping has.
    fn form(
        &mut self,
        entries: &[&MappingEntry],
        node: &YamlNode,
        forms: &[&'static KindSpec],
        what: &str,
    ) -> Option<&'static KindSpec> {
        let heads = || forms.iter().map(|form| form.head());
        let matching = forms.iter().filter_map(|form| {
            let entry = entries.iter().find(|entry| entry.key == form.head())?;
            Some((*form, entry.key_span))
        });
        let matching: Vec<(&'static KindSpec, Span)> = matching.collect();
        match matching.as_slice() {
            [(form, _)] => Some(*form),
            [] => {
                let sections: Vec<&'static Section> =
                    forms.iter().map(|form| &form.section).collect();
                self.known_entries(entries, node, &sections, what);
                let is_near = |entry: &&MappingEntry| nearest(&entry.key, heads()).is_some();
                if !entries.iter().any(is_near) {
                    let message = format!("{what} needs one of the keys {}", quoted(heads()));
                    let found = Diagnostic::error("missing-key", node.span, message);
                    self.report(found.help("or write a query: SELECT ..."));
                }
                None
            }
            [(first, first_span), (second, span), ..] => {
                let (first, second) = (first.head(), second.head());
                let message = format!("{what} cannot have both `{first}` and `{second}`");
                let found = Diagnostic::error("conflicting-keys", *span, message);
                self.report(found.label(*first_span, "first here"));
                None
            }
        }
    }

    /// Returns the method that the key `method` names. Reports a missing or unknown method.
    fn method(
        &mut self,
        entries: &[&MappingEntry],
        node: &YamlNode,
        form: &'static KindSpec,
        methods: &'static [&'static Section],
    ) -> Option<&'static Section> {
        let names = || methods.iter().map(|method| method.name);
        let entry = entries.iter().find(|entry| entry.key == "method");
        let Some(entry) = entry.filter(|entry| !entry.value.is_null()) else {
            self.select(entries, node, &form.section, form.section.name);
            return None;
        };
        let name = self.text(&entry.value, "the name of a method")?;
        let found = methods.iter().find(|method| method.name == name.value);
        if found.is_none() {
            let message = format!("there is no method `{}`", name.value);
            let diagnostic = Diagnostic::error("unknown-method", name.span, message);
            let help = format!("the methods are {}", quoted(names()));
            self.report(diagnostic.suggest_or(nearest(&name.value, names()), help));
        }
        found.copied()
    }

    /// Parses the value of a key by the key's type.
    pub fn setting(&mut self, key: &'static SectionKey, node: &YamlNode) -> Option<Setting> {
        let text = |found: Option<Spanned<String>>| found.map(|text| Setting::Text(text.value));
        match &key.value {
            KeyType::Rows
            | KeyType::Documents
            | KeyType::Lines
            | KeyType::Entries
            | KeyType::Set => self.query(node).map(Setting::Query),
            KeyType::Placed => self.placed_query(node).map(Setting::Query),
            KeyType::Queries => self.queries(node).map(Setting::Queries),
            KeyType::Path => text(self.path(node)),
            KeyType::Source | KeyType::Copied => text(self.plain_source_path(node)),
            KeyType::Sources => text(self.glob(node)),
            KeyType::Table | KeyType::Files | KeyType::Drawn => text(self.table_name(node)),
            KeyType::Column => text(self.text(node, "the name of a column")),
            KeyType::Delimiter => self.delimiter(node).map(Setting::Delimiter),
            KeyType::Natural => self
                .natural(node)
                .map(|number| Setting::Natural(number as u64)),
            KeyType::Seed => self.seed(node).map(Setting::Natural),
            KeyType::Share | KeyType::Size if percentage(node).is_some() => {
                let fraction = percentage(node)? / 100.0;
                let message = "a percentage is not a number";
                let found = Diagnostic::error("bad-parameter", node.span, message);
                self.report(found.help(format!("write the fraction: {fraction}")));
                None
            }
            KeyType::Share => self.share(node).map(Setting::Share),
            KeyType::Size if is_query(node) => self.query(node).map(Setting::Query),
            KeyType::Size => self.share(node).map(Setting::Share),
            KeyType::Value if begins_query(node) => self.query(node).map(Setting::Query),
            KeyType::Value => text(self.text(node, "a value or a query")),
            KeyType::True => {
                let word = self.text(node, "`true`")?;
                if word.value != "true" {
                    let message = format!("expected `true`, found `{}`", word.value);
                    let help = "write `true`, or remove the key";
                    self.report(Diagnostic::error("wrong-type", word.span, message).help(help));
                }
                Some(Setting::True)
            }
            KeyType::Word(words) => self
                .word(node, words)
                .map(|word| Setting::Text(word.to_owned())),
            KeyType::Names => self.names_or_list(node).map(Setting::Texts),
            KeyType::Texts => Some(Setting::Texts(self.texts(node))),
            KeyType::Columns => Some(Setting::Columns(self.columns(node))),
            KeyType::Items(sections) => self.items(node, sections).map(Setting::Items),
            KeyType::Operand => self.operand(node).map(Setting::Operand),
            KeyType::Condition => self.condition(node).map(Setting::Condition),
            KeyType::Outputs => Some(Setting::Outputs(self.outputs(node, key.name))),
            // The other types do not occur in kinds of tables and outputs.
            _ => text(self.text(node, "a string")),
        }
    }

    pub fn table_name(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let name = self.text(node, "the name of a table")?;
        self.read(name.clone());
        Some(name)
    }

    /// Parses `{ list: NAME }`, or a sequence whose items are names or `{ list: NAME }`.
    fn names_or_list(&mut self, node: &YamlNode) -> Option<Vec<String>> {
        let Kind::Mapping(entries) = &node.kind else {
            return Some(self.texts_of(node, Self::item_names));
        };
        let [entry] = entries.as_slice() else {
            self.wrong_type(node, "a list of names, or `{ list: NAME }`");
            return None;
        };
        if entry.key != "list" {
            let message = format!("expected `list`, found `{}`", entry.key);
            let found = Diagnostic::error("unknown-key", entry.key_span, message);
            self.report(found.help("write `{ list: NAME }` with the name of one of `lists`"));
            return None;
        }
        let name = self.text(&entry.value, "the name of a list")?;
        self.texts_of_list(&name.value, name.span)
    }

    fn queries(&mut self, node: &YamlNode) -> Option<Vec<(Spanned<String>, Query)>> {
        let entries = self.entries(node, "queries by name", "duplicate-key", "key")?;
        let mut queries = Vec::new();
        let mut complete = true;
        for entry in entries {
            match self.query(&entry.value) {
                Some(query) => queries.push((entry.name(), query)),
                None => complete = false,
            }
        }
        complete.then_some(queries)
    }

    fn seed(&mut self, node: &YamlNode) -> Option<u64> {
        let number = self.natural(node)? as u64;
        if number > u64::from(u32::MAX) {
            let most = u32::MAX;
            let message = format!("the seed {number} is too large; seeds go up to {most}");
            self.error("bad-parameter", node.span, message);
            return None;
        }
        Some(number)
    }

    /// Parses the size of a part of a split: a fraction if the number has a decimal point, otherwise a number of rows.
    /// `node` must not be a query.
    fn share(&mut self, node: &YamlNode) -> Option<SplitSize> {
        if scalar_style(node) != Some(Style::Plain) {
            self.wrong_type(node, "a number or a query");
            return None;
        }
        self.number(node)?;
        match SplitSize::deserialize(&json::tree(self, node, "", &mut BTreeMap::new())) {
            Ok(size) => Some(size),
            Err(error) => {
                self.error("bad-parameter", node.span, error.to_string());
                None
            }
        }
    }

    fn columns(&mut self, node: &YamlNode) -> Vec<Column> {
        let mut columns = UniqueColumns::default();
        match &node.kind {
            Kind::Sequence(items) => {
                for item in items {
                    for name in self.item_names(item) {
                        self.column(&mut columns, name, ColumnKind::Inferred);
                    }
                }
            }
            Kind::Mapping(_) => {
                let entries = self.entries(node, "columns", "duplicate-column", "the column");
                for entry in entries.unwrap_or_default() {
                    let kind = self.word(&entry.value, words::COLUMN_KINDS);
                    let kind = kind.map_or(ColumnKind::Inferred, column_kind);
                    self.column(&mut columns, entry.name(), kind);
                }
            }
            Kind::Scalar(_) => {
                let expected = "a list of columns, or a mapping from columns to types";
                self.wrong_type(node, expected);
            }
        }
        columns.list
    }

    /// Parses an item of a list of names: a name, or `{ list: NAME }` for all names of a list.
    fn item_names(&mut self, item: &YamlNode) -> Vec<Spanned<String>> {
        if matches!(item.kind, Kind::Mapping(_)) {
            let span = item.span;
            let names = self.names_or_list(item).unwrap_or_default().into_iter();
            return names.map(|value| Spanned { value, span }).collect();
        }
        let name = self.text(item, "a name");
        name.into_iter().collect()
    }

    fn column(&mut self, columns: &mut UniqueColumns, name: Spanned<String>, kind: ColumnKind) {
        if is_row(&name.value) {
            self.error("reserved-column", name.span, RESERVED_ROW);
        }
        if let Some(first) = columns.places.get(&name.value) {
            let message = format!("the column `{}` appears twice", name.value);
            let found = Diagnostic::error("duplicate-column", name.span, message);
            self.report(found.label(*first, "first here"));
            return;
        }
        columns.places.insert(name.value.clone(), name.span);
        columns.list.push(Column { name, kind });
    }
}

#[derive(Default)]
struct UniqueColumns {
    list: Vec<Column>,
    places: BTreeMap<String, Span>,
}

/// Removes default values that do not apply, for example an option of CSV files from a JSON file.
fn drop_inapplicable(declaration: &mut Declaration, defaulted: &[&'static str]) {
    let Some(check) = declaration.form.check else {
        return;
    };
    for key in defaulted {
        let span = declaration.settings.get(key).map(|setting| setting.span);
        let findings = check(declaration);
        if findings.iter().any(|finding| Some(finding.span) == span) {
            declaration.settings.remove(key);
        }
    }
}

/// Returns whether a value is a query: a string that is not a number.
fn is_query(node: &YamlNode) -> bool {
    match &node.kind {
        Kind::Scalar(scalar) => scalar.text.parse::<f64>().is_err(),
        _ => false,
    }
}

fn begins_query(node: &YamlNode) -> bool {
    let Kind::Scalar(scalar) = &node.kind else {
        return false;
    };
    let word = scalar.text.split_whitespace().next().unwrap_or_default();
    ["SELECT", "WITH", "VALUES"]
        .iter()
        .any(|one| word.eq_ignore_ascii_case(one))
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
