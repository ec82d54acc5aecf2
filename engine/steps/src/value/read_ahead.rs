//! Reads ahead on a separate thread. Inflating a file takes about as long as parsing its bytes, so two threads need
//! half the time of one.
//!
//! The thread sends chunks through a bounded channel, and gets the buffers of used chunks back. A read error is returned
//! after the bytes that were read before the error.

use std::io::{self, BufRead, ErrorKind, Read};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

use prep_cache::{Permit, Threads, try_spawn};

pub(crate) const CHUNK_BYTES: usize = 1 << 18;

/// Maximum number of chunks in the channel. More would need memory without being faster.
const MAX_CHUNKS: usize = 4;

/// A reader whose bytes are read on another thread. Dropping it stops the thread after its current chunk.
pub(crate) struct ReadAhead {
    /// `None` at the end and after a read error.
    chunks: Option<Receiver<io::Result<Vec<u8>>>>,
    /// Returns buffers of used chunks to the thread.
    recycled: Sender<Vec<u8>>,
    /// `None` after the thread has ended.
    thread: Option<JoinHandle<Option<()>>>,
    chunk: Vec<u8>,
    /// Number of bytes of the chunk that the caller has consumed.
    used: usize,
    /// Whether a read has failed. All later reads then fail, too.
    failed: bool,
}

impl ReadAhead {
    /// Starts the thread. Without a permit, or if the system cannot start a thread, returns `reader` as the error.
    pub(super) fn start<R: Read + Send + 'static>(
        reader: R,
        permit: Option<Permit>,
    ) -> Result<ReadAhead, R> {
        let Some(permit) = permit else {
            return Err(reader);
        };
        let (full, chunks) = sync_channel(MAX_CHUNKS);
        let (recycled, empty) = channel();
        let thread = try_spawn(reader, move |reader| {
            permit.work(|| {
                let send = |chunk| full.send(chunk).is_ok();
                read(reader, || empty.try_recv().unwrap_or_default(), send);
            });
        })?;
        Ok(ReadAhead {
            chunks: Some(chunks),
            recycled,
            thread: Some(thread),
            chunk: Vec::new(),
            used: 0,
            failed: false,
        })
    }

    /// Receives the next chunk. At the end, the chunk is empty.
    fn advance(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier read failed"));
        }
        let chunk = mem::take(&mut self.chunk);
        self.used = 0;
        let Some(chunks) = &self.chunks else {
            return Ok(());
        };
        if chunk.capacity() > 0 {
            // Fails if the thread needs no more buffers.
            let _ = self.recycled.send(chunk);
        }
        let next = match chunks.recv() {
            Ok(Ok(chunk)) => {
                self.chunk = chunk;
                return Ok(());
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(()),
        };
        let ended = self.join().and(next);
        self.failed = ended.is_err();
        ended
    }

    /// Waits for the end of the thread. Closing the channel stops a thread that has more chunks. Fails if the thread
    /// panicked.
    fn join(&mut self) -> io::Result<()> {
        self.chunks = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(io::Error::other("the reading thread panicked")),
            _ => Ok(()),
        }
    }
}

/// The chunks of a reader, which are read on another thread if one is free.
pub(crate) enum Chunks<R> {
    Ahead(ReadAhead),
    Inline(R),
}

impl<R: Read + Send + 'static> Chunks<R> {
    pub fn new(reader: R, threads: &Threads) -> Chunks<R> {
        match ReadAhead::start(reader, threads.try_take()) {
            Ok(ahead) => Chunks::Ahead(ahead),
            Err(reader) => Chunks::Inline(reader),
        }
    }

    /// Returns the next chunk, which is empty at the end. Reuses the buffer `recycled`.
    ///
    /// If a read fails, returns the error instead of the incomplete chunk, because parsing damaged bytes would report a
    /// wrong error.
    pub fn next(&mut self, mut recycled: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Chunks::Ahead(ahead) => {
                ahead.chunk = recycled;
                ahead.advance()?;
                let chunk = mem::take(&mut ahead.chunk);
                // After a short chunk comes either the end or an error, which replaces the chunk.
                if !chunk.is_empty() && chunk.len() < CHUNK_BYTES {
                    ahead.advance()?;
                }
                Ok(chunk)
            }
            Chunks::Inline(reader) => {
                recycled.resize(CHUNK_BYTES, 0);
                let (count, failed) = fill(reader, &mut recycled);
                recycled.truncate(count);
                failed.map_or(Ok(recycled), Err)
            }
        }
    }
}

/// Passes chunks to `send` until the input ends or fails, or the receiver is dropped. `empty` returns a buffer to reuse.
fn read(
    mut reader: impl Read,
    empty: impl Fn() -> Vec<u8>,
    send: impl Fn(io::Result<Vec<u8>>) -> bool,
) {
    loop {
        let mut chunk = empty();
        chunk.resize(CHUNK_BYTES, 0);
        let (count, failed) = fill(&mut reader, &mut chunk);
        chunk.truncate(count);
        if count > 0 && !send(Ok(chunk)) {
            return;
        }
        if let Some(error) = failed {
            send(Err(error));
            return;
        }
        if count < CHUNK_BYTES {
            return;
        }
    }
}

/// Reads until `chunk` is full, or the input ends or fails. Returns the number of bytes, and the error.
fn fill(reader: &mut impl Read, chunk: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut count = 0;
    while let Some(rest) = chunk.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (count, Some(error)),
        }
    }
    (count, None)
}

