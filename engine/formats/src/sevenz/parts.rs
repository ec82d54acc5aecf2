//! Finds and decodes the parts of an archive that can be decoded separately.
//!
//! A stream of LZMA2 may reset its dictionary, and the bytes after a reset do not depend on the bytes before the reset. The
//! headers of chunks show the resets, so no data need to be decoded to find them. A stream of LZMA is a single part.
//!
//! Source: the control bytes of chunks in the specification of LZMA2 (`lzma2-format` of the XZ format, section 5.3.1).

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use lzma_rust2::{Lzma2Reader, LzmaReader};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sevenz_rust2::{Archive, EncoderMethod, Error};

use crate::archive::member::ArchiveError;
use crate::read_at::{ByteSection, ReadAt};
use crate::spans::Spans;

/// A part with fewer uncompressed bytes is merged with the next one.
const MIN_PART_BYTES: u64 = 1 << 20;

/// Length of the signature header in bytes. Offsets of packed streams are relative to its end.
const SIGNATURE_HEADER_BYTES: u64 = 32;

/// A range of a packed stream that can be decoded separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SevenZPart {
    /// Range of the packed bytes in the archive.
    pub packed: Range<u64>,
    /// Number of uncompressed bytes.
    pub unpacked: u64,
    /// The compression method.
    pub coder: Coder,
}

/// The compression method of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coder {
    /// LZMA2.
    Lzma2 {
        /// Size of the dictionary in bytes.
        dictionary: u32,
    },
    /// LZMA, with its byte of properties.
    Lzma {
        /// The encoded parameters lc, lp and pb.
        properties: u8,
        /// Size of the dictionary in bytes.
        dictionary: u32,
    },
}

impl SevenZPart {
    /// Returns the memory in bytes that the decoder needs for its dictionary.
    #[must_use]
    pub fn window(&self) -> u32 {
        let (Coder::Lzma2 { dictionary } | Coder::Lzma { dictionary, .. }) = self.coder;
        u32::try_from(self.unpacked).map_or(dictionary, |unpacked| unpacked.min(dictionary))
    }

