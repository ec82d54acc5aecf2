//! Reads objects, and verifies each object before it is used.
//!
//! A process hashes an object when it first opens it. Later opens skip this check while the length, modification time and
//! inode of the object's file are unchanged.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::Bucket;
use crate::locks::file::is_file_at;
use crate::objects::writer::READ_ONLY;
use crate::system::machine::Stamp;
use crate::{Digest, Store, StoreError, digest};

const CHUNK_BYTES: u64 = 1024 * 1024;

/// A verified, open object. Its bytes remain readable even if another process removes the object.
#[derive(Debug)]
pub struct Object {
    digest: Digest,
    path: PathBuf,
    file: File,
    len: u64,
}

impl Object {
    /// Copies the object's bytes into an empty file. The files share disk blocks if the file system supports this.
    pub(crate) fn copy_into(&self, file: &File) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if rustix::fs::ioctl_ficlone(file, &self.file).is_ok() {
            return Ok(());
        }
        self.copy_bytes(file)
    }

    /// Copies the object's bytes into an empty file. The files share no disk blocks.
    pub(crate) fn copy_bytes(&self, mut file: &File) -> io::Result<()> {
        // The cursor is at the start, because the object was opened for this call. `io::copy` lets the kernel copy.
        let copied = io::copy(&mut &self.file, &mut file)?;
        if copied != self.len() {
            let message = format!("copied {copied} of {} bytes", self.len());
            return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
        }
        Ok(())
    }

    /// Returns another handle to the same object. It reads from `file`, which must contain a copy of the object's bytes.
    pub(crate) fn copied_to(&self, file: File) -> Object {
        Object {
            digest: self.digest,
            path: self.path.clone(),
            file,
            len: self.len,
        }
    }

    /// Returns the object's digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns the object's path. Another process may remove this file, unless you hold a guard of [`Store::in_use`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the object has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the open file, for positioned reads and memory mapping. All users share its cursor.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns a reader that starts at the first byte and has its own position.
    pub fn reader(&self) -> ObjectReader<'_> {
        ObjectReader {
            object: self,
            position: 0,
        }
    }
}

/// A sequential, unbuffered reader of an [`Object`].
#[derive(Clone, Debug)]
pub struct ObjectReader<'a> {
    object: &'a Object,
    position: u64,
}

impl Read for ObjectReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let object = self.object;
        let read = object.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for ObjectReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.object.len.checked_add_signed(offset),
        };
        self.position = target.ok_or_else(|| {
            io::Error::new(ErrorKind::InvalidInput, "cannot seek before the first byte")
        })?;
        Ok(self.position)
    }
}

impl Store {
    /// Opens an object, and verifies it if this process has not verified it yet. Moves a damaged object to the quarantine
    /// directory.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the object is not in the store, [`StoreError::Damaged`] if its bytes do not match its
    /// digest.
    pub fn open_object(&self, digest: &Digest) -> Result<Object, StoreError> {
        let object = self.open_or_fetch(digest)?;
        self.verify_once(&object)?;
        Ok(object)
    }

    /// Same as [`open_object`](Self::open_object), but never fetches the object from the tier, a cache behind the store.
    pub(crate) fn open_here(&self, digest: &Digest) -> Result<Object, StoreError> {
        let object = self.open_unverified(digest)?;
        self.verify_once(&object)?;
        Ok(object)
    }

    /// Opens an object without verifying it. Fetches a missing object from the tier.
    fn open_or_fetch(&self, digest: &Digest) -> Result<Object, StoreError> {
        match self.open_unverified(digest) {
            Err(StoreError::Missing { .. }) if self.fetch_from_tier(digest)? => {
                self.open_unverified(digest)
            }
            opened => opened,
        }
    }

