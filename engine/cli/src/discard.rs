//! Removing bundles that were downloaded, as soon as their competition is prepared.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_core::{Event, Reporter, StepOutcome};

use crate::progress::LAST;

/// Passes events on; when a competition's last step has gone well, its bundle goes.
pub struct Discarding {
    pub data_dir: PathBuf,
    pub next: Arc<dyn Reporter>,
}

impl Reporter for Discarding {
    fn event(&self, event: &Event) {
        if let Event::StepEnded {
            competition,
            kind,
            outcome: StepOutcome::Done { .. } | StepOutcome::Reused,
            ..
        } = event
            && *kind == LAST
        {
            discard(&self.data_dir, competition);
        }
        self.next.event(event);
    }
}

/// Removes `DATA/ID/ID.zip` and parts of it. Bundles elsewhere are the user's.
pub fn discard(data_dir: &Path, id: &str) {
    let folder = data_dir.join(id);
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    let part = format!("{id}.part-");
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
            let _ = std::fs::remove_file(entry.path()).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            });
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
