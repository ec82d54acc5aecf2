//! Writes a copy as plain files or as a tar archive, in a temporary directory.
//!
//! The directory is next to the target, so that a rename completes the copy. The export removes it at the end. If an
//! export was killed, the next one removes its directory, because the lock in it is free.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prep_cache::{LockGuard, try_lock_file};
use prep_core::Cancel;
use prep_formats::archive::ArchiveError;
use prep_formats::tar::TarWriter;
use tempfile::TempDir;

use super::{CopiedFile, Copier, ExportedFile, HashingReader};

const PREFIX: &str = ".prep-export-";
const LOCK: &str = "lock";

/// A directory that is removed when this value is dropped.
pub struct TemporaryCopy {
    dir: TempDir,
    _lock: Option<LockGuard>,
}

impl TemporaryCopy {
    /// Creates a temporary directory in `parent`, and removes those of killed exports.
    ///
    /// # Errors
    /// Returns an error if `parent` cannot be written.
    pub fn new(parent: &Path) -> io::Result<TemporaryCopy> {
        // Only one process may do this at a time, because a new directory without its lock looks abandoned. On file
        // systems without locks, this can go wrong, but only for a short time.
        let _parent_lock =
            File::open(parent).and_then(|directory| directory.lock().map(|()| directory));
        for left in temporary_directories(parent) {
            // If the directory cannot be removed, it only takes space.
            if let Ok(Some(_lock)) = try_lock_file(&left.join(LOCK)) {
                let _ = fs::remove_dir_all(&left);
            }
        }
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = try_lock_file(&dir.path().join(LOCK)).ok().flatten();
        Ok(TemporaryCopy { dir, _lock: lock })
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Returns the directories of running and abandoned exports.
fn temporary_directories(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let drafts = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(PREFIX) && entry.path().join(LOCK).is_file()
    });
    drafts.map(|entry| entry.path()).collect()
}

/// Writes plain files.
pub struct DirectoryCopier {
    target: PathBuf,
    root: PathBuf,
}

impl DirectoryCopier {
    pub fn new(target: &Path, id: &str) -> DirectoryCopier {
        DirectoryCopier {
            target: target.to_owned(),
            root: target.join(id),
        }
    }
}

impl Copier for DirectoryCopier {
    fn file(&mut self, item: &CopiedFile, cancel: &Cancel) -> io::Result<ExportedFile> {
        let to = self.root.join(&item.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut reading = HashingReader::open(item, cancel)?;
        let mut out = File::create_new(&to)?;
        io::copy(
            &mut BufReader::with_capacity(1 << 20, &mut reading),
            &mut out,
        )?;
        Ok(reading.into_exported_file())
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.root.join(path))
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(&self.root)?;
        fs::write(self.root.join(name), text)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        // Temporary directories are private to the user. This directory becomes the copy, so other users must be able
        // to read it.
        fs::set_permissions(&self.target, fs::Permissions::from_mode(0o755))
    }
}

/// Writes an archive.
pub struct TarCopier {
    id: String,
    archive: TarWriter<BufWriter<File>>,
}

impl TarCopier {
    pub fn new(made: &Path, id: &str) -> io::Result<TarCopier> {
        let out = BufWriter::with_capacity(1 << 20, File::create_new(made)?);
        Ok(TarCopier {
            id: id.to_owned(),
            archive: TarWriter::new(out),
        })
    }

    fn append(&mut self, name: &str, length: u64, content: impl Read) -> io::Result<()> {
        let path = format!("{}/{name}", self.id);
        let added = self.archive.add_file(&path, length, content);
        added.map_err(system_error)
    }
}

/// Returns the error of the system that caused an error of the archive, if there is one.
fn system_error(error: ArchiveError) -> io::Error {
    match error {
        ArchiveError::Write {
            source: Some(source),
            ..
        } => source,
        other => io::Error::other(other),
    }
}

impl Copier for TarCopier {
    fn file(&mut self, item: &CopiedFile, cancel: &Cancel) -> io::Result<ExportedFile> {
        let mut reading = HashingReader::open(item, cancel)?;
        self.append(&item.path, reading.length, &mut reading)?;
        Ok(reading.into_exported_file())
    }

    fn directory(&mut self, path: &str) -> io::Result<()> {
        let path = format!("{}/{path}", self.id);
        self.archive.add_directory(&path).map_err(system_error)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.append(name, text.len() as u64, text.as_bytes())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let out = self.archive.finish().map_err(system_error)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_temporary_directories_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".prep-export-left");
        fs::create_dir_all(left.join("made")).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let other = dir.path().join(".prep-export-notes");
        fs::create_dir(&other).unwrap();
        let one = TemporaryCopy::new(dir.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let two = TemporaryCopy::new(dir.path()).unwrap();
        assert!(one.join(LOCK).exists() && two.join(LOCK).exists());
        drop((one, two));
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
