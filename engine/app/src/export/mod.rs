//! Copies a prepared competition to a directory or a tar archive, with a manifest.
//!
//! By default, a copy has the layout of a data directory (`ID/prepared/public/...`). In contrast to a data directory, a
//! copy contains no hard links to the cache.
//!
//! Private files are copied only on request. A copy with private files also contains the record of the publication.
//! Grading uses this record to verify the answers. The record is not public, because it contains digests of the
//! answers.
//!
//! `croissant.json` is machine-readable metadata of the public files.

mod croissant;
mod dojo;
mod expand;
pub(crate) mod harbor;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use md5::{Digest as _, Md5};
use prep_cache::{LockGuard, try_lock_at};
use prep_core::{Cancel, CancellableReader, Failure, Remedy};
use prep_fetch::bundle_stem;
use prep_formats::archive::ArchiveError;
use prep_formats::pandas::{CsvScanner, ReadOptions, Schema};
use prep_formats::tar::TarWriter;
use prep_spec::PackLayout;
use prep_steps::{ExaminedFiles, Expand, Manifest, PublishedPaths};
use serde::Serialize;
use tempfile::TempDir;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::settings::Settings;
use crate::{prepared, sealed};

const MANIFEST: &str = "manifest.json";
const CROISSANT: &str = "croissant.json";

/// Whether a copy is a directory or an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    Directory,
    /// A tar archive. Equal contents give equal bytes.
    Tar,
}

