//! Facts: everything that the public files show about an individual item, such as the length of its file.
//!
//! A fact has a channel (its origin), a name, and a value for each item. The collectors in this directory find facts in
//! the public files. There is one source file per channel or file format. `detectors::facts` measures which facts predict
//! the answers.

pub(crate) mod cells;
pub(crate) mod collect;
pub(crate) mod documents;
pub(crate) mod files;
pub(crate) mod ids;
pub(crate) mod lines;
pub(crate) mod metadata;
pub(crate) mod records;
pub(crate) mod tables;

use std::collections::BTreeMap;

/// The origin of a fact. The channel determines when the fact is a leak, and which detector reports the fact. The channels
/// of intended features come first, see [`Channel::is_intended`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Channel {
    /// A column of a test table: an intended feature.
    Column,
    /// A value inside a file other than a test table: a field, a key, a variable, or a word of a line. Most of these
    /// values are intended features.
    Field,
    /// A row of a file that has no ids, but as many rows as there are test items. Such rows are reported only if they contain
    /// the answers themselves, see `detectors::exact`.
    Aligned,
    /// A feature of a picture, a sound or other content: an intended feature. It is not reported as a leak.
    Look,
    /// Words in the names of files and directories.
    Name,
    /// Lengths of files.
    Size,
    /// Widths and heights of pictures.
    Pixels,
    /// Modification times of files.
    Time,
    /// Positions of rows, files, members and records.
    Order,
    /// How a file is stored in its archive or file system.
    Packing,
    /// Metadata of pictures and sounds.
    Metadata,
    /// How cells are spelled.
    Form,
    /// Whether cells have a value.
    Missing,
    /// Whether a file contains the id of the item.
    Membership,
    /// Values of the sample submission.
    Sample,
    /// Properties of ids.
    Id,
    /// Properties of codes that are intended features, for example of a column of ticket numbers.
    Code,
}

impl Channel {
    /// Returns the detector that reports facts of this channel.
    pub(crate) fn detector(self) -> &'static str {
        match self {
            Channel::Column | Channel::Look => "column",
            Channel::Field | Channel::Aligned | Channel::Membership => "answers-elsewhere",
            Channel::Name => "names",
            Channel::Size | Channel::Pixels => "size",
            Channel::Time => "times",
            Channel::Order => "order",
            Channel::Packing => "packing",
            Channel::Metadata => "metadata",
            Channel::Form | Channel::Missing | Channel::Code => "cells",
            Channel::Sample => "sample",
            Channel::Id => "ids",
        }
    }

    /// Returns whether items of the same group may become neighbours if items are sorted by a fact of this channel.
    pub(crate) fn is_arranged(self) -> bool {
        use Channel::{Form, Membership, Missing, Pixels, Size};
        !self.is_intended() && !matches!(self, Form | Membership | Missing | Pixels | Size)
    }

    /// Returns whether a fact is a directory, or a part of a name, an id or a code: a word or a character.
    pub(crate) fn is_part(self, name: &str) -> bool {
        matches!(self, Channel::Name | Channel::Id | Channel::Code) && !name.starts_with("the ")
    }

    /// Returns whether facts of this channel are intended features.
    pub(crate) fn is_intended(self) -> bool {
        self <= Channel::Look
    }
}

/// Maximum number of facts about all items. More facts are ignored. Without this limit, a document whose keys are unknown ids
/// would add one fact per id.
const MAX_FACTS: usize = 3_000;

/// Values with more bytes are truncated, because the first bytes suffice to distinguish values.
const MAX_VALUE: usize = 2_000;

/// Total length of all values, in bytes, above which values are truncated to [`MAX_SHORT_VALUE`].
const MAX_BYTES: usize = 256 << 20;
/// When all values together have reached [`MAX_BYTES`], further values are truncated to this number of bytes.
const MAX_SHORT_VALUE: usize = 64;

/// A function that returns the item to which a text refers. The text is the item's id or the name of the item's file.
pub(crate) type ItemOf<'a> = &'a dyn Fn(&str) -> Option<usize>;

/// The values of a fact by item. If an item has several values, the first one is used.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactValues {
    by_item: BTreeMap<usize, Box<str>>,
}

impl FactValues {
    pub(crate) fn get(&self, item: usize) -> Option<&str> {
        self.by_item.get(&item).map(AsRef::as_ref)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_item.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let values = self.by_item.iter();
        values.map(|(item, value)| (*item, value.as_ref()))
    }
}

/// The channel and the name of a fact.
pub(crate) type FactKey = (Channel, String);

/// All facts, by channel and name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemFacts {
    pub all: BTreeMap<FactKey, FactValues>,
    /// Total length of all values in bytes.
    bytes: usize,
}

impl ItemFacts {
    pub(crate) fn add(&mut self, channel: Channel, name: &str, item: usize, value: &str) {
        let key = (channel, name.to_owned());
        if !self.all.contains_key(&key) && self.all.len() >= MAX_FACTS {
            return;
        }
        let values = self.all.entry(key).or_default();
        if values.by_item.contains_key(&item) {
            return;
        }
        // If the values already need much memory, further values are truncated to fewer bytes.
        let most = match self.bytes < MAX_BYTES {
            true => MAX_VALUE,
            false => MAX_SHORT_VALUE,
        };
        let end = value.floor_char_boundary(most);
        let value = value.get(..end).unwrap_or(value);
        self.bytes += value.len();
        values.by_item.insert(item, value.into());
    }

    /// Adds the fact that a file contains the id of an item.
    pub(crate) fn mention(&mut self, path: &str, item: usize) {
        let what = format!("whether {path} contains the item's id");
        self.add(Channel::Membership, &what, item, "named");
    }

    pub(crate) fn number(&mut self, channel: Channel, name: &str, item: usize, value: f64) {
        self.add(channel, name, item, &value.to_string());
    }
}
