//! Decodes the symbols of a block without bounds checks per symbol, while input and output are long enough.
//!
//! A symbol's position is known only after the table lookup of the previous symbol. One lookup takes about seven cycles, so
//! it is slow to look up symbols one after the other.
//!
//! In images and similar data, nearly all literals have codes of the same length. [`Inflater::decode_symbols`] assumes this
//! length for the next symbols, looks up several at once, and then checks the assumption.

use super::bits::BitReader;
use super::codes::{CodeEntry, DistanceCodes};
use super::{Buffers, Damaged, Inflater};

/// An iteration starts only if more than this number of input bytes remains. This is sufficient, because an iteration
/// reads 8 bytes up to three times and advances by at most 7 bytes each time.
const INPUT_BYTES: usize = 40;

/// An iteration starts only if at least this number of output bytes is free. It writes up to 8 literals, and a match of
/// up to 258 bytes in chunks of 16.
const OUTPUT_BYTES: usize = 320;

/// Number of bytes of a match that are copied at once.
const COPY_BYTES: usize = 16;

impl Inflater {
    /// Decodes symbols until input or output is nearly exhausted. Returns true at the end of the block.
    ///
    /// Each iteration assumes that the next `COUNT` symbols are literals with codes of `BITS` bits. `COUNT * BITS` must be
    /// at most 56.
    pub(super) fn decode_symbols<const BITS: u32, const COUNT: usize>(
        &mut self,
        buffers: &mut Buffers<'_>,
    ) -> Result<bool, Damaged> {
        let mut at = buffers.written;
        let out = &mut *buffers.output;
        let mut reader = BitReader::new(self.bits, buffers.input, buffers.used);
        let limit = buffers.input.len().saturating_sub(INPUT_BYTES);
        if reader.at >= limit {
            return Ok(false);
        }
        reader.refill();
        let mut entry = self.literals.entry(reader.bits);
        let mut result = Ok(false);
        while reader.at < limit
            && let Some(mut room) = first_chunk::<OUTPUT_BYTES>(out, at)
        {
            if COUNT > 0 {
                let entries: [CodeEntry; COUNT] = std::array::from_fn(|index| {
                    self.literals.entry(reader.bits >> (BITS * index as u32))
                });
                // If the assumption is wrong, the next iterations overwrite the wrong bytes.
                for (place, entry) in room.iter_mut().zip(&entries) {
                    *place = entry.literal();
                }
                let differences = entries.map(|entry| entry.difference(BITS));
                if differences.iter().fold(0, |all, one| all | one) == 0 {
                    reader.skip(BITS * COUNT as u32);
                    reader.refill();
                    at += COUNT;
                    continue;
                }
                let mut differing = 0_u32;
                for (index, difference) in differences.iter().enumerate() {
                    differing |= u32::from(*difference != 0) << index;
                }
                // The symbols before the first difference are literals of `BITS` bits.
                let count = differing.trailing_zeros();
                reader.skip(BITS * count);
                reader.refill();
                at += count as usize;
                entry = self.literals.entry(reader.bits);
                let Some(rest) = first_chunk::<OUTPUT_BYTES>(out, at) else {
                    break;
                };
                room = rest;
            }
            if entry.is_literal() {
                reader.skip(entry.bits());
                room[0] = entry.literal();
                at += 1;
                entry = self.literals.entry(reader.bits);
                if COUNT > 0 {
                    reader.refill();
                    continue;
                }
                // Without an assumption, up to three literals are decoded before the next refill.
                if entry.is_literal() {
                    reader.skip(entry.bits());
                    room[1] = entry.literal();
                    at += 1;
                    entry = self.literals.entry(reader.bits);
                    if entry.is_literal() {
                        reader.skip(entry.bits());
                        room[2] = entry.literal();
                        at += 1;
                        entry = self.literals.entry(reader.bits);
                        reader.refill();
                        continue;
                    }
                }
            }
            if entry.is_special() {
                if entry.is_subtable() {
                    reader.skip(entry.bits());
                    entry = self.literals.subtable_entry(entry, reader.bits);
                    if entry.is_literal() {
                        reader.skip(entry.bits());
                        reader.refill();
                        if let Some(place) = out.get_mut(at) {
                            *place = entry.literal();
                        }
                        at += 1;
                        entry = self.literals.entry(reader.bits);
                        continue;
                    }
                }
                if entry.is_special() {
                    reader.skip(entry.bits());
                    result = match entry.is_end_of_block() {
                        true => Ok(true),
                        false => Err(Damaged::LITERAL),
                    };
                    break;
                }
            }
            let Some((length, distance)) = decode_match(&mut reader, entry, &self.distances) else {
                result = Err(Damaged::DISTANCE);
                break;
            };
            reader.refill();
            entry = self.literals.entry(reader.bits);
            if distance > at {
                // The copied bytes begin in the output of an earlier call.
                if distance > self.window.len() + at {
                    result = Err(Damaged::TOO_FAR);
                    break;
                }
                self.window.copy(out, at, length, distance);
            } else {
                repeat(out, at, length, distance);
            }
            at += length;
        }
        buffers.written = at;
        (self.bits, buffers.used) = reader.finish();
        result
    }
}

