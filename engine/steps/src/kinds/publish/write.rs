//! Third stage of a publication: writes the files.
//!
//! Cached objects are linked or copied, and members of archives are inflated into the published file. Published files are
//! read-only, except for `public/description.md`.
//!
//! Evaluation harnesses overwrite `public/description.md`. Therefore this file is never a hard link to the cache.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use prep_cache::{Digest, LinkMode};
use prep_core::{Context, StepError};
use prep_digests::{Sha256, Sha256Hasher, digest_of_file};
use prep_formats::zip::MemberInflater;

use super::diff::Changes;
use super::home::{TEMP_PREFIX, USER_FILE, content_error, mode_of};
use super::listing::{WrittenFile, write_published};
use super::manifest::Manifest;
use super::observe::Observed;
use super::order::SourceOrder;
use super::{Publish, PublishError};
use crate::value::{ContentError, ContentRef, OpenContent, Tree, TreeFile};

/// Maximum size in bytes of a file that is written with a single call. Larger files are written in chunks.
const MAX_BUFFERED_BYTES: u64 = 8 << 20;

/// Memory in bytes that each thread needs for a file, for the compressed bytes of the file, and for the decoder. At worst,
/// the compressed bytes are slightly longer than the file.
pub(super) const THREAD_BYTES: u64 = 2 * MAX_BUFFERED_BYTES + (1 << 20);

/// Returns whether the file system ignores case. Creates a temporary file, and checks whether its name in upper case
/// also exists.
pub(super) fn folds_case(home: &Path) -> bool {
    let probe = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .suffix("-case")
        .tempfile_in(home);
    probe.is_ok_and(|probe| {
        let upper = probe
            .path()
            .file_name()
            .map(|name| name.to_string_lossy().to_uppercase());
        upper.is_some_and(|name| home.join(name).exists())
    })
}

/// The metadata of the published files, by index in the new tree. Threads share one list to save memory.
pub(super) type WrittenFiles = Mutex<Vec<Option<WrittenFile>>>;

/// A publication whose changes are known but not written.
pub(super) struct Publication<'a> {
    pub context: &'a Context,
    pub publish: &'a Publish,
    pub key: &'a Digest,
    /// The directory `DATA/ID`.
    pub home: &'a Path,
    pub observed: &'a Observed,
    pub desired: &'a Tree,
    pub changes: &'a Changes,
}

