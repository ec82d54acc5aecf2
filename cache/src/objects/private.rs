//! Objects that can be mapped into memory, because no file outside the store is a hard link to them.
//!
//! A published file may be a hard link to an object's file, so a program that writes to it changes the object. A process
//! that has *mapped* the object would read wrong bytes or crash. Therefore only *private* objects are mapped: their file
//! has no hard link outside the store and never gets one.
//!
//! A private file has a mark: a bit of its mode that is otherwise unused. Two kinds of processes work on an object:
//!
//! - The **linker** links a temporary name to the file, then examines the file *that it linked*. It publishes the name
//!   only if that file has no mark ([`link`](crate::objects::link)).
//! - The **marker** sets the mark, then counts the file's hard links, then checks that the store's path still names the
//!   file. If a step fails, the marker replaces the object with a private copy.
//!
//! *Proof.* Suppose that a marker found the file private, although a linker publishes another name of the file. If the
//! linker created this name before the marker counted the links, the marker counted two links, a contradiction. If the
//! linker created the name after the count, the mark was already set, so the linker did not publish the name.
//!
//! The store's path could stop naming the file before the count. But such a path never names this file again. Therefore a
//! path that names the file after the count also named the file during the count. No process removes a mark.
//!
//! `tests/model` checks all interleavings of these steps, including processes that die between them. The proof rests on
//! these conditions:
//!
//! - Only the store writes below the store's directory.
//! - A program that opened a published name for writing closes the file before that name is removed. Published files are
//!   read-only, so such a program must change the mode or run as root.
//! - The file system counts links. If the count is below two after linking (for example on sshfs), the linker copies the
//!   file.
//! - A network file system answers while a file is mapped. On a `soft` NFS mount, an unanswered read of mapped memory
//!   raises a signal.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::ops::{Deref, Range};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use memmap2::{Mmap, UncheckedAdvice};

use crate::locks::file::is_file_at;
use crate::objects::object::Object;
use crate::{Digest, Store, StoreError};

/// The bit of the mode that marks a private file: the owner's execute permission. Other objects do not have it.
const MARK: u32 = 0o100;

/// An object whose bytes do not change while it is open. Only [`Store::open_private`] returns such objects.
#[derive(Debug)]
pub struct PrivateObject(Object);

impl Deref for PrivateObject {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl From<PrivateObject> for Object {
    fn from(object: PrivateObject) -> Object {
        object.0
    }
}

impl PrivateObject {
    /// Maps the object into memory.
    ///
    /// # Errors
    /// If the system cannot map the file.
    pub fn map(&self) -> io::Result<MappedObject> {
        if self.is_empty() {
            return Ok(MappedObject { map: None });
        }
        // SAFETY: a map is sound if the file is neither changed nor shortened while the map exists. The file is private: it
        // has no name outside the store and never gets one. The module's documentation proves this. The store never writes
        // to a file that has its final name. Only `open_private` creates a `PrivateObject`. The map keeps the file's inode
        // alive, so removing its name does not matter either.
        #[allow(unsafe_code, reason = "the SAFETY comment explains why it is sound")]
        let map = unsafe { Mmap::map(self.file())? };
        Ok(MappedObject { map: Some(map) })
    }
}

/// The bytes of a [`PrivateObject`], mapped into memory.
#[derive(Debug)]
pub struct MappedObject {
    map: Option<Mmap>,
}

impl MappedObject {
    /// Allows the system to drop the range `part` from memory. A later access reads it from the file again.
    pub fn release(&self, part: Range<usize>) {
        let Some(map) = &self.map else { return };
        let start = part.start.min(map.len());
        let len = part.end.min(map.len()).saturating_sub(start);
        // SAFETY: dropped pages of a shared, read-only map of a file are read from the file when they are next
        // accessed. The file is private, so it still has the same bytes. The map is never written to, so no write is
        // lost.
        #[allow(unsafe_code, reason = "the SAFETY comment explains why it is sound")]
        let advised = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, len) };
        drop(advised);
    }
}

impl AsRef<[u8]> for MappedObject {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

impl Store {
    /// Opens an object whose bytes no program can change while the object is open. Therefore the object can be mapped into
    /// memory.
    ///
    /// If the object has a hard link outside the store, the store replaces the object with a copy.
    ///
    /// # Errors
    /// - the errors of [`open_object`](Self::open_object)
    /// - an error if the copy cannot be written
    /// - [`StoreError::ReadOnlyHandle`] if the object is not private yet and the handle is read-only
    pub fn open_private(&self, digest: &Digest) -> Result<PrivateObject, StoreError> {
        let object = self.open_object(digest)?;
        let error = |source| StoreError::io("make private", object.path(), source);
        let metadata = object.file().metadata().map_err(error)?;
        let can_mark = || !self.is_read_only() && metadata.nlink() <= 1;
        let is_marked =
            is_marked(&metadata) || (can_mark() && mark(object.file()).unwrap_or(false));
        if is_marked && has_no_other_name(&object).map_err(error)? {
            return Ok(PrivateObject(object));
        }
        self.must_be_writable()?;
        self.private_copy(&object).map(PrivateObject)
    }

    /// Replaces the object with a copy that has the mark of private files. If the file system cannot store the mark, returns
    /// a copy in a file that is open but no longer has a path.
    fn private_copy(&self, object: &Object) -> Result<Object, StoreError> {
        let temp = self.temp_file()?;
        let error = |source| StoreError::writing("copy", object.path(), object.len(), source);
        object
            .copy_into(temp.as_file())
            .map_err(|source| self.copy_error(object, error(source)))?;
        // `reopen` would also open the read-only file for writing.
        let copy = File::open(temp.path()).map_err(error)?;
        let opened = object.copied_to(copy);
        // A program may have changed the original through its other name during the copy.
        self.verify_copy(&opened)?;
        if mark(temp.as_file()).unwrap_or(false) {
            self.install(temp, *opened.digest())?;
        }
        Ok(opened)
    }
}

/// Returns whether a file of the store has the mark, which forbids linking.
pub(crate) fn is_marked(metadata: &Metadata) -> bool {
    metadata.mode() & MARK != 0
}

/// Sets the mark of a file. Returns `false` if the file system does not store this bit of the mode.
fn mark(file: &File) -> io::Result<bool> {
    let mode = file.metadata()?.mode() & 0o7777;
    file.set_permissions(Permissions::from_mode(mode | MARK))?;
    Ok(is_marked(&file.metadata()?))
}

/// Returns whether a marked object has no hard link outside the store. The module's proof relies on the order of the checks.
fn has_no_other_name(object: &Object) -> io::Result<bool> {
    match object.file().metadata()?.nlink() {
        0 => Ok(true),
        1 => is_file_at(object.file(), object.path()),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use super::*;

    #[test]
    fn object_truncated_after_opening_is_damaged() -> Result<(), Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        let store = Store::open(&dir.path().join("store"))?;
        let digest = store.put(&[7; 10_000])?;
        let object = store.open_object(&digest)?;
        let other = dir.path().join("published");
        fs::hard_link(object.path(), &other)?;
        other.metadata().and_then(|found| {
            fs::set_permissions(&other, Permissions::from_mode(found.mode() | 0o200))
        })?;
        File::options().write(true).open(&other)?.set_len(1)?;
        let refused = store.private_copy(&object);
        assert!(
            matches!(refused, Err(StoreError::Damaged { .. })),
            "{refused:?}"
        );
        Ok(())
    }
}