/// Returns `N` bytes at the offset `at`, or `None` if there are fewer.
#[inline(always)]
fn first_chunk<const N: usize>(bytes: &mut [u8], at: usize) -> Option<&mut [u8; N]> {
    bytes.get_mut(at..)?.first_chunk_mut()
}

/// Decodes a match. `entry` is the table entry of the match's length. Returns length and distance, or `None` if the distance
/// is invalid.
#[inline(always)]
fn decode_match(
    reader: &mut BitReader<'_>,
    entry: CodeEntry,
    distances: &DistanceCodes,
) -> Option<(usize, usize)> {
    reader.skip(entry.bits());
    let length = entry.value(reader.bits);
    reader.skip(entry.extra_bits());
    let mut entry = distances.entry(reader.bits);
    // The code of a distance has at most 15 bits, and the extra bits are at most 13.
    if reader.count < 28 {
        reader.refill();
    }
    if entry.is_special() {
        if entry.is_subtable() {
            reader.skip(entry.bits());
            entry = distances.subtable_entry(entry, reader.bits);
        }
        if entry.is_special() {
            return None;
        }
    }
    reader.skip(entry.bits());
    let distance = entry.value(reader.bits);
    reader.skip(entry.extra_bits());
    Some((length, distance))
}

/// Copies `length` bytes to offset `at`. The source begins `distance` bytes before `at`. At least 258 + [`COPY_BYTES`] bytes
/// must follow `at`.
#[inline(always)]
fn repeat(out: &mut [u8], at: usize, length: usize, distance: usize) {
    let start = at - distance;
    if distance >= COPY_BYTES {
        let Some(bytes) = out.get_mut(start..at + 258 + COPY_BYTES) else {
            return;
        };
        copy_chunk(bytes, 0, distance);
        let mut done = COPY_BYTES;
        while done < length {
            copy_chunk(bytes, done, distance);
            done += COPY_BYTES;
        }
    } else if let Some(bytes) = out.get_mut(start..at + length) {
        match bytes {
            [first, rest @ ..] if distance == 1 => rest.fill(*first),
            bytes => {
                for from in 0..length {
                    bytes[from + distance] = bytes[from];
                }
            }
        }
    }
}

/// Copies [`COPY_BYTES`] bytes from the offset `from` to the offset `from + distance`.
#[inline(always)]
fn copy_chunk(bytes: &mut [u8], from: usize, distance: usize) {
    let chunk = bytes.get(from..).and_then(<[u8]>::first_chunk).copied();
    let place = first_chunk::<COPY_BYTES>(bytes, from + distance);
    if let (Some(chunk), Some(place)) = (chunk, place) {
        *place = chunk;
    }
}
