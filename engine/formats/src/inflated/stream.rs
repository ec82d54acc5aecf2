//! Decodes raw deflate block by block, through zlib's C interface.
//!
//! The safe interface of zlib-rs cannot report the bit position at which a block ends, or start decoding there. So this
//! module, and no other, calls the C interface.

use std::ffi::c_int;
use std::io::{self, Read};
use std::ops::Range;

use libz_rs_sys::{
    Z_BLOCK, Z_BUF_ERROR, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_, inflatePrime,
    inflateSetDictionary, z_stream, zlibVersion,
};

/// The argument of `inflateInit2_` that means raw deflate with the largest window.
const RAW_WINDOW_BITS: c_int = -15;
/// Bits of `data_type` after a call of `inflate`: the number of unused bits of the last input byte; whether this was
/// the last block; whether a block has just ended.
const UNUSED_BITS_MASK: c_int = 63;
const LAST_BLOCK: c_int = 64;
const BLOCK_ENDED: c_int = 128;

/// Size of the buffer for compressed bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// The result of a decoding step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Number of bytes written to the output.
    pub written: usize,
    /// The reason for the end of the step.
    pub stop: Stop,
}

/// The reason why a decoding step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The input buffer or the output is exhausted.
    Anywhere,
    /// A block begins. Its first bits belong to the last input byte consumed.
    Block {
        /// The number of these bits.
        left_over: u64,
    },
    /// The last block ended.
    Last,
    /// The stream ended.
    End,
}

/// A raw deflate stream that is decoded step by step.
pub(super) struct Stream<R> {
    packed: R,
    buffer: Vec<u8>,
    /// The range of the input buffer that is not consumed yet.
    left: Range<usize>,
    /// The byte before the content of the input buffer.
    before: u8,
    /// Number of compressed bytes read.
    read: u64,
    decoder: Decoder,
}

/// The position and kind of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Offset of its first bit in the stream.
    pub bit: u64,
    /// Whether its content is stored uncompressed.
    pub is_stored: bool,
}

impl<R: Read> Stream<R> {
    /// Starts decoding at the beginning of `packed`.
    pub fn new(packed: R) -> io::Result<Self> {
        Ok(Self {
            packed,
            buffer: vec![0; BUFFER_BYTES],
            left: 0..0,
            before: 0,
            read: 0,
            decoder: Decoder::new()?,
        })
    }

    /// Starts decoding at the bit `bit` of the first byte of `packed`. `window` contains the uncompressed bytes before
    /// this position.
    pub fn resume(packed: R, bit: u8, window: &[u8]) -> io::Result<Self> {
        let mut stream = Self::new(packed)?;
        let mut first = [0];
        stream.packed.read_exact(&mut first)?;
        let [first] = first;
        stream.decoder.begin_within(first, bit, window)?;
        Ok(stream)
    }

    /// Returns the number of compressed bytes consumed.
    pub fn used(&self) -> u64 {
        self.read - self.left.len() as u64
    }

    /// Returns the source, and the bytes that were read from it but not consumed.
    pub fn into_rest(self) -> (R, Vec<u8>) {
        let rest = self.buffer.get(self.left).unwrap_or_default().to_vec();
        (self.packed, rest)
    }

