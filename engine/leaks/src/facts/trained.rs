//! Times, metadata and directories of training files, which are compared with those of test files. Examples are a
//! camera's serial number, the date of a scan, and a session.

use std::collections::BTreeMap;

use super::files::kind;
use super::{Channel, metadata};
use crate::paths::stem;

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
