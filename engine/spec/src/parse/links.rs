//! Checks the dependencies between tables: names, cycles, and unused tables.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{ParseState, TableUser};
use crate::model::{Setting, SourceSpec, Spanned, Table, TableOrigin};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::words::KeyType;

/// Creates a table for each list that a query reads as a table.
pub fn lists_as_tables(
    context: &mut ParseState,
    lists: &[(Spanned<String>, Vec<String>)],
    tables: &mut Vec<Table>,
) {
    let names = tables.iter().flat_map(|table| &table.names);
    let mut taken: BTreeSet<String> = names.map(|name| name.value.clone()).collect();
    let mentions = context.reads.mentions.iter();
    let read: BTreeSet<&str> = mentions.map(|(_, table)| table.value.as_str()).collect();
    for (name, texts) in lists {
        if !read.contains(name.value.as_str()) || !taken.insert(name.value.clone()) {
            continue;
        }
        context.lists.used.insert(name.value.clone());
        tables.push(Table {
            names: vec![name.clone()],
            made: TableOrigin::List(texts.clone()),
        });
    }
}

/// Reports unknown tables and cycles. Adds unused tables to `unused`.
pub fn check(context: &mut ParseState, tables: &[Table], unused: &mut Vec<Diagnostic>) {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, table) in tables.iter().enumerate() {
        for name in &table.names {
            places.entry(&name.value).or_insert(index);
        }
    }
    let mut edges: BTreeMap<usize, Vec<(usize, Span)>> = BTreeMap::new();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut unknown = Vec::new();
    let lacks_names = context.lacks_names;
    for (reader, table) in &context.reads.mentions {
        let Some(target) = places.get(table.value.as_str()) else {
            unknown.push(table.clone());
            continue;
        };
        match reader {
            TableUser::End => {
                used.insert(*target);
            }
            TableUser::Table(name) => {
                if let Some(from) = places.get(name.as_str()) {
                    edges.entry(*from).or_default().push((*target, table.span));
                }
            }
        }
    }
    for table in unknown.into_iter().filter(|_| !lacks_names) {
        context.unknown_table(&table, places.keys().copied());
    }
    report_cycles(context, &edges, tables);
    report_not_drawn(context, tables);
    add_dependencies(&edges, &mut used);
    for (index, table) in tables.iter().enumerate() {
        let [first, rest @ ..] = table.names.as_slice() else {
            continue;
        };
        if used.contains(&index) {
            continue;
        }
        let message = match rest {
            [] => format!(
                "the table `{}` is not used by any output or check",
                first.value
            ),
            [second, ..] => format!(
                "the tables `{}` and `{}` are not used by any output or check",
                first.value, second.value
            ),
        };
        let found = Diagnostic::warning("unused-table", first.span, message);
        let them = if rest.is_empty() { "it" } else { "them" };
        unused.push(found.help(format!("remove {them}, or use {them}")));
    }
}

pub fn unused_lists(
    context: &ParseState,
    lists: &[(Spanned<String>, Vec<String>)],
    unused: &mut Vec<Diagnostic>,
) {
    for (name, _) in lists {
        if !context.lists.used.contains(&name.value) {
            let message = format!("the list `{}` is not used", name.value);
            let found = Diagnostic::warning("unused-list", name.span, message);
            let help = "remove it, or use it: `column IN list`, `one_hot(column, list)`, `multi_hot(column, list)`, `constants(value, list)`, `columns(list)`";
            unused.push(found.help(help));
        }
    }
}

pub fn unused_defaults(context: &ParseState, unused: &mut Vec<Diagnostic>) {
    for (kind, defaults) in &context.defaults {
        if !defaults.is_used {
            let message = format!("the defaults of `{kind}` are not used");
            let found = Diagnostic::warning("unused-default", defaults.span, message);
            unused.push(found.help("remove them, because no table or output uses them"));
        }
    }
}

/// Reports unused sources as errors, because a run would download them.
pub fn unused_sources(context: &ParseState, sources: &[SourceSpec], unused: &mut Vec<Diagnostic>) {
    for source in sources {
        let name = &source.name;
        if !context.sources.used.contains(&name.value) {
            let message = format!("the source `{}` is not used", name.value);
            let found = Diagnostic::error("unused-source", name.span, message);
            unused.push(found.help(format!("remove it, or read it: `{}:path`", name.value)));
        }
    }
}

