//! Reads arbitrary bytes as the header of a 7z archive, with correct checksums.

use std::io::Cursor;

use prep_formats::limits::DecodingLimits;
use prep_formats::sevenz::SevenZReader;

pub fn check(data: &[u8]) {
    // The offset, length and CRC-32 of the header, which follows the signature header immediately.
    let mut start = Vec::new();
    start.extend(0_u64.to_le_bytes());
    start.extend((data.len() as u64).to_le_bytes());
    start.extend(crc32fast::hash(data).to_le_bytes());
    let mut archive = b"7z\xbc\xaf\x27\x1c\0\x04".to_vec();
    archive.extend(crc32fast::hash(&start).to_le_bytes());
    archive.extend(start);
    archive.extend(data);
    let budget = DecodingLimits::default().budget(archive.len() as u64);
    if let Ok(reader) = SevenZReader::open(Cursor::new(&archive), &budget) {
        let _ = (reader.list(&mut |_| ()), reader.parts(&archive));
    }
}
