//! Collects the facts of all public files: of TFRecord files (features, file and position of records that name an
//! item), of training files that are compared with test files (a camera's serial number, the date of a scan, a
//! session), and of the sample submission (its values and the order of its rows).

use std::collections::{BTreeMap, HashSet};

use prep_contents::DecodingLimits;
use prep_formats::tfrecord::{Example, Feature, TfRecords};

use super::files::kind;
use super::{
    Channel, Facts, ItemOf, aligned, cells, documents, ids, lines, markup, metadata, tables,
};
use crate::cells::Cells;
use crate::paths::stem;
use crate::world::{World, rows_of_items};

/// Returns the facts of all public files: those that were `seen` while reading, and those of tables, documents,
/// texts and the sample submission.
pub(crate) fn collect(world: &World, seen: Facts, limits: &DecodingLimits) -> Facts {
    let mut facts = seen;
    let item_of = |text: &str| world.item_in_text(text);
    let paths = world.public.tables.iter();
    let paths: HashSet<&str> = paths.map(|shown| shown.path.as_str()).collect();
    for (path, text) in world.common_texts() {
        lines::collect_encoded(path, text, &item_of, &mut facts);
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
    collect_sample(world, &mut facts);
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

/// Maximum length of a byte string that is treated as a value.
const MAX_BYTES: usize = 200;

/// Maximum number of records that are read from a file.
const MAX_RECORDS: usize = 20_000;

/// Adds the facts of a file's records. The file may be truncated. `item_of` returns the item whose id a text contains.
pub(crate) fn collect_examples(path: &str, content: &[u8], item_of: ItemOf<'_>, facts: &mut Facts) {
    let name = path.rsplit('/').next().unwrap_or(path);
    for (place, record) in TfRecords::new(content).take(MAX_RECORDS).enumerate() {
        let Ok(record) = record else { break };
        let example = Example::new(&record.payload);
        let Ok(names) = example.names() else { break };
        let mut values = Vec::new();
        for name in names {
            if let Ok(Some(feature)) = example.feature(&name) {
                values.extend(single_value(&feature).map(|value| (name, value)));
            }
        }
        let mut named = values.iter();
        let named = named.find_map(|(name, value)| Some((name, item_of(value)?)));
        let Some((key, item)) = named else { continue };
        for (name, value) in values.iter().filter(|(name, _)| name != key) {
            let what = format!("the feature `{name}` of records");
            facts.add(Channel::Field, &what, item, value);
        }
        for (word, text) in ids::words(name).iter().enumerate() {
            let what = format!("word {} of the names of files with records", word + 1);
            facts.add(Channel::Name, &what, item, text);
        }
        let what = "the position of records in their file";
        facts.number(Channel::Order, what, item, place as f64);
        let length = record.payload.len() as f64;
        facts.number(Channel::Size, "the length of records", item, length);
    }
}

/// Returns the value of a feature that has a single value.
fn single_value(feature: &Feature) -> Option<String> {
    match feature {
        Feature::Bytes(list) => match list.as_slice() {
            [one] if one.len() <= MAX_BYTES => String::from_utf8(one.to_vec()).ok(),
            _ => None,
        },
        Feature::Floats(list) => match list.as_slice() {
            [one] => Some(one.to_string()),
            _ => None,
        },
        Feature::Ints(list) => match list.as_slice() {
            [one] => Some(one.to_string()),
            _ => None,
        },
    }
}

/// Maximum number of files.
const MAX_FILES: usize = 60_000;

/// Maximum length of a value, in bytes.
const MAX_VALUE: usize = 60;

/// Values by the index of their file.
type ByFile = Vec<(u32, Box<str>)>;

/// Facts of training files, under the same names as the facts of test items.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    /// File names without suffixes.
    stems: Vec<Box<str>>,
    values: BTreeMap<(Channel, String), ByFile>,
}

impl Trained {
    /// Adds a training file. `head` is its beginning.
    pub(crate) fn add(&mut self, path: &str, head: &[u8], time: Option<f64>) {
        let stem = stem(path);
        let Ok(number) = u32::try_from(self.stems.len()) else {
            return;
        };
        if self.stems.len() >= MAX_FILES {
            return;
        }
        let kind = kind(path, stem);
        let metadata = metadata::read(head).into_iter();
        let mut found: Vec<(Channel, String, String)> = metadata
            .map(|(name, value)| (Channel::Metadata, format!("{name} of `{kind}`"), value))
            .collect();
        if let Some(time) = time {
            let what = format!("the time of `{kind}`");
            found.push((Channel::Time, what, time.to_string()));
        }
        let parts = path.rsplit_once('/');
        let directories = parts.map_or("", |(directories, _)| directories);
        for (depth, directory) in directories.split('/').enumerate() {
            let what = format!("directory {} of the paths of `{kind}`", depth + 1);
            found.push((Channel::Name, what, directory.to_owned()));
        }
        if found.is_empty() {
            return;
        }
        self.stems.push(stem.into());
        for (channel, name, value) in found {
            if value.len() <= MAX_VALUE {
                let values = self.values.entry((channel, name)).or_default();
                values.push((number, value.into()));
            }
        }
    }

    /// Returns the names of training files, without suffixes.
    pub(crate) fn stems(&self) -> impl Iterator<Item = &str> {
        self.stems.iter().map(AsRef::as_ref)
    }

    /// Returns the facts whose values are not all equal, with the stem of the file for each value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&(Channel, String), Vec<(&str, &str)>)> {
        let varied = self.values.iter().filter(|(_, values)| {
            let first = values.first().map(|(_, value)| value);
            values.iter().any(|(_, value)| Some(value) != first)
        });
        varied.map(|(name, values)| {
            let named = values.iter().filter_map(|(number, value)| {
                let stem = self.stems.get(usize::try_from(*number).ok()?)?;
                Some((stem.as_ref(), value.as_ref()))
            });
            (name, named.collect())
        })
    }
}

pub(crate) fn collect_sample(world: &World, facts: &mut Facts) {
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

/// Returns whether the cells equal those of a column of a test table. Such a sample submission only repeats the input.
fn is_shown(world: &World, key: usize, cells: &Cells) -> bool {
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
