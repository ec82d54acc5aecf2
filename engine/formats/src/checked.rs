//! A reader that verifies the length and, if known, the CRC-32 of its bytes.

use std::io::{self, Read};

/// Returns the bytes of the inner reader. Fails at the end of the stream if the length or CRC-32 is wrong.
pub struct CheckedReader<R> {
    inner: R,
    left: u64,
    crc32: Option<u32>,
    hasher: crc32fast::Hasher,
}

impl<R: Read> CheckedReader<R> {
    /// Expects exactly `bytes` bytes. If `crc32` is not `None`, the bytes must also have this CRC-32.
    pub fn new(inner: R, bytes: u64, crc32: Option<u32>) -> Self {
        Self {
            inner,
            left: bytes,
            crc32,
            hasher: crc32fast::Hasher::new(),
        }
    }

    /// Checks the length and the CRC-32. Must be called at the end of the stream.
    fn check(&self) -> io::Result<()> {
        if self.left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let actual = self.hasher.clone().finalize();
        match self.crc32 {
            Some(expected) if expected != actual => {
                let what = format!(
                    "got the CRC-32 {actual:08x}, expected {expected:08x}: the file is damaged; fetch it again"
                );
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for CheckedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if self.crc32.is_some() {
            self.hasher.update(buffer.get(..count).unwrap_or_default());
        }
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && !buffer.is_empty() {
            self.check()?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_and_modified_streams_are_errors() {
        let crc32 = crc32fast::hash(b"river");
        let read = |bytes: &[u8], count, crc32| {
            let mut found = Vec::new();
            let read = CheckedReader::new(bytes, count, crc32).read_to_end(&mut found);
            read.map(|_| found).map_err(|error| error.kind())
        };
        assert_eq!(read(b"river", 5, Some(crc32)), Ok(b"river".to_vec()));
        assert_eq!(read(b"river", 5, None), Ok(b"river".to_vec()));
        assert_eq!(read(b"", 0, Some(0)), Ok(Vec::new()));
        let damaged = Err(io::ErrorKind::InvalidData);
        assert_eq!(read(b"rives", 5, Some(crc32)), damaged);
        let short = Err(io::ErrorKind::UnexpectedEof);
        assert_eq!(read(b"rive", 5, Some(crc32)), short);
        assert_eq!(read(b"rive", 5, None), short);
    }
}
