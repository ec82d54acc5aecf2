//! Collects the facts of all public files.

use std::collections::HashSet;

use prep_contents::Format;

use super::{Channel, ItemFacts, cells, documents, ids, lines, tables};
use crate::table::{CellTexts, is_missing};
use crate::text::ContentKind;
use crate::world::{World, are_different, rows_of_items};

/// Returns the facts of all files. `seen` contains the facts that were collected while the files were read.
pub(crate) fn collect(world: &World, seen: ItemFacts) -> ItemFacts {
    let mut facts = seen;
    let paths = world.public.tables.iter();
    let paths: HashSet<&str> = paths.map(|shown| shown.path.as_str()).collect();
    for (path, text) in world.common_texts() {
        // Small numbers are ids only in a list of different numbers.
        let words = lines::words(text).skip_while(|word| word.parse::<u32>().is_err());
        let is_list = words.clone().all(|word| word.parse::<u32>().is_ok()) && are_different(words);
        let item_of = |word: &str| match is_list {
            true => world.item_of_name(word),
            false => world.item_in_text(word),
        };
        lines::collect_encoded(path, text, &item_of, &mut facts);
        let kind = ContentKind::from_path(path);
        if kind == ContentKind::Json {
            documents::collect(path, text, &item_of, &mut facts);
        } else if !paths.contains(path) {
            lines::collect(path, text, &item_of, &mut facts);
        }
        if kind == ContentKind::Markup {
            let lines = lines::lines_of_markup(text);
            lines::collect(path, &lines, &item_of, &mut facts);
        }
    }
    tables::collect(world, &mut facts);
    quotes(world, &mut facts);
    collect_sample(world, &mut facts);
    facts.all.extend(facts_of_codes(world, &facts).all);
    facts
}

/// Only the first words of a text, up to this number, are facts.
const MAX_WORDS: usize = 8;

/// Returns the facts of ids, and of values that are codes like ids.
fn facts_of_codes(world: &World, facts: &ItemFacts) -> ItemFacts {
    let mut found = ItemFacts::default();
    let ids: Vec<&str> = world.ids.iter().map(String::as_str).collect();
    let chosen = world.chosen.iter();
    let chosen = chosen.filter_map(|item| Some((*item, *ids.get(*item)?)));
    let chosen: Vec<(usize, &str)> = chosen.collect();
    ids::collect(Channel::Id, "ids", &ids, &chosen, &mut found);
    for ((channel, name), values) in &facts.all {
        let values = values.iter().filter(|(_, text)| !is_missing(text));
        let of_items: Vec<(usize, &str)> = values.collect();
        let texts: Vec<&str> = of_items.iter().map(|(_, text)| *text).collect();
        let is_unique = texts.iter().collect::<HashSet<_>>().len() * 2 > texts.len();
        let codes = texts.iter().filter(|text| ids::is_code(text)).count();
        let are_codes = codes * 10 >= texts.len() * 9;
        let channel = match channel {
            Channel::Column | Channel::Field | Channel::Aligned => Channel::Code,
            channel => *channel,
        };
        if is_unique && are_codes && matches!(channel, Channel::Code | Channel::Name) {
            ids::collect(channel, name, &texts, &of_items, &mut found);
        } else if is_unique && channel.is_arranged() && channel != Channel::Code {
            // Texts that are all different may still share words.
            for (item, text) in of_items {
                for (place, word) in ids::words(text).into_iter().take(MAX_WORDS).enumerate() {
                    let what = format!("word {} of {name}", place + 1);
                    found.add(channel, &what, item, word);
                }
            }
        }
    }
    found
}

/// Adds facts about quotes and line endings of test tables. They are read from the text of the CSV files, because parsed
/// tables contain neither quotes nor line endings.
fn quotes(world: &World, facts: &mut ItemFacts) {
    for (shown, _, items) in world.test_tables() {
        let Some(Format::Csv(delimiter)) = Format::from_path(&shown.path) else {
            continue;
        };
        // Texts are sorted by path.
        let texts = &world.public.texts;
        let place = texts.binary_search_by(|(path, _)| path.cmp(&shown.path));
        let text = place.ok().and_then(|place| texts.get(place));
        let Some((_, text)) = text else { continue };
        // A row is a string with one character for each cell, and with a final `r` if the line ends with CR LF.
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

fn collect_sample(world: &World, facts: &mut ItemFacts) {
    let Some(key) = world.key_of(&world.sample) else {
        return;
    };
    for (name, cells) in world.sample.columns_except(key) {
        if is_shown(world, key, cells) {
            continue;
        }
        for (row, item) in world.items_of(&world.sample, key) {
            if let Some(cell) = cells.get(row) {
                let what = format!("the sample's `{name}`");
                facts.add(Channel::Sample, &what, item, cell);
            }
        }
    }
    for (row, item) in world.items_of(&world.sample, key) {
        let what = format!("the order of rows in {}", world.sample_path);
        facts.number(Channel::Order, &what, item, row as f64);
    }
}

/// Returns whether a column of the sample submission only repeats a column of a test table. Such a
/// column is not a fact.
fn is_shown(world: &World, key: usize, cells: &CellTexts) -> bool {
    let own = world.items_of(&world.sample, key);
    world.test_tables().any(|(shown, _, items)| {
        let row_of = rows_of_items(items);
        shown.table.columns.iter().any(|column| {
            let equal = own.iter().filter(|(row, item)| {
                let there = row_of.get(item).and_then(|row| column.get(*row));
                there.is_some() && there == cells.get(*row)
            });
            !own.is_empty() && equal.count() * 20 >= own.len() * 19
        })
    })
}
