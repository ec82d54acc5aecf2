//! Writes objects.
//!
//! Bytes are hashed while they are written. Therefore the file need not be read again. A small object can be written to
//! memory instead of a file.
//!
//! [`ScatteredWriter`] accepts bytes at any offset. It reads its file at the end to compute the digest.

use std::fs::{File, Permissions};
use std::io;
use std::io::{Cursor, Seek, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::digest::read_chunk;
use crate::layout::Bucket;
use crate::store::write_all;
use crate::system::machine::Stamp;
use crate::system::threads::Consumer;
use crate::{Buffer, Digest, Permit, Store, StoreError};

/// A writer collects this number of bytes before it hashes and writes them. For an object that is longer than this, a
/// separate thread hashes and writes if one is free.
pub(crate) const CHUNK_BYTES: usize = 512 * 1024;

/// Mode of objects and published files: readable for all users, writable for none. The umask may remove permissions.
pub(crate) const READ_ONLY: u32 = 0o444;

/// An object of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Digest of the object.
    pub digest: Digest,
    /// Length in bytes.
    pub len: u64,
}

/// An object that is being written. [`commit`](Self::commit) adds it to the store. Dropping the writer discards it.
///
/// After the first half megabyte, another thread hashes and writes the bytes, if a thread is free. Therefore a later call,
/// at the latest `commit`, may return the error of a write.
#[derive(Debug)]
pub struct ObjectWriter {
    store: Store,
    state: WriterState,
    buffer: Vec<u8>,
    /// Number of bytes that were passed on to be hashed and written, excluding those in `buffer`.
    len: u64,
}

#[derive(Debug)]
enum WriterState {
    Inline(Box<PartialObject>),
    OnThread(Consumer<WriteResult>),
    /// A write failed, and its error was returned.
    Failed,
}

#[derive(Debug)]
pub(crate) struct PartialObject {
    store: Store,
    destination: Destination,
    hashes: Hashes,
}

#[derive(Debug)]
enum Destination {
    File(NamedTempFile),
    Memory(Buffer),
}

impl Destination {
    fn into_file(self, store: &Store) -> Result<NamedTempFile, StoreError> {
        match self {
            Destination::File(temp) => Ok(temp),
            Destination::Memory(buffer) => store.file_of(buffer.bytes()),
        }
    }
}

impl PartialObject {
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match &mut self.destination {
            Destination::File(temp) => self.store.append(temp, bytes)?,
            Destination::Memory(buffer) => {
                if !buffer.push(bytes) {
                    let temp = self.store.file_of(buffer.bytes())?;
                    self.store.append(&temp, bytes)?;
                    self.destination = Destination::File(temp);
                }
            }
        }
        self.hashes.update(bytes);
        Ok(())
    }
}

type WriteResult = Result<Box<PartialObject>, StoreError>;

/// Maximum number of chunks that wait for the writing thread. A longer queue would not make this thread faster.
const MAX_QUEUED_CHUNKS: usize = 2;

/// Continues writing an object on another thread. If the system cannot start a thread, returns `unfinished` as the
/// error.
fn append_on_thread(
    unfinished: Box<PartialObject>,
    permit: Permit,
) -> Result<Consumer<WriteResult>, Box<PartialObject>> {
    Consumer::start(
        unfinished,
        permit,
        MAX_QUEUED_CHUNKS,
        |mut unfinished, chunks| {
            chunks.for_each(|chunk| unfinished.append(chunk))?;
            Ok(unfinished)
        },
    )
}

fn wait_until_written(consumer: Consumer<WriteResult>) -> WriteResult {
    consumer.finish().unwrap_or_else(|| {
        let source = io::Error::other("the writing thread panicked");
        Err(StoreError::io("write", "an object".as_ref(), source))
    })
}

/// The BLAKE3 hash of an object, and its SHA-256 if the store's writers compute it.
#[derive(Debug)]
pub(crate) struct Hashes {
    blake3: blake3::Hasher,
    sha256: Option<Sha256>,
}

impl Hashes {
    pub(crate) fn new(store: &Store) -> Hashes {
        Hashes {
            blake3: blake3::Hasher::new(),
            sha256: store.with_sha256.then(Sha256::new),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.blake3.update(bytes);
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
    }

    pub(crate) fn finish(self, store: &Store) -> Digest {
        let digest = Digest::from(self.blake3.finalize());
        if let Some(sha256) = self.sha256 {
            store.set_sha256(digest, sha256.finalize().into());
        }
        digest
    }
}

impl Store {
    /// Starts a new object.
    ///
    /// # Errors
    /// If no file can be created in the store.
    pub fn writer(&self) -> Result<ObjectWriter, StoreError> {
        Ok(self.writer_to(Destination::File(self.temp_file()?)))
    }

    /// Starts a new object in the buffer `memory`. End it with [`finish`](ObjectWriter::finish).
    ///
    /// An object that becomes longer than the buffer moves to a file.
    pub fn writer_in_memory(&self, memory: Buffer) -> ObjectWriter {
        self.writer_to(Destination::Memory(memory))
    }

