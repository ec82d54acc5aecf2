//! Unpacks the sample bundles into the directory of the demo.
//!
//! ```text
//! DIR/prep-demo.txt                marks the directory of a demo; other directories are used only if they are empty
//! DIR/prep.toml                    settings for commands in the directory
//! DIR/bundles/ID.zip
//! DIR/submissions/ID/NAME.csv
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prep_app::{Error, SAMPLES, SampleBundle};

use crate::error::CliError;
use crate::exit::Exit;
use crate::prep_toml::FILE;

const MARKER_FILE: &str = "prep-demo.txt";
/// Settings for commands in the demo's directory.
const SETTINGS: &str = "data_dir = \"data\"\ncache_dir = \"cache\"\nsource = \"bundles\"\n";
const MARKER_TEXT: &str = "`prep demo` wrote this directory from sample data. You can delete it.\n";

/// Writes all bundles and submissions of the demo to `dir`. Files that already have the right content are not written
/// again, so that their times do not change.
///
/// # Errors
/// Returns an error if `dir` contains files that are not from a demo, or cannot be written.
pub fn unpack(dir: &Path) -> Result<(), CliError> {
    if !dir.join(MARKER_FILE).is_file() {
        let occupied = match fs::read_dir(dir) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::writing("use the directory", dir, &error).into()),
        };
        if occupied {
            let message = format!("{} is not empty", dir.display());
            return Err(CliError::new(Exit::Usage, message)
                .help("name a new or empty directory with --output"));
        }
    }
    put(&dir.join(MARKER_FILE), MARKER_TEXT.as_bytes())?;
    put(&dir.join(FILE), SETTINGS.as_bytes())?;
    for sample in SAMPLES {
        put(
            &bundles(dir).join(format!("{}.zip", sample.id)),
            sample.bundle,
        )?;
        for (name, content) in sample.submissions {
            put(&submission(dir, sample.id, name), content.as_bytes())?;
        }
    }
    Ok(())
}

/// Returns the directory of bundles.
pub fn bundles(dir: &Path) -> PathBuf {
    dir.join("bundles")
}

/// Returns the paths of a sample's submissions.
pub fn submissions(sample: &SampleBundle, dir: &Path) -> impl Iterator<Item = PathBuf> {
    let names = sample.submissions.iter();
    names.map(|(name, _)| submission(dir, sample.id, name))
}

fn submission(dir: &Path, id: &str, name: &str) -> PathBuf {
    dir.join("submissions").join(id).join(name)
}

/// Writes a file and creates its parent directories, unless the file already has this content.
pub fn put(path: &Path, content: &[u8]) -> Result<(), CliError> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    let written = match path.parent() {
        Some(directory) => fs::create_dir_all(directory),
        None => Ok(()),
    };
    written
        .and_then(|()| fs::write(path, content))
        .map_err(|error| Error::writing("write", path, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_small_and_belong_to_built_in_competitions() {
        let catalog = prep_app::Catalog::embedded();
        assert!(SAMPLES.len() >= 4);
        for sample in SAMPLES {
            let entry = catalog.get(sample.id).unwrap();
            assert!(entry.pipeline().is_ok() && entry.leaderboard.is_some());
            assert!(sample.bundle.len() < 60_000, "{}", sample.id);
            assert!(!sample.submissions.is_empty(), "{}", sample.id);
        }
    }

    #[test]
    fn a_demo_unpacks_into_new_empty_and_demo_directories() {
        let dir = tempfile::tempdir().unwrap();
        unpack(dir.path()).unwrap();
        let bundle = bundles(dir.path()).join(format!("{}.zip", SAMPLES[0].id));
        let time = || fs::metadata(&bundle).unwrap().modified().unwrap();
        let first = time();
        unpack(dir.path()).unwrap();
        assert_eq!(time(), first);
        fs::write(&bundle, "damaged").unwrap();
        unpack(dir.path()).unwrap();
        assert_eq!(fs::read(&bundle).unwrap(), SAMPLES[0].bundle);
        let nested = dir.path().join("not/there");
        unpack(&nested).unwrap();
        assert!(nested.join(MARKER_FILE).is_file());
        assert!(unpack(&bundle).is_err());
    }
}
