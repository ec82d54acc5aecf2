//! Putting objects into the store.
//!
//! The digest is that of the bytes handed to the file, computed while they
//! are written; nothing is hashed by reading it again. The file gets its
//! final name only when it is complete. Bytes that are not worth a file may be
//! written to memory instead.

use std::fs::Permissions;
use std::io::{self, Cursor, Seek, Write};
use std::os::unix::fs::PermissionsExt;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::consumer::Consumer;
use crate::layout::Bucket;
use crate::stamp::Stamp;
use crate::store::write_all;
use crate::{Buffer, Digest, Permit, Store, StoreError};

/// Small writes are gathered up to this many bytes: fewer system calls, and
/// BLAKE3 is fastest on long inputs. An object that has more is written on a
/// thread of its own.
pub(crate) const PIECE: usize = 512 * 1024;

/// Objects and the links to them are for everybody to read, nobody to write
/// (the user's umask may take more away).
pub(crate) const READ_ONLY: u32 = 0o444;

/// An object that is in the store now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub digest: Digest,
    /// Its length in bytes.
    pub len: u64,
}

/// An object being written. It enters the store with [`commit`](Self::commit);
/// dropped before that, it leaves nothing.
///
/// From half a megabyte on, bytes are hashed and written on another thread, if
/// one is free, while the next ones are made. An error may then be told by a later call than
/// the one whose bytes it met, at the latest by `commit`.
#[derive(Debug)]
pub struct ObjectWriter {
    store: Store,
    state: State,
    buffer: Vec<u8>,
    /// Bytes handed on; those in the buffer come on top.
    len: u64,
}

#[derive(Debug)]
enum State {
    Here(Box<Unfinished>),
    Behind(Consumer<Written>),
    /// A write failed, and its caller was told.
    Failed,
}

/// The bytes of an object so far, and the hash of them.
#[derive(Debug)]
pub(crate) struct Unfinished {
    store: Store,
    place: Place,
    hashes: Hashes,
}

#[derive(Debug)]
enum Place {
    File(NamedTempFile),
    Memory(Buffer),
}

impl Place {
    fn into_file(self, store: &Store) -> Result<NamedTempFile, StoreError> {
        match self {
            Place::File(temp) => Ok(temp),
            Place::Memory(buffer) => store.file_of(buffer.bytes()),
        }
    }
}

impl Unfinished {
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match &mut self.place {
            Place::File(temp) => self.store.append(temp, bytes)?,
            Place::Memory(buffer) => {
                if !buffer.push(bytes) {
                    let temp = self.store.file_of(buffer.bytes())?;
                    self.store.append(&temp, bytes)?;
                    self.place = Place::File(temp);
                }
            }
        }
        self.hashes.update(bytes);
        Ok(())
    }
}

/// The object with all its bytes, or why they could not be written.
type Written = Result<Box<Unfinished>, StoreError>;

/// Pieces on their way to the thread that hashes and writes a long object. More would only hold memory.
const PIECES: usize = 2;

/// Goes on with an object on another thread. Gives it back if there is none.
fn append_behind(
    unfinished: Box<Unfinished>,
    permit: Permit,
) -> Result<Consumer<Written>, Box<Unfinished>> {
    Consumer::start(unfinished, permit, PIECES, |mut unfinished, pieces| {
        pieces.each(|piece| unfinished.append(piece))?;
        Ok(unfinished)
    })
}

/// Waits until all is written.
fn written(behind: Consumer<Written>) -> Written {
    behind.finish().unwrap_or_else(|| {
        let source = io::Error::other("the writing thread panicked");
        Err(StoreError::io("write", "an object".as_ref(), source))
    })
}

/// Hashes of the bytes of an object so far.
#[derive(Debug)]
pub(crate) struct Hashes {
    blake3: blake3::Hasher,
    sha256: Option<Sha256>,
}

