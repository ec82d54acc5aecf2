//! What downloads leave in the data folder, by name.
//!
//! ```text
//! DATA/ID/ID.zip            the bundle
//! DATA/ID/ID.part-KEY.zip   some members of it
//! DATA/ID/ID.zip.partial    a download that did not end
//! ```

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The name, without `.zip`, of the part of a bundle whose choice of members has this key.
pub(crate) fn part_name(id: &str, key: &str) -> String {
    format!("{id}.part-{key}")
}

/// Bytes of disk that an interrupted download of `ID.zip` takes.
pub fn partial_bytes(data: &Path, id: &str) -> u64 {
    let partial = data.join(id).join(format!("{id}.zip.partial")).metadata();
    partial.map_or(0, |file| file.blocks() * 512)
}

/// Removes `DATA/ID/ID.zip` and parts of it. Bundles elsewhere are the user's.
pub fn discard(data_dir: &Path, id: &str) {
    let folder = data_dir.join(id);
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
        if is_bundle {
            // It only takes space: another run removes it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
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
        discard(dir.path(), "a");
        discard(dir.path(), "missing");
        let mut left: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a.zip.partial", "b.zip", "prepared.json"]);
    }
}
