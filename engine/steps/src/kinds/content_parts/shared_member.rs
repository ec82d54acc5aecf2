//! A compressed member that is inflated only once, while several steps read it sequentially.
//!
//! A *window* keeps the inflated bytes until every reader has passed them. The reader that needs bytes after the window
//! inflates the next chunk, while the other readers copy from the window. If a thread is free, this thread inflates chunks
//! before a reader needs them.
//!
//! If the window is full, the fastest reader waits for the slowest one, but at most [`MAX_WAIT`]. A reader without progress
//! during this time is excluded, and inflates the member by itself. Therefore memory is bounded, and no reader waits
//! forever.
//!
//! A reader that starts late inflates by itself until it reaches the window.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::value::{CHUNK_BYTES, Chunks};

/// The window contains at most this number of chunks (6 MiB). The thread that inflates ahead has a few more chunks.
const WINDOW_CHUNKS: usize = (6 << 20) / CHUNK_BYTES;

/// At most this number of unused buffers is kept for the next chunks. Other unused buffers are freed.
const MAX_SPARE_CHUNKS: usize = 4;

/// Time without progress after which a reader is excluded. It is long because an excluded reader must inflate the member
/// from its beginning. Also, the system can suspend a thread for some tenths of a second if the processors are busy.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A new reader can join if the window begins at this offset of the member, in bytes, or before. The other readers wait
/// while the new reader inflates the bytes before the window. If the window begins later, the new reader inflates the
/// entire member by itself.
const MAX_LATE_BYTES: u64 = 128 << 20;

pub(super) type SequentialReader = Box<dyn Read + Send>;

pub(super) struct SharedMember {
    state: Mutex<SharedState>,
    /// Signals that a reader advanced or ended, or that a chunk was inflated.
    moved: Condvar,
}

struct SharedState {
    source: ChunkSource,
    /// The inflated chunks, from offset `start` to offset `end` of the member.
    window: VecDeque<Vec<u8>>,
    start: u64,
    end: u64,
    /// Buffers of chunks that have left the window, for reuse.
    spare: Vec<Vec<u8>>,
    /// For each reader that uses the window, by the reader's number: the offset from which it needs bytes.
    offsets: BTreeMap<u64, u64>,
    /// The number of the newest reader. Readers are numbered from 1.
    last_number: u64,
    /// Number of readers that wait for `moved`.
    waiting: usize,
}

enum ChunkSource {
    Available(Chunks<SequentialReader>),
    /// A reader has taken the source to get the next chunk. Other readers that need this chunk wait.
    Taken,
    /// The member ended, or decoding failed. A reader that needs more bytes then decodes the member with its own decoder,
    /// which returns the end or the error.
    Ended,
}

impl SharedMember {
    pub(super) fn new(chunks: Chunks<SequentialReader>) -> SharedMember {
        SharedMember {
            state: Mutex::new(SharedState {
                source: ChunkSource::Available(chunks),
                window: VecDeque::new(),
                start: 0,
                end: 0,
                spare: Vec::new(),
                offsets: BTreeMap::new(),
                last_number: 0,
                waiting: 0,
            }),
            moved: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock()
    }

    /// Waits for the signal `moved`, at most [`MAX_WAIT`]. Returns true if this time passed without a signal.
    fn wait(&self, state: &mut MutexGuard<'_, SharedState>) -> bool {
        state.waiting += 1;
        let waited = self.moved.wait_for(state, MAX_WAIT);
        state.waiting -= 1;
        waited.timed_out()
    }

    /// Wakes the readers that wait for `moved`. Avoids the system call if no reader waits.
    fn wake_readers(&self, state: &SharedState) {
        if state.waiting > 0 {
            self.moved.notify_all();
        }
    }

    /// Inflates the next chunk, without the lock of `state`.
    fn advance<'s>(
        &'s self,
        mut state: MutexGuard<'s, SharedState>,
        mut chunks: Chunks<SequentialReader>,
    ) -> MutexGuard<'s, SharedState> {
        let recycled = state.spare.pop().unwrap_or_default();
        drop(state);
        let mut guard = InflateGuard {
            shared: self,
            source: ChunkSource::Ended,
        };
        if let Ok(chunk) = chunks.next(recycled)
            && !chunk.is_empty()
        {
            let mut state = self.state();
            state.end += chunk.len() as u64;
            state.window.push_back(chunk);
            guard.source = ChunkSource::Available(chunks);
        }
        drop(guard);
        self.state()
    }
}

