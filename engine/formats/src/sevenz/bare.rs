//! Writes archives without content: only directories and empty files.
//!
//! The header of such an archive has no list of streams. The library that writes all other archives would write an
//! empty list. 7-Zip accepts an empty list, but py7zr rejects it as corrupt. So this module writes the header itself.

use std::io::{self, Write};

/// Property numbers of the 7z header, from `7zFormat.txt` of the LZMA SDK.
const END: u8 = 0x00;
const HEADER: u8 = 0x01;
const FILES_INFO: u8 = 0x05;
const EMPTY_STREAM: u8 = 0x0E;
const EMPTY_FILE: u8 = 0x0F;
const NAMES: u8 = 0x11;
const ATTRIBUTES: u8 = 0x15;

/// A directory or empty file.
pub(super) struct BareEntry {
    pub path: String,
    pub is_directory: bool,
    pub attributes: u32,
}

/// Writes an archive with these entries.
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
    // All attributes are defined, and they are not in a separate stream.
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

/// Appends a property: its number, the length of its content, the content.
fn property(header: &mut Vec<u8>, kind: u8, content: &[u8]) {
    header.push(kind);
    push_number(header, content.len() as u64);
    header.extend_from_slice(content);
}

/// Packs bits into bytes, highest bit first.
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

/// Appends an integer in 7z's encoding. The number of leading ones in the first byte is the number of bytes that
/// follow, lowest first. The remaining bits of the first byte are the highest bits of the integer.
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
