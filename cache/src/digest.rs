//! Digests: 256-bit BLAKE3 hashes that name contents.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The BLAKE3 hash of some bytes, written as 64 lower-case hexadecimal digits.
///
/// Parsing rejects upper case, so that each digest has only one spelling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; Digest::LEN]);

impl Digest {
    /// Length of a digest in bytes.
    pub const LEN: usize = 32;

    /// Hashes `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).into())
    }

    /// Wraps a hash that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the raw hash.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Returns the first 12 hexadecimal digits, for display.
    pub fn short(&self) -> String {
        hex(&self.0[..6])
    }
}

/// Hashes `input` in chunks. Returns the digest and the number of bytes. Calls `progress` with the length of each chunk. If
/// `progress` returns an error, stops with this error.
pub(crate) fn hash(
    mut input: impl Read,
    chunk_bytes: usize,
    progress: &dyn Fn(u64) -> io::Result<()>,
) -> io::Result<(Digest, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; chunk_bytes];
    let mut len = 0;
    loop {
        let read = read_chunk(&mut input, &mut buffer)?;
        if read == 0 {
            return Ok((hasher.finalize().into(), len));
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
        len += read as u64;
        progress(read as u64)?;
    }
}

/// Reads bytes into `buffer`, and repeats the read if a signal interrupted it. Returns the number of bytes, or 0 at the end.
pub(crate) fn read_chunk(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Formats `bytes` as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(HEX[usize::from(nibble)]))
        .collect()
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The reason why a string is not a valid [`Digest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The string does not have 64 bytes. The field is its length.
    #[error("a digest has 64 hexadecimal digits, but this string has {0} bytes")]
    Length(usize),
    /// The byte at this offset is not a lower-case hexadecimal digit.
    #[error("the byte at offset {0} of the digest is not a lower-case hexadecimal digit")]
    Character(usize),
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        if text.len() != 2 * Self::LEN {
            return Err(DigestError::Length(text.len()));
        }
        let mut bytes = [0; Self::LEN];
        for (offset, digit) in text.bytes().enumerate() {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return Err(DigestError::Character(offset)),
            };
            bytes[offset / 2] |= if offset % 2 == 0 { value << 4 } else { value };
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
