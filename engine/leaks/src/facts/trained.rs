//! Times, metadata and directories of training files, for comparison with those of test items: a camera's serial number, the date of a
//! scan, a session.

use std::collections::BTreeMap;

use super::files::kind;
use super::{Channel, metadata};

/// Files that are kept.
const MAX_FILES: usize = 60_000;

/// Longest value that is kept.
const MAX_VALUE: usize = 60;

/// Values by the number of their file.
type ByFile = Vec<(u32, Box<str>)>;

/// Facts of training files, by the names that the same facts of test items have.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    /// The names of files without their endings.
    stems: Vec<Box<str>>,
    values: BTreeMap<(Channel, String), ByFile>,
}

impl Trained {
    /// Adds a training file, of which `head` may be a part.
    pub(crate) fn add(&mut self, path: &str, head: &[u8], time: Option<f64>) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let stem = name.split('.').next().unwrap_or(name);
        let Ok(number) = u32::try_from(self.stems.len()) else {
            return;
        };
        if self.stems.len() >= MAX_FILES {
            return;
        }
        let kind = kind(path, stem);
        let mut found: Vec<(Channel, String, String)> = metadata::read(head)
            .into_iter()
            .map(|(name, value)| (Channel::Metadata, format!("{name} of `{kind}`"), value))
            .collect();
        if let Some(time) = time {
            found.push((
                Channel::Time,
                format!("the time of `{kind}`"),
                time.to_string(),
            ));
        }
        let directories = path
            .rsplit_once('/')
            .map_or("", |(directories, _)| directories);
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

    /// Facts of which not all values are equal, with the file's stem of each value.
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
