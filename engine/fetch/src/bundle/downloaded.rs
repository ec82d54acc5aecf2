//! What downloads leave in the data folder, by name.
//!
//! ```text
//! DATA/ID/ID.zip            the bundle
//! DATA/ID/ID.part-KEY.zip   some members of it
//! DATA/ID/ID.part-KEY.zip.files/  its members, if they are fetched one by one and not all there yet
//! DATA/ID/sources/FILE      the file of a further source
//! DATA/ID/*.partial         a download that did not end, or is running
//! DATA/ID/*.partial.map     which pieces of it are there
//! DATA/ID/*.partial.holders/    the lease of a process that downloads, where other machines see the folder
//! ```

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name, without `.zip`, of the part of a bundle whose choice of members has this key.
pub(crate) fn part_name(id: &str, key: &str) -> String {
    format!("{id}.part-{key}")
}

/// Name of the folder of further sources.
const SOURCES: &str = "sources";

/// Where the file of a further source is fetched to.
pub(crate) fn source_path(data: &Path, id: &str, file: &str) -> PathBuf {
    data.join(id).join(SOURCES).join(file)
}

/// Bytes of disk that an interrupted download of `ID.zip` takes, or of the file of a further source.
pub fn partial_bytes(data: &Path, id: &str, file: Option<&str>) -> u64 {
    let partial = match file {
        None => data.join(id).join(format!("{id}.zip.partial")),
        Some(file) => source_path(data, id, &format!("{file}.partial")),
    };
    partial.metadata().map_or(0, |file| file.blocks() * 512)
}

/// Removes `DATA/ID/ID.zip` and parts of it, and files of further sources. What lies elsewhere is the user's.
pub fn discard(data_dir: &Path, id: &str) {
    let folder = data_dir.join(id);
    discard_sources(&folder.join(SOURCES));
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    let part = part_name(id, "");
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_bundle = name.strip_suffix(".zip").is_some_and(|stem| {
            stem == id
                || stem
                    .strip_prefix(&part)
                    .is_some_and(|key| !key.contains('.'))
        });
        let is_of_part = name.starts_with(&part) && name.ends_with(".zip.files");
        // They only take space: another run removes what cannot be removed now.
        let _ = match (is_bundle, is_of_part) {
            (true, _) => std::fs::remove_file(entry.path()),
            (_, true) => std::fs::remove_dir_all(entry.path()),
            _ => Ok(()),
        };
    }
}

/// Removes the files of further sources; what is left of downloads stays, so that they can go on.
fn discard_sources(folder: &Path) {
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_of_download = [".partial", ".partial.map", ".partial.holders"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_of_download {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    // It stays where something is in it.
    let _ = std::fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bundle_and_its_parts_go() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        std::fs::create_dir(&folder).unwrap();
        for name in [
            "a.zip",
            "a.part-0123.zip",
            "a.zip.partial",
            "b.zip",
            "prepared.json",
        ] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let running = [
            "y.partial",
            "y.partial.map",
            "y.partial.holders/exclusive-1",
        ];
        for name in running.into_iter().chain(["x.csv"]) {
            let path = source_path(dir.path(), "a", name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        discard(dir.path(), "a");
        discard(dir.path(), "missing");
        assert!(!source_path(dir.path(), "a", "x.csv").exists());
        for name in running {
            assert!(source_path(dir.path(), "a", name).exists(), "{name}");
        }
        let mut left: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a.zip.partial", "b.zip", "prepared.json", "sources"]);
    }
}
