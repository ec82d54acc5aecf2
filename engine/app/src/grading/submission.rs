//! Opens submissions: the only place where the file of a submission is opened.
//!
//! A [`Submission`] is an open file, with its name for messages. Validation, grading and hashing read this open file, and
//! never open it again by name. Therefore another process that replaces the file under that name has no effect, and the
//! digest in a report is the digest of the graded bytes.
//!
//! A file of at most [`MAX_MEMORY_BYTES`] is read into memory once. A larger file is read several times. Afterwards its
//! metadata are compared with the metadata before the first read. Therefore a change during the grading is an error.
//!
//! A [`SubmissionDirectory`] opens submissions below one directory, for callers who are not allowed to read other files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use prep_core::Failure;
use prep_digests::{Sha256, digest_of_reader};
use prep_formats::pandas::{FileContent, Frame};
use prep_grade::table::submission::MAX_BYTES;
use prep_grade::table::typed;
use prep_grade::{GradeOutcome, Refusal, RefusalKind, ScannedSubmission};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::Error;

/// A file with more bytes is not read into memory, but read several times from the disk.
const MAX_MEMORY_BYTES: u64 = 16 << 20;

/// Maximum number of attempts to read a file that other processes change.
const MAX_ATTEMPTS: usize = 5;

/// A submission: an open file, and the name of the file in messages.
#[derive(Debug)]
pub struct Submission {
    name: String,
    format: SubmissionFormat,
    content: SubmissionContent,
    /// Stores the result of [`digest`](Self::digest), so that a long file is hashed only once.
    digest: OnceLock<Option<Sha256>>,
}

/// The cells of a submission. A CSV is parsed only as far as this is possible without the answers.
pub(super) enum ReadSubmission<'a> {
    Csv(ScannedSubmission<'a>),
    Frame(Frame),
}

/// The format of a submission, according to the name of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubmissionFormat {
    Csv,
    /// A typed frame (`*.frame`), which the Python packages write.
    Frame,
}

#[derive(Debug)]
enum SubmissionContent {
    Memory(Vec<u8>),
    /// A file that other processes may change, and its state when it was opened.
    File(File, FileState),
    /// A file without a name, which no other process can open.
    Private(File),
}

/// Why a file is not graded.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// There is no file with this name.
    #[error("there is no such file")]
    Missing,
    /// The path does not lead to a regular file. A [`SubmissionDirectory`] follows no links, so it also returns this error
    /// if a component of the path is a link.
    #[error("it is not a regular file; links, directories and devices are not read")]
    NotAFile,
    /// The name of the file does not end in `.csv`.
    #[error("its name does not end in .csv")]
    NotCsv,
    /// The path leaves the directory of submissions.
    #[error("it is not below the directory of submissions")]
    Outside,
    /// The path leads into a directory with answers: a data directory or the cache.
    #[error("it is in the data directory or in the cache, where submissions are not read")]
    Forbidden,
    /// The file has several hard links, and some of them may be outside of the directory of submissions.
    #[error("the file has several hard links, so it may also be in another directory")]
    Linked,
    /// Other processes changed the file while it was read.
    #[error("the file changed while it was read")]
    Changed,
    /// The file cannot be read.
    #[error("cannot read `{name}`")]
    Read {
        /// The name of the file.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The file exceeds the size limit for submissions.
    #[error("the file has more than {MAX_BYTES} bytes")]
    TooLong,
    /// The file is not a typed frame.
    #[error("{0}")]
    Frame(String),
    /// The author of the competition must act, because no submission can be graded with its answers and metric.
    #[error("{0}")]
    Competition(Box<Error>),
}

impl SubmissionError {
    /// Converts the error to the outcome that the submission is invalid. `name` is the name of the file in messages.
    ///
    /// # Errors
    /// Returns an error if reading the file failed, if the file is a typed frame with mistakes, or if the competition has
    /// mistakes. In these cases, it is unknown whether the submission is valid.
    pub(super) fn outcome(&self, name: &str) -> Result<GradeOutcome, Error> {
        Ok(GradeOutcome::Invalid(match self {
            SubmissionError::Read { name, source } => {
                let path = Path::new(name);
                return Err(Error::reading("read the submission", path, source));
            }
            SubmissionError::Frame(message) => {
                return Err(Error::new(Failure::Input, format!("{name}: {message}")));
            }
            SubmissionError::Competition(error) => return Err((**error).clone()),
            // The messages are those of upstream, because harnesses recognize them.
            SubmissionError::Missing => Refusal::new(
                RefusalKind::NoSubmission,
                format!("Submission file {name} does not exist"),
            ),
            SubmissionError::NotCsv => Refusal::new(
                RefusalKind::NoSubmission,
                "Submission file must be a CSV file",
            ),
            SubmissionError::NotAFile => Refusal::new(
                RefusalKind::NoSubmission,
                format!("Submission file {name} is a directory or a device, not a file"),
            ),
            other => Refusal::new(RefusalKind::Unreadable, prep_core::chain(other)),
        }))
    }
}

