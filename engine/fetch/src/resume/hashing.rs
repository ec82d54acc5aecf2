//! The digests of the bundle, computed while it arrives.
//!
//! A thread follows the pieces in order: as soon as the next one is written it is read back (from memory, as a rule,
//! because it was written just now), checked against the CRC-32 of what arrived, and added to BLAKE3 and MD5. When the
//! last piece is written, the digests are there a moment later. Pieces of an earlier process are checked in the same
//! way; one that is not what its record says is fetched again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use md5::{Digest as _, Md5};
use prep_cache::Digest;

/// What the pieces hold, as far as they are there. Shared with the thread.
#[derive(Debug)]
pub(crate) struct Written {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    crcs: Vec<Option<u32>>,
    stopped: bool,
}

/// The digests of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) digest: Digest,
    /// In hexadecimal.
    pub(crate) md5: String,
}

impl Written {
    pub(crate) fn new(pieces: usize) -> Arc<Written> {
        Arc::new(Written {
            state: Mutex::new(State {
                crcs: vec![None; pieces],
                stopped: false,
            }),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece was written.
    pub(crate) fn set(&self, piece: usize, crc: u32) {
        if let Some(place) = self.state().crcs.get_mut(piece) {
            *place = Some(crc);
        }
        self.changed.notify_all();
    }

    /// Nobody waits for the digests any more.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    /// Waits until a piece is written; `None` after [`stop`](Self::stop).
    fn wait_for(&self, piece: usize) -> Option<u32> {
        let mut state = self.state();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(crc) = state.crcs.get(piece).copied().flatten() {
                return Some(crc);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn forget(&self, piece: usize) {
        if let Some(place) = self.state().crcs.get_mut(piece) {
            *place = None;
        }
    }
}

/// Follows `written` through a file of `total` bytes in pieces of `size`. Calls `bad` with each piece that does not
/// hold what it should, and then waits for it anew. `None` when stopped.
pub(crate) fn follow(
    file: &File,
    total: u64,
    size: u64,
    written: &Written,
    bad: &dyn Fn(usize),
) -> std::io::Result<Option<Digests>> {
    let mut blake3 = blake3::Hasher::new();
    let mut md5 = Md5::new();
    let mut buffer = vec![0; usize::try_from(size.min(total)).unwrap_or(0)];
    let mut piece = 0;
    let mut offset = 0;
    while offset < total {
        let Some(expected) = written.wait_for(piece) else {
            return Ok(None);
        };
        let length = usize::try_from((total - offset).min(size)).unwrap_or(0);
        let part = buffer.get_mut(..length).unwrap_or_default();
        file.read_exact_at(part, offset)?;
        if crc32fast::hash(part) != expected {
            written.forget(piece);
            bad(piece);
            continue;
        }
        blake3.update(part);
        md5.update(part);
        offset += length as u64;
        piece += 1;
    }
    Ok(Some(Digests {
        digest: blake3.finalize().into(),
        md5: md5
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    }))
}
