//! Objects whose bytes do not come in their order.
//!
//! Where a file has to be read from front to back, and what is made of it is in another order, it is the object that is
//! written here and there. Its digest is known only when all of it is there, so it is read once more at the end.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use tempfile::NamedTempFile;

use crate::digest::next;
use crate::writer::{Hashes, PIECE};
use crate::{Store, StoreError, Stored};

/// An object being written, in which room may be left for bytes that come later. It enters the store with
/// [`commit`](Self::commit); dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct ScatteredWriter {
    store: Store,
    temp: NamedTempFile,
    /// The last bytes that were appended; not in the file yet.
    buffer: Vec<u8>,
    /// Bytes of the file, with the room that was left last.
    len: u64,
}

impl Store {
    /// Starts a new object whose bytes come in any order.
    ///
    /// # Errors
    /// When no file can be made in the store.
    pub fn scattered_writer(&self) -> Result<ScatteredWriter, StoreError> {
        Ok(ScatteredWriter {
            store: self.clone(),
            temp: self.temp_file()?,
            buffer: Vec::new(),
            len: 0,
        })
    }
}

impl ScatteredWriter {
    /// Leaves room for so many bytes at the end; returns where they belong. They are zeros until they are written.
    ///
    /// # Errors
    /// When what was appended before cannot be written.
    pub fn leave_room(&mut self, bytes: u64) -> Result<u64, StoreError> {
        self.write_buffer()?;
        let place = self.len;
        self.len += bytes;
        Ok(place)
    }

    /// Writes where room was left.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_at(&self, bytes: &[u8], place: u64) -> Result<(), StoreError> {
        let path = self.temp.path();
        let written = self.temp.as_file().write_all_at(bytes, place);
        written.map_err(|error| StoreError::writing("write", path, bytes.len() as u64, error))
    }

    fn write_buffer(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.write_at(&self.buffer, self.len)?;
        self.len += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Puts the object into the store, as [`ObjectWriter::commit`](crate::ObjectWriter::commit) does. `watch` is called
    /// while it is read for its digest, and may end that.
    ///
    /// # Errors
    /// When the last bytes cannot be written, the file cannot be read or renamed, or `watch` fails.
    pub fn commit(mut self, watch: &dyn Fn() -> io::Result<()>) -> Result<Stored, StoreError> {
        self.write_buffer()?;
        let path = self.temp.path();
        let error = |source| StoreError::io("read", path, source);
        // Room at the end that nothing was written to.
        self.temp.as_file().set_len(self.len).map_err(error)?;
        let mut file = self.temp.reopen().map_err(error)?;
        let mut hashes = Hashes::new(&self.store);
        let mut piece = vec![0; PIECE];
        loop {
            watch().map_err(error)?;
            let count = next(&mut file, &mut piece).map_err(error)?;
            if count == 0 {
                break;
            }
            hashes.update(piece.get(..count).unwrap_or_default());
        }
        let digest = hashes.finish(&self.store);
        self.store.enter(self.temp, digest)?;
        let len = self.len;
        Ok(Stored { digest, len })
    }
}

/// Appends. The I/O errors carry a [`StoreError`] inside.
impl Write for ScatteredWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.write_buffer().map_err(StoreError::into_io)?;
        }
        Ok(bytes.len())
    }

    /// Does nothing: what was written is sure only after [`commit`](ScatteredWriter::commit).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