impl Submission {
    /// Opens a CSV. Follows symbolic links.
    ///
    /// # Errors
    /// Returns an error if the path is not a regular file whose name ends in `.csv`, or if the file cannot be read.
    pub fn open(path: &Path) -> Result<Submission, SubmissionError> {
        let submission = Submission::open_table(path)?;
        match submission.format {
            SubmissionFormat::Csv => Ok(submission),
            SubmissionFormat::Frame => Err(SubmissionError::NotCsv),
        }
    }

    /// Opens a CSV, or a typed frame (`*.frame`) which the Python packages write. Follows symbolic links.
    ///
    /// # Errors
    /// Same as [`open`](Self::open), but typed frames are accepted.
    pub fn open_table(path: &Path) -> Result<Submission, SubmissionError> {
        let name = path.to_string_lossy();
        let failed = |errno| match errno {
            Errno::NOTDIR | Errno::LOOP => SubmissionError::Missing,
            other => open_error(&name, other),
        };
        // The type is checked before the file is opened, because opening a device can have side effects. If the path
        // becomes a pipe after this check, the flag `NONBLOCK` ensures that opening the pipe does not block.
        let found = rustix::fs::stat(path).map_err(failed)?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return Err(SubmissionError::NotAFile);
        }
        let format = format_of(path).ok_or(SubmissionError::NotCsv)?;
        let file = rustix::fs::open(path, read_flags(), Mode::empty()).map_err(failed)?;
        Submission::of_file(&name, format, File::from(file))
    }

    /// Creates a submission from a file that no other process can open, such as an upload. The content is treated as CSV,
    /// whatever the name is.
    pub fn of_private_file(name: &str, file: File) -> Submission {
        Submission {
            name: name.to_owned(),
            format: SubmissionFormat::Csv,
            content: SubmissionContent::Private(file),
            digest: OnceLock::new(),
        }
    }

    fn of_file(
        name: &str,
        format: SubmissionFormat,
        file: File,
    ) -> Result<Submission, SubmissionError> {
        let content = match read_content(file) {
            Ok(content) => content?,
            Err(error) => return Err(read_error(name, error)),
        };
        Ok(Submission {
            name: name.to_owned(),
            format,
            content,
            digest: OnceLock::new(),
        })
    }

    /// Returns the name of the file for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the file is not in memory, so that reading and hashing it takes long.
    pub(super) fn is_long(&self) -> bool {
        !matches!(self.content, SubmissionContent::Memory(_))
    }

    /// Reads the submission, and parses it as far as this is possible without the answers.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if it is a typed frame with mistakes.
    pub(super) fn read(&self) -> Result<ReadSubmission<'_>, SubmissionError> {
        if let Some(frame) = self.frame()? {
            return Ok(ReadSubmission::Frame(frame));
        }
        let content = match &self.content {
            SubmissionContent::Memory(bytes) => FileContent::Bytes(bytes),
            SubmissionContent::File(file, _) | SubmissionContent::Private(file) => {
                FileContent::File(file)
            }
        };
        let scanned = ScannedSubmission::scan(content).map_err(|error| self.read_error(error))?;
        Ok(ReadSubmission::Csv(scanned))
    }

    /// Reads a typed frame. Returns `None` for a CSV.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if it is a typed frame with mistakes.
    pub(super) fn frame(&self) -> Result<Option<Frame>, SubmissionError> {
        if self.format == SubmissionFormat::Csv {
            return Ok(None);
        }
        let frame = typed::parse(&self.bytes()?);
        let frame = frame.map_err(|error| SubmissionError::Frame(prep_core::chain(&error)))?;
        Ok(Some(frame))
    }

    /// Returns the content of the submission's file.
    ///
    /// # Errors
    /// Returns an error if the file has more than [`MAX_BYTES`] or cannot be read, or if another process changed it after it
    /// was opened.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, SubmissionError> {
        let bytes = match &self.content {
            SubmissionContent::Memory(bytes) => Ok(bytes.clone()),
            SubmissionContent::File(file, _) | SubmissionContent::Private(file) => {
                let mut bytes = Vec::new();
                let mut reader = PositionedReader { file, offset: 0 };
                let read = reader.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes);
                read.map(|_| bytes)
            }
        };
        let bytes = bytes.map_err(|error| self.read_error(error))?;
        self.require_unchanged()?;
        match bytes.len() as u64 > MAX_BYTES {
            true => Err(SubmissionError::TooLong),
            false => Ok(bytes),
        }
    }

    /// Returns the digest of the content, or `None` if the file exceeds the size limit for submissions. The digest is always
    /// that of the graded bytes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if it changed after it was opened.
    pub(super) fn digest(&self) -> Result<Option<Sha256>, SubmissionError> {
        let digest = match (&self.content, self.digest.get()) {
            (_, Some(digest)) => *digest,
            (SubmissionContent::Memory(bytes), None) => Some(Sha256::of_bytes(bytes)),
            (SubmissionContent::File(file, _) | SubmissionContent::Private(file), None) => {
                digest_of_open_file(file).map_err(|error| self.read_error(error))?
            }
        };
        self.require_unchanged()?;
        Ok(*self.digest.get_or_init(|| digest))
    }

    /// Returns an error if another process changed the file after it was opened.
    pub(super) fn require_unchanged(&self) -> Result<(), SubmissionError> {
        let SubmissionContent::File(file, opened) = &self.content else {
            return Ok(());
        };
        match FileState::of(file) {
            Ok(now) if now == *opened => Ok(()),
            Ok(_) => Err(SubmissionError::Changed),
            Err(error) => Err(self.read_error(error)),
        }
    }

    pub(super) fn read_error(&self, error: io::Error) -> SubmissionError {
        read_error(&self.name, error)
    }
}