impl ParseState {
    pub(crate) fn unknown_table<'a>(
        &mut self,
        table: &Spanned<String>,
        known: impl Iterator<Item = &'a str>,
    ) {
        let known: Vec<&str> = known.collect();
        // A table whose name has upper-case letters is reported where it is defined. References that differ from this name
        // only by case are not reported in addition.
        let is_lower = |name: &str| !name.contains(|c: char| c.is_ascii_uppercase());
        let mut same = known
            .iter()
            .filter(|name| name.eq_ignore_ascii_case(&table.value));
        if same.any(|name| !is_lower(name)) {
            return;
        }
        let message = format!("there is no table `{}`", table.value);
        let found = Diagnostic::error("unknown-table", table.span, message);
        let help = match table.value.as_str() {
            "train" | "test" => {
                "a split creates tables; write it under `tables`: `train, test: { split: TABLE, method: shuffle, ... }`"
            }
            _ => "define it in `tables`",
        };
        self.report(found.suggest_or(self.near(&table.value, known.into_iter()), help));
    }
}

/// Reports references to the random generator of a table that does not use one.
fn report_not_drawn(context: &mut ParseState, tables: &[Table]) {
    let is_drawn = |table: &Table| match &table.made {
        TableOrigin::Declared(declaration) => declaration.is_drawn(),
        _ => false,
    };
    let not_drawn = tables.iter().filter(|table| !is_drawn(table));
    let not_drawn = not_drawn.flat_map(|table| &table.names);
    let not_drawn: BTreeSet<&str> = not_drawn.map(|name| name.value.as_str()).collect();
    let mut found = Vec::new();
    for table in tables {
        let TableOrigin::Declared(declaration) = &table.made else {
            continue;
        };
        for (key, setting) in declaration.settings() {
            let (KeyType::Drawn, Setting::Text(name)) = (&key.value, &setting.value) else {
                continue;
            };
            if not_drawn.contains(name.as_str()) {
                let message =
                    format!("the table `{name}` has no random generator that `after` can continue");
                let fault = Diagnostic::error("not-drawn", setting.span, message);
                found.push(fault.help(
                    "name a table with a random generator: its kind or method has the key `after`",
                ));
            }
        }
    }
    context.diagnostics.extend(found);
}

/// Adds to `used` all tables that the tables in `used` read, directly or indirectly.
fn add_dependencies(edges: &BTreeMap<usize, Vec<(usize, Span)>>, used: &mut BTreeSet<usize>) {
    let mut unvisited: Vec<usize> = used.iter().copied().collect();
    while let Some(reader) = unvisited.pop() {
        for (read, _) in edges.get(&reader).into_iter().flatten() {
            if used.insert(*read) {
                unvisited.push(*read);
            }
        }
    }
}

/// A message about a cycle lists at most this number of the cycle's tables.
const MAX_CHAIN: usize = 20;

/// Reports cycles of tables. A reference to a table on the current path closes a cycle.
fn report_cycles(
    context: &mut ParseState,
    edges: &BTreeMap<usize, Vec<(usize, Span)>>,
    tables: &[Table],
) {
    let name = |index: usize| {
        let names = tables.get(index).map(|table| &table.names);
        let names = names.into_iter().flatten();
        let names: Vec<&str> = names.map(|name| name.value.as_str()).collect();
        names.join(", ")
    };
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for start in edges.keys() {
        // The path from `start`: tables, each with the index of the next reference to follow.
        let mut path: Vec<(usize, usize)> = vec![(*start, 0)];
        let mut indices: BTreeMap<usize, usize> = BTreeMap::from([(*start, 0)]);
        while let Some((source, next)) = path.last_mut() {
            let source = *source;
            let edge = edges.get(&source).and_then(|edges| edges.get(*next));
            let Some((target, span)) = edge.filter(|_| !done.contains(&source)) else {
                done.insert(source);
                indices.remove(&source);
                path.pop();
                continue;
            };
            *next += 1;
            match indices.get(target) {
                Some(first) => {
                    let mut chain = path.iter().skip(*first).map(|(source, _)| name(*source));
                    let mut chain: Vec<String> = chain.by_ref().take(MAX_CHAIN).collect();
                    if path.len() - first > MAX_CHAIN {
                        chain.push("...".to_owned());
                    }
                    chain.push(name(*target));
                    let message = format!("circular dependency: {}", chain.join(" <- "));
                    let found = Diagnostic::error("cycle", *span, message);
                    context.report(found.help("remove one of these references"));
                }
                None if !done.contains(target) => {
                    indices.insert(*target, path.len());
                    path.push((*target, 0));
                }
                None => {}
            }
        }
    }
}
