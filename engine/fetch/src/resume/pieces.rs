//! The pieces of a file, and the piece map: a file next to the partial file that records the existing pieces.
//!
//! The first line of the map is JSON and identifies the object and its address. Then follow records of twelve bytes: the
//! index of a piece, the CRC-32 of its bytes, and a checksum of the record. This checksum also depends on the first line.
//!
//! A record is appended after its piece was written, so after a crash of the process every recorded piece exists. After a
//! power failure, an incomplete record does not match its checksum, and an incomplete piece does not match its CRC.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use prep_cache::Digest;
use serde::{Deserialize, Serialize};

use crate::wire::identity::Identity;

/// Maximum number of pieces of a file. It limits the memory of the piece map, because the server determines the file's
/// length. With pieces of 256 KiB, a file may have 8 TiB.
const MAX_PIECES: u64 = 1 << 25;

/// Returns the maximum length of a file whose pieces have `size` bytes.
pub(crate) fn max_bytes(size: u64) -> u64 {
    size.saturating_mul(MAX_PIECES)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Missing,
    /// A connection is fetching the piece.
    Taken,
    /// The piece is on disk.
    Done,
    NotRequired,
}

/// The pieces of a file of `total` bytes. Pieces have `size` bytes, except possibly the last one.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    total: u64,
    size: u64,
    pieces: Vec<Piece>,
    /// No piece before this one is missing.
    first: usize,
    /// Number of required pieces that are not done.
    open: usize,
    required: usize,
}

impl Pieces {
    pub(crate) fn new(total: u64, size: u64) -> Pieces {
        let count = usize::try_from(total.div_ceil(size)).unwrap_or(usize::MAX);
        Pieces {
            total,
            size,
            pieces: vec![Piece::Missing; count],
            first: 0,
            open: count,
            required: count,
        }
    }

    /// Requires only the pieces that contain bytes of `ranges`.
    pub(crate) fn restrict(&mut self, ranges: &[Range<u64>]) {
        let mut required = vec![false; self.pieces.len()];
        for range in ranges {
            let (start, end) = self.numbers(range);
            required.get_mut(start..end).unwrap_or_default().fill(true);
        }
        self.required = required.iter().filter(|required| **required).count();
        self.open = 0;
        for (piece, required) in self.pieces.iter_mut().zip(required) {
            match (required, *piece) {
                (false, _) => *piece = Piece::NotRequired,
                (true, Piece::Done) => {}
                (true, _) => self.open += 1,
            }
        }
    }

    /// Returns the numbers of the pieces that contain bytes of `range`, as first number and exclusive end.
    fn numbers(&self, range: &Range<u64>) -> (usize, usize) {
        let number = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let end = number(range.end.div_ceil(self.size)).min(self.pieces.len());
        (number(range.start / self.size).min(end), end)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0
    }

    pub(crate) fn range(&self, piece: usize) -> Range<u64> {
        let start = (piece as u64).saturating_mul(self.size).min(self.total);
        start..start.saturating_add(self.size).min(self.total)
    }

    /// Returns the length of all required pieces that are not on disk.
    pub(crate) fn missing_bytes(&self) -> u64 {
        let last = self.pieces.last();
        self.bytes_of(
            self.open,
            matches!(last, Some(Piece::Missing | Piece::Taken)),
        )
    }

    /// Returns the length of all required pieces.
    pub(crate) fn requested_bytes(&self) -> u64 {
        let last = self.pieces.last();
        self.bytes_of(
            self.required,
            last.is_some_and(|last| *last != Piece::NotRequired),
        )
    }

    /// Returns the length of `count` pieces in bytes. If `has_last` is true, one of these pieces is the last piece of the
    /// file, which can be shorter.
    fn bytes_of(&self, count: usize, has_last: bool) -> u64 {
        let full = count.saturating_sub(usize::from(has_last)) as u64;
        let last = match has_last {
            true => {
                let range = self.range(self.pieces.len().saturating_sub(1));
                range.end - range.start
            }
            false => 0,
        };
        full.saturating_mul(self.size)
            .saturating_add(last)
            .min(self.total)
    }

    pub(crate) fn set_done(&mut self, piece: usize) {
        if let Some(state) = self.pieces.get_mut(piece)
            && matches!(state, Piece::Missing | Piece::Taken)
        {
            *state = Piece::Done;
            self.open -= 1;
        }
    }

    pub(crate) fn set_missing(&mut self, piece: usize) {
        if let Some(state) = self.pieces.get_mut(piece) {
            if *state == Piece::Done {
                self.open += 1;
            }
            *state = Piece::Missing;
            self.first = self.first.min(piece);
        }
    }

