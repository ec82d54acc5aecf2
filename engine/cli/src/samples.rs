//! The directory into which the demo unpacks the sample bundles into.
//!
//! ```text
//! DIR/prep-demo.txt                marks the directory of a demo: only such a directory, or an empty one, is used
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

const MARK: &str = "prep-demo.txt";
/// Settings for commands in the demo's directory.
const SETTINGS: &str = "data_dir = \"data\"\ncache_dir = \"cache\"\nsource = \"bundles\"\n";
const MARK_TEXT: &str = "`prep demo` wrote this directory from sample data. You can delete it.\n";

/// Makes `dir` a demonstration's directory with all bundles and submissions. Files that are there already as they should be
/// are left alone, so that nothing looks changed.
///
/// # Errors
/// When `dir` has other files than those of a demo, or cannot be written.
pub fn unpack(dir: &Path) -> Result<(), CliError> {
    if !dir.join(MARK).is_file() {
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
    put(&dir.join(MARK), MARK_TEXT.as_bytes())?;
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

/// The directory of bundles.
pub fn bundles(dir: &Path) -> PathBuf {
    dir.join("bundles")
}

/// Where the submissions of a sample are.
pub fn submissions(sample: &SampleBundle, dir: &Path) -> impl Iterator<Item = PathBuf> {
    let names = sample.submissions.iter();
    names.map(|(name, _)| submission(dir, sample.id, name))
}

fn submission(dir: &Path, id: &str, name: &str) -> PathBuf {
    dir.join("submissions").join(id).join(name)
}

/// Writes a file and its parent directories, unless it exists with this content.
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
    fn samples_are_of_built_in_competitions_and_small() {
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
    fn a_demo_unpacks_into_nothing_an_empty_folder_and_its_own() {
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
        assert!(nested.join(MARK).is_file());
    }

    #[test]
    fn a_directory_with_other_files_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
        let error = unpack(dir.path()).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.help.unwrap().contains("--output"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(unpack(&dir.path().join("thesis.txt")).is_err());
    }
}
