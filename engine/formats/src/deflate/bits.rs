//! Reads bits of the input. The lowest bit of each byte is the first.

/// Bits that are read from the input but not decoded yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BitBuffer {
    /// The next bit is the lowest one. All bits above the lowest `count` are zero.
    pub bits: u64,
    pub count: u32,
}

impl BitBuffer {
    /// Adds bytes of `input`, beginning at the offset `used`, until at least 56 bits are buffered or the input ends.
    #[inline]
    pub fn fill(&mut self, input: &[u8], used: &mut usize) {
        while self.count < 56
            && let Some(byte) = input.get(*used)
        {
            self.bits |= u64::from(*byte) << self.count;
            self.count += 8;
            *used += 1;
        }
    }

    /// Removes and returns `count` bits, at most 32. Returns `None` if fewer are available.
    #[inline]
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let bits = self.bits & ((1 << count) - 1);
        self.skip(count).map(|()| bits as u32)
    }

    /// Removes `count` bits, at most 56. Returns `None` if fewer are available.
    #[inline]
    pub fn skip(&mut self, count: u32) -> Option<()> {
        self.count = self.count.checked_sub(count)?;
        self.bits >>= count;
        Some(())
    }

    /// Removes the bytes of which no bit was decoded, so that they are read again. `used` is the number of bytes that
    /// were read from the input. It is reduced by the number of removed bytes.
    #[inline]
    pub fn give_back(&mut self, used: &mut usize) {
        let bytes = (self.count as usize / 8).min(*used);
        *used -= bytes;
        self.count -= 8 * bytes as u32;
        self.bits &= (1 << self.count) - 1;
    }
}

/// Reads bits without checks for the end of the input. The caller must ensure that the input is long enough.
#[derive(Debug)]
pub(super) struct BitReader<'i> {
    input: &'i [u8],
    /// Offset in `input` of the next byte to read.
    pub at: usize,
    /// The next bit is the lowest one. Bits above the lowest `count` may belong to the following bytes.
    pub bits: u64,
    pub count: u32,
}

impl<'i> BitReader<'i> {
    pub fn new(buffer: BitBuffer, input: &'i [u8], at: usize) -> Self {
        let BitBuffer { bits, count } = buffer;
        BitReader {
            input,
            at,
            bits,
            count,
        }
    }

    /// Reads bytes until 56 to 63 bits are available. Has no branch that depends on the number of bytes.
    #[inline(always)]
    pub fn refill(&mut self) {
        // Reads eight bytes, but counts only the bytes that fit entirely. The next refill reads the other bytes again.
        let next = self.input.get(self.at..).and_then(<[u8]>::first_chunk);
        self.bits |= next.map_or(0, |next| u64::from_le_bytes(*next)) << self.count;
        self.at += (63 - self.count as usize) >> 3;
        self.count |= 56;
    }

    /// Removes `count` bits, which must be available.
    #[inline(always)]
    pub fn skip(&mut self, count: u32) {
        self.bits >>= count;
        self.count -= count;
    }

    /// Returns the undecoded bits of the last byte that was decoded partially, and the offset of the byte after it.
    pub fn finish(self) -> (BitBuffer, usize) {
        let BitReader { bits, count, .. } = self;
        let mut used = self.at;
        let mut buffer = BitBuffer { bits, count };
        buffer.give_back(&mut used);
        (buffer, used)
    }
}
