//! Opens submissions below one directory, for callers who may not read other files, such as agents.
//!
//! A path is resolved one component at a time, from the root of the file system. Each component is opened relative to
//! the previous one and without following links (`O_NOFOLLOW`). So no link leads outside, even if another process
//! exchanges a file or a directory for a link at any moment. `openat2` with `RESOLVE_NO_SYMLINKS` does the same, but not
//! all systems have it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Submission, SubmissionError, SubmissionFormat, format_of, read_error, read_flags};
use crate::error::Error;

/// A directory of submissions. Files outside of it are not read, nor are files in the forbidden directories.
#[derive(Debug, Clone)]
pub struct SubmissionDirectory {
    /// The directory, without links.
    root: PathBuf,
    /// The directory as the caller named it. Absolute paths of submissions may begin with it.
    named: PathBuf,
    /// Data directories and caches.
    forbidden: Vec<PathBuf>,
}

/// Identifies a directory, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirectoryId(u64, u64);

impl SubmissionDirectory {
    /// Resolves the directory `named`. `forbidden` are directories from which no submission is read, even if they are
    /// below `named`.
    ///
    /// # Errors
    /// Returns an error if `named` is not a directory, or if it is in a forbidden directory.
    pub fn new(named: &Path, forbidden: Vec<PathBuf>) -> Result<SubmissionDirectory, Error> {
        let failed = |error: &io::Error| Error::reading("use the directory", named, error);
        let root = named.canonicalize().map_err(|error| failed(&error))?;
        if !root.is_dir() {
            return Err(failed(&io::ErrorKind::NotADirectory.into()));
        }
        let directory = SubmissionDirectory {
            named: std::path::absolute(named).map_err(|error| failed(&error))?,
            root,
            forbidden,
        };
        match directory.open_parent(&[]) {
            Ok(_) => Ok(directory),
            Err(SubmissionError::Forbidden) => {
                let message = format!(
                    "submissions cannot be in {}, which is in the data directory or the cache",
                    named.display()
                );
                Err(Error::request(message).help("name a directory that contains only submissions"))
            }
            Err(error) => {
                let message = format!("cannot use the directory {}: {error}", named.display());
                Err(Error::request(message))
            }
        }
    }

    /// Returns the path of the directory, without links.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Opens a CSV. A relative path is relative to this directory.
    ///
    /// # Errors
    /// Returns an error if the file is not a regular file below this directory, if it has several names, if its name
    /// does not end in `.csv`, or if it cannot be read. The error does not show whether a file outside exists.
    pub fn open(&self, path: &str) -> Result<Submission, SubmissionError> {
        let components = self.components(Path::new(path))?;
        let Some((last, parents)) = components.split_last() else {
            return Err(SubmissionError::NotAFile);
        };
        let parent = self.open_parent(parents)?;
        let file = rustix::fs::openat(
            &parent,
            last,
            read_flags() | OFlags::NOFOLLOW,
            Mode::empty(),
        );
        let file = file.map_err(|errno| open_error(path, errno))?;
        let found = rustix::fs::fstat(&file).map_err(|errno| read_error(path, errno.into()))?;
        let file = File::from(file);
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(SubmissionError::NotAFile);
        }
        if found.st_nlink != 1 {
            return Err(SubmissionError::Linked);
        }
        match format_of(Path::new(last)) {
            Some(SubmissionFormat::Csv) => Submission::of_file(path, SubmissionFormat::Csv, file),
            _ => Err(SubmissionError::NotCsv),
        }
    }

    /// Returns the components of a path below this directory. `..` removes the previous component, which is exact
    /// because no component is a link.
    fn components(&self, path: &Path) -> Result<Vec<OsString>, SubmissionError> {
        let inner = match path.is_absolute() {
            true => [&self.root, &self.named]
                .into_iter()
                .find_map(|root| path.strip_prefix(root).ok())
                .ok_or(SubmissionError::Outside)?,
            false => path,
        };
        let mut components = Vec::new();
        for component in inner.components() {
            match component {
                Component::Normal(name) => components.push(name.to_owned()),
                Component::CurDir => {}
                Component::ParentDir => {
                    components.pop().ok_or(SubmissionError::Outside)?;
                }
                Component::RootDir | Component::Prefix(_) => return Err(SubmissionError::Outside),
            }
        }
        Ok(components)
    }

    /// Opens the directory with these components below this one.
    fn open_parent(&self, components: &[OsString]) -> Result<OwnedFd, SubmissionError> {
        let forbidden: Vec<DirectoryId> = self.forbidden.iter().filter_map(directory_id).collect();
        let mut directory = open_directory(CWD, OsStr::new("/"))?;
        let root = self
            .root
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name),
                _ => None,
            });
        for name in root.chain(components.iter().map(OsString::as_os_str)) {
            directory = open_directory(&directory, name)?;
            let found =
                rustix::fs::fstat(&directory).map_err(|errno| open_error(&shown(name), errno))?;
            if forbidden.contains(&DirectoryId::of(&found)) {
                return Err(SubmissionError::Forbidden);
            }
        }
        Ok(directory)
    }
}

impl DirectoryId {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types of device numbers differ between systems"
    )]
    fn of(found: &Stat) -> DirectoryId {
        DirectoryId(found.st_dev as u64, found.st_ino as u64)
    }
}

/// Identifies a directory that exists. Links are followed.
fn directory_id(path: impl AsRef<Path>) -> Option<DirectoryId> {
    let found = rustix::fs::stat(path.as_ref()).ok()?;
    Some(DirectoryId::of(&found))
}