impl Publication<'_> {
    /// Applies the changes. Returns the metadata of all files.
    pub(super) fn apply(&self) -> Result<Vec<Option<WrittenFile>>, StepError> {
        let files = WrittenFiles::new(self.changes.kept.clone());
        let applied = match self.observed.is_fresh {
            true => self.write_all(&files),
            false => self.apply_changes(&files),
        };
        if applied.is_err() {
            // The disk may be full, so remove the temporary files. If this fails, the next run removes them.
            let _ = remove_leftovers(self.context, self.home);
        }
        applied.map(|()| files.into_inner())
    }

    /// Writes the first publication into a temporary directory, and renames it to `prepared`.
    fn write_all(&self, files: &WrittenFiles) -> Result<(), StepError> {
        let staging = staging(self.home)?;
        make_directories(&staging, self.changes)?;
        let order = SourceOrder::of(self.context, self.desired, &self.changes.write);
        order.create_files(|_, file| staging.join(file.path()))?;
        self.write_files(&order, files, &|index, file, opened, worker| {
            let path = staging.join(file.path());
            let new = NewFile::at(&path, file, order.is_created(index));
            worker.write_new(self, &new, opened)
        })?;
        order.touch_files(&staging, self.observed.began)?;
        // If another machine took over the lock, this publication must not become visible.
        self.context.check()?;
        // A rename changes neither times nor inodes, so the listing is final.
        let listed = write_published(self.home, self.desired, &files.lock(), self.observed.began);
        listed.map_err(StepError::machine)?;
        self.begin()?;
        let prepared = &self.observed.prepared;
        fs::rename(&staging, prepared).map_err(PublishError::io("move into place", prepared))
    }

    /// Records in the manifest that the published tree is incomplete, and which directories are new.
    fn begin(&self) -> Result<(), StepError> {
        let (before, directories) = (self.observed.manifest.as_ref(), &self.changes.directories);
        let begun = Manifest::begin(self.publish, *self.key, before, directories);
        begun.map_err(StepError::machine)
    }

    /// Applies the changes to a tree that was published before, file by file.
    fn apply_changes(&self, files: &WrittenFiles) -> Result<(), StepError> {
        let Publication {
            context,
            changes,
            observed,
            ..
        } = *self;
        let (prepared, old) = (&observed.prepared, &observed.listing);
        if !changes.is_empty() {
            self.begin()?;
            // Record the paths of new files before they are written. After an interruption, the next publication then
            // recognises these files as published.
            let claimed = old.claiming(self.desired, &changes.write);
            let claimed = claimed.write(self.home, observed.began);
            claimed.map_err(StepError::machine)?;
        }
        // Remove old files and directories first. The new tree may need a file where a directory exists, or vice versa.
        let remove = |path: &Path, remove: fn(&Path) -> io::Result<()>| {
            remove(path).map_err(PublishError::io("remove", path))
        };
        for path in &changes.remove {
            context.check()?;
            remove(&prepared.join(path), |path| fs::remove_file(path))?;
        }
        for path in &changes.remove_directories {
            remove(&prepared.join(path), |path| fs::remove_dir(path))?;
        }
        make_directories(prepared, changes)?;
        if changes.write.is_empty() {
            return Ok(());
        }
        let staging = staging(self.home)?;
        let order = SourceOrder::of(self.context, self.desired, &self.changes.write);
        let temporary = |index: u32| staging.join(index.to_string());
        order.create_files(|index, _| temporary(index))?;
        self.write_files(&order, files, &|index, file, opened, worker| {
            let target = prepared.join(file.path());
            let temporary = temporary(index);
            let new = NewFile::at(&temporary, file, order.is_created(index));
            let mut written = worker.write_new(self, &new, opened)?;
            let old = old
                .find(file.path())
                .filter(|listed| listed.is_trusted() && listed.bytes == file.bytes());
            // The file is missing if it was behind a link to a directory, and this publication removed the link.
            if let Some(listed) = old.filter(|_| target.exists()) {
                if written.sha256().is_none() {
                    let read = digest_of_file(&temporary);
                    written.set_sha256(read.map_err(PublishError::io("read", &temporary))?.0);
                }
                if listed.written.sha256() == written.sha256() {
                    // The new content has the same bytes, so keep the existing file.
                    remove(&temporary, |path| fs::remove_file(path))?;
                    return Ok(listed.written);
                }
            }
            context.check()?;
            fs::rename(&temporary, &target)
                .map_err(PublishError::io("move into place", &target))?;
            Ok(written)
        })?;
        order.touch_files(prepared, self.observed.began)?;
        // Usually, no temporary files remain here. But a rename has no effect if the temporary file and the target are hard
        // links to the same file.
        remove_all(context, &staging)
    }

    /// Writes the new files on several threads, and adds their metadata to `files`.
    fn write_files(
        &self,
        order: &SourceOrder<'_>,
        files: &WrittenFiles,
        write: WriteFn<'_>,
    ) -> Result<(), StepError> {
        let Publication {
            context,
            desired,
            changes,
            ..
        } = *self;
        let write_one = |worker: &mut Worker, number: usize| {
            let index = order.index(number);
            let file = index.and_then(|index| Some((index, desired.file(index as usize)?)));
            let Some((index, file)) = file else {
                return Ok(());
            };
            let Some(content) = file.content() else {
                return Ok(());
            };
            let opened = order
                .opener()
                .open(&content)
                .map_err(|cause| content_error(file.path(), cause))?;
            let written = write(index, &file, &opened, worker)?;
            context.progress.add_file();
            let mut files = files.lock();
            if let Some(file) = files.get_mut(index as usize) {
                *file = Some(written);
            }
            Ok(())
        };
        let count = changes.write.len();
        context.map_parallel(count, THREAD_BYTES, Worker::default, write_one)?;
        Ok(())
    }
}

