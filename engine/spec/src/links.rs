//! How tables hang together: every name is known, no table is made of itself, and everything leads somewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::{Context, Reader};
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Spanned, Split, Table};
use crate::suggest::nearest;
use crate::yaml::Node;

/// What a table's rows come from: itself, or the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Table(usize),
    Split,
}

/// Reports unknown tables, tables that are there twice, cycles; and, apart, what is unused.
pub fn check(
    context: &mut Context,
    tables: &[Table],
    written: Option<&Node>,
    split: Option<&Split>,
    unused: &mut Vec<Diagnostic>,
) {
    let mut sources: BTreeMap<&str, Source> = BTreeMap::new();
    for (index, table) in tables.iter().enumerate() {
        sources.insert(&table.name.value, Source::Table(index));
    }
    let into = split.map_or(["train", "test"], |split| [&split.into[0], &split.into[1]]);
    if let Some(node) = written {
        for name in into {
            let double = tables.iter().find(|table| table.name.value == name);
            if let Some(table) = double {
                let message = format!("the split makes the table `{name}`, too");
                let found = Diagnostic::error("duplicate-table", table.name.span, message);
                let label = found.label(node.span, "by this split");
                context.unread.insert(name.to_owned());
                context.report(
                    label.help(
                        "give one of them another name (the split's tables by `into: [a, b]`)",
                    ),
                );
            } else {
                sources.insert(name, Source::Split);
            }
        }
    }
    let mut edges: BTreeMap<Source, Vec<(Source, Span)>> = BTreeMap::new();
    let mut used: BTreeSet<Source> = BTreeSet::new();
    let mut unknown = Vec::new();
    for (reader, table) in &context.reads {
        let Some(target) = sources.get(table.value.as_str()) else {
            unknown.push(table.clone());
            continue;
        };
        let from = match reader {
            Reader::End => {
                used.insert(*target);
                continue;
            }
            Reader::Split => Source::Split,
            Reader::Table(name) => match sources.get(name.as_str()) {
                Some(source) => *source,
                None => continue,
            },
        };
        edges.entry(from).or_default().push((*target, table.span));
    }
    for table in unknown {
        context.unknown_table(&table, sources.keys().copied(), written.is_some());
    }
    let name = |source: Source| match source {
        Source::Table(index) => tables.get(index).map_or("", |table| &table.name.value),
        Source::Split => "the split",
    };
    report_cycles(context, &edges, name);
    if written.is_some() {
        used.insert(Source::Split);
    }
    spread(&edges, &mut used);
    for (index, table) in tables.iter().enumerate() {
        if !used.contains(&Source::Table(index)) {
            let message = format!(
                "the table `{}` leads to no output, split or check",
                table.name.value
            );
            let found = Diagnostic::error("unused-table", table.name.span, message);
            unused.push(found.help("remove it, or use it"));
        }
    }
    if let (Some(node), Some(_)) = (written, split) {
        let read = context
            .reads
            .iter()
            .any(|(_, table)| into.contains(&table.value.as_str()));
        if !read {
            let message = format!(
                "nothing reads the split's tables `{}` and `{}`",
                into[0], into[1]
            );
            unused.push(
                Diagnostic::error("unused-split", node.span, message)
                    .help("remove the split, or use them"),
            );
        }
    }
}

pub fn unused_lists(
    context: &Context,
    lists: &[(Spanned<String>, Vec<String>)],
    unused: &mut Vec<Diagnostic>,
) {
    for (name, _) in lists {
        if !context.used_lists.contains(&name.value) {
            let message = format!("no query uses the list `{}`", name.value);
            let found = Diagnostic::error("unused-list", name.span, message);
            unused.push(found.help(
                "remove it, or use it in `one_hot(column, list)` or `constants(value, list)`",
            ));
        }
    }
}

impl Context {
    fn unknown_table<'a>(
        &mut self,
        table: &Spanned<String>,
        known: impl Iterator<Item = &'a str>,
        split: bool,
    ) {
        let message = format!("there is no table `{}`", table.value);
        let found = Diagnostic::error("unknown-table", table.span, message);
        let near = nearest(&table.value, known);
        self.report(match near {
            Some(near) => found.suggest(Some(near)),
            None if !split && matches!(table.value.as_str(), "train" | "test") => {
                found.help("`split` makes the tables `train` and `test`: this pipeline has none")
            }
            None => found.help("name it in `tables`"),
        });
    }
}

/// Adds everything that what is used is made of.
fn spread(edges: &BTreeMap<Source, Vec<(Source, Span)>>, used: &mut BTreeSet<Source>) {
    let mut open: Vec<Source> = used.iter().copied().collect();
    while let Some(source) = open.pop() {
        for (target, _) in edges.get(&source).into_iter().flatten() {
            if used.insert(*target) {
                open.push(*target);
            }
        }
    }
}

/// Walks depth-first; a way back to a table that is still being walked is a cycle.
fn report_cycles<'a>(
    context: &mut Context,
    edges: &BTreeMap<Source, Vec<(Source, Span)>>,
    name: impl Fn(Source) -> &'a str,
) {
    let mut done: BTreeSet<Source> = BTreeSet::new();
    for start in edges.keys() {
        // The way from the start, each with the next edge to try.
        let mut way: Vec<(Source, usize)> = vec![(*start, 0)];
        while let Some((source, next)) = way.last_mut() {
            let source = *source;
            let edge = edges.get(&source).and_then(|edges| edges.get(*next));
            let Some((target, span)) = edge.filter(|_| !done.contains(&source)) else {
                done.insert(source);
                way.pop();
                continue;
            };
            *next += 1;
            match way.iter().position(|(other, _)| other == target) {
                Some(first) => {
                    let chain = way.iter().skip(first).map(|(source, _)| name(*source));
                    let chain: Vec<&str> = chain.chain([name(*target)]).collect();
                    let message = format!("a table is made of itself: {}", chain.join(" <- "));
                    let found = Diagnostic::error("cycle", *span, message);
                    context.report(found.help("let one of them read something else"));
                }
                None if !done.contains(target) => way.push((*target, 0)),
                None => {}
            }
        }
    }
}
