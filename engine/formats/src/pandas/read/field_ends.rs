//! Finds the ends of fields (delimiters and line endings), 64 bytes at a time.
//!
//! Most fields are short, and starting a search for each of them takes longer than the search itself. So one pass over
//! 64 bytes records all ends as bits of an integer. The ends of longer fields are searched as usual.

use memchr::memchr3;

/// Number of bytes that are scanned at once.
const BLOCK_BYTES: usize = 64;

/// Iterates over the delimiters and line endings of a text.
pub(crate) struct FieldEnds<'a> {
    text: &'a [u8],
    delimiter: u8,
    /// Offset of the current block.
    block: usize,
    /// A bit for each byte of the block that ends a field; the lowest bit belongs to the first byte.
    marks: u64,
}

impl<'a> FieldEnds<'a> {
    pub fn new(text: &'a [u8], delimiter: u8) -> Self {
        let marks = marks_at(text, 0, delimiter);
        Self {
            text,
            delimiter,
            block: 0,
            marks,
        }
    }

    /// Returns the offset of the first delimiter, LF or CR from `from` on. `from` must not decrease between calls.
    #[inline]
    pub fn next(&mut self, from: usize) -> Option<usize> {
        let within = from.wrapping_sub(self.block);
        if within < BLOCK_BYTES {
            let rest = self.marks >> within;
            if rest != 0 {
                return Some(from + rest.trailing_zeros() as usize);
            }
        }
        self.next_block(from)
    }

    /// Implements [`next`](Self::next) if the current block contains no more ends.
    fn next_block(&mut self, from: usize) -> Option<usize> {
        let within = from.wrapping_sub(self.block) < BLOCK_BYTES;
        self.block = if within {
            self.block + BLOCK_BYTES
        } else {
            from
        };
        self.marks = marks_at(self.text, self.block, self.delimiter);
        if self.marks != 0 {
            return Some(self.block + self.marks.trailing_zeros() as usize);
        }
        let long = self.text.get(self.block + BLOCK_BYTES..)?;
        let at = self.block + BLOCK_BYTES + memchr3(self.delimiter, b'\n', b'\r', long)?;
        self.block = at;
        self.marks = marks_at(self.text, at, self.delimiter);
        Some(at)
    }
}

fn marks_at(text: &[u8], at: usize, delimiter: u8) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk::<BLOCK_BYTES>() {
        Some(block) => marks(block, delimiter),
        None => {
            // Bits after the end of the text are cleared, because the delimiter might be NUL.
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            marks(&block, delimiter) & !(u64::MAX << rest.len())
        }
    }
}

/// Returns the bits of a block. The compiler turns the loop into vector instructions. Then one multiplication combines
/// eight bytes of 0 or 1 into eight bits, by shifting each bit to its position in the highest byte.
#[inline]
fn marks(block: &[u8; BLOCK_BYTES], delimiter: u8) -> u64 {
    const JOIN: u64 = 0x0102_0408_1020_4080;
    let mut hits = [0; BLOCK_BYTES];
    for (hit, byte) in hits.iter_mut().zip(block) {
        *hit = u8::from(*byte == delimiter) | u8::from(*byte == b'\n') | u8::from(*byte == b'\r');
    }
    let (eights, _) = hits.as_chunks::<8>();
    let bits = eights
        .iter()
        .map(|eight| u64::from_le_bytes(*eight).wrapping_mul(JOIN) >> 56);
    bits.rev().fold(0, |all, eight| all << 8 | eight)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The iterator finds the same ends as consecutive searches, even if some ends are skipped, as in quoted
        /// fields.
        #[test]
        fn field_ends_equal_consecutive_searches(text in r#"([0-9a]{0,3}[,\n\r]|[a-z\x00]{0,200},|;){0,40}"#, jumps in prop::collection::vec(1usize..90, 0..60)) {
            let text = text.as_bytes();
            let mut stops = FieldEnds::new(text, b',');
            let (mut from, mut jumps) = (0, jumps.into_iter());
            while from <= text.len() {
                let expected = memchr3(b',', b'\n', b'\r', &text[from..]).map(|at| from + at);
                prop_assert_eq!(stops.next(from), expected);
                let Some(at) = expected else { break };
                from = at + jumps.next().unwrap_or(1);
            }
        }
    }
}
