//! The partial file of a download (`ID.zip.partial`), and the digests of this file. The downloading process holds a lock on
//! the file, and renames the file when the download is complete.
//!
//! The file and its final name are flushed to disk, so after a power failure the file is either complete or missing.
//! The outputs of a pipeline are not flushed, because computing them again is usually faster than a download.
//!
//! Pieces are added to the digests in the order of their offsets. Each piece is first read back, usually from the page
//! cache, and verified against the CRC-32 of the received bytes. Pieces that an earlier process wrote are also verified. A
//! piece that does not match its CRC-32 is fetched again.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use md5::{Digest as _, Md5};
use parking_lot::Mutex;
use prep_cache::{Digest, LockGuard, hex, is_file_at};

use crate::error::FetchError;
use crate::resume::pieces::{Map, MapContent, Pieces, max_bytes};
use crate::wire::identity::Identity;

#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
    pub(crate) map: PathBuf,
    target: PathBuf,
    lock: Mutex<Option<LockGuard>>,
}

#[derive(Debug)]
pub(crate) enum LockOutcome {
    /// This process holds the lock.
    Ours(Partial),
    /// Another process holds the lock.
    Busy,
    /// The final file exists.
    Complete,
}

pub(crate) fn with_suffix(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Partial {
    /// Locks the partial file of `target`, unless `target` exists or another process holds the lock.
    pub(crate) fn try_lock(target: &Path) -> Result<LockOutcome, FetchError> {
        if target.exists() {
            return Ok(LockOutcome::Complete);
        }
        let path = with_suffix(target, ".partial");
        let error = |action| {
            let path = path.clone();
            move |cause| FetchError::io(action, &path, cause)
        };
        if let Some(directory) = target.parent() {
            prep_cache::create_directory(directory).map_err(error("create the directory of"))?;
        }
        let Some(lock) = prep_cache::try_lock_data(&path)? else {
            return Ok(LockOutcome::Busy);
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(error("open"))?;
        // Another process may have renamed the file before this process locked it.
        if !is_file_at(&file, &path).map_err(error("examine"))? {
            return Ok(LockOutcome::Busy);
        }
        if target.exists() {
            std::fs::remove_file(&path).map_err(error("remove"))?;
            return Ok(LockOutcome::Complete);
        }
        Ok(LockOutcome::Ours(Partial {
            map: with_suffix(target, ".partial.map"),
            file: Arc::new(file),
            lock: Mutex::new(Some(lock)),
            path,
            target: target.to_path_buf(),
        }))
    }

    /// Renames the partial file to its final name, removes its map, and releases the lock.
    pub(crate) fn finish(&self) -> Result<Arc<File>, FetchError> {
        self.check_lock()?;
        commit(&self.file, &self.path, &self.target)?;
        let _ = std::fs::remove_file(&self.map);
        self.unlock();
        Ok(Arc::clone(&self.file))
    }

    /// Returns an error if another process took over the lock because it saw no heartbeat of this process.
    pub(crate) fn check_lock(&self) -> Result<(), FetchError> {
        match &*self.lock.lock() {
            Some(lock) => Ok(lock.check()?),
            None => Ok(()),
        }
    }

    pub(crate) fn remove(&self) -> Result<(), FetchError> {
        self.clear()?;
        std::fs::remove_file(&self.path)
            .map_err(|cause| FetchError::io("remove", &self.path, cause))?;
        self.unlock();
        Ok(())
    }

    /// Removes the file if it is empty, because the download failed before the first byte.
    pub(crate) fn remove_if_empty(&self) -> Result<(), FetchError> {
        let examined = self.file.metadata();
        let bytes = examined.map_err(|cause| FetchError::io("examine", &self.path, cause))?;
        match bytes.len() {
            0 => self.remove(),
            _ => Ok(()),
        }
    }

    fn unlock(&self) {
        *self.lock.lock() = None;
    }

    /// Discards the content. The file remains and stays locked.
    pub(crate) fn clear(&self) -> Result<(), FetchError> {
        self.check_lock()?;
        match std::fs::remove_file(&self.map) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(FetchError::io("remove", &self.map, cause));
            }
            _ => {}
        }
        self.file
            .set_len(0)
            .map_err(|cause| FetchError::io("empty", &self.path, cause))
    }

    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), FetchError> {
        self.check_lock()?;
        self.file
            .write_all_at(bytes, offset)
            .map_err(|cause| FetchError::io("write", &self.path, cause))
    }
}

/// The file to download, and the ranges of it that are required.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Digest of the address of the file.
    pub(crate) source: Digest,
    /// `None` requires the entire file.
    pub(crate) ranges: Option<&'a [Range<u64>]>,
}

impl Wanted<'_> {
    fn pieces(&self, total: u64, size: u64) -> Pieces {
        let mut pieces = Pieces::new(total, size);
        if let Some(ranges) = self.ranges {
            pieces.restrict(ranges);
        }
        pieces
    }
}

/// The state of a download: its piece map, and the pieces that exist and that are missing.
pub(crate) struct State {
    pub(crate) map: Map,
    pub(crate) pieces: Pieces,
    /// Length of a piece in bytes.
    pub(crate) size: u64,
    /// Index and CRC-32 of each existing piece.
    pub(crate) records: Vec<(u32, u32)>,
}