/// Opens a directory for resolving names in it.
fn open_directory(
    parent: impl std::os::fd::AsFd,
    name: &OsStr,
) -> Result<OwnedFd, SubmissionError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // On Linux, this needs no permission to list the directory.
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    let opened = rustix::fs::openat(parent, name, flags, Mode::empty());
    opened.map_err(|errno| open_error(&shown(name), errno))
}

fn open_error(name: &str, errno: Errno) -> SubmissionError {
    match errno {
        Errno::NOENT | Errno::NAMETOOLONG | Errno::INVAL => SubmissionError::Missing,
        // A link, a directory component that is a link or a file, and a socket.
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => SubmissionError::NotAFile,
        other => read_error(name, other.into()),
    }
}

fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::RenameFlags;
    use std::sync::atomic::{AtomicBool, Ordering};

    const SECRET: &[u8] = b"secret,key\n1,2\n";
    const OWN: &[u8] = b"id\n1\n";

    struct World {
        dir: tempfile::TempDir,
        submissions: SubmissionDirectory,
    }

    impl World {
        fn new() -> World {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            for name in ["work/inner", "work/data/private", "secrets"] {
                std::fs::create_dir_all(path(name)).unwrap();
            }
            for name in ["work/a.csv", "work/inner/a.csv", "work/a.txt"] {
                std::fs::write(path(name), OWN).unwrap();
            }
            for name in ["secrets/a.csv", "work/data/private/a.csv"] {
                std::fs::write(path(name), SECRET).unwrap();
            }
            std::fs::hard_link(path("secrets/a.csv"), path("work/hard.csv")).unwrap();
            for (target, name) in [
                ("../secrets/a.csv", "work/out.csv"),
                ("a.csv", "work/in.csv"),
                ("../secrets", "work/linked"),
                ("data", "work/alias"),
            ] {
                std::os::unix::fs::symlink(target, path(name)).unwrap();
            }
            let forbidden = vec![path("work/data"), path("no-cache")];
            let submissions = SubmissionDirectory::new(&path("work"), forbidden).unwrap();
            World { dir, submissions }
        }

        fn open(&self, path: &str) -> String {
            match self.submissions.open(path) {
                Ok(submission) => {
                    assert_eq!(submission.bytes().unwrap(), OWN, "{path}");
                    String::new()
                }
                Err(error) => format!("{error:?}"),
            }
        }
    }

    #[test]
    fn only_regular_files_below_the_directory_are_opened() {
        let world = World::new();
        let absolute = |name: &str| world.dir.path().join(name).to_str().unwrap().to_owned();
        for (path, expected) in [
            ("a.csv", ""),
            ("./inner//a.csv", ""),
            ("inner/../a.csv", ""),
            (&*absolute("work/a.csv"), ""),
            (&*absolute("secrets/a.csv"), "Outside"),
            (&*absolute("work/../secrets/a.csv"), "Outside"),
            ("../secrets/a.csv", "Outside"),
            ("inner/../../secrets/a.csv", "Outside"),
            ("/dev/stdin", "Outside"),
            ("out.csv", "NotAFile"),
            ("in.csv", "NotAFile"),
            ("linked/a.csv", "NotAFile"),
            ("hard.csv", "Linked"),
            ("data/private/a.csv", "Forbidden"),
            ("inner/../data/private/a.csv", "Forbidden"),
            ("alias/private/a.csv", "NotAFile"),
            ("a.txt", "NotCsv"),
            ("inner", "NotAFile"),
            ("", "NotAFile"),
            ("none.csv", "Missing"),
            ("none/a.csv", "Missing"),
            ("a.csv\0", "Missing"),
            (&"x".repeat(5000), "Missing"),
        ] {
            assert_eq!(world.open(path), expected, "{path}");
        }
    }

    #[test]
    fn directory_must_not_be_in_a_forbidden_one() {
        let world = World::new();
        let path = |name: &str| world.dir.path().join(name);
        let forbidden = || vec![path("work/data")];
        for name in ["work/data", "work/data/private", "work/alias/private"] {
            let error = SubmissionDirectory::new(&path(name), forbidden()).unwrap_err();
            assert!(
                error.message.contains("data directory"),
                "{}",
                error.message
            );
        }
        assert!(SubmissionDirectory::new(&path("work/a.csv"), forbidden()).is_err());
        assert!(SubmissionDirectory::new(&path("work/inner"), forbidden()).is_ok());
    }

    /// Another process exchanges a file, a directory and the root for links, again and again.
    #[test]
    fn exchanged_files_never_lead_outside() {
        for (name, target) in [
            ("work/a.csv", "secrets/a.csv"),
            ("work/inner", "secrets"),
            ("work", "secrets"),
        ] {
            let world = World::new();
            let path = |name: &str| world.dir.path().join(name);
            let link = path("link");
            std::os::unix::fs::symlink(path(target), &link).unwrap();
            let is_done = AtomicBool::new(false);
            let mut seen = 0;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let exchange = RenameFlags::EXCHANGE;
                    while !is_done.load(Ordering::Relaxed) {
                        rustix::fs::renameat_with(CWD, path(name), CWD, &link, exchange).unwrap();
                    }
                });
                for _ in 0..2000 {
                    for inner in ["a.csv", "inner/a.csv"] {
                        let Ok(submission) = world.submissions.open(inner) else {
                            continue;
                        };
                        seen += 1;
                        assert_eq!(submission.bytes().unwrap(), OWN, "{name}");
                    }
                }
                is_done.store(true, Ordering::Relaxed);
            });
            assert!(seen > 0, "{name}");
        }
    }
}
