//! What of an archive can be decoded by itself.
//!
//! A stream of LZMA2 may begin anew: it empties its dictionary, and what follows depends on nothing before it. 7-Zip does so
//! every few dictionaries where it packs with several threads, in the middle of a solid block, too. Every chunk of the
//! stream says how long it is, packed and unpacked, so the places are found without decoding anything. A stream of LZMA is
//! one part.
//!
//! Source: the control bytes of chunks in the specification of LZMA2 (`lzma2-format` of the XZ format, section 5.3.1).

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use lzma_rust2::{Lzma2Reader, LzmaReader};
use sevenz_rust2::{Archive, EncoderMethod};

use super::damaged;
use crate::read_at::{ReadAt, Section};
use crate::spans::Spans;

/// Parts that are shorter are decoded with what follows.
const SHORTEST: u64 = 1 << 20;

/// Length of the header of an archive; its packed streams are counted from there.
const SIGNATURE: u64 = 32;

/// A stretch of a packed stream that can be decoded by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its place in the archive.
    pub packed: Range<u64>,
    /// Bytes that come out.
    pub unpacked: u64,
    /// How it is packed.
    pub coder: Coder,
}

/// How a part is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coder {
    /// LZMA2 that looks back so many bytes at most.
    Lzma2 {
        /// Size of the dictionary.
        dictionary: u32,
    },
    /// LZMA, with its byte of properties.
    Lzma {
        /// The numbers of bits that it goes by.
        properties: u8,
        /// Size of the dictionary.
        dictionary: u32,
    },
}

impl Part {
    /// Bytes that are kept of what comes out, to look back, while it is decoded.
    #[must_use]
    pub fn window(&self) -> u32 {
        let (Coder::Lzma2 { dictionary } | Coder::Lzma { dictionary, .. }) = self.coder;
        u32::try_from(self.unpacked).map_or(dictionary, |unpacked| unpacked.min(dictionary))
    }

    /// Reads what comes out, of its packed bytes.
    fn reader(&self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        // The end of a stream is a byte, which a part in the middle of one does not have.
        let packed = io::BufReader::with_capacity(1 << 16, packed).chain(&[0][..]);
        Ok(match self.coder {
            Coder::Lzma2 { .. } => Box::new(Lzma2Reader::new(packed, self.window(), None)),
            Coder::Lzma {
                properties,
                dictionary,
            } => Box::new(LzmaReader::new_with_props(
                packed,
                self.unpacked,
                properties,
                dictionary,
                None,
            )?),
        })
    }
}

/// The parts of an archive, if all of its content is LZMA2 or LZMA without further filters.
pub(super) fn parts(archive: &Archive, source: &impl ReadAt) -> io::Result<Option<Vec<Part>>> {
    // Members with content, and their bytes.
    let mut inside = vec![(0_u64, 0_u64); archive.blocks.len()];
    let blocks = archive.stream_map.file_block_index.iter();
    for (file, block) in archive.files.iter().zip(blocks) {
        if let Some(block) = block.filter(|_| file.has_stream && file.size > 0)
            && let Some((members, bytes)) = inside.get_mut(block)
        {
            *members += 1;
            *bytes = bytes.saturating_add(file.size);
        }
    }
    let mut parts = Vec::new();
    for (number, (block, (members, bytes))) in archive.blocks.iter().zip(inside).enumerate() {
        // A checksum of several members together is the business of who reads them as one.
        let is_plain = !block.has_crc || members == 1;
        let Some((packed, coder)) = stream(archive, number).filter(|_| is_plain) else {
            return Ok(None);
        };
        let Coder::Lzma2 { dictionary } = coder else {
            parts.push(Part {
                packed,
                unpacked: bytes,
                coder,
            });
            continue;
        };
        let before = parts.len();
        let ends_well = walk(source, packed, dictionary, &mut parts)?;
        let found: u64 = parts.iter().skip(before).map(|part| part.unpacked).sum();
        if !ends_well || found != bytes {
            return Ok(None);
        }
    }
    Ok(Some(parts))
}

/// Place of the packed stream of a block, and how it is packed, if that is LZMA2 or LZMA and nothing else.
fn stream(archive: &Archive, number: usize) -> Option<(Range<u64>, Coder)> {
    let [coder] = archive.blocks.get(number)?.coders.as_slice() else {
        return None;
    };
    let coder = match (coder.encoder_method_id(), coder.properties()) {
        (EncoderMethod::ID_LZMA2, [bits @ 0..40]) => Coder::Lzma2 {
            dictionary: (2 | u32::from(bits & 1)) << (u32::from(bits / 2) + 11),
        },
        (EncoderMethod::ID_LZMA2, [40]) => Coder::Lzma2 {
            dictionary: u32::MAX,
        },
        (EncoderMethod::ID_LZMA, [properties, a, b, c, d]) => Coder::Lzma {
            properties: *properties,
            dictionary: u32::from_le_bytes([*a, *b, *c, *d]),
        },
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
    Some((start..end, coder))
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
                coder: Coder::Lzma2 { dictionary },
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

/// Tells what failures to decode mean.
struct Decoding<R>(R);

impl<R: Read> Read for Decoding<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf).map_err(told)
    }
}