    /// Refills the input buffer.
    fn refill(&mut self) -> io::Result<()> {
        let last = self.left.end.checked_sub(1);
        self.before = last
            .and_then(|last| self.buffer.get(last).copied())
            .unwrap_or(self.before);
        let count = loop {
            match self.packed.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count?,
            }
        };
        self.read += count as u64;
        self.left = 0..count;
        Ok(())
    }

    /// Returns the position and kind of the next block, of which `left_over` bits are already consumed.
    ///
    /// A block begins with three bits: whether it is the last one, and two bits for its kind.
    pub fn block(&mut self, left_over: u64) -> io::Result<Block> {
        if self.left.is_empty() {
            self.refill()?;
        }
        let before = match self.left.start.checked_sub(1) {
            Some(index) => self.buffer.get(index).copied(),
            None => Some(self.before),
        };
        let next = self.buffer.get(self.left.clone()).and_then(<[u8]>::first);
        let two = [before.unwrap_or(0), next.copied().unwrap_or(0)];
        let header = left_over < 8;
        let header = header.then(|| u16::from_le_bytes(two) >> (8 - left_over));
        Ok(Block {
            bit: (8 * self.used()).saturating_sub(left_over),
            is_stored: header.is_some_and(|header| header >> 1 & 3 == 0),
        })
    }

    /// Decodes until the input buffer or the output is exhausted, or a block or the stream ends.
    ///
    /// # Errors
    /// I/O errors from `packed`; [`io::ErrorKind::InvalidData`] if the input is not deflate;
    /// [`io::ErrorKind::UnexpectedEof`] if it is truncated.
    pub fn step(&mut self, output: &mut [u8]) -> io::Result<Step> {
        if self.left.is_empty() {
            self.refill()?;
        }
        let input = self.buffer.get(self.left.clone()).unwrap_or_default();
        let (used, step) = self.decoder.step(input, output)?;
        let is_stuck = used == 0 && step.written == 0 && step.stop == Stop::Anywhere;
        if is_stuck && self.left.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_stuck {
            return Err(invalid("the deflate stream is damaged"));
        }
        self.left.start += used;
        Ok(step)
    }
}

/// zlib's decoder state. The pointers in it are valid only during a call.
struct Decoder(Box<z_stream>);

impl Decoder {
    /// Creates a decoder at the beginning of a stream.
    fn new() -> io::Result<Decoder> {
        let mut stream = Decoder(Box::default());
        let size = c_int::try_from(size_of::<z_stream>()).map_err(io::Error::other)?;
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the pointer is to a live stream with default fields, including the allocator. The version string is
        // the library's own.
        let done =
            unsafe { inflateInit2_(&raw mut *stream.0, RAW_WINDOW_BITS, zlibVersion(), size) };
        ok(done).map(|()| stream)
    }

    /// Starts at the bit `bit` of `byte`, which precedes the next input. `window` contains the uncompressed bytes
    /// before it.
    fn begin_within(&mut self, byte: u8, bit: u8, window: &[u8]) -> io::Result<()> {
        let bits = 8 - c_int::from(bit & 7);
        let length = u32::try_from(window.len()).map_err(io::Error::other)?;
        let value = c_int::from(byte >> (bit & 7));
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream.
        ok(unsafe { inflatePrime(&raw mut *self.0, bits, value) })?;
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream. Pointer and length belong to one slice, which is only read.
        ok(unsafe { inflateSetDictionary(&raw mut *self.0, window.as_ptr(), length) })
    }

    /// Calls `inflate` once. Returns the number of input bytes consumed, and the result.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<(usize, Step)> {
        let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let stream = &mut *self.0;
        (stream.next_in, stream.avail_in) = (input.as_ptr(), length(input.len()));
        (stream.next_out, stream.avail_out) = (output.as_mut_ptr(), length(output.len()));
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: `new` initialised the stream. Each pointer belongs to a slice that lives during the call, and the
        // output slice is writable. The lengths do not exceed those of the slices.
        let done = unsafe { inflate(&raw mut *stream, Z_BLOCK) };
        let used = length(input.len()) - stream.avail_in;
        let written = length(output.len()) - stream.avail_out;
        let state = stream.data_type;
        let stop = match done {
            Z_STREAM_END => Stop::End,
            // `Z_BUF_ERROR` means that no byte was consumed or written, but a block may still have ended.
            Z_OK | Z_BUF_ERROR if state & BLOCK_ENDED == 0 => Stop::Anywhere,
            Z_OK | Z_BUF_ERROR if state & LAST_BLOCK != 0 => Stop::Last,
            Z_OK | Z_BUF_ERROR => Stop::Block {
                left_over: u64::from((state & UNUSED_BITS_MASK).unsigned_abs()),
            },
            _ => return Err(invalid("the deflate stream is damaged")),
        };
        let written = written as usize;
        Ok((used as usize, Step { written, stop }))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        #[allow(unsafe_code, reason = "see below")]
        // SAFETY: the stream is live. If `new` did not initialise it, its state is null, and the call does nothing.
        unsafe {
            inflateEnd(&raw mut *self.0);
        }
    }
}

fn ok(done: c_int) -> io::Result<()> {
    match done {
        Z_OK => Ok(()),
        code => Err(io::Error::other(format!("zlib returned the error {code}"))),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
