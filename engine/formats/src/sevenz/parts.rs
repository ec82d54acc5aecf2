//! What of an archive can be decoded side by side.
//!
//! A stream of LZMA2 may begin anew: it empties its dictionary, and what follows depends on nothing before it. 7-Zip does so
//! every few dictionaries where it packs with several threads, in the middle of a solid block, too. Every chunk of the
//! stream says how long it is, packed and unpacked, so the places are found without decoding anything.
//!
//! Source: the control bytes of chunks in the specification of LZMA2 (`lzma2-format` of the XZ format, section 5.3.1).

use std::io::{self, Read};
use std::ops::Range;

use lzma_rust2::Lzma2Reader;
use sevenz_rust2::{Archive, EncoderMethod};

use super::{SevenZError, damaged};
use crate::read_at::ReadAt;

/// Parts that are shorter are decoded with what follows.
const SHORTEST: u64 = 1 << 20;

/// Length of the header of an archive; its packed streams are counted from there.
const SIGNATURE: u64 = 32;

/// A stretch of a packed stream that can be decoded by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its place in the archive.
    packed: Range<u64>,
    /// Bytes that come out.
    unpacked: u64,
    /// The most that is looked back, in bytes.
    dictionary: u32,
}

impl Part {
    /// Bytes of memory that decoding takes, with what comes out.
    fn memory(&self) -> u64 {
        self.unpacked + self.window() + (self.packed.end - self.packed.start)
    }

    /// Its place in the archive.
    #[must_use]
    pub fn packed(&self) -> Range<u64> {
        self.packed.clone()
    }

    /// What is kept of the output to look back.
    fn window(&self) -> u64 {
        self.unpacked.min(u64::from(self.dictionary))
    }