/// The error holds a [`SevenZError`](super::SevenZError).
fn told(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, damaged(error)),
    }
}

/// The content of an archive in spans: its parts, or pieces of them.
///
/// Pieces of a part are decoded one after the other. Where they are not wanted in this order, it is decoded from its
/// beginning again.
pub struct Decoded<P> {
    archive: Arc<P>,
    parts: Vec<Part>,
    /// Where each begins in the content.
    starts: Vec<u64>,
    /// No span is longer.
    longest: u64,
    /// The number of the first span of each part.
    firsts: Vec<usize>,
    /// What comes next of a part whose first pieces were decoded.
    under_way: Mutex<Option<UnderWay>>,
}

/// A part that is being decoded.
struct UnderWay {
    part: usize,
    /// Bytes of it that came.
    done: u64,
    decoding: Decoding<Box<dyn Read + Send>>,
}

impl<P: ReadAt + Send + Sync + 'static> Decoded<P> {
    /// Of an archive with these parts, in spans of `longest` bytes at most.
    pub fn new(archive: P, parts: Vec<Part>, longest: u64) -> Self {
        let longest = longest.max(1);
        let (mut starts, mut firsts) = (Vec::new(), Vec::new());
        let (mut start, mut first) = (0_u64, 0_usize);
        for part in &parts {
            starts.push(start);
            firsts.push(first);
            start = start.saturating_add(part.unpacked);
            let pieces = part.unpacked.div_ceil(longest);
            first = first.saturating_add(usize::try_from(pieces).unwrap_or(usize::MAX));
        }
        firsts.push(first);
        Self {
            archive: Arc::new(archive),
            parts,
            starts,
            longest,
            firsts,
            under_way: Mutex::default(),
        }
    }

    fn open(&self, part: &Part) -> io::Result<Decoding<Box<dyn Read + Send>>> {
        let packed = Section::new(Arc::clone(&self.archive), part.packed.clone());
        part.reader(packed).map(Decoding).map_err(told)
    }
}

impl<P: ReadAt + Send + Sync + 'static> Spans for Decoded<P> {
    fn count(&self) -> usize {
        self.firsts.last().copied().unwrap_or(0)
    }

    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let behind = self.starts.partition_point(|start| *start <= offset);
        let part = behind.checked_sub(1)?;
        let start = *self.starts.get(part)?;
        let end = start.checked_add(self.parts.get(part)?.unpacked)?;
        let piece = (offset - start) / self.longest;
        let begin = start + piece * self.longest;
        let number = self.firsts.get(part)? + usize::try_from(piece).ok()?;
        let end = end.min(begin.saturating_add(self.longest));
        (offset < end).then_some((number, begin..end))
    }

    fn unpack(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<u64> {
        let gone = || io::Error::from(io::ErrorKind::InvalidInput);
        let place = self.firsts.partition_point(|first| *first <= number);
        let place = place.checked_sub(1).ok_or_else(gone)?;
        let (Some(part), Some(first)) = (self.parts.get(place), self.firsts.get(place)) else {
            return Err(gone());
        };
        let start = (number - first) as u64 * self.longest;
        let length = self.longest.min(part.unpacked - start);
        bytes
            .try_reserve_exact(usize::try_from(length).map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
        // Whole parts are decoded side by side, pieces of one by one thread.
        let is_whole = length == part.unpacked;
        let mut held = (!is_whole).then(|| {
            let under_way = self.under_way.lock();
            under_way.unwrap_or_else(PoisonError::into_inner)
        });
        let before = held.as_mut().and_then(|held| held.take());
        let mut one = match before.filter(|one| one.part == place && one.done <= start) {
            Some(one) => one,
            None => UnderWay {
                part: place,
                done: 0,
                decoding: self.open(part)?,
            },
        };
        let lost = start - one.done;
        one.take(lost, &mut io::sink())?;
        one.take(length, bytes)?;
        if one.done < part.unpacked {
            if let Some(held) = held.as_mut() {
                **held = Some(one);
            }
        } else if one.decoding.read(&mut [0])? > 0 {
            return Err(told(io::ErrorKind::InvalidData.into()));
        }
        Ok(lost)
    }
}

impl UnderWay {
    /// Hands on the next so many bytes.
    fn take(&mut self, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let count = io::copy(&mut Read::by_ref(&mut self.decoding).take(bytes), out)?;
        self.done += count;
        match count == bytes {
            true => Ok(()),
            false => Err(told(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}