    /// Returns a reader of the uncompressed bytes. `packed` must return the packed bytes of this part.
    fn reader(&self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        // A complete stream ends with a zero byte, which a part from the middle of a stream lacks.
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

/// Divides an archive into parts. Returns `None` if a block uses filters or an unsupported method, has one checksum for
/// several members, or does not have the declared length.
pub(super) fn parts(
    archive: &Archive,
    source: &impl ReadAt,
) -> io::Result<Option<Vec<SevenZPart>>> {
    // The number of members with content and their total length, for each block.
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
        // A checksum over several members can only be verified by reading the block sequentially.
        let is_verifiable = !block.has_crc || members == 1;
        let Some((packed, coder)) = stream(archive, number).filter(|_| is_verifiable) else {
            return Ok(None);
        };
        let Coder::Lzma2 { dictionary } = coder else {
            parts.push(SevenZPart {
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

/// Returns the range and method of a block's stream. Returns `None` if the block uses filters or an unsupported method.
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
    let start = SIGNATURE_HEADER_BYTES
        .checked_add(archive.pack_pos())?
        .checked_add(offset)?;
    let end = start.checked_add(*archive.pack_sizes().get(first)?)?;
    Some((start..end, coder))
}

/// Appends the parts of an LZMA2 stream to `parts`. Returns whether the stream ends properly.
fn walk(
    source: &impl ReadAt,
    stream: Range<u64>,
    dictionary: u32,
    parts: &mut Vec<SevenZPart>,
) -> io::Result<bool> {
    let mut at = stream.start;
    let mut part: Option<SevenZPart> = None;
    loop {
        // The first 5 bytes of a chunk header contain all lengths. Fewer bytes may be left at the end of the stream.
        let mut header = [0; 5];
        let left = usize::try_from(stream.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let Some(header) = header.get_mut(..left.min(5)) else {
            return Ok(false);
        };
        source.read_exact_at(header, at)?;
        let size = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low])) + 1;
        // The control byte 0 ends the stream. A chunk with control byte 1 or 2 is uncompressed, one from 0x80 on is LZMA.
        let (control, length, unpacked) = match *header {
            [0, ..] => break,
            [control @ 1..=2, high, low, ..] => (control, 3 + size(high, low), size(high, low)),
            [control @ 0x80..=0xff, high, low, packed_high, packed_low] => {
                let unpacked = size(high, low) + (u64::from(control & 0x1f) << 16);
                let properties = u64::from(control >= 0xc0);
                let length = 5 + properties + size(packed_high, packed_low);
                (control, length, unpacked)
            }
            _ => return Ok(false),
        };
        let resets_dictionary = control == 1 || control >= 0xe0;
        if resets_dictionary
            && part
                .as_ref()
                .is_none_or(|part| part.unpacked >= MIN_PART_BYTES)
        {
            parts.extend(part.replace(SevenZPart {
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

/// Converts the errors of a decoder to I/O errors that contain an [`ArchiveError`].
struct ErrorMapper<R>(R);

impl<R: Read> Read for ErrorMapper<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf).map_err(decoding_error)
    }
}

fn decoding_error(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, damaged(error)),
    }
}

/// Reads the content of an archive as spans. A span is a part, or a section of a long part.
///
/// The sections of a part are decoded in order. To read an earlier section again, the part is decoded from its beginning.
pub struct PartSpans<P> {
    archive: Arc<P>,
    parts: Vec<SevenZPart>,
    /// Uncompressed offset of each part.
    starts: Vec<u64>,
    /// Maximum length of a span in bytes.
    longest: u64,
    /// The index of the first span of each part, followed by the total number of spans.
    firsts: Vec<usize>,
    /// The decoder of the part whose section was read last, for the next section.
    current: Mutex<Option<PartDecoder>>,
}

/// The decoder of a part that has been decoded up to some section.
struct PartDecoder {
    /// Index of the part.
    part: usize,
    /// Number of bytes decoded so far.
    done: u64,
    decoding: ErrorMapper<Box<dyn Read + Send>>,
}

impl<P: ReadAt + Send + Sync + 'static> PartSpans<P> {
    /// Divides the parts of an archive into spans of at most `longest` bytes.
    pub fn new(archive: P, parts: Vec<SevenZPart>, longest: u64) -> Self {
        let longest = longest.max(1);
        let (mut starts, mut firsts) = (Vec::new(), Vec::new());
        let (mut start, mut first) = (0_u64, 0_usize);
        for part in &parts {
            starts.push(start);
            firsts.push(first);
            start = start.saturating_add(part.unpacked);
            let sections = part.unpacked.div_ceil(longest);
            first = first.saturating_add(usize::try_from(sections).unwrap_or(usize::MAX));
        }
        firsts.push(first);
        Self {
            archive: Arc::new(archive),
            parts,
            starts,
            longest,
            firsts,
            current: Mutex::default(),
        }
    }

    fn open(&self, part: &SevenZPart) -> io::Result<ErrorMapper<Box<dyn Read + Send>>> {
        let packed = ByteSection::new(Arc::clone(&self.archive), part.packed.clone());
        part.reader(packed).map(ErrorMapper).map_err(decoding_error)
    }
}

impl<P: ReadAt + Send + Sync + 'static> Spans for PartSpans<P> {
    fn count(&self) -> usize {
        self.firsts.last().copied().unwrap_or(0)
    }

    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let next = self.starts.partition_point(|start| *start <= offset);
        let part = next.checked_sub(1)?;
        let start = *self.starts.get(part)?;
        let end = start.checked_add(self.parts.get(part)?.unpacked)?;
        let section = (offset - start) / self.longest;
        let begin = start + section * self.longest;
        let number = self.firsts.get(part)? + usize::try_from(section).ok()?;
        let end = end.min(begin.saturating_add(self.longest));
        (offset < end).then_some((number, begin..end))
    }

    fn unpack(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<u64> {
        let no_such_span = || io::Error::from(io::ErrorKind::InvalidInput);
        let part_index = self.firsts.partition_point(|first| *first <= number);
        let part_index = part_index.checked_sub(1).ok_or_else(no_such_span)?;
        let (Some(part), Some(first)) = (self.parts.get(part_index), self.firsts.get(part_index))
        else {
            return Err(no_such_span());
        };
        let start = (number - first) as u64 * self.longest;
        let length = self.longest.min(part.unpacked - start);
        bytes
            .try_reserve_exact(usize::try_from(length).map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
        // Complete parts are decoded in parallel. The sections of a part are decoded by one thread at a time.
        let is_entire_part = length == part.unpacked;
        let mut guard = (!is_entire_part).then(|| self.current.lock());
        let before = guard.as_mut().and_then(|guard| guard.take());
        let mut decoder =
            match before.filter(|decoder| decoder.part == part_index && decoder.done <= start) {
                Some(decoder) => decoder,
                None => PartDecoder {
                    part: part_index,
                    done: 0,
                    decoding: self.open(part)?,
                },
            };
        let discarded = start - decoder.done;
        decoder.take(discarded, &mut io::sink())?;
        decoder.take(length, bytes)?;
        if decoder.done < part.unpacked {
            if let Some(guard) = guard.as_mut() {
                **guard = Some(decoder);
            }
        } else if decoder.decoding.read(&mut [0])? > 0 {
            return Err(decoding_error(io::ErrorKind::InvalidData.into()));
        }
        Ok(discarded)
    }
}

impl PartDecoder {
    /// Decodes the next `bytes` bytes and writes them to `out`.
    fn take(&mut self, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let count = io::copy(&mut Read::by_ref(&mut self.decoding).take(bytes), out)?;
        self.done += count;
        match count == bytes {
            true => Ok(()),
            false => Err(decoding_error(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Converts an error of `sevenz_rust2`.
pub(super) fn failed(error: Error) -> ArchiveError {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => ArchiveError::Encrypted,
        Error::UnsupportedCompressionMethod(method) if method.contains("AES") => {
            ArchiveError::Encrypted
        }
        Error::UnsupportedCompressionMethod(method) => ArchiveError::UnsupportedMethod { method },
        other => {
            let (reason, source) = reason(other);
            ArchiveError::Damaged7z { reason, source }
        }
    }
}

pub(super) fn damaged(error: io::Error) -> ArchiveError {
    failed(error.into())
}

/// Returns the message of an error of `sevenz_rust2`. Also returns the inner I/O error, which `Error::source` omits.
pub(super) fn reason(error: Error) -> (String, Option<io::Error>) {
    let text = error.to_string();
    match error {
        Error::Io(error, _) => (prep_failure::chain(&error), Some(error)),
        _ => (text, None),
    }
}