/// When dropped, makes `source` available to all readers and wakes them, even if the decoder panics.
struct InflateGuard<'t> {
    shared: &'t SharedMember,
    source: ChunkSource,
}

impl Drop for InflateGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.source = mem::replace(&mut self.source, ChunkSource::Ended);
        self.shared.wake_readers(&state);
    }
}

impl SharedState {
    /// Removes chunks that every reader has passed from the window.
    fn evict(&mut self) {
        let slowest = self.offsets.values().min().copied().unwrap_or(self.end);
        while let Some(chunk) = self.window.front() {
            let end = self.start + chunk.len() as u64;
            if end > slowest {
                break;
            }
            self.start = end;
            let chunk = self.window.pop_front();
            if self.spare.len() < MAX_SPARE_CHUNKS {
                self.spare.extend(chunk);
            }
        }
    }

    /// Appends `bytes` bytes at offset `at` of the member to `out`. They must be in the window.
    fn copy(&self, at: u64, bytes: u64, out: &mut Vec<u8>) {
        let mut begin = self.start;
        for chunk in &self.window {
            let end = begin + chunk.len() as u64;
            if end > at && begin < at + bytes {
                let from = at.saturating_sub(begin) as usize;
                let to = (at + bytes - begin).min(chunk.len() as u64) as usize;
                out.extend_from_slice(chunk.get(from..to).unwrap_or_default());
            }
            begin = end;
        }
    }

    /// Returns the number and the offset of the reader that needs the earliest bytes.
    fn slowest_reader(&self) -> Option<(u64, u64)> {
        let slowest = self.offsets.iter().min_by_key(|(_, offset)| **offset);
        slowest.map(|(number, offset)| (*number, *offset))
    }
}

pub(super) struct SharedReader {
    shared: Arc<SharedMember>,
    number: u64,
    /// Everything before this offset has been read or skipped.
    pub reached: u64,
    /// The reader's own decoder and its offset, if it inflates by itself.
    alone: Option<(SequentialReader, u64)>,
}

impl SharedReader {
    pub(super) fn new(shared: Arc<SharedMember>) -> SharedReader {
        let mut state = shared.state();
        state.last_number += 1;
        let number = state.last_number;
        if state.start <= MAX_LATE_BYTES {
            state.offsets.insert(number, 0);
        }
        drop(state);
        SharedReader {
            shared,
            number,
            reached: 0,
            alone: None,
        }
    }

