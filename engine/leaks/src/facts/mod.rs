//! Facts: everything that the public files show of single items besides the intended features themselves.
//!
//! A fact has a channel, a name, and values by item. Collectors in this directory read them off the files, one file per channel
//! or format. `detectors::facts` measures which of them predict the answers.

pub(crate) mod aligned;
pub(crate) mod cells;
pub(crate) mod documents;
pub(crate) mod examples;
pub(crate) mod files;
pub(crate) mod ids;
pub(crate) mod lines;
pub(crate) mod look;
pub(crate) mod markup;
pub(crate) mod matlab;
pub(crate) mod metadata;
pub(crate) mod parts;
pub(crate) mod sample;
pub(crate) mod strings;
pub(crate) mod tables;
pub(crate) mod trained;

use std::collections::BTreeMap;

/// Where a fact comes from. It decides the conditions of a leak, and the detector that reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Channel {
    /// A column of a test table: an intended feature.
    Column,
    /// A value inside another file: a field, a key, a variable, a word of a line. Most are intended features.
    Field,
    /// A row of a file without ids that has as many rows as there are test items: reported only if it is the answer.
    Aligned,
    /// The look or sound of an item's file: features for the baseline, never reported.
    Look,
    /// Words of names of files and directories.
    Name,
    /// Lengths of files.
    Size,
    /// Widths and heights.
    Pixels,
    Time,
    /// Places of rows, files, members, records.
    Order,
    /// How a member is stored in its archive.
    Packing,
    /// Metadata of pictures and sounds.
    Metadata,
    /// How cells are spelled.
    Form,
    /// Whether cells have a value.
    Missing,
    /// Whether a file names the item.
    Membership,
    Sample,
    Id,
}

impl Channel {
    /// The detector that reports it.
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
            Channel::Form | Channel::Missing => "cells",
            Channel::Sample => "sample",
            Channel::Id => "ids",
        }
    }

    /// Whether it is meant to be used for predictions.
    pub(crate) fn is_intended(self) -> bool {
        matches!(
            self,
            Channel::Column | Channel::Field | Channel::Aligned | Channel::Look
        )
    }
}

/// Different names that are kept. Documents keyed by foreign ids would give one each.
const MAX_FACTS: usize = 3_000;

/// Longest value that is kept; of longer ones the beginning, which distinguishes them well enough.
const MAX_VALUE: usize = 2_000;

/// Bytes of all values, and the longest value that is kept when they are exceeded.
const MAX_BYTES: usize = 256 << 20;
const MAX_SHORT_VALUE: usize = 64;

/// Values of a fact by item; the first one of an item is used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    by_item: BTreeMap<u32, Box<str>>,
}

impl Values {
    pub(crate) fn get(&self, item: usize) -> Option<&str> {
        let item = u32::try_from(item).ok()?;
        self.by_item.get(&item).map(AsRef::as_ref)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_item.len()
    }
}

/// All facts, by channel and name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub all: BTreeMap<(Channel, String), Values>,
    /// Bytes of all values.
    bytes: usize,
}

impl Facts {
    pub(crate) fn add(&mut self, channel: Channel, name: &str, item: usize, value: &str) {
        let Ok(item) = u32::try_from(item) else {
            return;
        };
        let key = (channel, name.to_owned());
        if !self.all.contains_key(&key) && self.all.len() >= MAX_FACTS {
            return;
        }
        let values = self.all.entry(key).or_default();
        if values.by_item.contains_key(&item) {
            return;
        }
        // Long values are shortened more if there are many.
        let most = match self.bytes < MAX_BYTES {
            true => MAX_VALUE,
            false => MAX_SHORT_VALUE,
        };
        let value = match value.len() > most {
            true => value
                .get(..value.floor_char_boundary(most))
                .unwrap_or(value),
            false => value,
        };
        self.bytes += value.len();
        values.by_item.insert(item, value.into());
    }

    pub(crate) fn number(&mut self, channel: Channel, name: &str, item: usize, value: f64) {
        self.add(channel, name, item, &value.to_string());
    }
}

/// Seconds of a date or a time of day, as `2019-05-01`, `2019:05:01 10:20:30`, `01/05/2019` are. `None` for other texts.
pub(crate) fn time_of(text: &str) -> Option<f64> {
    if text.len() < 8 || text.len() > 40 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let parts: Vec<&str> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .collect();
    let has_letters = text
        .chars()
        .any(|c| c.is_alphabetic() && !matches!(c, 'T' | 'Z'));
    if has_letters || parts.len() < 3 || !text.contains(['-', ':', '/']) {
        return None;
    }
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<f64>().ok());
    let (year, month, day) = match (parts.first()?.len(), parts.get(2)?.len()) {
        (4, _) => (number(0)?, number(1)?, number(2)?),
        (_, 4) => (number(2)?, number(1)?, number(0)?),
        _ => return None,
    };
    if !(1.0..=31.0).contains(&month) || !(1.0..=31.0).contains(&day) {
        return None;
    }
    let days = year * 372.0 + month * 31.0 + day;
    let clock = [3600.0, 60.0, 1.0].iter().zip(3..);
    let clock: f64 = clock
        .filter_map(|(unit, at)| Some(unit * number(at)?))
        .sum();
    Some(days * 86_400.0 + clock)
}
