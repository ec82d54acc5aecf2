//! Two folders, file by file; archives are entered.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use prep_digests::{Hasher, Sha256};
use serde::Serialize;

use crate::entries;
use crate::table::Table;
use crate::tables::{TableDifference, tables};

/// A longer table is compared as a file.
const LONGEST: u64 = 2 << 30;

/// A file that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileDifference {
    /// Below the folder; a member of an archive is a file in a folder of its name.
    pub path: String,
    /// Lengths; none on the side where it is not.
    pub bytes: [Option<u64>; 2],
    /// Where it has the same content under another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// Of tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<TableDifference>,
}

struct Known {
    bytes: u64,
    sha256: Sha256,
}

/// Compares two folders; a folder that is not there is an empty one.
///
/// # Errors
/// When something cannot be read.
pub fn folders(old: &Path, new: &Path) -> io::Result<Vec<FileDifference>> {
    let (before, after) = (known(old)?, known(new)?);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut wanted = BTreeSet::new();
    let mut found = Vec::new();
    let mut by_content: BTreeMap<Sha256, &String> = BTreeMap::new();
    for (path, file) in &after {
        if !before.contains_key(path) {
            by_content.insert(file.sha256, path);
        }
    }
    let mut renamed = BTreeSet::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        if let (Some(old), Some(new)) = (old, new)
            && old.sha256 == new.sha256
        {
            continue;
        }
        let same = old
            .filter(|_| new.is_none())
            .and_then(|old| by_content.get(&old.sha256));
        if let Some(other) = same {
            renamed.insert((*other).clone());
        }
        if old.is_some() && new.is_some() && is_table(path) {
            wanted.insert(path.clone());
        }
        found.push(FileDifference {
            path: path.clone(),
            bytes: [old.map(|file| file.bytes), new.map(|file| file.bytes)],
            renamed_to: same.map(|other| (*other).clone()),
            table: None,
        });
    }
    // What was told of under its old name is not told of again.
    found.retain(|one| {
        one.bytes.iter().flatten().count() == 2
            || one.bytes[0].is_some()
            || !renamed.contains(&one.path)
    });
    let (mut old, mut new) = (read(old, &wanted)?, read(new, &wanted)?);
    for one in &mut found {
        if let (Some(old), Some(new)) = (old.remove(&one.path), new.remove(&one.path)) {
            one.table = Some(tables(&old, &new));
        }
    }
    Ok(found)
}

fn known(folder: &Path) -> io::Result<BTreeMap<String, Known>> {
    let mut known = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(known);
    }
    entries::of_folder(folder, &mut |path, _, content| {
        let (mut hasher, mut buffer, mut bytes) = (Hasher::default(), vec![0; 1 << 16], 0);
        loop {
            match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(buffer.get(..count).unwrap_or_default());
                    bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sha256 = hasher.finish();
        known.insert(path.to_owned(), Known { bytes, sha256 });
        Ok(())
    })?;
    Ok(known)
}

fn is_table(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".csv", ".tsv", ".json", ".jsonl"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// The tables among these paths.
fn read(folder: &Path, wanted: &BTreeSet<String>) -> io::Result<BTreeMap<String, Table>> {
    let mut tables = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(tables);
    }
    entries::of_folder(folder, &mut |path, bytes, content| {
        if !wanted.contains(path) || bytes > LONGEST {
            return Ok(());
        }
        let mut text = Vec::new();
        content.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let table = match path.to_ascii_lowercase() {
            path if path.ends_with(".tsv") => Some(Table::of_csv(&text, '\t')),
            path if path.ends_with(".csv") => Some(Table::of_csv(&text, ',')),
            _ => Table::of_json(&text),
        };
        if let Some(table) = table {
            tables.insert(path.to_owned(), table);
        }
        Ok(())
    })?;
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_added_removed_renamed_and_changed() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/same.txt", "1");
        write("b/same.txt", "1");
        write("a/gone.txt", "22");
        write("b/new.txt", "333");
        write("a/before.bin", "content");
        write("b/after.bin", "content");
        write("a/t.csv", "id,x\n1,a\n2,b\n");
        write("b/t.csv", "id,x\n1,a\n2,c\n");
        let found = folders(&root.path().join("a"), &root.path().join("b")).unwrap();
        let short: Vec<(&str, [Option<u64>; 2])> = found
            .iter()
            .map(|one| (one.path.as_str(), one.bytes))
            .collect();
        assert_eq!(
            short,
            [
                ("before.bin", [Some(7), None]),
                ("gone.txt", [Some(2), None]),
                ("new.txt", [None, Some(3)]),
                ("t.csv", [Some(13), Some(13)]),
            ]
        );
        assert_eq!(found[0].renamed_to.as_deref(), Some("after.bin"));
        assert_eq!(found[3].table.as_ref().unwrap().cells[0].new, "c");
    }
}
