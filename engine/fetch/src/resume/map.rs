//! The piece map: a file next to the partial file that records the pieces in it, each with its CRC-32.
//!
//! The first line is JSON and identifies the object and its address. It is followed by records of twelve bytes: the number of the
//! piece, the CRC-32 of its bytes, and a checksum of both that also depends on the first line. A record is appended
//! after its piece was written, so after a crash of the process every recorded piece exists. After a power failure,
//! records and pieces may be incomplete. An incomplete record fails its checksum. An incomplete piece fails its CRC
//! when the file is read back for its digest.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use prep_cache::Digest;
use serde::{Deserialize, Serialize};

use crate::wire::identity::Identity;

const RECORD_BYTES: usize = 12;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u32,
    piece: u64,
    source: Digest,
    object: Identity,
}

const FORMAT_VERSION: u32 = 2;

/// An open map, to which records are appended.
#[derive(Debug)]
pub(crate) struct Map {
    file: File,
    /// CRC-32 of the first line.
    seed: u32,
}

/// The content of a map file.
#[derive(Debug)]
pub(crate) struct MapContent {
    /// Digest of the address from which the pieces came.
    pub(crate) source: Digest,
    pub(crate) object: Identity,
    pub(crate) piece: u64,
    /// Pieces and their CRC-32. Later records replace earlier ones of the same piece.
    pub(crate) records: Vec<(u32, u32)>,
}

impl Map {
    /// Creates a new map and replaces an existing one.
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

    /// Opens an existing map. Returns `None` if there is no usable map.
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

    /// Appends the record of a piece.
    pub(crate) fn append(&mut self, piece: u32, crc: u32) -> io::Result<()> {
        self.file.write_all(&encode(self.seed, piece, crc))
    }
}

fn check(seed: u32, piece: u32, crc: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [seed, piece, crc] {
        hasher.update(&part.to_le_bytes());
    }
    hasher.finalize()
}

fn encode(seed: u32, piece: u32, crc: u32) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    let parts = [piece, crc, check(seed, piece, crc)];
    for (place, part) in record.as_chunks_mut::<4>().0.iter_mut().zip(parts) {
        *place = part.to_le_bytes();
    }
    record
}

fn decode(seed: u32, record: &[u8; RECORD_BYTES]) -> Option<(u32, u32)> {
    let [piece, crc, sum] = record.as_chunks::<4>().0 else {
        return None;
    };
    let (piece, crc) = (u32::from_le_bytes(*piece), u32::from_le_bytes(*crc));
    (u32::from_le_bytes(*sum) == check(seed, piece, crc)).then_some((piece, crc))
}

#[cfg(test)]
mod tests {
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
