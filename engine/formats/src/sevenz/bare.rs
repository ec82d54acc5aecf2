//! Archives without content: folders and empty files only.
//!
//! Their header has no streams at all. The crate that writes archives puts an empty list of streams there instead, which
//! 7-Zip accepts and py7zr calls broken; so these few bytes are written here.

use std::io::{self, Write};

/// Property numbers of the 7z header (7zFormat.txt of the LZMA SDK).
const END: u8 = 0x00;
const HEADER: u8 = 0x01;
const FILES_INFO: u8 = 0x05;
const EMPTY_STREAM: u8 = 0x0E;
const EMPTY_FILE: u8 = 0x0F;
const NAMES: u8 = 0x11;
const ATTRIBUTES: u8 = 0x15;

/// An entry without content.
pub(super) struct BareEntry {
    pub path: String,
    pub is_directory: bool,
    pub attributes: u32,
}

/// Writes the whole archive.
pub(super) fn write(mut out: impl Write, entries: &[BareEntry]) -> io::Result<()> {
    let header = if entries.is_empty() {
        Vec::new()
    } else {
        header(entries)
    };
    let mut start = Vec::with_capacity(20);
    start.extend_from_slice(&0_u64.to_le_bytes());
    start.extend_from_slice(&(header.len() as u64).to_le_bytes());
    start.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    out.write_all(b"7z\xBC\xAF\x27\x1C\x00\x04")?;
    out.write_all(&crc32fast::hash(&start).to_le_bytes())?;
    out.write_all(&start)?;
    out.write_all(&header)
}

fn header(entries: &[BareEntry]) -> Vec<u8> {
    let mut header = vec![HEADER, FILES_INFO];
    push_number(&mut header, entries.len() as u64);
    property(
        &mut header,
        EMPTY_STREAM,
        &bits(entries.iter().map(|_| true)),
    );
    if entries.iter().any(|entry| !entry.is_directory) {
        property(
            &mut header,
            EMPTY_FILE,
            &bits(entries.iter().map(|entry| !entry.is_directory)),
        );
    }
    let mut names = vec![0];
    for entry in entries {
        names.extend(
            entry
                .path
                .encode_utf16()
                .chain([0])
                .flat_map(u16::to_le_bytes),
        );
    }
    property(&mut header, NAMES, &names);
    // All are defined; not in another stream.
    let mut attributes = vec![1, 0];
    attributes.extend(
        entries
            .iter()
            .flat_map(|entry| entry.attributes.to_le_bytes()),
    );
    property(&mut header, ATTRIBUTES, &attributes);
    header.extend([END, END]);
    header
}

fn property(header: &mut Vec<u8>, kind: u8, content: &[u8]) {
    header.push(kind);
    push_number(header, content.len() as u64);
    header.extend_from_slice(content);
}

/// Bits from the highest of each byte.
fn bits(values: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, value) in values.enumerate() {
        if index % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(value) << (7 - index % 8);
        }
    }
    bytes
}

/// 7z's number: the count of leading ones of the first byte tells how many bytes follow, lowest first; what is left of
/// the first byte are the highest bits.
fn push_number(out: &mut Vec<u8>, value: u64) {
    let extra = (0..8)
        .find(|extra| value < 1 << (7 * (extra + 1)))
        .unwrap_or(8);
    if extra == 8 {
        out.push(0xFF);
    } else {
        let ones = !(0xFF_u16 >> extra) as u8;
        out.push(ones | (value >> (8 * extra)) as u8);
    }
    out.extend_from_slice(&value.to_le_bytes()[..extra]);
}
