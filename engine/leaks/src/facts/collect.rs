//! Collects the facts of all public files.

use std::collections::HashSet;

use prep_contents::DecodingLimits;

use super::{Channel, Facts, aligned, cells, documents, ids, lines, markup, sample, tables};
use crate::world::World;

/// Returns the facts of all public files: those that were `seen` while reading, and those of tables, documents,
/// texts and the sample submission.
pub(crate) fn collect(world: &World, seen: Facts, limits: &DecodingLimits) -> Facts {
    let mut facts = seen;
    let item_of = |text: &str| world.item_in_text(text);
    let paths = world.public.tables.iter();
    let paths: HashSet<&str> = paths.map(|shown| shown.path.as_str()).collect();
    for (path, text) in world.common_texts() {
        if markup::is_markup(path) {
            markup::collect(path, text, &item_of, &mut facts);
        } else if documents::is_document(path) {
            documents::collect(path, text, &item_of, &mut facts);
        } else if !paths.contains(path) {
            lines::collect(path, text, &item_of, &mut facts);
        }
    }
    tables::collect(world, &mut facts);
    aligned::collect(world, limits, &mut facts);
    quotes(world, &mut facts);
    sample::collect(world, &mut facts);
    let mut of_ids = Facts::default();
    ids::collect(&world.ids, &world.chosen, &mut of_ids);
    facts.all.extend(of_ids.all);
    facts
}

/// Adds facts about the quotes and line endings of test tables. They come from the texts, because parsed tables do
/// not contain them.
fn quotes(world: &World, facts: &mut Facts) {
    for (shown, _, items) in world.test_tables() {
        let delimiter = match shown.path.to_ascii_lowercase().rsplit('.').next() {
            Some("csv") => b',',
            Some("tsv") => b'\t',
            _ => continue,
        };
        // Texts are sorted by path.
        let texts = &world.public.texts;
        let place = texts.partition_point(|(path, _)| *path < shown.path);
        let text = texts.get(place).filter(|(path, _)| *path == shown.path);
        let Some((_, text)) = text else { continue };
        let rows = cells::quotes(text, delimiter);
        for (row, item) in rows.iter().zip(items) {
            let Some(item) = item.filter(|item| world.has_facts(*item)) else {
                continue;
            };
            let end = if row.ends_with('r') { "CR LF" } else { "LF" };
            facts.add(Channel::Form, "the line ending of rows", item, end);
            for (name, quoted) in shown.table.names.iter().zip(row.chars()) {
                let what = format!("the quotes of `{name}`");
                facts.add(Channel::Form, &what, item, &quoted.to_string());
            }
        }
    }
}
