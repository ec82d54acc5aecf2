//! Writing published files.
//!
//! Objects of the store are linked, members of archives are inflated straight to their place. Files are read-only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::zip::MemberInflater;

use super::PublishError;
use super::diff::{Changes, is_untouched, origin};
use super::manifest::{ListedFile, Listing, time};
use crate::value::{Content, ContentError, OpenContent, Opener, TreeEntry};

/// Names of temporary files and folders begin so; what an interrupted publication left is removed by the next one.
pub(super) const LEFTOVER: &str = ".prep-";

/// Contents above this size are written as they are read instead of being held whole.
const WHOLE: u64 = 8 << 20;

/// What one thread may hold: a content, its compressed bytes, which may be a little more, and the decoder.
pub(super) const MEMORY_OF_THREAD: u64 = 2 * WHOLE + (1 << 20);

/// Does the file system of `home` take names that differ in case only for one?
pub(super) fn folds_case(home: &Path) -> bool {
    let probe = tempfile::Builder::new()
        .prefix(LEFTOVER)
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

/// A first publication: in a folder of its own, renamed when it is complete.
pub(super) fn all(
    context: &Context,
    home: &Path,
    prepared: &Path,
    changes: &Changes,
) -> Result<Vec<ListedFile>, StepError> {
    let staging = staging(home)?;
    make_folders(&staging, changes)?;
    let written = write_files(context, changes, &|entry, opened, worker| {
        let path = staging.join(&entry.path);
        let digest = worker.write_new(context, &path, entry, opened)?;
        listed(&path, entry, digest)
    })?;
    fs::rename(&staging, prepared)
        .map_err(|cause| PublishError::io("move into place", prepared, cause))?;
    Ok(written)
}

/// A later publication: only what changed, file by file.
pub(super) fn changed(
    context: &Context,
    home: &Path,
    prepared: &Path,
    changes: &Changes,
    old: &Listing,
) -> Result<Vec<ListedFile>, StepError> {
    // A file may stand where a folder has to be, and a folder where a file has to be.
    for path in &changes.remove {
        let path = prepared.join(path);
        fs::remove_file(&path).map_err(|cause| PublishError::io("remove", &path, cause))?;
    }
    for path in &changes.remove_folders {
        let path = prepared.join(path);
        fs::remove_dir(&path).map_err(|cause| PublishError::io("remove", &path, cause))?;
    }
    make_folders(prepared, changes)?;
    if changes.write.is_empty() {
        return Ok(Vec::new());
    }
    let staging = staging(home)?;
    let number = AtomicUsize::new(0);
    let written = write_files(context, changes, &|entry, opened, worker| {
        let target = prepared.join(&entry.path);
        let temporary = staging.join(number.fetch_add(1, Ordering::Relaxed).to_string());
        let digest = worker.write_new(context, &temporary, entry, opened)?;
        let same = old
            .get(&entry.path)
            .filter(|file| file.digest == digest && is_untouched(prepared, file));
        if let (Some(file), Some(content)) = (same, &entry.content) {
            // Another origin, the same bytes: the file stays as it is.
            fs::remove_file(&temporary)
                .map_err(|cause| PublishError::io("remove", &temporary, cause))?;
            return Ok(ListedFile {
                origin: origin(content),
                ..file.clone()
            });
        }
        fs::rename(&temporary, &target)
            .map_err(|cause| PublishError::io("move into place", &target, cause))?;
        listed(&target, entry, digest)
    })?;
    fs::remove_dir_all(&staging).map_err(|cause| PublishError::io("remove", &staging, cause))?;
    Ok(written)
}

/// Removes what interrupted publications left beside `prepared`.
pub(super) fn remove_leftovers(home: &Path) -> Result<(), StepError> {
    let failed = |cause| PublishError::io("clean up", home, cause);
    for entry in fs::read_dir(home).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().to_string_lossy().starts_with(LEFTOVER) {
            continue;
        }
        let path = entry.path();
        let removed = if entry.file_type().map_err(failed)?.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(|cause| PublishError::io("remove", &path, cause))?;
    }
    Ok(())
}