impl Hashes {
    pub(crate) fn new(store: &Store) -> Hashes {
        Hashes {
            blake3: blake3::Hasher::new(),
            sha256: store.with_sums.then(Sha256::new),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.blake3.update(bytes);
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
    }

    /// The digest; the SHA-256 is noted.
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
    /// When no file can be made in the store.
    pub fn writer(&self) -> Result<ObjectWriter, StoreError> {
        Ok(self.writer_to(Place::File(self.temp_file()?)))
    }

    /// Starts a new object in memory, which is to be ended with
    /// [`finish`](ObjectWriter::finish). What has no room there goes on in a
    /// file.
    pub fn writer_in_memory(&self, memory: Buffer) -> ObjectWriter {
        self.writer_to(Place::Memory(memory))
    }

    fn writer_to(&self, place: Place) -> ObjectWriter {
        let unfinished = Unfinished {
            store: self.clone(),
            place,
            hashes: Hashes::new(self),
        };
        ObjectWriter {
            store: self.clone(),
            state: State::Here(Box::new(unfinished)),
            buffer: Vec::new(),
            len: 0,
        }
    }

    fn append(&self, temp: &NamedTempFile, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(temp.as_file(), temp.path(), bytes)
    }

    /// A file in `tmp` that holds `bytes`.
    fn file_of(&self, bytes: &[u8]) -> Result<NamedTempFile, StoreError> {
        let temp = self.temp_file()?;
        self.append(&temp, bytes)?;
        Ok(temp)
    }

    /// Stores `bytes` as an object. Writes nothing if it is there already.
    ///
    /// # Errors
    /// When the object cannot be written.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        self.must_be_writable()?;
        let digest = Digest::of(bytes);
        if !self.has_verified(&digest)? {
            self.publish(self.file_of(bytes)?, digest)?;
        }
        Ok(digest)
    }

    /// A locked, read-only file in the store's `tmp`, removed when dropped.
    pub(crate) fn temp_file(&self) -> Result<NamedTempFile, StoreError> {
        self.must_be_writable()?;
        let dir = Bucket::Tmp.dir(self.root());
        let made = tempfile::Builder::new()
            .permissions(Permissions::from_mode(READ_ONLY))
            .tempfile_in(&dir);
        let temp = made.map_err(|error| StoreError::io("create a file in", &dir, error))?;
        // Tells the sweeper that the writer lives. Where there are no locks,
        // the sweeper goes by age.
        let _ = temp.as_file().try_lock();
        Ok(temp)
    }

