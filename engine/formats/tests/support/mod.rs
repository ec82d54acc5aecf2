//! Builds zip archives byte by byte, so that a test can make any field invalid.

/// A member of the archive. `None` in a field of the local header means the value of the central directory.
#[derive(Clone)]
pub struct Member {
    pub name: Vec<u8>,
    pub local_name: Option<Vec<u8>>,
    pub flags: u16,
    /// The compression method: 0 is stored, 8 is deflate.
    pub method: u16,
    pub local_method: Option<u16>,
    pub crc: u32,
    pub local_crc: Option<u32>,
    /// The compressed data.
    pub data: Vec<u8>,
    /// The declared compressed size. `None` means the length of `data`.
    pub compressed_size: Option<u32>,
    /// The declared uncompressed size.
    pub size: u32,
    pub local_size: Option<u32>,
    /// The Unix mode.
    pub mode: u32,
    /// The declared offset of the local header. `None` means the actual offset.
    pub header_offset: Option<u32>,
    /// The extra fields of the local header.
    pub local_extra: Vec<u8>,
}

impl Member {
    pub fn stored(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            local_name: None,
            flags: 0,
            method: 0,
            local_method: None,
            crc: crc32fast::hash(content),
            local_crc: None,
            data: content.to_vec(),
            compressed_size: None,
            size: content.len() as u32,
            local_size: None,
            mode: 0o100_644,
            header_offset: None,
            local_extra: Vec::new(),
        }
    }

    pub fn deflated(name: &str, content: &[u8]) -> Self {
        use std::io::Write;
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        let data = encoder.finish().unwrap();
        Self {
            method: 8,
            data,
            ..Self::stored(name, content)
        }
    }

    fn compressed_size(&self) -> u32 {
        self.compressed_size.unwrap_or(self.data.len() as u32)
    }
}

/// Builds an archive with these members.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut central = Vec::new();
    for member in members {
        let offset = member.header_offset.unwrap_or(out.len() as u32);
        let local_name = member.local_name.as_ref().unwrap_or(&member.name);
        // The local header begins with the required version 2.0, flags, method, time and date (1980-01-01).
        out.extend(b"PK\x03\x04");
        put16(
            &mut out,
            &[
                20,
                member.flags,
                member.local_method.unwrap_or(member.method),
                0,
                33,
            ],
        );
        put32(
            &mut out,
            &[
                member.local_crc.unwrap_or(member.crc),
                member.compressed_size(),
                member.local_size.unwrap_or(member.size),
            ],
        );
        put16(
            &mut out,
            &[local_name.len() as u16, member.local_extra.len() as u16],
        );
        out.extend(local_name);
        out.extend(&member.local_extra);
        out.extend(&member.data);

        // The record of the central directory begins with the version and system of the writer (3 is Unix).
        central.extend(b"PK\x01\x02");
        put16(
            &mut central,
            &[3 << 8 | 20, 20, member.flags, member.method, 0, 33],
        );
        put32(
            &mut central,
            &[member.crc, member.compressed_size(), member.size],
        );
        put16(&mut central, &[member.name.len() as u16, 0, 0, 0, 0]);
        put32(&mut central, &[member.mode << 16, offset]);
        central.extend(&member.name);
    }
    let directory = out.len() as u32;
    out.extend(&central);
    out.extend(b"PK\x05\x06");
    let count = members.len() as u16;
    put16(&mut out, &[0, 0, count, count]);
    put32(&mut out, &[central.len() as u32, directory]);
    put16(&mut out, &[0]);
    out
}

fn put16(out: &mut Vec<u8>, values: &[u16]) {
    values
        .iter()
        .for_each(|value| out.extend(value.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    values
        .iter()
        .for_each(|value| out.extend(value.to_le_bytes()));
}