    /// Decodes the part from its packed bytes.
    ///
    /// # Errors
    /// Those of `packed`, and of the decoder, as [`SevenZError::Damaged`].
    pub fn decode(&self, packed: impl Read) -> Result<Vec<u8>, SevenZError> {
        let length = usize::try_from(self.unpacked).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(length)
            .map_err(|error| damaged(io::Error::other(error)))?;
        // The end of a stream is a byte, which a part in the middle of one does not have.
        let window = u32::try_from(self.window()).unwrap_or(u32::MAX);
        let stream = packed.chain([0].as_slice());
        Lzma2Reader::new(stream, window, None)
            .read_to_end(&mut bytes)
            .map_err(damaged)?;
        if bytes.len() != length {
            return Err(damaged(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(bytes)
    }
}

/// All parts of an archive, in the order of its content.
#[derive(Debug, Clone)]
pub struct Parts {
    parts: Vec<Part>,
    /// Length and checksum of each member that has content, in the order of the parts.
    sums: Vec<(u64, Option<u32>)>,
}

impl Parts {
    /// The parts of an archive, if all of its content is LZMA2 without further filters.
    pub(super) fn of(archive: &Archive, source: &impl ReadAt) -> io::Result<Option<Parts>> {
        let mut sums = Vec::new();
        // Members with content, and their bytes.
        let mut inside = vec![(0_u64, 0_u64); archive.blocks.len()];
        let blocks = archive.stream_map.file_block_index.iter();
        for (file, block) in archive.files.iter().zip(blocks) {
            if let Some(block) = block.filter(|_| file.has_stream && file.size > 0)
                && let Some((members, bytes)) = inside.get_mut(block)
            {
                *members += 1;
                *bytes = bytes.saturating_add(file.size);
                let sum = u32::try_from(file.crc).ok().filter(|_| file.has_crc);
                sums.push((file.size, sum));
            }
        }
        let mut parts = Vec::new();
        for (number, (block, (members, bytes))) in archive.blocks.iter().zip(inside).enumerate() {
            // A checksum of several members together is the business of who reads them as one.
            let is_plain = !block.has_crc || members == 1;
            let Some((stream, dictionary)) = stream(archive, number).filter(|_| is_plain) else {
                return Ok(None);
            };
            let before = parts.len();
            let ends_well = walk(source, stream, dictionary, &mut parts)?;
            let found: u64 = parts.iter().skip(before).map(|part| part.unpacked).sum();
            if !ends_well || found != bytes {
                return Ok(None);
            }
        }
        Ok(Some(Parts { parts, sums }))
    }

    /// The parts in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Part> {
        self.parts.iter()
    }

    /// Bytes of memory that decoding takes while so many parts are under way, or decoded and held.
    #[must_use]
    pub fn memory_of(&self, held: u64) -> u64 {
        let largest = self.parts.iter().map(Part::memory).max();
        largest.unwrap_or(0).saturating_mul(held)
    }

    /// Watches over the checksums of members while the parts go by in their order.
    #[must_use]
    pub fn sums(&self) -> Sums<'_> {
        Sums {
            members: &self.sums,
            done: 0,
            hasher: crc32fast::Hasher::new(),
        }
    }
}

/// Place and dictionary of the packed stream of a block, if that is LZMA2 and nothing else.
fn stream(archive: &Archive, number: usize) -> Option<(Range<u64>, u32)> {
    let [coder] = archive.blocks.get(number)?.coders.as_slice() else {
        return None;
    };
    let [bits] = *coder.properties() else {
        return None;
    };
    let dictionary = match bits {
        _ if coder.encoder_method_id() != EncoderMethod::ID_LZMA2 => return None,
        0..40 => (2 | u32::from(bits & 1)) << (u32::from(bits / 2) + 11),
        40 => u32::MAX,
        _ => return None,
    };
    let first = *archive
        .stream_map
        .block_first_pack_stream_index()
        .get(number)?;
    let offset = *archive.stream_map.pack_stream_offsets().get(first)?;
    let start = SIGNATURE
        .checked_add(archive.pack_pos())?
        .checked_add(offset)?;
    let end = start.checked_add(*archive.pack_sizes().get(first)?)?;
    Some((start..end, dictionary))
}

/// Goes from chunk to chunk; says whether they lead to the end of the stream.
fn walk(
    source: &impl ReadAt,
    stream: Range<u64>,
    dictionary: u32,
    parts: &mut Vec<Part>,
) -> io::Result<bool> {
    let mut at = stream.start;
    let mut part: Option<Part> = None;
    loop {
        // The longest header; at the end of a stream there are fewer bytes.
        let mut header = [0; 5];
        let left = usize::try_from(stream.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let Some(header) = header.get_mut(..left.min(5)) else {
            return Ok(false);
        };
        source.read_exact_at(header, at)?;
        let word = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low])) + 1;
        let (control, length, unpacked) = match *header {
            [0, ..] => break,
            [control @ 1..=2, high, low, ..] => (control, 3 + word(high, low), word(high, low)),
            [control @ 0x80..=0xff, high, low, packed_high, packed_low] => {
                let unpacked = word(high, low) + (u64::from(control & 0x1f) << 16);
                let properties = u64::from(control >= 0xc0);
                let length = 5 + properties + word(packed_high, packed_low);
                (control, length, unpacked)
            }
            _ => return Ok(false),
        };
        let begins_anew = control == 1 || control >= 0xe0;
        if begins_anew && part.as_ref().is_none_or(|part| part.unpacked >= SHORTEST) {
            parts.extend(part.replace(Part {
                packed: at..at,
                unpacked: 0,
                dictionary,
            }));
        }
        at = at.saturating_add(length);
        let Some(part) = part.as_mut() else {
            return Ok(false);
        };
        part.packed.end = at;
        part.unpacked = part.unpacked.saturating_add(unpacked);
    }
    parts.extend(part);
    Ok(at < stream.end)
}

/// Checksums of members, compared as their content goes by.
#[derive(Debug)]
pub struct Sums<'a> {
    /// Those that are not complete.
    members: &'a [(u64, Option<u32>)],
    /// Bytes of the first of them that went by.
    done: u64,
    hasher: crc32fast::Hasher,
}

impl Sums<'_> {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`SevenZError::Damaged`]: a member is complete, and its checksum is another.
    pub fn update(&mut self, mut bytes: &[u8]) -> Result<(), SevenZError> {
        while let Some(((length, sum), rest)) = self.members.split_first()
            && !bytes.is_empty()
        {
            let left = usize::try_from(length - self.done).unwrap_or(usize::MAX);
            let (mine, others) = bytes.split_at(left.min(bytes.len()));
            self.hasher.update(mine);
            self.done += mine.len() as u64;
            bytes = others;
            if self.done == *length {
                let found = std::mem::take(&mut self.hasher).finalize();
                if sum.is_some_and(|sum| sum != found) {
                    let error = sevenz_rust2::Error::ChecksumVerificationFailed;
                    return Err(damaged(io::Error::other(error)));
                }
                (self.members, self.done) = (rest, 0);
            }
        }
        Ok(())
    }
}