    /// Whether the object is there *and* right. A damaged one is moved away,
    /// so that a good copy can take its place.
    fn has_verified(&self, digest: &Digest) -> Result<bool, StoreError> {
        match self.open_here(digest) {
            Ok(_) => Ok(true),
            Err(StoreError::Missing { .. } | StoreError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the complete file `temp` in, unless the object is there and right.
    pub(crate) fn enter(&self, temp: NamedTempFile, digest: Digest) -> Result<(), StoreError> {
        match self.has_verified(&digest)? {
            true => Ok(()),
            false => self.publish(temp, digest),
        }
    }

    /// Gives the complete file `temp` its name.
    fn publish(&self, temp: NamedTempFile, digest: Digest) -> Result<(), StoreError> {
        let path = self.object_path(&digest);
        let metadata = temp
            .as_file()
            .metadata()
            .map_err(|error| StoreError::io("examine", temp.path(), error))?;
        self.rename_into(temp, &path)?;
        self.set_verified(digest, Stamp::of(&metadata));
        Ok(())
    }
}

impl ObjectWriter {
    /// Bytes written so far.
    pub fn len(&self) -> u64 {
        self.len + self.buffer.len() as u64
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a whole buffer without copying it, and returns one whose bytes
    /// are written, if there is one, to be filled anew.
    ///
    /// # Errors
    /// As [`Write::write`].
    pub fn push(&mut self, piece: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        if !self.buffer.is_empty() {
            let buffer = std::mem::take(&mut self.buffer);
            self.hand_on(buffer).map_err(StoreError::into_io)?;
        }
        self.hand_on(piece).map_err(StoreError::into_io)
    }

    fn hand_on(&mut self, piece: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        self.len += piece.len() as u64;
        let mut behind = match std::mem::replace(&mut self.state, State::Failed) {
            State::Here(unfinished) => {
                let started = match self.store.thread() {
                    Some(permit) => append_behind(unfinished, permit),
                    None => Err(unfinished),
                };
                match started {
                    Ok(behind) => behind,
                    Err(mut unfinished) => {
                        unfinished.append(&piece)?;
                        self.state = State::Here(unfinished);
                        return Ok(Some(piece));
                    }
                }
            }
            State::Behind(behind) => behind,
            State::Failed => return Err(self.failed()),
        };
        if !behind.send(piece) {
            // It takes no more pieces: its error says why.
            return Err(written(behind).err().unwrap_or_else(|| self.failed()));
        }
        let spent = behind.spent();
        self.state = State::Behind(behind);
        Ok(spent)
    }

    fn failed(&self) -> StoreError {
        let source = io::Error::other("an earlier write to it failed");
        StoreError::io("commit", self.store.root(), source)
    }

    /// Puts the object into the store. If the store has it already, that one
    /// is verified and stays; a damaged one is replaced. After this call the
    /// object is in the store and its bytes are right.
    ///
    /// # Errors
    /// When the last bytes cannot be written or the file cannot be renamed,
    /// or when an earlier write failed.
    pub fn commit(self) -> Result<Stored, StoreError> {
        let (store, len) = (self.store.clone(), self.len());
        let (place, digest) = self.end()?;
        store.enter(place.into_file(&store)?, digest)?;
        Ok(Stored { digest, len })
    }

    /// Ends an object that was begun in memory: its bytes, if there was room
    /// for all of them. Otherwise it is in the store, as after
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// As those of `commit`.
    pub fn finish(self) -> Result<(Stored, Option<Buffer>), StoreError> {
        let (store, len) = (self.store.clone(), self.len());
        let (place, digest) = self.end()?;
        let object = Stored { digest, len };
        match place {
            Place::Memory(memory) => Ok((object, Some(memory))),
            Place::File(temp) => {
                store.enter(temp, digest)?;
                Ok((object, None))
            }
        }
    }

    /// Puts the object into the store if it is the one of this name; `false` if it is another.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_as(self, digest: &Digest) -> Result<bool, StoreError> {
        let store = self.store.clone();
        let (place, found) = self.end()?;
        let is_right = found == *digest;
        if is_right {
            store.publish(place.into_file(&store)?, found)?;
        }
        Ok(is_right)
    }

    /// What was written, from its beginning, for one who wants no object of it after all. It takes disk, or memory, until
    /// the reader is dropped.
    ///
    /// # Errors
    /// When the last bytes cannot be written, or when an earlier write failed.
    pub fn read_back(self) -> Result<Box<dyn io::Read>, StoreError> {
        let mut temp = match self.end()?.0 {
            Place::File(temp) => temp,
            Place::Memory(memory) => return Ok(Box::new(Cursor::new(memory))),
        };
        let rewound = temp.rewind();
        rewound.map_err(|error| StoreError::io("read", temp.path(), error))?;
        Ok(Box::new(temp))
    }

    /// All bytes, and what they hash to.
    fn end(mut self) -> Result<(Place, Digest), StoreError> {
        let mut unfinished = match std::mem::replace(&mut self.state, State::Failed) {
            State::Here(unfinished) => unfinished,
            State::Behind(behind) => written(behind)?,
            State::Failed => return Err(self.failed()),
        };
        unfinished.append(&self.buffer)?;
        let Unfinished { place, hashes, .. } = *unfinished;
        Ok((place, hashes.finish(&self.store)))
    }
}

/// The I/O errors carry a [`StoreError`] inside.
impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE.saturating_sub(self.buffer.len());
        let count = bytes.len().min(room);
        self.buffer
            .extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.buffer.len() >= PIECE {
            let piece = std::mem::take(&mut self.buffer);
            let spent = self.hand_on(piece).map_err(StoreError::into_io)?;
            self.buffer = spent.unwrap_or_else(|| Vec::with_capacity(PIECE));
            self.buffer.clear();
        }
        Ok(count)
    }

    /// Does nothing: what was written is sure only after [`commit`](ObjectWriter::commit).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
