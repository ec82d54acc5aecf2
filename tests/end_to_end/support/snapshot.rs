//! The state of a directory, for comparison with a later state or another directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use md5::{Digest, Md5};

/// The content of a directory, and metadata that show whether a program wrote to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// The MD5 if the entry is a file, otherwise the kind of the entry.
    content: String,
    inode: u64,
    /// Modification time in seconds and nanoseconds.
    time: (i64, i64),
    mode: u32,
}

impl Snapshot {
    /// Reads all entries below a directory. Without the directory, the snapshot is empty.
    pub fn of(directory: &Path) -> Snapshot {
        let mut entries = BTreeMap::new();
        if directory.is_dir() {
            walk(directory, "", &mut entries);
        }
        Snapshot { entries }
    }

    pub fn contents(&self) -> BTreeMap<&str, &str> {
        self.entries
            .iter()
            .map(|(path, entry)| (path.as_str(), entry.content.as_str()))
            .collect()
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.content != DIRECTORY)
            .map(|(path, _)| path.as_str())
    }

    /// Returns files that are new, removed, replaced or written since `before`, even with the same content.
    pub fn touched_since<'a>(&'a self, before: &'a Snapshot) -> Vec<&'a str> {
        let gone = before
            .files()
            .filter(|path| !self.entries.contains_key(*path));
        let changed = self
            .files()
            .filter(|path| before.entries.get(*path) != self.entries.get(*path));
        let mut touched: Vec<&str> = changed.chain(gone).collect();
        touched.sort_unstable();
        touched
    }
}

const DIRECTORY: &str = "directory";

fn walk(directory: &Path, inner: &str, entries: &mut BTreeMap<String, Entry>) {
    for item in fs::read_dir(directory).expect("directory") {
        let item = item.expect("entry");
        let path = item.path();
        let metadata = fs::symlink_metadata(&path).expect("metadata");
        let name = item.file_name().to_string_lossy().into_owned();
        let inner = if inner.is_empty() {
            name
        } else {
            format!("{inner}/{name}")
        };
        let content = if metadata.is_dir() {
            walk(&path, &inner, entries);
            DIRECTORY.to_owned()
        } else if metadata.is_file() {
            hex_md5(&fs::read(&path).expect("file"))
        } else {
            "neither file nor directory".to_owned()
        };
        let entry = Entry {
            content,
            inode: metadata.ino(),
            time: (metadata.mtime(), metadata.mtime_nsec()),
            mode: metadata.permissions().mode(),
        };
        entries.insert(inner, entry);
    }
}

pub fn hex_md5(bytes: &[u8]) -> String {
    prep_formats::hex::encode(&Md5::digest(bytes))
}
