//! Writes objects whose bytes are not produced in order.
//!
//! Some inputs can only be read sequentially, while the object produced from them has a different order. Therefore the
//! writer accepts bytes at any offset. The digest can only be computed when all bytes are written, so the file is read
//! once more at the end.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use tempfile::NamedTempFile;

use crate::digest::next;
use crate::objects::writer::{CHUNK_BYTES, Hashes};
use crate::{Store, StoreError, Stored};

/// An object that is being written, in which ranges can be reserved and filled later. [`commit`](Self::commit) adds it
/// to the store. Dropping the writer discards it.
#[derive(Debug)]
pub struct ScatteredWriter {
    store: Store,
    temp: NamedTempFile,
    /// Appended bytes that are not in the file yet.
    buffer: Vec<u8>,
    /// Length of the file in bytes, including ranges that are reserved at its end.
    len: u64,
}

impl Store {
    /// Starts a new object whose bytes may be written in any order.
    ///
    /// # Errors
    /// If no file can be created in the store.
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
    /// Reserves `bytes` bytes at the end and returns their offset. They are zero until they are written.
    ///
    /// # Errors
    /// If previously appended bytes cannot be written.
    pub fn reserve(&mut self, bytes: u64) -> Result<u64, StoreError> {
        self.write_buffer()?;
        let offset = self.len;
        self.len += bytes;
        Ok(offset)
    }

    /// Writes `bytes` at `offset`, into a reserved range.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        let path = self.temp.path();
        let written = self.temp.as_file().write_all_at(bytes, offset);
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

    /// Adds the object to the store, like [`ObjectWriter::commit`](crate::ObjectWriter::commit). The file is read back
    /// for its digest. During this, `watch` is called repeatedly. An error of `watch` ends the commit.
    ///
    /// # Errors
    /// If the last bytes cannot be written, if the file cannot be read or renamed, or if `watch` fails.
    pub fn commit(mut self, watch: &dyn Fn() -> io::Result<()>) -> Result<Stored, StoreError> {
        self.write_buffer()?;
        let path = self.temp.path();
        let error = |source| StoreError::io("read", path, source);
        // The last reserved range may never have been written.
        self.temp.as_file().set_len(self.len).map_err(error)?;
        // The file is read-only, but `reopen` would also open it for writing.
        let mut file = File::open(path).map_err(error)?;
        let mut hashes = Hashes::new(&self.store);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            watch().map_err(error)?;
            let count = next(&mut file, &mut chunk).map_err(error)?;
            if count == 0 {
                break;
            }
            hashes.update(chunk.get(..count).unwrap_or_default());
        }
        let digest = hashes.finish(&self.store);
        self.store.add_object(self.temp, digest)?;
        let len = self.len;
        Ok(Stored { digest, len })
    }
}

/// Appends bytes. I/O errors contain a [`StoreError`].
impl Write for ScatteredWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.write_buffer().map_err(StoreError::into_io)?;
        }
        Ok(bytes.len())
    }

    /// Does nothing. Bytes are only certain to be written after [`commit`](ScatteredWriter::commit).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
