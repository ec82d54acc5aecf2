//! Facts from the names, positions, times and content of items' files.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Channel, FactKey, ItemFacts, ids, lines, metadata};
use crate::series::byte_features;
use crate::sketch::{picture_features, sound_features};
use crate::text::{ContentKind, file_name, pattern, stem};

const DAY_SECONDS: f64 = 86_400.0;

/// The properties of a file that are known before it is opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileProperties {
    /// Position in the archive, or in the order of the directory.
    pub position: usize,
    /// Modification time in seconds. Only differences are used, so the epoch does not matter.
    pub time: Option<f64>,
    /// How the archive or the file system stores the file, for example permissions or compression method.
    pub packing: Option<String>,
}

pub(crate) struct ItemFile<'a> {
    path: &'a str,
    id: &'a str,
    item: usize,
    kind: Rc<str>,
    pub facts: &'a mut ItemFacts,
}

impl<'a> ItemFile<'a> {
    /// Creates the file of an item. `id` is the part of the item's id that the path contains.
    pub(crate) fn new(path: &'a str, id: &'a str, item: usize, facts: &'a mut ItemFacts) -> Self {
        ItemFile {
            path,
            id,
            item,
            kind: kind(path, id).into(),
            facts,
        }
    }

    fn add(&mut self, channel: Channel, what: &str, value: &str) {
        self.facts.add(channel, what, self.item, value);
    }

    fn number(&mut self, channel: Channel, what: &str, value: f64) {
        self.facts.number(channel, what, self.item, value);
    }

    pub(crate) fn kind(&self) -> Rc<str> {
        Rc::clone(&self.kind)
    }

    /// Adds the directories of the path and the words of the file name, except the id.
    pub(crate) fn add_path(&mut self) {
        let (id, kind) = (self.id, self.kind());
        let (directories, name) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        for (depth, directory) in directories.split('/').enumerate() {
            if !directory.is_empty() && !directory.contains(id) {
                let what = format!("directory level {} of the paths of `{kind}`", depth + 1);
                self.add(Channel::Name, &what, directory);
            }
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let (before, behind) = match stem.split_once(id) {
            Some(parts) if !id.is_empty() => parts,
            _ => ("", ""),
        };
        for (side, rest) in [("before", before), ("after", behind)] {
            for (place, word) in ids::words(rest).iter().enumerate() {
                let what = format!("word {} {side} the id in the names of `{kind}`", place + 1);
                self.add(Channel::Name, &what, word);
            }
        }
    }

    pub(crate) fn add_properties(&mut self, bytes: u64, known: &FileProperties) {
        let kind = self.kind();
        let what = format!("the length of `{kind}`");
        self.number(Channel::Size, &what, bytes as f64);
        let what = format!("the position of `{kind}`");
        self.number(Channel::Order, &what, known.position as f64);
        if let Some(time) = known.time {
            let in_day = time.rem_euclid(DAY_SECONDS);
            let weekday = (time / DAY_SECONDS).floor().rem_euclid(7.0);
            for (what, value) in [
                ("the time", time),
                ("the time of day", in_day),
                ("the day of the week", weekday),
            ] {
                self.number(Channel::Time, &format!("{what} of `{kind}`"), value);
            }
        }
        if let Some(packing) = &known.packing {
            let what = format!("how `{kind}` is stored");
            self.add(Channel::Packing, &what, packing);
        }
    }

    pub(crate) fn add_pixels(&mut self, (width, height): (u64, u64)) {
        let what = format!("the width and height of `{}`", self.kind());
        self.add(Channel::Pixels, &what, &format!("{width} x {height}"));
    }

    /// Adds the facts of the content: metadata, and features of pictures, sounds and other data.
    pub(crate) fn add_content(&mut self, content: &[u8]) {
        let kind = self.kind();
        for (name, value) in metadata::read(content) {
            self.add(Channel::Metadata, &format!("{name} of `{kind}`"), &value);
        }
        match ContentKind::from_path(self.path) {
            ContentKind::Picture => self.add_features(&kind, picture_features(content)),
            ContentKind::Sound => self.add_features(&kind, sound_features(content)),
            ContentKind::Array | ContentKind::Matlab => {
                self.add_features(&kind, byte_features(content))
            }
            ContentKind::Read | ContentKind::Opaque => {
                self.add_features(&kind, byte_features(content));
                lines::collect_strings_of_item(&kind, content, self.item, self.facts);
            }
            _ => {}
        }
    }

    fn add_features(&mut self, kind: &str, features: Vec<(String, f64)>) {
        for (name, value) in features {
            self.number(Channel::Look, &format!("{name} of `{kind}`"), value);
        }
    }
}

/// Returns `ID.` and the ending of the file name, for example `ID.png`, if the file name contains the id of the item.
/// Otherwise returns the [`pattern`] of the path.
pub(crate) fn kind(path: &str, id: &str) -> String {
    let name = file_name(path);
    match name.split_once(id) {
        Some((_, behind)) if !id.is_empty() => {
            let end = behind.rsplit_once('.').map_or("", |(_, end)| end);
            format!("ID.{end}")
        }
        _ => pattern(path),
    }
}

/// Maximum number of training files whose facts are collected.
const MAX_FILES: usize = 60_000;

/// Values with more bytes are not collected.
const MAX_VALUE: usize = 60;

/// Values of a fact, each with the index of its file.
type ByFile = Vec<(usize, Box<str>)>;

/// Facts of training files, under the same names as the facts of test items.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    /// File names without suffixes.
    stems: Vec<Box<str>>,
    values: BTreeMap<FactKey, ByFile>,
}

impl Trained {
    /// `head` is the beginning of the content, and `time` the modification time in seconds.
    pub(crate) fn add(&mut self, path: &str, head: &[u8], time: Option<f64>) {
        let stem = stem(path);
        let number = self.stems.len();
        if number >= MAX_FILES {
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
            let what = format!("directory level {} of the paths of `{kind}`", depth + 1);
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

    pub(crate) fn stems(&self) -> impl Iterator<Item = &str> {
        self.stems.iter().map(AsRef::as_ref)
    }

    /// Returns the facts whose values are not all equal. For each fact, returns pairs of a file's stem and the file's
    /// value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&FactKey, Vec<(&str, &str)>)> {
        let varied = self.values.iter().filter(|(_, values)| {
            let first = values.first().map(|(_, value)| value);
            values.iter().any(|(_, value)| Some(value) != first)
        });
        varied.map(|(name, values)| {
            let named = values.iter().filter_map(|(number, value)| {
                let stem = self.stems.get(*number)?;
                Some((stem.as_ref(), value.as_ref()))
            });
            (name, named.collect())
        })
    }
}