/// Returns the object and the state of an earlier session. Returns `None` if the piece map is missing or belongs to another
/// address, or if the partial file has the wrong length. Also returns `None` if the object has no strong validator, because
/// the server then cannot confirm that the object is unchanged.
pub(crate) fn load(
    partial: &Partial,
    wanted: Wanted<'_>,
) -> Result<Option<(Identity, State)>, FetchError> {
    let error = |cause| FetchError::io("read", &partial.map, cause);
    let Some((map, known)) = Map::open(&partial.map).map_err(error)? else {
        return Ok(None);
    };
    let length = partial
        .file
        .metadata()
        .map_err(|cause| FetchError::io("examine", &partial.path, cause))?
        .len();
    let MapContent {
        source,
        object,
        piece: size,
        records,
    } = known;
    let total = object.total;
    let is_usable = source == wanted.source
        && length == total
        && total <= max_bytes(size)
        && object.can_be_verified();
    if !is_usable {
        return Ok(None);
    }
    let mut pieces = wanted.pieces(total, size);
    for (piece, _) in &records {
        pieces.set_done(usize::try_from(*piece).unwrap_or(usize::MAX));
    }
    let state = State {
        map,
        pieces,
        size,
        records,
    };
    Ok(Some((object, state)))
}

/// Discards the content of the partial file, gives the file the length of `object`, and creates an empty piece map. `piece`
/// is the length of a piece in bytes.
pub(crate) fn begin(
    partial: &Partial,
    wanted: Wanted<'_>,
    object: &Identity,
    piece: u64,
) -> Result<State, FetchError> {
    partial.clear()?;
    partial
        .file
        .set_len(object.total)
        .map_err(|cause| FetchError::io("enlarge", &partial.path, cause))?;
    let size = piece.max(1);
    let map = Map::create(&partial.map, wanted.source, object, size)
        .map_err(|cause| FetchError::io("write", &partial.map, cause))?;
    Ok(State {
        pieces: wanted.pieces(object.total, size),
        size,
        records: Vec::new(),
        map,
    })
}

/// Flushes `file`, the open file at `from`, and renames it to `to` in the same directory.
pub(crate) fn commit(file: &File, from: &Path, to: &Path) -> Result<(), FetchError> {
    let error = |action, path: &Path| {
        let path = path.to_path_buf();
        move |cause| FetchError::io(action, &path, cause)
    };
    file.sync_data().map_err(error("flush", from))?;
    fs::rename(from, to).map_err(error("rename", from))?;
    let Some(directory) = to.parent() else {
        return Ok(());
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(error("flush", directory))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) digest: Digest,
    pub(crate) md5: String,
}

#[derive(Debug)]
pub(crate) enum DigestProgress {
    Digests(Digests),
    /// The piece with this index does not match its CRC-32, so it must be fetched again.
    Bad(usize),
}

/// Computes the digests of a file. Each call processes at most one piece, so it returns soon.
#[derive(Debug)]
pub(crate) struct Digester {
    file: Arc<File>,
    total: u64,
    /// Length of a piece in bytes.
    size: u64,
    /// The CRC-32 of each written piece.
    crcs: Vec<Option<u32>>,
    /// Index and offset of the next piece to add to the digests.
    piece: usize,
    offset: u64,
    blake3: blake3::Hasher,
    md5: Md5,
    buffer: Vec<u8>,
}

impl Digester {
    /// Creates a digester for a file of `total` bytes. `records` contains the index and the CRC-32 of each existing piece.
    pub(crate) fn new(file: Arc<File>, total: u64, size: u64, records: &[(u32, u32)]) -> Digester {
        let pieces = usize::try_from(total.div_ceil(size)).unwrap_or(usize::MAX);
        let mut digester = Digester {
            file,
            total,
            size,
            crcs: vec![None; pieces],
            piece: 0,
            offset: 0,
            blake3: blake3::Hasher::new(),
            md5: Md5::new(),
            buffer: vec![0; usize::try_from(size.min(total)).unwrap_or(0)],
        };
        for (piece, crc) in records {
            digester.add_piece(usize::try_from(*piece).unwrap_or(usize::MAX), *crc);
        }
        digester
    }

    pub(crate) fn add_piece(&mut self, piece: usize, crc: u32) {
        if let Some(place) = self.crcs.get_mut(piece) {
            *place = Some(crc);
        }
    }

    /// Returns whether the next piece is on disk, or all pieces are processed.
    pub(crate) fn is_ready(&self) -> bool {
        self.offset >= self.total || self.crcs.get(self.piece).is_some_and(Option::is_some)
    }

    /// Adds the next piece to the digests, if it is on disk. Returns the digests after the last piece, and `None` before.
    pub(crate) fn process_next_piece(&mut self) -> io::Result<Option<DigestProgress>> {
        if let Some(crc) = self.crcs.get_mut(self.piece)
            && let Some(expected) = *crc
        {
            let left = self.total.saturating_sub(self.offset);
            let length = usize::try_from(left.min(self.size)).unwrap_or(0);
            let part = self.buffer.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(part, self.offset)?;
            if crc32fast::hash(part) != expected {
                *crc = None;
                return Ok(Some(DigestProgress::Bad(self.piece)));
            }
            self.blake3.update(part);
            self.md5.update(part);
            self.offset += length as u64;
            self.piece += 1;
        }
        let is_whole = self.offset >= self.total;
        Ok(is_whole.then(|| {
            DigestProgress::Digests(Digests {
                digest: self.blake3.finalize().into(),
                md5: hex(&self.md5.clone().finalize()),
            })
        }))
    }
}