impl ExportForm {
    /// Returns the form that a target's name requests: an archive for `.tar`, a directory for most other names.
    ///
    /// # Errors
    /// Returns an error for the suffix of another archive format, because the user expects an archive and not a directory.
    pub fn from_target(target: &Path) -> Result<ExportForm, Error> {
        const UNSUPPORTED_SUFFIXES: [&str; 14] = [
            "7z", "bz2", "gz", "img", "rar", "sfs", "sqfs", "squashfs", "tbz2", "tgz", "txz", "xz",
            "zip", "zst",
        ];
        let suffix = target.extension().and_then(|suffix| suffix.to_str());
        let suffix = suffix.unwrap_or_default().to_ascii_lowercase();
        match suffix.as_str() {
            "tar" => Ok(ExportForm::Tar),
            other if UNSUPPORTED_SUFFIXES.contains(&other) => {
                let message = format!("cannot write a copy as .{other}");
                Err(Error::request(message)
                    .help("name a .tar file or a directory, and convert the copy"))
            }
            _ => Ok(ExportForm::Directory),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Export {
    pub form: ExportForm,
    /// Whether private files such as the answers are copied.
    pub private: bool,
    pub expand: Expand,
    /// `None` selects the layout of the competition's pack, or MLE-bench's layout if there is no pack.
    pub layout: Option<PackLayout>,
    /// The directory or archive to create. It must not exist.
    pub target: PathBuf,
}

/// The content of a copy, as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopyContent {
    pub competition: String,
    pub variant: String,
    pub private: bool,
    #[serde(skip_serializing_if = "Expand::is_no")]
    pub archives: Expand,
    pub bytes: u64,
    pub files: Vec<ExportedFile>,
    /// Names of files that no run published, for a message. They are not copied.
    #[serde(skip)]
    pub unpublished: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedFile {
    /// Path below the competition's directory, for example `prepared/public/train.csv`.
    pub path: String,
    pub bytes: u64,
    pub md5: String,
    /// The columns, if the file is a table.
    #[serde(skip)]
    schema: Option<Schema>,
}

impl ExportedFile {
    fn of_text(path: String, text: &str) -> ExportedFile {
        ExportedFile {
            path,
            bytes: text.len() as u64,
            md5: prep_cache::hex(&Md5::digest(text)),
            schema: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CopiedFile {
    /// Path below the competition's directory.
    path: String,
    source: PathBuf,
}

#[derive(Debug, Default)]
struct CopyInputs {
    items: Vec<CopiedFile>,
    /// Empty directories, as paths below the competition's directory.
    empty: Vec<String>,
}

/// Writes the files of a copy below the directory `ID`, as plain files or into an archive.
trait Copier {
    fn file(&mut self, item: &CopiedFile, cancel: &Cancel) -> io::Result<ExportedFile>;
    fn directory(&mut self, path: &str) -> io::Result<()>;
    fn content(&mut self, name: &str, content: &[u8]) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Copies a prepared competition. The copy gets its final name when it is complete.
///
/// # Errors
/// Returns an error if the prepared data are incomplete or were changed, or if the target exists. Also returns an error if
/// a file cannot be copied, or if `cancel` is set.
pub fn export(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    wanted: &Export,
    cancel: &Cancel,
) -> Result<CopyContent, Error> {
    let entry = catalog.get(id)?;
    let Some(manifest) = prepared::complete_manifest(&settings.data_dir, id)? else {
        return Err(prepared::not_prepared(id));
    };
    let home = settings.data_dir.join(id);
    let variant = manifest.variant.clone();
    let (published, unpublished) = published(settings, id, manifest.clone(), wanted.private)?;
    let target = &wanted.target;
    require_new(target)?;
    let mut found = CopyInputs::default();
    for section in ["public", "private"] {
        if section == "public" || wanted.private {
            let name = format!("prepared/{section}");
            list(&home.join(&name), &name, Some(&published), &mut found)?;
        }
    }
    let parent = parent_of(target);
    let failed = |error: io::Error| match cancel.is_cancelled() {
        true => interrupted(),
        false => Error::writing("write", target, &error),
    };
    fs::create_dir_all(parent).map_err(failed)?;
    let draft = TemporaryCopy::new(parent).map_err(failed)?;
    if wanted.expand != Expand::No {
        let limits = settings.content_limits(1);
        expand::expand(
            &mut found,
            wanted.expand,
            &draft.join("expanded"),
            &limits,
            cancel,
        )?;
    }
    let pipeline = entry.load(&variant)?;
    let pack_layout = entry.pack.as_ref().map(|pack| pack.layout);
    let layout = wanted.layout.or(pack_layout).unwrap_or_default();
    // All competitions of MLE-Dojo are in one directory, so the name of the pack is omitted.
    let (name, texts) = match layout {
        PackLayout::MleBench => (id, Vec::new()),
        PackLayout::Dojo => {
            let texts = dojo::arrange(&mut found, entry, &pipeline, wanted.private)?;
            (bundle_stem(id), texts)
        }
    };
    let CopyInputs { mut items, empty } = found;
    items.sort();
    let made = draft.join("made");
    let mut copier: Box<dyn Copier> = match wanted.form {
        ExportForm::Directory => Box::new(DirectoryCopier::new(&made, name)),
        ExportForm::Tar => Box::new(TarCopier::new(&made, name).map_err(failed)?),
    };
    let mut exported = CopyContent {
        competition: id.to_owned(),
        variant: variant.clone(),
        private: wanted.private,
        archives: wanted.expand,
        bytes: 0,
        files: Vec::with_capacity(items.len()),
        unpublished,
    };
    for item in &items {
        let file = copier.file(item, cancel);
        if file.is_err() {
            require_current(settings, id, &published)?;
        }
        let file = file.map_err(failed)?;
        exported.bytes += file.bytes;
        exported.files.push(file);
    }
    for path in &empty {
        copier.directory(path).map_err(failed)?;
    }
    for (path, text) in texts {
        copier.content(&path, text.as_bytes()).map_err(failed)?;
        exported.bytes += text.len() as u64;
        exported.files.push(ExportedFile::of_text(path, &text));
    }
    exported
        .files
        .sort_by(|one, other| one.path.cmp(&other.path));
    if layout == PackLayout::MleBench {
        let croissant = croissant::describe(&exported, &pipeline);
        copier
            .content(CROISSANT, croissant.as_bytes())
            .map_err(failed)?;
        if wanted.private {
            for (name, content) in manifest.for_copy(&settings.data_dir).map_err(failed)? {
                copier.content(name, &content).map_err(failed)?;
            }
        }
    }
    copier
        .content(MANIFEST, exported.manifest().as_bytes())
        .map_err(failed)?;
    copier.finish().map_err(failed)?;
    require_current(settings, id, &published)?;
    fs::rename(&made, target).map_err(failed)?;
    Ok(exported)
}

/// Returns an error if a run published other files after `published` was read. Then a copy may contain files of both
/// publications.
fn require_current(settings: &Settings, id: &str, published: &PublishedPaths) -> Result<(), Error> {
    let is_current = published.is_current(&settings.data_dir);
    match is_current.map_err(|error| prepared::unreadable(id, &error))? {
        true => Ok(()),
        false => {
            let message = format!("a run published `{id}` during the copy; no copy was created");
            Err(Error::new(Failure::Machine, message).help("try again when the run has ended"))
        }
    }
}

fn require_new(target: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(target).is_err() {
        return Ok(());
    }
    let message = format!("{} already exists", target.display());
    Err(Error::request(message).help("name a directory or file that does not exist"))
}

fn parent_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn interrupted() -> Error {
    Error::new(Failure::Cancelled, "interrupted; no copy was created")
}

/// Returns the paths that the last run published. Also returns a text that lists the other files in the prepared directory,
/// or `None` if there are no other files.
///
/// Returns an error if the prepared data were changed.
fn published(
    settings: &Settings,
    id: &str,
    manifest: Manifest,
    private: bool,
) -> Result<(PublishedPaths, Option<String>), Error> {
    if private {
        sealed::require_plain(settings, id)?;
    }
    let tree = prepared::examine(&manifest, &settings.data_dir, settings, ExaminedFiles::All)?;
    let sections = [Some(&tree.public), private.then_some(&tree.private)];
    let changed = sections.into_iter().flatten();
    let changed: Vec<String> = changed
        .filter(|paths| !paths.is_empty())
        .map(ToString::to_string)
        .collect();
    if !changed.is_empty() || tree.is_list_damaged {
        let message = match changed.is_empty() {
            true => format!("the list of published files of `{id}` is damaged"),
            false => format!(
                "files of the prepared data of `{id}` changed or are missing: {}",
                changed.join(", ")
            ),
        };
        return Err(Error::new(Failure::Input, message).help(Remedy::Prepare { id: id.to_owned() }));
    }
    let unpublished = Some(tree.unpublished).filter(|paths| !paths.is_empty());
    let unpublished = unpublished.map(|paths| paths.to_string());
    let published = PublishedPaths::new(&settings.data_dir, manifest);
    let published = published.map_err(|error| prepared::unreadable(id, &error))?;
    Ok((published, unpublished))
}

/// Adds the files and empty directories below `directory` to `found`. `name` is the path of `directory` in the copy. If
/// `published` is given, skips files and directories that are not in `published`.
///
/// Follows symbolic links to published files, because tools such as git-annex replace files by links.
fn list(
    directory: &Path,
    name: &str,
    published: Option<&PublishedPaths>,
    found: &mut CopyInputs,
) -> Result<(), Error> {
    let failed = |error: io::Error| Error::reading("read", directory, &error);
    let mut is_empty = true;
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let Some(path) = entry
            .file_name()
            .to_str()
            .map(|own| format!("{name}/{own}"))
        else {
            // Published names are UTF-8, so this file is not published.
            if published.is_some() {
                continue;
            }
            let message = format!("the name {} is not UTF-8", entry.path().display());
            return Err(Error::new(Failure::Input, message));
        };
        let inner = path.strip_prefix("prepared/").unwrap_or(&path);
        let (is_file, is_directory) = match published {
            Some(published) => (published.has_file(inner), published.has_directory(inner)),
            None => (kind.is_file(), kind.is_dir()),
        };
        if is_directory && entry.path().is_dir() {
            list(&entry.path(), &path, published, found)?;
        } else if is_file {
            let source = entry.path();
            found.items.push(CopiedFile { path, source });
        } else if published.is_some() {
            continue;
        }
        is_empty = false;
    }
    if is_empty {
        found.empty.push(name.to_owned());
    }
    Ok(())
}

/// Returns the paths of all files below `root/directory`, relative to `root`.
pub(crate) fn files_below(root: &Path, directory: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
        let name = name.trim_start_matches('/').to_owned();
        match entry.path().is_dir() {
            true => names.extend(files_below(root, &name)?),
            false => names.push(name),
        }
    }
    Ok(names)
}

/// Reads a file and computes its MD5. Also infers the columns of a public table.
struct HashingReader {
    path: String,
    inner: CancellableReader<File>,
    length: u64,
    md5: Md5,
    bytes: u64,
    scanner: Option<CsvScanner>,
}

impl HashingReader {
    fn open(item: &CopiedFile, cancel: &Cancel) -> io::Result<HashingReader> {
        let file = File::open(&item.source)?;
        let is_table = item.path.ends_with(".csv") && item.path.starts_with("prepared/public/");
        Ok(HashingReader {
            path: item.path.clone(),
            length: file.metadata()?.len(),
            inner: cancel.reader(file),
            md5: Md5::new(),
            bytes: 0,
            scanner: is_table.then(|| CsvScanner::new(&ReadOptions::default())),
        })
    }

    fn into_exported_file(self) -> ExportedFile {
        ExportedFile {
            path: self.path,
            bytes: self.bytes,
            md5: prep_cache::hex(&self.md5.finalize()),
            // A `.csv` file that is not a table has no schema, but is copied anyway.
            schema: self
                .scanner
                .and_then(|scanner| scanner.finish().ok())
                .map(|scan| scan.schema),
        }
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let read = buffer.get(..count).unwrap_or_default();
        self.md5.update(read);
        self.bytes += count as u64;
        if let Some(scanner) = &mut self.scanner
            && scanner.feed(read).is_err()
        {
            self.scanner = None;
        }
        Ok(count)
    }
}

impl CopyContent {
    fn manifest(&self) -> String {
        // Does not fail, because all fields can be written as JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Prefix of the names of temporary directories.
const PREFIX: &str = ".prep-export-";
/// The name of the lock file in a temporary directory.
const LOCK: &str = "lock";

/// A directory that is removed when this value is dropped.
pub struct TemporaryCopy {
    dir: TempDir,
    _lock: Option<LockGuard>,
}

impl TemporaryCopy {
    /// Creates a temporary directory in `parent`, after removing those that killed exports left.
    pub fn new(parent: &Path) -> io::Result<TemporaryCopy> {
        // A new directory looks abandoned until it is locked, so only one process at a time may run this code.
        // On file systems without locks, another process may remove a new directory.
        let _parent_lock =
            File::open(parent).and_then(|directory| directory.lock().map(|()| directory));
        for left in temporary_directories(parent) {
            // An error is ignored, because a remaining directory only takes space.
            if let Ok(Some(_lock)) = try_lock_at(&left.join(LOCK)) {
                let _ = fs::remove_dir_all(&left);
            }
        }
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = try_lock_at(&dir.path().join(LOCK)).ok().flatten();
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

pub struct DirectoryCopier {
    target: PathBuf,
    /// The directory `target/ID`.
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

    fn content(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let to = self.root.join(name);
        fs::create_dir_all(to.parent().unwrap_or(&self.root))?;
        fs::write(to, content)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        // Temporary directories are private to the user, but other users must be able to read the copy.
        fs::set_permissions(&self.target, fs::Permissions::from_mode(0o755))
    }
}

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

/// Returns the I/O error that caused `error`, or a new one that wraps it.
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

    fn content(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.append(name, content.len() as u64, content)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let out = self.archive.finish().map_err(system_error)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}

#[cfg(test)]
mod copiers_tests {
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
