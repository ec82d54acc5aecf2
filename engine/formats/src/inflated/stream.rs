//! Raw deflate, from one block to the next.
//!
//! The safe interfaces of zlib-rs do not tell where between two bits a block ends, and cannot begin there. So this is the
//! one place that calls zlib's own.

use std::ffi::c_int;
use std::io::{self, Read};
use std::ops::Range;

use libz_rs_sys::{
    Z_BLOCK, Z_BUF_ERROR, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_, inflatePrime,
    inflateSetDictionary, z_stream, zlibVersion,
};

/// Raw deflate with the largest window, in zlib's terms.
const RAW: c_int = -15;
/// Of `data_type`: how many bits are left over, and whether a block has just ended, the last one.
const BITS: c_int = 63;
const LAST: c_int = 64;
const BLOCK_ENDED: c_int = 128;

/// Compressed bytes are read in pieces of this size.
const PIECE: usize = 1 << 16;

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Bytes of the output that were written.
    pub made: usize,
    pub stop: Stop,
}

/// Where a step stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// At the end of the input or of the output.
    Anywhere,
    /// Before a block. So many bits of what was taken belong to that block.
    Block { left_over: u64 },
    /// Behind the last block.
    Last,
    /// At the end of the stream.
    End,
}

/// Deflated bytes, as they are inflated.
pub(super) struct Stream<R> {
    packed: R,
    piece: Vec<u8>,
    /// What of the piece is left.
    left: Range<usize>,
    /// The byte before the piece.
    before: u8,
    /// Bytes that were read.
    read: u64,
    decoder: Decoder,
}

/// Where a block begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Its first bit in the stream.
    pub bit: u64,
    pub is_stored: bool,
}

impl<R: Read> Stream<R> {
    /// From the beginning of `packed`.
    pub fn new(packed: R) -> io::Result<Self> {
        Ok(Self {
            packed,
            piece: vec![0; PIECE],
            left: 0..0,
            before: 0,
            read: 0,
            decoder: Decoder::new()?,
        })
    }

    /// From the bit `bit` of the first byte of `packed` on, with what was written last before.
    pub fn resume(packed: R, bit: u8, window: &[u8]) -> io::Result<Self> {
        let mut stream = Self::new(packed)?;
        let mut first = [0];
        stream.packed.read_exact(&mut first)?;
        let [first] = first;
        stream.decoder.begin_within(first, bit, window)?;
        Ok(stream)
    }

    /// Bytes that were taken.
    pub fn used(&self) -> u64 {
        self.read - self.left.len() as u64
    }

    /// What was read from, and what of it was read and not taken.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        let rest = self.piece.get(self.left).unwrap_or_default().to_vec();
        (self.packed, rest)
    }

    fn read_on(&mut self) -> io::Result<()> {
        let last = self.left.end.checked_sub(1);
        self.before = last
            .and_then(|last| self.piece.get(last).copied())
            .unwrap_or(self.before);
        let count = loop {
            match self.packed.read(&mut self.piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        self.read += count as u64;
        self.left = 0..count;
        Ok(())
    }

    /// The block that comes next, `left_over` bits of which were taken: whether it is the last one, and two bits for its
    /// kind begin it.
    pub fn block(&mut self, left_over: u64) -> io::Result<Block> {
        if self.left.is_empty() {
            self.read_on()?;
        }
        let before = match self.left.start.checked_sub(1) {
            Some(place) => self.piece.get(place).copied(),
            None => Some(self.before),
        };
        let next = self.piece.get(self.left.clone()).and_then(<[u8]>::first);
        let two = [before.unwrap_or(0), next.copied().unwrap_or(0)];
        let header = left_over < 8;
        let header = header.then(|| u16::from_le_bytes(two) >> (8 - left_over));
        Ok(Block {
            bit: (8 * self.used()).saturating_sub(left_over),
            is_stored: header.is_some_and(|header| header >> 1 & 3 == 0),
        })
    }

    /// Inflates until the input that is at hand or the room for output is used up, or a block or the stream ends.
    ///
    /// # Errors
    /// Those of `packed`; [`io::ErrorKind::InvalidData`] when it is no deflate, [`io::ErrorKind::UnexpectedEof`] when it
    /// ends too early.
    pub fn step(&mut self, output: &mut [u8]) -> io::Result<Step> {
        if self.left.is_empty() {
            self.read_on()?;
        }
        let input = self.piece.get(self.left.clone()).unwrap_or_default();
        let (used, step) = self.decoder.step(input, output)?;
        let is_stuck = used == 0 && step.made == 0 && step.stop == Stop::Anywhere;
        if is_stuck && self.left.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_stuck {
            return Err(invalid("it is no deflate stream"));
        }
        self.left.start += used;
        Ok(step)
    }
}

/// A decoder. What its pointers point to is only used during a call.
struct Decoder(Box<z_stream>);

impl Decoder {
    /// At the beginning of a stream.
    fn new() -> io::Result<Decoder> {
        let mut stream = Decoder(Box::default());
        let size = c_int::try_from(size_of::<z_stream>()).map_err(io::Error::other)?;
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the pointer is that of a live stream, whose fields are the default's, allocator included; the version is
        // the library's own text.
        let done = unsafe { inflateInit2_(&raw mut *stream.0, RAW, zlibVersion(), size) };
        ok(done).map(|()| stream)
    }

    /// Goes to the bit `bit` of `byte`, which stands before the input, with what was written last.
    fn begin_within(&mut self, byte: u8, bit: u8, window: &[u8]) -> io::Result<()> {
        let bits = 8 - c_int::from(bit & 7);
        let length = u32::try_from(window.len()).map_err(io::Error::other)?;
        let value = c_int::from(byte >> (bit & 7));
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream.
        ok(unsafe { inflatePrime(&raw mut *self.0, bits, value) })?;
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream; pointer and length are those of one slice, which is only read.
        ok(unsafe { inflateSetDictionary(&raw mut *self.0, window.as_ptr(), length) })
    }

    /// One call; returns how many bytes of the input were taken, too.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<(usize, Step)> {
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let stream = &mut *self.0;
        (stream.next_in, stream.avail_in) = (input.as_ptr(), length(input.len()));
        (stream.next_out, stream.avail_out) = (output.as_mut_ptr(), length(output.len()));
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream. Each pointer is that of a slice which lives during the call, the output's
        // one that may be written; the lengths are at most theirs.
        let done = unsafe { inflate(&raw mut *stream, Z_BLOCK) };
        let used = length(input.len()) - stream.avail_in;
        let made = length(output.len()) - stream.avail_out;
        let state = stream.data_type;
        let stop = match done {
            Z_STREAM_END => Stop::End,
            // The latter says that nothing was taken or written, which may be enough to end a block.
            Z_OK | Z_BUF_ERROR if state & BLOCK_ENDED == 0 => Stop::Anywhere,
            Z_OK | Z_BUF_ERROR if state & LAST != 0 => Stop::Last,
            Z_OK | Z_BUF_ERROR => Stop::Block {
                left_over: u64::from((state & BITS).unsigned_abs()),
            },
            _ => return Err(invalid("it is no deflate stream")),
        };
        let made = made as usize;
        Ok((used as usize, Step { made, stop }))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the stream is live. Where `new` did not initialise it, its state is null, and nothing is done.
        unsafe {
            inflateEnd(&raw mut *self.0);
        }
    }
}

fn ok(done: c_int) -> io::Result<()> {
    match done {
        Z_OK => Ok(()),
        code => Err(io::Error::other(format!("the inflater refuses: {code}"))),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