/// Metadata that change if the content of a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    fn of(file: &File) -> io::Result<FileState> {
        let metadata = file.metadata()?;
        Ok(FileState {
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Reads at its own offset, so that several readers can share a file.
struct PositionedReader<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

fn read_flags() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

fn read_error(name: &str, source: io::Error) -> SubmissionError {
    SubmissionError::Read {
        name: name.to_owned(),
        source,
    }
}

/// Returns the format of a submission. `None` if the suffix of the name is neither `csv` nor `frame`.
fn format_of(path: &Path) -> Option<SubmissionFormat> {
    let suffix = path.extension()?;
    match suffix.eq_ignore_ascii_case("csv") {
        true => Some(SubmissionFormat::Csv),
        false => (suffix == OsStr::new("frame")).then_some(SubmissionFormat::Frame),
    }
}

/// Reads a short file into memory, or keeps a long file open. If a short file changes while it is read, reads it again, up
/// to [`MAX_ATTEMPTS`] times in total.
fn read_content(file: File) -> io::Result<Result<SubmissionContent, SubmissionError>> {
    for _ in 0..MAX_ATTEMPTS {
        if !file.metadata()?.is_file() {
            return Ok(Err(SubmissionError::NotAFile));
        }
        let state = FileState::of(&file)?;
        if state.bytes > MAX_MEMORY_BYTES {
            return Ok(Ok(SubmissionContent::File(file, state)));
        }
        let mut bytes = Vec::new();
        let reader = PositionedReader {
            file: &file,
            offset: 0,
        };
        reader.take(MAX_MEMORY_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == state.bytes && FileState::of(&file)? == state {
            return Ok(Ok(SubmissionContent::Memory(bytes)));
        }
    }
    Ok(Err(SubmissionError::Changed))
}

/// Returns the digest of an entire file. Returns `None` if the file has more than [`MAX_BYTES`].
fn digest_of_open_file(file: &File) -> io::Result<Option<Sha256>> {
    if file.metadata()?.len() > MAX_BYTES {
        return Ok(None);
    }
    let mut reader = PositionedReader { file, offset: 0 }.take(MAX_BYTES);
    let (digest, _) = digest_of_reader(&mut reader)?;
    Ok(Some(digest))
}

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

/// Identifies a directory by its device and inode, whatever path leads to it.
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
    /// Returns an error if the file is not a regular file below this directory, has several hard links, has a name that
    /// does not end in `.csv`, or cannot be read. The error does not show whether a file outside of the directory exists.
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

    /// Returns the components of a path below this directory. `..` removes the previous component. This is correct because
    /// no component may be a symbolic link.
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

    /// Opens the directory whose path, relative to this directory, consists of `components`.
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

/// Returns the id of a directory, or `None` if there is no such directory. Follows links.
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
        // `LOOP`: the name is a link. `NOTDIR`: a directory of the path is a link or a file. `NXIO`: the name is a
        // socket.
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
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn only_regular_files_with_the_suffix_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("a.csv"), "id\n1\n").unwrap();
        std::fs::write(path("a.CSV"), "id\n1\n").unwrap();
        std::fs::write(path("a.frame"), "{}\n").unwrap();
        std::fs::write(path("a.txt"), "id\n1\n").unwrap();
        std::fs::create_dir(path("directory.csv")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe.csv"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("a.csv", path("link.csv")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero.csv")).unwrap();
        for (name, expected) in [
            ("a.csv", ""),
            ("a.CSV", ""),
            ("link.csv", ""),
            ("a.frame", "NotCsv"),
            ("a.txt", "NotCsv"),
            ("directory.csv", "NotAFile"),
            ("pipe.csv", "NotAFile"),
            ("zero.csv", "NotAFile"),
            ("none.csv", "Missing"),
            ("a.csv/none.csv", "Missing"),
        ] {
            let found = match Submission::open(&path(name)) {
                Ok(_) => String::new(),
                Err(error) => format!("{error:?}"),
            };
            assert_eq!(found, expected, "{name}");
        }
        assert!(Submission::open_table(&path("a.frame")).is_ok());
    }

    #[test]
    fn short_files_are_read_once_and_long_files_must_not_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        std::fs::write(&path, "id\n1\n").unwrap();
        let short = Submission::open(&path).unwrap();
        std::fs::write(&path, "id\n2\n").unwrap();
        let expected = Some(Sha256::of_bytes(b"id\n1\n"));
        assert_eq!(short.digest().unwrap(), expected);
        let mut file = File::create(&path).unwrap();
        file.set_len(MAX_MEMORY_BYTES + 1).unwrap();
        let long = Submission::open(&path).unwrap();
        assert!(long.digest().unwrap().is_some());
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.seek(SeekFrom::Start(9)).unwrap();
        file.write_all(b"x").unwrap();
        assert!(matches!(long.digest(), Err(SubmissionError::Changed)));
        // Hashing a sparse file of this length would take hours.
        file.set_len(1 << 42).unwrap();
        let huge = Submission::open(&path).unwrap();
        assert_eq!(huge.digest().unwrap(), None);
    }
}

