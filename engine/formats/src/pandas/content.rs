//! Where a file's bytes are: in memory or on disk. Either can be gone through several times.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// The bytes of a file.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    Bytes(&'a [u8]),
    /// From its start, wherever it was read to.
    File(&'a File),
}

impl<'a> Content<'a> {
    /// Number of bytes.
    ///
    /// # Errors
    /// When the file does not tell.
    pub fn size(self) -> io::Result<u64> {
        match self {
            Content::Bytes(bytes) => Ok(bytes.len() as u64),
            Content::File(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Reads from the start.
    #[must_use]
    pub fn reader(self) -> Reader<'a> {
        Reader { of: self, at: 0 }
    }

    /// Hands out all bytes, piece by piece.
    ///
    /// # Errors
    /// When the file cannot be read, and what `take` says.
    pub fn each<E: From<io::Error>>(
        self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reader = self.reader();
        let mut chunk = vec![0; CHUNK];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => take(chunk.get(..count).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads a [`Content`] from its start.
#[derive(Debug)]
pub struct Reader<'a> {
    of: Content<'a>,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match self.of {
            Content::File(file) => file.read_at(into, self.at)?,
            Content::Bytes(bytes) => {
                let at = usize::try_from(self.at).unwrap_or(usize::MAX);
                bytes.get(at..).unwrap_or_default().read(into)?
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}