    /// Reads all bytes of an object into memory.
    ///
    /// # Errors
    /// Same as for [`open_object`](Self::open_object).
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let object = self.open_or_fetch(digest)?;
        let stamp = stamp_of(&object)?;
        let error = |source| StoreError::io("read", &object.path, source);
        let mut bytes = Vec::with_capacity(usize::try_from(object.len).unwrap_or(0));
        match object.reader().read_to_end(&mut bytes) {
            Err(cause) if cause.kind() == ErrorKind::IsADirectory => {
                return Err(self.damaged(&object, directory_digest()));
            }
            read => read.map_err(error)?,
        };
        // The bytes in memory are hashed, so the file is not read twice.
        if !self.is_verified(digest, stamp) {
            let found = Digest::of_bytes(&bytes);
            if found != *digest {
                return Err(self.damaged(&object, found));
            }
            self.set_verified(*digest, stamp);
        }
        Ok(bytes)
    }

    fn open_unverified(&self, digest: &Digest) -> Result<Object, StoreError> {
        let path = self.object_path(digest);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::Missing { digest: *digest });
            }
            Err(error)
                if error.kind() == ErrorKind::PermissionDenied && self.make_readable(&path) =>
            {
                File::open(&path).map_err(|error| StoreError::io("open", &path, error))?
            }
            Err(error) => return Err(StoreError::io("open", &path, error)),
        };
        let len = file
            .metadata()
            .map_err(|error| StoreError::io("examine", &path, error))?
            .len();
        Ok(Object {
            digest: *digest,
            path,
            file,
            len,
        })
    }

    /// Permits everyone to read an object of this user again. Returns whether the mode was changed. A published file may be a
    /// hard link to the object, so a user who changes the mode of this file also changes the mode of the object.
    fn make_readable(&self, object: &Path) -> bool {
        let add_mode = || {
            let mode = fs::symlink_metadata(object)?.permissions().mode();
            fs::set_permissions(object, Permissions::from_mode(mode | READ_ONLY))
        };
        self.must_be_writable().is_ok() && add_mode().is_ok()
    }

    fn verify_once(&self, object: &Object) -> Result<(), StoreError> {
        let stamp = stamp_of(object)?;
        if self.is_verified(&object.digest, stamp) {
            return Ok(());
        }
        self.exclusively(&object.digest, || {
            if self.is_verified(&object.digest, stamp) {
                return Ok(());
            }
            self.verify_now(object, &|_| {})?;
            self.set_verified(object.digest, stamp);
            Ok(())
        })
    }

    /// Hashes an object even if it was verified earlier. If `quarantine` is true, moves a damaged object to the quarantine
    /// directory. Returns the object's length, or `None` if the object does not exist.
    pub(crate) fn verify_object(
        &self,
        digest: &Digest,
        quarantine: bool,
        progress: &dyn Fn(u64),
    ) -> Result<Option<u64>, StoreError> {
        let object = match self.open_unverified(digest) {
            Ok(object) => object,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if quarantine {
            self.verify_now(&object, progress)?;
        } else {
            let found = hash(&object, progress)?;
            if found != *digest {
                self.forget_verified(digest);
                return Err(StoreError::Damaged {
                    digest: *digest,
                    found,
                    len: object.len,
                    quarantined: None,
                });
            }
        }
        Ok(Some(object.len))
    }

    /// Hashes `copy`, a file with the copied bytes of an object.
    pub(crate) fn verify_copy(&self, copy: &Object) -> Result<(), StoreError> {
        self.verify_now(copy, &|_| {})
    }

    /// Returns the error of a failed copy. If the object is damaged, this is the error about the damage, otherwise
    /// `error`.
    pub(crate) fn copy_error(&self, object: &Object, error: StoreError) -> StoreError {
        match self.verify_once(object) {
            Err(damaged @ StoreError::Damaged { .. }) => damaged,
            _ => error,
        }
    }

    fn verify_now(&self, object: &Object, progress: &dyn Fn(u64)) -> Result<(), StoreError> {
        let found = hash(object, progress)?;
        if found == object.digest {
            return Ok(());
        }
        Err(self.damaged(object, found))
    }

    fn damaged(&self, object: &Object, found: Digest) -> StoreError {
        self.forget_verified(&object.digest);
        StoreError::Damaged {
            digest: object.digest,
            found,
            len: object.len,
            quarantined: self.quarantine(object),
        }
    }

    /// Moves the object's file to the quarantine directory. Returns its new path. If the file stays where it is,
    /// returns `None`.
    fn quarantine(&self, object: &Object) -> Option<PathBuf> {
        // Another process may have replaced the file with an intact copy, which must stay.
        if self.is_read_only() || !is_file_at(&object.file, &object.path).unwrap_or(false) {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let target = Bucket::Quarantine.dir(self.root()).join(format!(
            "{}-{}",
            object.digest,
            now.as_nanos()
        ));
        fs::rename(&object.path, &target).ok()?;
        Some(target)
    }
}

fn stamp_of(object: &Object) -> Result<Stamp, StoreError> {
    let metadata = object
        .file
        .metadata()
        .map_err(|error| StoreError::io("examine", &object.path, error))?;
    Ok(Stamp::from_metadata(&metadata))
}

fn hash(object: &Object, progress: &dyn Fn(u64)) -> Result<Digest, StoreError> {
    let chunk_bytes = usize::try_from(object.len.min(CHUNK_BYTES)).unwrap_or(0);
    let bytes = object.reader().take(object.len);
    let progress = |bytes| {
        progress(bytes);
        Ok(())
    };
    match digest::hash(bytes, chunk_bytes, &progress) {
        Ok((digest, _)) => Ok(digest),
        Err(error) if error.kind() == ErrorKind::IsADirectory => Ok(directory_digest()),
        Err(error) => Err(StoreError::io("read", &object.path, error)),
    }
}

/// Returns a digest that no object has. It is reported as the digest of a directory that is at the path of an object.
fn directory_digest() -> Digest {
    Digest::of_bytes(b"a directory in place of an object")
}