fn staging(home: &Path) -> Result<PathBuf, StepError> {
    // Temporary folders are private by default; this one becomes `prepared`, with the mode that the user's umask leaves.
    let folder = tempfile::Builder::new()
        .prefix(LEFTOVER)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir_in(home);
    let folder = folder.map_err(|cause| PublishError::io("make a folder in", home, cause))?;
    Ok(folder.keep())
}

fn make_folders(root: &Path, changes: &Changes) -> Result<(), StepError> {
    for folder in &changes.folders {
        let path = root.join(folder);
        fs::create_dir_all(&path)
            .map_err(|cause| PublishError::io("make the folder", &path, cause))?;
    }
    Ok(())
}

fn listed(path: &Path, entry: &TreeEntry, digest: Digest) -> Result<ListedFile, StepError> {
    let metadata =
        fs::symlink_metadata(path).map_err(|cause| PublishError::io("look at", path, cause))?;
    let origin = entry.content.as_ref().map(origin).unwrap_or_default();
    Ok(ListedFile {
        path: entry.path.clone(),
        bytes: metadata.len(),
        time: time(&metadata),
        inode: metadata.ino(),
        digest,
        origin,
    })
}

type WriteOne<'a> =
    &'a (dyn Fn(&TreeEntry, &OpenContent<'_>, &mut Worker) -> Result<ListedFile, StepError> + Sync);

/// Writes files on as many threads as are free; the first error stops all.
fn write_files(
    context: &Context,
    changes: &Changes,
    write: WriteOne<'_>,
) -> Result<Vec<ListedFile>, StepError> {
    let opener = Opener::new(context);
    let written = context.spread(
        changes.write.len(),
        MEMORY_OF_THREAD,
        Worker::default,
        |worker, number| {
            let Some(entry) = changes.write.get(number) else {
                return Ok(None);
            };
            let Some(content) = &entry.content else {
                return Ok(None);
            };
            let opened = opener
                .open(content)
                .map_err(|cause| content_error(entry, cause))?;
            let file = write(entry, &opened, worker)?;
            context.progress.add_bytes(file.bytes);
            context.progress.add_file();
            Ok(Some(file))
        },
    )?;
    Ok(written.into_iter().flatten().collect())
}

fn content_error(entry: &TreeEntry, cause: ContentError) -> StepError {
    let path = entry.path.clone();
    StepError::input(PublishError::Content { path, cause })
}

/// Buffers of one thread.
#[derive(Default)]
struct Worker {
    inflater: MemberInflater,
    bytes: Vec<u8>,
}

impl Worker {
    /// Makes the file `path`, which must not exist; returns the digest of its content.
    fn write_new(
        &mut self,
        context: &Context,
        path: &Path,
        entry: &TreeEntry,
        opened: &OpenContent<'_>,
    ) -> Result<Digest, StepError> {
        let content = entry
            .content
            .as_ref()
            .ok_or_else(|| StepError::internal("a folder is no file"))?;
        if let Content::Object { digest, .. } = content
            && context.location(digest).is_none()
        {
            context.store.materialise(digest, path)?;
            return Ok(*digest);
        }
        let mut file = create(path).map_err(|cause| PublishError::io("make", path, cause))?;
        if content.bytes() <= WHOLE {
            let read = opened.read_into(&mut self.inflater, &mut self.bytes);
            read.map_err(|cause| content_error(entry, cause))?;
            file.write_all(&self.bytes)
                .map_err(|cause| PublishError::io("write", path, cause))?;
            return Ok(Digest::of(&self.bytes));
        }
        let mut hasher = blake3::Hasher::new();
        let mut reader = opened
            .reader()
            .map_err(|cause| content_error(entry, cause))?;
        self.bytes.resize(1 << 20, 0);
        loop {
            context.check()?;
            let count = match reader.read(&mut self.bytes) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => {
                    let what = entry.path.clone();
                    return Err(content_error(entry, ContentError::Io { what, cause }));
                }
            };
            hasher.update(&self.bytes[..count]);
            file.write_all(&self.bytes[..count])
                .map_err(|cause| PublishError::io("write", path, cause))?;
        }
        Ok(Digest::from_bytes(*hasher.finalize().as_bytes()))
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(path)
}
