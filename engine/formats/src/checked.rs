//! Bytes that have a checksum of their own.

use std::io::{self, Read};

/// Reads bytes whose CRC-32 is known: the read that would tell their end fails when it is another.
pub struct Checked<R> {
    inner: R,
    expected: u32,
    hasher: crc32fast::Hasher,
}

impl<R: Read> Checked<R> {
    /// Of all that `inner` yields.
    pub fn new(inner: R, expected: u32) -> Self {
        Self {
            inner,
            expected,
            hasher: crc32fast::Hasher::new(),
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        if count == 0 && !buffer.is_empty() {
            let (expected, actual) = (self.expected, self.hasher.clone().finalize());
            if actual != expected {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "got the CRC-32 {actual:08x}, expected {expected:08x}: it is damaged; fetch it again"
                    ),
                ));
            }
        }
        Ok(count)
    }
}
