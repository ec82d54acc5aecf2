//! Reading objects, never without having verified them.
//!
//! The first time this process opens an object, its bytes are hashed and
//! compared with its name. As long as length, modification time and inode of
//! the file stay what they were then, later opens trust that.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::Bucket;
use crate::lock::is_file_at;
use crate::stamp::Stamp;
use crate::{Digest, Store, StoreError, digest};

/// Largest piece that is read at once while hashing.
const CHUNK: u64 = 1024 * 1024;

/// A verified object. It holds the file open: its bytes stay readable even if
/// another process collects it meanwhile.
#[derive(Debug)]
pub struct Object {
    digest: Digest,
    path: PathBuf,
    file: File,
    len: u64,
}

impl Object {
    /// The same object, in another file.
    pub(crate) fn copied_to(&self, file: File) -> Object {
        Object {
            digest: self.digest,
            path: self.path.clone(),
            file,
            len: self.len,
        }
    }

    /// Its name.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Where it is. Only sure to be there while somebody holds
    /// [`Store::in_use`]; prefer [`file`](Self::file) or [`reader`](Self::reader).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The open file, for positioned reads and for mapping into memory. Its
    /// cursor is shared by all who use it: use [`reader`](Self::reader) to read in sequence.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A reader from the first byte on. Several may be in use at once, each with its own position.
    pub fn reader(&self) -> ObjectReader<'_> {
        ObjectReader {
            object: self,
            position: 0,
        }
    }
}

/// Reads an [`Object`] from a position of its own. Not buffered.
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
            io::Error::new(ErrorKind::InvalidInput, "seek to before the first byte")
        })?;
        Ok(self.position)
    }
}

impl Store {
    /// Opens an object, verifying it if this process has not done so yet.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the store does not have it,
    /// [`StoreError::Damaged`] if its bytes are wrong: it is then moved to
    /// quarantine, and is missing from now on.
    pub fn open_object(&self, digest: &Digest) -> Result<Object, StoreError> {
        let object = self.open_or_bring(digest)?;
        self.verify_once(&object)?;
        Ok(object)
    }

    /// [`open_object`](Self::open_object) without looking anywhere else.
    pub(crate) fn open_here(&self, digest: &Digest) -> Result<Object, StoreError> {
        let object = self.open_unverified(digest)?;
        self.verify_once(&object)?;
        Ok(object)
    }

    /// An object that is here, or in the tier.
    fn open_or_bring(&self, digest: &Digest) -> Result<Object, StoreError> {
        match self.open_unverified(digest) {
            Err(StoreError::Missing { .. }) if self.bring(digest)? => self.open_unverified(digest),
            opened => opened,
        }
    }

    /// The whole content of an object. For small ones.
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object).
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let object = self.open_or_bring(digest)?;
        let stamp = stamp_of(&object)?;
        let error = |source| StoreError::io("read", &object.path, source);
        let mut bytes = Vec::with_capacity(usize::try_from(object.len).unwrap_or(0));
        object.reader().read_to_end(&mut bytes).map_err(error)?;
        // Hash what is served, rather than read it twice.
        if !self.is_verified(digest, stamp) {
            let found = Digest::of(&bytes);
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

    fn verify_once(&self, object: &Object) -> Result<(), StoreError> {
        let stamp = stamp_of(object)?;
        if self.is_verified(&object.digest, stamp) {
            return Ok(());
        }
        self.one_at_a_time(&object.digest, || {
            if self.is_verified(&object.digest, stamp) {
                return Ok(());
            }
            self.verify_now(object, &|_| {})?;
            self.set_verified(object.digest, stamp);
            Ok(())
        })
    }

    /// Hashes an object, whatever is known about it. `None`: it is not there.
    /// Otherwise its length, or [`StoreError::Damaged`]; `quarantine` says
    /// whether a damaged one is moved away.
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

    /// Hashes a copy that is not in its place yet. What it was copied from is at fault if it is wrong.
    pub(crate) fn verify_copy(&self, copy: &Object) -> Result<(), StoreError> {
        self.verify_now(copy, &|_| {})
    }

    /// Why an object could not be copied: the file it was copied from may have been changed, since it was verified,
    /// through a name outside the store.
    pub(crate) fn blame_for_copy(&self, object: &Object, error: StoreError) -> StoreError {
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

    /// Moves a damaged object away and says so.
    fn damaged(&self, object: &Object, found: Digest) -> StoreError {
        self.forget_verified(&object.digest);
        StoreError::Damaged {
            digest: object.digest,
            found,
            len: object.len,
            quarantined: self.quarantine(object),
        }
    }

    fn quarantine(&self, object: &Object) -> Option<PathBuf> {
        // Another process may have replaced it with a good copy meanwhile.
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
    Ok(Stamp::of(&metadata))
}

/// Hashes all bytes of an object, telling `progress` how many were read since its last call.
fn hash(object: &Object, progress: &dyn Fn(u64)) -> Result<Digest, StoreError> {
    let piece = usize::try_from(object.len.min(CHUNK)).unwrap_or(0);
    let bytes = object.reader().take(object.len);
    match digest::hash(bytes, piece, progress) {
        Ok((digest, _)) => Ok(digest),
        Err(error) => Err(StoreError::io("read", &object.path, error)),
    }
}
