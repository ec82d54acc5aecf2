//! Objects that nobody outside the store can write to.
//!
//! A published file may be one more name of an object's file. Whoever writes to
//! it, or cuts it, changes the object: the store notices when it opens the object
//! next, but a program that has it mapped crashes, and one that reads it piece by
//! piece gets other bytes than were verified. So an object that is mapped is
//! *private*: its file has one name, in the store.
//!
//! A private file is marked with a bit of its mode that nothing else needs, for
//! all processes to see: it is never linked from then on, only copied. Who links
//! looks at the mark after linking, under a name that is not published yet; who
//! marks counts the names after marking. So one of the two sees the other.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use tempfile::NamedTempFile;

use crate::link::copy_into;
use crate::object::Object;
use crate::stamp::Stamp;
use crate::writer::rename_into;
use crate::{Access, Digest, Store, StoreError};

/// The mark: the right of the owner to execute the file.
const MARK: u32 = 0o100;

impl Store {
    /// Opens an object for reading at any time and for mapping into memory: as
    /// long as it is open, nobody changes its bytes through a name outside the
    /// store. Where the object has such a name already, it is copied once (on
    /// some file systems: its blocks are shared).
    ///
    /// # Errors
    /// As [`open_object`](Self::open_object), or when the copy cannot be written.
    pub fn open_private(&self, digest: &Digest) -> Result<Object, StoreError> {
        let object = self.open_object(digest)?;
        let error = |source| StoreError::io("make private", object.path(), source);
        if self.is_read_only() || is_private(object.file()).map_err(error)? {
            return Ok(object);
        }
        let is_single = object.file().metadata().map_err(error)?.nlink() <= 1;
        if is_single && mark(object.file()).unwrap_or(false) {
            if object.file().metadata().map_err(error)?.nlink() <= 1 {
                return Ok(object);
            }
            // Somebody linked it meanwhile, and may not have seen the mark.
            let _ = change_mode(object.file(), |mode| mode & !MARK);
        }
        self.private_copy(&object)
    }

    /// Puts a copy into the object's place, or opens one without a name where files cannot be marked.
    fn private_copy(&self, object: &Object) -> Result<Object, StoreError> {
        let temp = self.temp_file()?;
        let error = |source| StoreError::writing("copy", object.path(), object.len(), source);
        let announced = self.accesses().before(Access::Write, temp.path());
        announced
            .and_then(|()| copy_into(object, temp.as_file()))
            .map_err(error)?;
        let copy = temp.reopen().map_err(error)?;
        let opened = object.copied_to(copy);
        // The other name may be written to at this moment.
        self.verify_copy(&opened)?;
        if mark(temp.as_file()).unwrap_or(false) {
            self.put_in_place(temp, &opened)?;
        }
        Ok(opened)
    }

    fn put_in_place(&self, temp: NamedTempFile, opened: &Object) -> Result<(), StoreError> {
        let metadata = temp
            .as_file()
            .metadata()
            .map_err(|error| StoreError::io("examine", temp.path(), error))?;
        rename_into(self.accesses(), temp, opened.path())?;
        self.set_verified(*opened.digest(), Stamp::of(&metadata));
        Ok(())
    }
}

/// Is this file for the store alone?
pub(crate) fn is_marked(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.mode() & MARK != 0)
}

fn is_private(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(metadata.mode() & MARK != 0 && metadata.nlink() <= 1)
}

/// Marks a file. False where the file system keeps no such mode.
fn mark(file: &File) -> io::Result<bool> {
    change_mode(file, |mode| mode | MARK)?;
    is_marked(file)
}

/// Leaves the rest of the mode as the user's umask made it.
fn change_mode(file: &File, change: impl FnOnce(u32) -> u32) -> io::Result<()> {
    let mode = file.metadata()?.mode() & 0o7777;
    file.set_permissions(Permissions::from_mode(change(mode)))
}