/// Removes the temporary files that an interrupted publication left.
pub(super) fn remove_leftovers(context: &Context, home: &Path) -> Result<(), StepError> {
    let failed = PublishError::io("clean up", home);
    for entry in fs::read_dir(home).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        if entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX) {
            remove_all(context, &entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file or directory. Checks for cancellation, because a directory may contain millions of files.
fn remove_all(context: &Context, path: &Path) -> Result<(), StepError> {
    context.check()?;
    let failed = PublishError::io("clean up", path);
    if !fs::symlink_metadata(path).map_err(&failed)?.is_dir() {
        return fs::remove_file(path).map_err(failed);
    }
    for entry in fs::read_dir(path).map_err(&failed)? {
        remove_all(context, &entry.map_err(&failed)?.path())?;
    }
    fs::remove_dir(path).map_err(failed)
}

/// Creates the temporary directory for the new files of a publication.
fn staging(home: &Path) -> Result<PathBuf, StepError> {
    // Temporary directories are private by default, but this one becomes `prepared`. Let the umask decide.
    let directory = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(home);
    Ok(directory
        .map_err(PublishError::io("create a directory in", home))?
        .keep())
}

fn make_directories(root: &Path, changes: &Changes) -> Result<(), StepError> {
    for directory in &changes.directories {
        let path = root.join(directory);
        fs::create_dir_all(&path).map_err(PublishError::io("create the directory", &path))?;
    }
    Ok(())
}

/// Writes a new file and returns its metadata. The first argument is the index of the file in the tree.
type WriteFn<'a> = &'a (
        dyn Fn(u32, &TreeFile<'_>, &OpenContent<'_>, &mut Worker) -> Result<WrittenFile, StepError>
            + Sync
    );

struct NewFile<'a> {
    path: &'a Path,
    /// Path below `prepared`.
    name: &'a str,
    /// Whether [`SourceOrder::create_files`] created it.
    is_created: bool,
}

impl<'a> NewFile<'a> {
    fn at(path: &'a Path, file: &TreeFile<'a>, is_created: bool) -> NewFile<'a> {
        NewFile {
            path,
            name: file.path(),
            is_created,
        }
    }

    /// Opens the file, which is empty or does not exist.
    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(!self.is_created);
        options.mode(mode_of(self.name)).open(self.path)
    }
}

/// The buffers of a thread that writes files.
#[derive(Default)]
struct Worker {
    inflater: MemberInflater,
    bytes: Vec<u8>,
}

impl Worker {
    /// Writes a file and returns its metadata. If the content is a cached object, the metadata contain no SHA-256, because
    /// the bytes are not read.
    fn write_new(
        &mut self,
        publication: &Publication<'_>,
        new: &NewFile<'_>,
        opened: &OpenContent<'_>,
    ) -> Result<WrittenFile, StepError> {
        let Publication {
            context, observed, ..
        } = *publication;
        let time = observed.began;
        let NewFile { path, name, .. } = *new;
        let content = opened.content();
        if let ContentRef::Object { digest, .. } = content
            && context.outside.location(digest).is_none()
            && name != USER_FILE
        {
            let store = &context.store;
            let mode = store.materialise_as(digest, path, publication.publish.link_mode)?;
            // A hard link shares its modification time with the object, so the time is set only for copies.
            if mode != LinkMode::HardLink {
                let set = File::open(path).and_then(|file| file.set_modified(time));
                set.map_err(PublishError::io("set the time of", path))?;
            }
            context.progress.add_bytes(content.bytes());
            let metadata = fs::symlink_metadata(path);
            let metadata = metadata.map_err(PublishError::io("inspect", path))?;
            return Ok(WrittenFile::new(&metadata, None));
        }
        let mut file = new.open().map_err(PublishError::io("create", path))?;
        let failed = PublishError::io("write", path);
        // Sets the time and the permissions of the written file, and returns its metadata.
        let confirm = |file: &File| {
            file.set_modified(time)?;
            if new.is_created {
                let mode = file.metadata()?.mode() & mode_of(name);
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            context.store.confirm_written(file, path)
        };
        if content.bytes() <= MAX_BUFFERED_BYTES {
            let read = opened.read_into(&mut self.inflater, &mut self.bytes);
            read.map_err(|cause| content_error(name, cause))?;
            let metadata = file.write_all(&self.bytes).and_then(|()| confirm(&file));
            context.progress.add_bytes(content.bytes());
            let sha256 = Sha256::of_bytes(&self.bytes);
            return Ok(WrittenFile::new(&metadata.map_err(failed)?, Some(sha256)));
        }
        let mut hasher = Sha256Hasher::default();
        let mut reader = opened
            .read_ahead()
            .map_err(|cause| content_error(name, cause))?;
        loop {
            context.check()?;
            let chunk = match reader.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => {
                    let subject = name.to_owned();
                    return Err(content_error(name, ContentError::Io { subject, cause }));
                }
            };
            hasher.update(chunk);
            file.write_all(chunk).map_err(&failed)?;
            let count = chunk.len();
            context.progress.add_bytes(count as u64);
            reader.consume(count);
        }
        let metadata = confirm(&file).map_err(failed)?;
        Ok(WrittenFile::new(&metadata, Some(hasher.finish())))
    }
}