    /// Marks the first missing piece and the missing pieces directly after it as taken. Takes up to `limit` bytes, but at
    /// least one piece. Returns the byte range of these pieces.
    pub(crate) fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let missing = |piece: &Piece| *piece == Piece::Missing;
        let rest = self.pieces.get_mut(self.first..)?;
        let start = rest.iter().position(missing)?;
        let count = usize::try_from(limit / self.size).unwrap_or(usize::MAX);
        let mut taken = 0;
        for piece in rest.iter_mut().skip(start).take(count.max(1)) {
            if !missing(piece) {
                break;
            }
            *piece = Piece::Taken;
            taken += 1;
        }
        let start = self.first + start;
        self.first = start + taken;
        Some(self.range(start).start..self.range(start + taken - 1).end)
    }

    /// Marks as missing all pieces in `range` that are still taken. Pieces that are done stay done.
    pub(crate) fn give_back(&mut self, range: &Range<u64>) {
        let (start, end) = self.numbers(range);
        for piece in start..end {
            if self.pieces.get(piece) == Some(&Piece::Taken) {
                self.set_missing(piece);
            }
        }
    }
}

const RECORD_BYTES: usize = 12;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Length of a piece in bytes.
    piece: u64,
    /// Digest of the address of the file.
    source: Digest,
    object: Identity,
}

const FORMAT_VERSION: u32 = 2;

/// A piece map that is open for appending records.
#[derive(Debug)]
pub(crate) struct Map {
    file: File,
    /// The CRC-32 of the first line, which is part of the checksum of each record.
    seed: u32,
}

#[derive(Debug)]
pub(crate) struct MapContent {
    /// Digest of the address of the file.
    pub(crate) source: Digest,
    pub(crate) object: Identity,
    /// Length of a piece in bytes.
    pub(crate) piece: u64,
    /// Index and CRC-32 of each piece on disk. Later records of a piece replace earlier ones.
    pub(crate) records: Vec<(u32, u32)>,
}

impl Map {
    /// Creates a map without records. Replaces an existing map.
    pub(crate) fn create(
        path: &Path,
        source: Digest,
        object: &Identity,
        piece: u64,
    ) -> io::Result<Map> {
        let header = Header {
            format: FORMAT_VERSION,
            piece,
            source,
            object: object.clone(),
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        let mut file = File::create(path)?;
        file.write_all(&line)?;
        Ok(Map {
            file,
            seed: crc32fast::hash(&line),
        })
    }

    /// Opens an existing map, and removes an incomplete record at its end. Returns `None` if the file does not exist or is
    /// not a valid map.
    pub(crate) fn open(path: &Path) -> io::Result<Option<(Map, MapContent)>> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let (line, records) = bytes.split_at(end + 1);
        let header: Header = match serde_json::from_slice(line) {
            Ok(header) => header,
            Err(_) => return Ok(None),
        };
        if header.format != FORMAT_VERSION || header.piece == 0 {
            return Ok(None);
        }
        let seed = crc32fast::hash(line);
        let records: Vec<(u32, u32)> = records
            .as_chunks::<RECORD_BYTES>()
            .0
            .iter()
            .map_while(|record| decode(seed, record))
            .collect();
        let valid = (line.len() + records.len() * RECORD_BYTES) as u64;
        file.set_len(valid)?;
        file.seek(SeekFrom::Start(valid))?;
        let known = MapContent {
            source: header.source,
            object: header.object,
            piece: header.piece,
            records,
        };
        Ok(Some((Map { file, seed }, known)))
    }

    pub(crate) fn append(&mut self, piece: u32, crc: u32) -> io::Result<()> {
        self.file.write_all(&encode(self.seed, piece, crc))
    }
}

fn record_checksum(seed: u32, piece: u32, crc: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [seed, piece, crc] {
        hasher.update(&part.to_le_bytes());
    }
    hasher.finalize()
}

/// Encodes a record of the map: the index of a piece, its CRC, and the checksum of the record.
fn encode(seed: u32, piece: u32, crc: u32) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    let parts = [piece, crc, record_checksum(seed, piece, crc)];
    for (place, part) in record.as_chunks_mut::<4>().0.iter_mut().zip(parts) {
        *place = part.to_le_bytes();
    }
    record
}

