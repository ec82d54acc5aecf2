//! Publishes objects as files outside the store.
//!
//! A hard link needs no space, but a program that writes to the published file changes the store's object. A reflink
//! shares disk blocks with the object until one of the two files is written. A copy shares nothing.
//!
//! A [private](crate::objects::private) object is never hard-linked. If a device does not support hard links, the store
//! does not try them on this device again. The same applies to reflinks.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::layout::Bucket;
use crate::objects::object::Object;
use crate::objects::private::is_marked;
use crate::objects::writer::READ_ONLY;
use crate::store::persist;
use crate::{Digest, LinkMode, Store, StoreError};

impl Store {
    /// Publishes a verified object as the read-only file `dest`: as a hard link, otherwise as a reflink, otherwise as a
    /// copy. Returns the mode that worked.
    ///
    /// Replaces an existing file atomically. Creates missing parent directories.
    ///
    /// # Errors
    /// The errors of [`open_object`](Self::open_object), and an error if `dest` cannot be written.
    pub fn materialise(&self, digest: &Digest, dest: &Path) -> Result<LinkMode, StoreError> {
        self.materialise_as(digest, dest, LinkMode::HardLink)
    }

    /// Same as [`materialise`](Self::materialise), but does not try modes that are cheaper than `cheapest`. A hard link is
    /// cheaper than a reflink, and a reflink is cheaper than a copy.
    ///
    /// After [`LinkMode::Reflink`] or [`LinkMode::Copy`], later writes to `dest` do not change the store.
    ///
    /// # Errors
    /// Same as for [`materialise`](Self::materialise).
    pub fn materialise_as(
        &self,
        digest: &Digest,
        dest: &Path,
        cheapest: LinkMode,
    ) -> Result<LinkMode, StoreError> {
        let object = self.open_object(digest)?;
        let error = |source| StoreError::writing("write", dest, object.len(), source);
        let dir = match dest.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let device = device_of(dir).map_err(error)?;
        let mut mode = cheapest;
        loop {
            let is_unsupported = self.is_unsupported_mode(device, mode);
            let published = match mode {
                _ if is_unsupported => Err(ErrorKind::Unsupported.into()),
                LinkMode::HardLink => hard_link(&object, dir, dest),
                LinkMode::Reflink => reflink(&object, dir, dest),
                LinkMode::Copy => self.copy(&object, dir, dest),
            };
            match (published, mode.next()) {
                (Ok(()), _) => return Ok(mode),
                (Err(source), Some(next)) if falls_back(&source) => {
                    if !is_unsupported && is_for_all(&source) {
                        self.set_unsupported_mode(device, mode);
                    }
                    mode = next;
                }
                (Err(source), _) => return Err(self.copy_error(&object, error(source))),
            }
        }
    }
}

impl Store {
    /// Returns an object that belongs to another user, if there is one. Checks only one object per directory.
    pub fn object_of_another_user(&self) -> Option<Digest> {
        let user = rustix::process::geteuid().as_raw();
        let directories = fs::read_dir(Bucket::Objects.dir(self.root())).ok()?;
        directories.flatten().find_map(|directory| {
            let object = fs::read_dir(directory.path()).ok()?.next()?.ok()?;
            if object.metadata().ok()?.uid() == user {
                return None;
            }
            let (first, rest) = (directory.file_name(), object.file_name());
            format!("{}{}", first.to_str()?, rest.to_str()?)
                .parse()
                .ok()
        })
    }

    fn copy(&self, object: &Object, dir: &Path, dest: &Path) -> io::Result<()> {
        let temp = temp_in(dir)?;
        object.copy_bytes(temp.as_file())?;
        self.confirm_written(temp.as_file(), dir)?;
        persist(temp, dest)
    }
}

/// Returns the id of the device on which the directory `dir` is. Creates the directory if it is missing.
fn device_of(dir: &Path) -> io::Result<u64> {
    match dir.metadata() {
        Ok(metadata) => Ok(metadata.dev()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(dir)?;
            Ok(dir.metadata()?.dev())
        }
        Err(error) => Err(error),
    }
}

/// Returns whether the next [`LinkMode`] may succeed after one mode failed with `error`.
///
/// EPERM means that linking is not permitted. EACCES means that the directory is not writable, so no mode works. Rust
/// converts both errors to `PermissionDenied`. Therefore this function compares the error number.
fn falls_back(error: &io::Error) -> bool {
    let permission = Some(rustix::io::Errno::PERM.raw_os_error());
    is_for_all(error)
        || error.raw_os_error() == permission
        || matches!(error.kind(), ErrorKind::TooManyLinks | ErrorKind::NotFound)
}

/// Returns whether publishing in the same mode would fail with this error for every file on the device.
fn is_for_all(error: &io::Error) -> bool {
    // `ENOTTY`: the file system does not know the ioctl that creates a reflink.
    let not_an_ioctl = Some(rustix::io::Errno::NOTTY.raw_os_error());
    error.raw_os_error() == not_an_ioctl
        || matches!(
            error.kind(),
            ErrorKind::CrossesDevices | ErrorKind::Unsupported | ErrorKind::InvalidInput
        )
}

/// Publishes the object as a hard link. Fails with `TooManyLinks` if the object must be copied instead.
///
/// Another process may replace the object's file after it was opened. Therefore the link first gets a temporary name, and
/// the linked file is examined before the link is renamed to `dest`.
fn hard_link(object: &Object, dir: &Path, dest: &Path) -> io::Result<()> {
    let opened = object.file().metadata()?;
    if is_marked(&opened) {
        return Err(ErrorKind::TooManyLinks.into());
    }
    // In a repeated run, `dest` is usually a link to the object already.
    if matches!(dest.symlink_metadata(), Ok(found) if is_same_file(&found, &opened)) {
        return Ok(());
    }
    let linked = tempfile::Builder::new()
        .make_in(dir, |name| fs::hard_link(object.path(), name))?
        .into_temp_path();
    let found = linked.symlink_metadata()?;
    // If the link count is below two after linking, the file system does not count links. `open_private` would then not
    // notice this link, and would treat the object as private.
    if is_marked(&found) || !is_same_file(&found, &opened) || found.nlink() < 2 {
        return Err(ErrorKind::TooManyLinks.into());
    }
    // If another thread has linked `dest` to the same file by now, this rename does nothing and the temporary name
    // remains. Dropping `linked` removes the temporary name. The method `persist` would keep it.
    fs::rename(&linked, dest)
}

fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(target_os = "linux")]
fn reflink(object: &Object, dir: &Path, dest: &Path) -> io::Result<()> {
    let temp = temp_in(dir)?;
    rustix::fs::ioctl_ficlone(temp.as_file(), object.file())?;
    persist(temp, dest)
}

#[cfg(not(target_os = "linux"))]
fn reflink(_: &Object, _: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

fn temp_in(dir: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(READ_ONLY))
        .tempfile_in(dir)
}