    fn writer_to(&self, destination: Destination) -> ObjectWriter {
        let unfinished = PartialObject {
            store: self.clone(),
            destination,
            hashes: Hashes::new(self),
        };
        ObjectWriter {
            store: self.clone(),
            state: WriterState::Inline(Box::new(unfinished)),
            buffer: Vec::new(),
            len: 0,
        }
    }

    fn append(&self, temp: &NamedTempFile, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(temp.as_file(), temp.path(), bytes)
    }

    /// Returns a temporary file that contains `bytes`.
    fn file_of(&self, bytes: &[u8]) -> Result<NamedTempFile, StoreError> {
        let temp = self.temp_file()?;
        self.append(&temp, bytes)?;
        Ok(temp)
    }

    /// Stores `bytes` as an object, unless it exists already.
    ///
    /// # Errors
    /// If the object cannot be written.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        self.must_be_writable()?;
        let digest = Digest::of_bytes(bytes);
        if !self.has_verified(&digest)? {
            self.install(self.file_of(bytes)?, digest)?;
        }
        Ok(digest)
    }

    /// Creates a locked, read-only file among the store's temporary files. Dropping the handle removes the file.
    pub(crate) fn temp_file(&self) -> Result<NamedTempFile, StoreError> {
        self.must_be_writable()?;
        let dir = Bucket::Tmp.dir(self.root());
        let created = tempfile::Builder::new()
            .permissions(Permissions::from_mode(READ_ONLY))
            .tempfile_in(&dir);
        let temp = created.map_err(|error| StoreError::io("create a file in", &dir, error))?;
        // Other processes do not remove a locked file. Without locks, they remove it after a day.
        let _ = temp.as_file().try_lock();
        Ok(temp)
    }

    /// Returns whether the object exists *and* is intact. A damaged object moves to quarantine.
    fn has_verified(&self, digest: &Digest) -> Result<bool, StoreError> {
        match self.open_here(digest) {
            Ok(_) => Ok(true),
            Err(StoreError::Missing { .. } | StoreError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds the object in the file `temp`, unless the store has an intact file of the same object.
    pub(crate) fn add_object(&self, temp: NamedTempFile, digest: Digest) -> Result<(), StoreError> {
        match self.has_verified(&digest)? {
            true => Ok(()),
            false => self.install(temp, digest),
        }
    }

    /// Renames `temp` to the path of the object `digest`, and marks the object as verified. The caller must have computed
    /// `digest` from the bytes in `temp`.
    pub(crate) fn install(&self, temp: NamedTempFile, digest: Digest) -> Result<(), StoreError> {
        let path = self.object_path(&digest);
        let metadata = temp
            .as_file()
            .metadata()
            .map_err(|error| StoreError::io("examine", temp.path(), error))?;
        self.rename_into(temp, &path)?;
        self.set_verified(digest, Stamp::from_metadata(&metadata));
        Ok(())
    }
}

impl ObjectWriter {
    /// Returns the number of bytes written so far.
    pub fn len(&self) -> u64 {
        self.len + self.buffer.len() as u64
    }

    /// Returns whether no byte has been written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all bytes of `chunk` without copying them. If an old buffer is available for reuse, returns it. The returned
    /// buffer still contains bytes of earlier chunks.
    ///
    /// # Errors
    /// Same as for [`Write::write`].
    pub fn push(&mut self, chunk: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if !self.buffer.is_empty() {
            let buffer = std::mem::take(&mut self.buffer);
            self.pass_on(buffer).map_err(StoreError::into_io)?;
        }
        self.pass_on(chunk).map_err(StoreError::into_io)
    }

    /// Hashes and writes `chunk`, on another thread if one is free. Returns a buffer for reuse, if there is one.
    fn pass_on(&mut self, chunk: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        self.len += chunk.len() as u64;
        let mut consumer = match std::mem::replace(&mut self.state, WriterState::Failed) {
            WriterState::Inline(unfinished) => {
                let started = match self.store.thread() {
                    Some(permit) => append_on_thread(unfinished, permit),
                    None => Err(unfinished),
                };
                match started {
                    Ok(consumer) => consumer,
                    Err(mut unfinished) => {
                        unfinished.append(&chunk)?;
                        self.state = WriterState::Inline(unfinished);
                        return Ok(Some(chunk));
                    }
                }
            }
            WriterState::OnThread(consumer) => consumer,
            WriterState::Failed => return Err(self.failed()),
        };
        if !consumer.send(chunk) {
            // The thread failed, so it accepts no more chunks.
            return Err(wait_until_written(consumer)
                .err()
                .unwrap_or_else(|| self.failed()));
        }
        let recycled = consumer.recycled();
        self.state = WriterState::OnThread(consumer);
        Ok(recycled)
    }

    fn failed(&self) -> StoreError {
        let source = io::Error::other("an earlier write of this object failed");
        StoreError::io("commit", self.store.root(), source)
    }

    /// Adds the object to the store. An intact file of the same object is kept, and a damaged one is replaced.
    ///
    /// # Errors
    /// If the object cannot be written, or if an earlier write failed.
    pub fn commit(self) -> Result<Stored, StoreError> {
        let (store, len) = (self.store.clone(), self.len());
        let (destination, digest) = self.end()?;
        store.add_object(destination.into_file(&store)?, digest)?;
        Ok(Stored { digest, len })
    }

    /// Ends an object in memory. Returns the bytes of the object, or adds the object to the store if the buffer was too
    /// small.
    ///
    /// # Errors
    /// Same as for [`commit`](Self::commit).
    pub fn finish(self) -> Result<(Stored, Option<Buffer>), StoreError> {
        let (store, len) = (self.store.clone(), self.len());
        let (destination, digest) = self.end()?;
        let object = Stored { digest, len };
        match destination {
            Destination::Memory(memory) => Ok((object, Some(memory))),
            Destination::File(temp) => {
                store.add_object(temp, digest)?;
                Ok((object, None))
            }
        }
    }

    /// Adds the object to the store and returns `true` if its digest is `digest`. Otherwise discards the object and returns
    /// `false`.
    ///
    /// # Errors
    /// Same as for [`commit`](Self::commit).
    pub fn commit_as(self, digest: &Digest) -> Result<bool, StoreError> {
        let store = self.store.clone();
        let (destination, found) = self.end()?;
        let is_right = found == *digest;
        if is_right {
            store.install(destination.into_file(&store)?, found)?;
        }
        Ok(is_right)
    }

    /// Returns a reader over the bytes written so far, for callers that do not need an object after all.
    ///
    /// # Errors
    /// If the last bytes cannot be written, or if an earlier write failed.
    pub fn read_back(self) -> Result<Box<dyn io::Read>, StoreError> {
        let mut temp = match self.end()?.0 {
            Destination::File(temp) => temp,
            Destination::Memory(memory) => return Ok(Box::new(Cursor::new(memory))),
        };
        let rewound = temp.rewind();
        rewound.map_err(|error| StoreError::io("read", temp.path(), error))?;
        Ok(Box::new(temp))
    }

    /// Writes the last bytes. Returns the file or buffer with all bytes, and their digest.
    fn end(mut self) -> Result<(Destination, Digest), StoreError> {
        let mut unfinished = match std::mem::replace(&mut self.state, WriterState::Failed) {
            WriterState::Inline(unfinished) => unfinished,
            WriterState::OnThread(consumer) => wait_until_written(consumer)?,
            WriterState::Failed => return Err(self.failed()),
        };
        unfinished.append(&self.buffer)?;
        let PartialObject {
            destination,
            hashes,
            ..
        } = *unfinished;
        Ok((destination, hashes.finish(&self.store)))
    }
}

/// The returned I/O errors contain a [`StoreError`].
impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = CHUNK_BYTES.saturating_sub(self.buffer.len());
        let count = bytes.len().min(room);
        self.buffer
            .extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.buffer.len() >= CHUNK_BYTES {
            let chunk = std::mem::take(&mut self.buffer);
            let recycled = self.pass_on(chunk).map_err(StoreError::into_io)?;
            self.buffer = recycled.unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES));
            self.buffer.clear();
        }
        Ok(count)
    }

    /// Does nothing. Only [`commit`](ObjectWriter::commit) ensures that bytes are written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An object that is being written, in which ranges can be reserved and filled later.