    /// Reads `bytes` bytes of the member from the offset `at`, and appends them to `out`. `at` must be at least `reached`,
    /// the end of the previous read. `open` opens the member again. It is called only if the shared window does not contain
    /// the bytes, so that this reader inflates the member alone.
    pub(super) fn read<E: From<io::Error>>(
        &mut self,
        at: u64,
        bytes: u64,
        out: &mut Vec<u8>,
        open: impl FnOnce() -> Result<SequentialReader, E>,
    ) -> Result<(), E> {
        let end = at + bytes;
        if self.read_from_window(at, end, out) {
            self.alone = None;
        } else {
            let (reader, reached) = match &mut self.alone {
                Some(alone) => alone,
                none => none.insert((open()?, 0)),
            };
            let skipped = at - *reached;
            io::copy(&mut reader.by_ref().take(skipped), &mut io::sink())?;
            let before = out.len();
            reader.by_ref().take(bytes).read_to_end(out)?;
            if (out.len() - before) as u64 != bytes {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            *reached = end;
            self.release_before(end);
        }
        self.reached = end;
        Ok(())
    }

    /// Reads from the window, and inflates further chunks if necessary. Returns `false` if this reader must inflate the
    /// member by itself.
    fn read_from_window(&self, at: u64, end: u64, out: &mut Vec<u8>) -> bool {
        let mut state = self.shared.state();
        loop {
            if at < state.start {
                return false;
            }
            let Some(offset) = state.offsets.get_mut(&self.number) else {
                return false;
            };
            if *offset < at {
                *offset = at;
                state.evict();
                self.shared.wake_readers(&state);
            }
            if end <= state.end {
                state.copy(at, end - at, out);
                if let Some(own_offset) = state.offsets.get_mut(&self.number) {
                    *own_offset = end;
                }
                state.evict();
                self.shared.wake_readers(&state);
                return true;
            }
            match (state.slowest_reader(), &state.source) {
                (Some((number, offset)), _)
                    if state.window.len() >= WINDOW_CHUNKS && offset < at =>
                {
                    // The window is full. Wait for the slowest reader, and exclude it if it makes no progress.
                    let timed_out = self.shared.wait(&mut state);
                    if timed_out && state.offsets.get(&number) == Some(&offset) {
                        state.offsets.remove(&number);
                        state.evict();
                        self.shared.wake_readers(&state);
                    }
                }
                (_, ChunkSource::Taken) => {
                    self.shared.wait(&mut state);
                }
                (_, ChunkSource::Ended) => return false,
                (_, ChunkSource::Available(_)) => {
                    if let ChunkSource::Available(chunks) =
                        mem::replace(&mut state.source, ChunkSource::Taken)
                    {
                        state = self.shared.advance(state, chunks);
                    }
                }
            }
        }
    }

    /// Declares that this reader needs no bytes before `offset`.
    fn release_before(&self, offset: u64) {
        let mut state = self.shared.state();
        if let Some(own_offset) = state.offsets.get_mut(&self.number) {
            *own_offset = offset;
            state.evict();
            self.shared.wake_readers(&state);
        }
    }
}

impl Drop for SharedReader {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.offsets.remove(&self.number);
        state.evict();
        self.shared.wake_readers(&state);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn shared(reader: impl Read + Send + 'static) -> Arc<SharedMember> {
        Arc::new(SharedMember::new(Chunks::Inline(Box::new(reader))))
    }

    fn content() -> Vec<u8> {
        (0..40_u32 << 20).map(|offset| (offset / 7) as u8).collect()
    }

    /// Reads a part after every `step` bytes. Sleeps before the part at `pause`. Returns whether the reader inflated alone.
    fn read(content: &[u8], shared: &Arc<SharedMember>, step: usize, pause: Option<u64>) -> bool {
        let mut reader = SharedReader::new(Arc::clone(shared));
        let (mut out, mut alone) = (Vec::new(), false);
        for at in (0..content.len() - 70_000).step_by(step) {
            if pause == Some(at as u64) {
                std::thread::sleep(3 * MAX_WAIT);
            }
            out.clear();
            let bytes = at % 70_000;
            let open =
                || Ok::<_, io::Error>(Box::new(Cursor::new(content.to_vec())) as SequentialReader);
            let at_least = reader.reached.max(at as u64);
            let read = reader.read(at_least, bytes as u64, &mut out, open);
            assert!(read.is_ok());
            let at = at_least as usize;
            assert!(out == content[at..at + bytes]);
            alone |= reader.alone.is_some();
        }
        alone
    }

    fn shared_member(content: &[u8]) -> Arc<SharedMember> {
        shared(Cursor::new(content.to_vec()))
    }

    #[test]
    fn readers_of_any_speed_get_every_chunk() {
        let content = content();
        let shared = shared_member(&content);
        std::thread::scope(|scope| {
            let one = |step, pause| {
                let (content, shared) = (&content, &shared);
                scope.spawn(move || read(content, shared, step, pause))
            };
            // The third reader sleeps for three times the maximum wait at the offset 2,222,220.
            let all = [
                one(71_111, None),
                one(810_007, None),
                one(222_222, Some(2_222_220)),
            ];
            let alone = all.map(|one| one.join().unwrap_or_default());
            assert!(alone[2], "the sleeping reader is excluded");
        });
        assert!(
            shared.state().window.is_empty(),
            "no reader needs any chunk"
        );
    }