#[cfg(test)]
mod directory_tests {
    use super::*;
    use rustix::fs::RenameFlags;
    use std::sync::atomic::{AtomicBool, Ordering};

    const SECRET: &[u8] = b"secret,key\n1,2\n";
    const OWN: &[u8] = b"id\n1\n";

    struct Fixture {
        dir: tempfile::TempDir,
        submissions: SubmissionDirectory,
    }

    impl Fixture {
        fn new() -> Fixture {
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
            Fixture { dir, submissions }
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
        let fixture = Fixture::new();
        let absolute = |name: &str| fixture.dir.path().join(name).to_str().unwrap().to_owned();
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
            assert_eq!(fixture.open(path), expected, "{path}");
        }
    }

    #[test]
    fn directory_must_not_be_in_a_forbidden_one() {
        let fixture = Fixture::new();
        let path = |name: &str| fixture.dir.path().join(name);
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

    /// While submissions are opened, another thread repeatedly exchanges a file, a directory or the root with a link to a
    /// secret one.
    #[test]
    fn exchanged_files_never_lead_outside() {
        for (name, target) in [
            ("work/a.csv", "secrets/a.csv"),
            ("work/inner", "secrets"),
            ("work", "secrets"),
        ] {
            let fixture = Fixture::new();
            let path = |name: &str| fixture.dir.path().join(name);
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
                        let Ok(submission) = fixture.submissions.open(inner) else {
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