/// Returns the index of a piece and its CRC, or `None` if the checksum of the record is wrong.
fn decode(seed: u32, record: &[u8; RECORD_BYTES]) -> Option<(u32, u32)> {
    let [piece, crc, sum] = record.as_chunks::<4>().0 else {
        return None;
    };
    let (piece, crc) = (u32::from_le_bytes(*piece), u32::from_le_bytes(*crc));
    (u32::from_le_bytes(*sum) == record_checksum(seed, piece, crc)).then_some((piece, crc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pieces_are_taken_in_order_up_to_the_next_existing_piece() {
        let mut pieces = Pieces::new(95, 10);
        pieces.set_done(3);
        assert_eq!(pieces.take(25), Some(0..20));
        assert_eq!(pieces.take(25), Some(20..30));
        assert_eq!(pieces.take(1), Some(40..50));
        assert_eq!(pieces.take(1000), Some(50..95));
        assert_eq!(pieces.take(1000), None);
        pieces.set_done(0);
        pieces.give_back(&(0..20));
        assert_eq!(pieces.take(1000), Some(10..20));
        for piece in 0..10 {
            assert!(!pieces.is_complete());
            pieces.set_done(piece);
            pieces.set_done(piece);
        }
        assert!(pieces.is_complete());
        pieces.set_missing(9);
        assert_eq!(pieces.missing_bytes(), 5);
        assert_eq!(pieces.take(1), Some(90..95));
    }

    #[test]
    fn pieces_that_are_not_required_are_not_taken() {
        let mut pieces = Pieces::new(95, 10);
        pieces.set_done(2);
        pieces.restrict(&[5..25, 55..60, 90..95]);
        assert_eq!((pieces.requested_bytes(), pieces.missing_bytes()), (45, 35));
        assert_eq!(pieces.take(1000), Some(0..20));
        assert_eq!(pieces.take(1000), Some(50..60));
        assert_eq!(pieces.take(1000), Some(90..95));
        assert_eq!(pieces.take(1000), None);
        for piece in [0, 1, 5, 9] {
            assert!(!pieces.is_complete());
            pieces.set_done(piece);
        }
        assert!(pieces.is_complete());
    }

    #[test]
    fn huge_file_lengths_do_not_overflow() {
        for total in [u64::MAX, u64::MAX - 1, (1 << 63) + 1] {
            let mut pieces = Pieces::new(total, 1 << 44);
            let last = usize::try_from(total.div_ceil(1 << 44)).unwrap() - 1;
            assert_eq!(pieces.range(last), (last as u64) << 44..total);
            assert_eq!(
                (pieces.missing_bytes(), pieces.requested_bytes()),
                (total, total)
            );
            assert!(
                pieces
                    .take(u64::MAX)
                    .is_some_and(|taken| taken.start == 0 && taken.end <= total)
            );
        }
        assert_eq!(max_bytes(256 << 10), 8 << 40);
        assert_eq!(max_bytes(1 << 63), u64::MAX);
    }

    #[test]
    fn an_empty_file_has_no_pieces() {
        let mut pieces = Pieces::new(0, 10);
        assert!(pieces.is_complete());
        assert_eq!(pieces.take(10), None);
    }
}

#[cfg(test)]
mod map_tests {
    use super::*;

    fn identity(etag: &str) -> Identity {
        Identity {
            total: 100,
            etag: Some(etag.to_owned()),
            modified: None,
            md5: None,
        }
    }

    fn source() -> Digest {
        Digest::of_bytes(b"https://a.example/file")
    }

    #[test]
    fn a_truncated_map_returns_its_complete_records() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("map");
        let mut map = Map::create(&path, source(), &identity("\"a\""), 10)?;
        let records = [(0, 7), (3, u32::MAX), (9, 0)];
        for (piece, crc) in records {
            map.append(piece, crc)?;
        }
        let whole = std::fs::read(&path)?;
        let line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut])?;
            let opened = Map::open(&path)?;
            assert_eq!(opened.is_some(), cut >= line, "{cut}");
            if let Some((mut map, known)) = opened {
                assert_eq!(known.records, records[..(cut - line) / RECORD_BYTES]);
                assert_eq!(known.object, identity("\"a\""));
                map.append(5, 5)?;
                let (_, known) = Map::open(&path)?.unwrap();
                assert_eq!(known.records.last(), Some(&(5, 5)));
            }
        }
        Ok(())
    }

    #[test]
    fn zeros_and_records_of_a_different_object_are_ignored() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("map");
        let mut map = Map::create(&path, source(), &identity("\"a\""), 10)?;
        let seed = map.seed;
        map.append(0, 7)?;
        map.file.write_all(&[0; RECORD_BYTES])?;
        map.append(1, 7)?;
        assert_eq!(Map::open(&path)?.unwrap().1.records, [(0, 7)]);
        let mut map = Map::create(&path, source(), &identity("\"b\""), 10)?;
        map.file.write_all(&encode(seed, 0, 7))?;
        assert_eq!(Map::open(&path)?.unwrap().1.records, []);
        Ok(())
    }
}