    #[test]
    fn decompression_does_not_block_readers() {
        /// A member whose fifth chunk can be inflated only after two threads have reached the barrier.
        struct Gate(Cursor<Vec<u8>>, Arc<std::sync::Barrier>);
        impl Read for Gate {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if self.0.position() == 4 * CHUNK_BYTES as u64 {
                    self.1.wait();
                }
                let count = buffer.len().min(CHUNK_BYTES);
                self.0.read(&mut buffer[..count])
            }
        }
        let (content, both) = (content(), Arc::new(std::sync::Barrier::new(2)));
        let gate = Gate(
            Cursor::new(content[..5 * CHUNK_BYTES].to_vec()),
            both.clone(),
        );
        let shared = shared(gate);
        let never = || Err(io::Error::other("opened"));
        let mut slow = SharedReader::new(Arc::clone(&shared));
        std::thread::scope(|scope| {
            let mut fast = SharedReader::new(Arc::clone(&shared));
            scope.spawn(move || {
                let mut out = Vec::new();
                let read = fast.read(4 * CHUNK_BYTES as u64 + 1, 9, &mut out, never);
                assert!(read.is_ok());
            });
            while shared.state().end < 4 * CHUNK_BYTES as u64 {
                std::thread::yield_now();
            }
            // While the other reader waits for the fifth chunk, this reader can read the chunks before it.
            let mut out = Vec::new();
            let read = slow.read(5, 3 * CHUNK_BYTES as u64, &mut out, never);
            both.wait();
            assert!(read.is_ok() && out == content[5..5 + 3 * CHUNK_BYTES]);
        });
    }

    #[test]
    fn panic_of_the_decoder_wakes_waiting_readers() {
        struct Panics;
        impl Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("intended panic")
            }
        }
        let shared = shared(Panics);
        let mut first = SharedReader::new(Arc::clone(&shared));
        let open =
            || Ok::<_, io::Error>(Box::new(Cursor::new(vec![1_u8, 2, 3])) as SequentialReader);
        let panicked = std::thread::scope(|scope| {
            let read = scope.spawn(move || first.read(0, 1, &mut Vec::new(), open).is_ok());
            read.join()
        });
        assert!(panicked.is_err());
        let mut out = Vec::new();
        let mut second = SharedReader::new(shared);
        assert!(second.read(1, 2, &mut out, open).is_ok());
        assert_eq!(out, [2, 3]);
    }

    #[test]
    fn excluded_reader_inflates_by_itself() {
        let content = content();
        let shared = shared_member(&content);
        let mut first = SharedReader::new(Arc::clone(&shared));
        let never = || Err(io::Error::other("opened"));
        let mut out = Vec::new();
        assert!(first.read(1 << 24, 5, &mut out, never).is_ok());
        assert!(read(&content, &shared, 1 << 20, None));
        // The second reader excluded the first one, which continues by itself.
        let open =
            || Ok::<_, io::Error>(Box::new(Cursor::new(content.clone())) as SequentialReader);
        out.clear();
        assert!(first.read((1 << 24) + 9, 3, &mut out, open).is_ok());
        assert_eq!(out, content[(1 << 24) + 9..(1 << 24) + 12]);
    }

    #[test]
    fn decoding_error_reaches_every_reader() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += buffer.len();
                match self.0 > 1 << 20 {
                    true => Err(io::Error::other("a bad block")),
                    false => Ok(buffer.len()),
                }
            }
        }
        let shared = shared(Broken(0));
        for _ in 0..2 {
            let mut reader = SharedReader::new(Arc::clone(&shared));
            let open = || Ok::<_, io::Error>(Box::new(Broken(0)) as SequentialReader);
            let mut out = Vec::new();
            let read = reader.read(0, 2 << 20, &mut out, open);
            assert!(read.is_err_and(|error| error.to_string() == "a bad block"));
        }
    }
}