impl BufRead for ReadAhead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used >= self.chunk.len() {
            self.advance()?;
        }
        Ok(self.chunk.get(self.used..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.used = self.chunk.len().min(self.used + count);
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // If the reader is dropped before its end, the result is not needed.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A reader that returns at most 77,777 bytes per call, so that calls do not end at the borders of chunks. At the
    /// offset `end`, calls `then`, which returns the end of the input, fails or panics.
    struct Counting {
        at: usize,
        end: usize,
        then: fn() -> io::Result<usize>,
        reads: Arc<AtomicU64>,
    }

    impl Read for Counting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let turn = self.reads.fetch_add(1, Ordering::Relaxed);
            if turn % 3 == 1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = buffer.len().min(self.end - self.at).min(77_777);
            if count == 0 && !buffer.is_empty() {
                return (self.then)();
            }
            for (position, byte) in buffer.iter_mut().take(count).enumerate() {
                *byte = byte_at(self.at + position);
            }
            self.at += count;
            Ok(count)
        }
    }

    fn byte_at(position: usize) -> u8 {
        (position.wrapping_mul(2_654_435_761) >> 7) as u8
    }

    fn counting(end: usize, then: fn() -> io::Result<usize>) -> (Counting, Arc<AtomicU64>) {
        let reads = Arc::new(AtomicU64::new(0));
        let reader = Counting {
            at: 0,
            end,
            then,
            reads: Arc::clone(&reads),
        };
        (reader, reads)
    }

    fn ahead(end: usize, then: fn() -> io::Result<usize>) -> (Threads, Arc<AtomicU64>, ReadAhead) {
        let threads = Threads::new(1);
        let (reader, reads) = counting(end, then);
        let Ok(ahead) = ReadAhead::start(reader, threads.try_take()) else {
            panic!("a thread can be started");
        };
        (threads, reads, ahead)
    }

    #[test]
    fn every_byte_arrives_once_for_any_length_of_the_input() -> io::Result<()> {
        for end in [
            0,
            1,
            CHUNK_BYTES - 1,
            CHUNK_BYTES,
            CHUNK_BYTES + 1,
            9 * CHUNK_BYTES,
            11 * CHUNK_BYTES + 5,
        ] {
            let (threads, _, mut ahead) = ahead(end, || Ok(0));
            let mut read = Vec::new();
            while read.len() < end {
                let requested = (end - read.len()).min(1 + read.len() % 70_000);
                let before = read.len();
                ahead
                    .by_ref()
                    .take(requested as u64)
                    .read_to_end(&mut read)?;
                assert_eq!(read.len(), before + requested);
                let buffered = ahead.fill_buf()?;
                let count = buffered.len().min(13);
                read.extend_from_slice(buffered.get(..count).unwrap_or_default());
                ahead.consume(count);
            }
            assert_eq!(read.len(), end);
            let expected = || (0..end).map(byte_at);
            assert!(read.iter().copied().eq(expected()), "of {end}");
            assert_eq!(ahead.read(&mut [0; 5])?, 0);
            assert_eq!(ahead.read(&mut [0; 5])?, 0);
            assert!(
                threads.try_take().is_some(),
                "the thread's permit is returned"
            );
            for threads in [Threads::new(1), Threads::new(0)] {
                let mut chunks = Chunks::new(counting(end, || Ok(0)).0, &threads);
                let (mut read, mut recycled) = (Vec::new(), Vec::new());
                loop {
                    let chunk = chunks.next(recycled)?;
                    if chunk.is_empty() {
                        break;
                    }
                    read.extend_from_slice(&chunk);
                    recycled = chunk;
                }
                assert!(read.into_iter().eq(expected()), "chunks of {end}");
            }
        }
        Ok(())
    }

    #[test]
    fn an_error_follows_the_bytes_before_it_and_persists() {
        let (_, _, mut ahead) = ahead(3 * CHUNK_BYTES + 7, || Err(io::Error::other("a bad block")));
        let mut read = Vec::new();
        let error = ahead.read_to_end(&mut read);
        assert!(error.is_err_and(|error| error.to_string() == "a bad block"));
        assert_eq!(read.len(), 3 * CHUNK_BYTES + 7);
        assert!(
            ahead.read(&mut [0]).is_err(),
            "an error, not the end of the file"
        );
    }

    /// Parsing the damaged bytes before an error would hide the error.
    #[test]
    fn an_error_replaces_the_chunk_before_it() -> io::Result<()> {
        for threads in [Threads::new(1), Threads::new(0)] {
            let failing = counting(CHUNK_BYTES + 7, || Err(io::Error::other("a bad block"))).0;
            let mut chunks = Chunks::new(failing, &threads);
            assert_eq!(chunks.next(Vec::new())?.len(), CHUNK_BYTES);
            let error = chunks.next(Vec::new());
            assert!(error.is_err_and(|error| error.to_string() == "a bad block"));
        }
        Ok(())
    }

    #[test]
    fn panic_of_the_thread_is_an_error_and_not_the_end() {
        let (_, _, mut ahead) = ahead(CHUNK_BYTES, || panic!("on purpose"));
        let mut read = Vec::new();
        assert!(ahead.read_to_end(&mut read).is_err());
    }

    #[test]
    fn dropping_the_reader_stops_the_thread() {
        let (threads, reads, mut ahead) = ahead(usize::MAX, || Ok(0));
        assert!(ahead.read_exact(&mut [0; 100]).is_ok());
        drop(ahead);
        assert!(threads.try_take().is_some());
        assert!(
            reads.load(Ordering::Relaxed) < 200,
            "reading stops when the channel is full"
        );
    }

    #[test]
    fn reads_fill_the_buffer_up_to_the_end() {
        let mut chunk = [0; 10];
        let (count, failed) = fill(&mut Cursor::new([1; 7]), &mut chunk);
        assert!(count == 7 && failed.is_none());
    }
}