///
/// [`commit`](Self::commit) adds it to the store. Dropping the writer discards it.
#[derive(Debug)]
pub struct ScatteredWriter {
    store: Store,
    temp: NamedTempFile,
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
    /// Reserves `bytes` zero bytes at the end of the object and returns their offset.
    ///
    /// # Errors
    /// If previously appended bytes cannot be written.
    pub fn reserve(&mut self, bytes: u64) -> Result<u64, StoreError> {
        self.write_buffer()?;
        let offset = self.len;
        self.len += bytes;
        Ok(offset)
    }

    /// Writes `bytes` at `offset`, which must be inside a reserved range.
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

    /// Adds the object to the store. Reads the file back to compute its digest, and calls `watch` before each read.
    ///
    /// # Errors
    /// If the file cannot be written, read or renamed, or if `watch` fails.
    pub fn commit(mut self, watch: &dyn Fn() -> io::Result<()>) -> Result<Stored, StoreError> {
        self.write_buffer()?;
        let path = self.temp.path();
        let error = |source| StoreError::io("read", path, source);
        // If the last reserved range was never written, the file is shorter than the object.
        self.temp.as_file().set_len(self.len).map_err(error)?;
        // `reopen` would also open the read-only file for writing.
        let mut file = File::open(path).map_err(error)?;
        let mut hashes = Hashes::new(&self.store);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            watch().map_err(error)?;
            let count = read_chunk(&mut file, &mut chunk).map_err(error)?;
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

/// Appends bytes. The returned I/O errors contain a [`StoreError`].
impl Write for ScatteredWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.write_buffer().map_err(StoreError::into_io)?;
        }
        Ok(bytes.len())
    }

    /// Does nothing. Only [`commit`](ScatteredWriter::commit) ensures that bytes are written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
