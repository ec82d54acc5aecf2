//! Gives repeated access to the bytes of a file, in memory or on disk.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Initial and maximum size of the read buffer in bytes. The buffer grows with the file, because clearing 256 KiB takes
/// longer than reading a small file.
const FIRST: usize = 1 << 13;
const MOST: usize = 1 << 18;

/// The bytes of a file.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file, read from its beginning regardless of its cursor.
    File(&'a File),
}

impl<'a> Content<'a> {
    /// Returns the number of bytes.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn size(self) -> io::Result<u64> {
        match self {
            Content::Bytes(bytes) => Ok(bytes.len() as u64),
            Content::File(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Returns a reader that begins at the first byte.
    #[must_use]
    pub fn reader(self) -> Reader<'a> {
        Reader { of: self, at: 0 }
    }

    /// Calls `take` with all bytes, piece by piece.
    ///
    /// # Errors
    /// I/O errors of the file, and the errors of `take`.
    pub fn each<E: From<io::Error>>(
        self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut reader, mut chunks) = (self.reader(), Chunks::default());
        while let Some(chunk) = chunks.next(&mut reader)? {
            take(chunk)?;
        }
        Ok(())
    }
}

/// A read buffer that grows with the input.
#[derive(Debug)]
pub(crate) struct Chunks(Vec<u8>);

impl Default for Chunks {
    fn default() -> Self {
        Chunks(vec![0; FIRST])
    }
}

impl Chunks {
    /// Reads the next bytes. Returns `None` at the end.
    pub fn next(&mut self, input: &mut impl Read) -> io::Result<Option<&[u8]>> {
        loop {
            match input.read(&mut self.0) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    if count == self.0.len() && count < MOST {
                        self.0.resize(2 * count, 0);
                    }
                    return Ok(self.0.get(..count));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads a [`Content`] from its beginning.
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn chunks_grow_and_nothing_is_lost() {
        for size in [0, 1, FIRST - 1, FIRST, FIRST + 1, 5 * MOST + 7] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            for content in [Content::Bytes(&bytes), Content::File(&file)] {
                let (mut found, mut longest) = (Vec::new(), 0);
                let taken = content.each(|chunk| {
                    longest = longest.max(chunk.len());
                    found.extend_from_slice(chunk);
                    Ok::<_, io::Error>(())
                });
                taken.unwrap();
                assert_eq!(found, bytes);
                assert_eq!(longest == MOST, size > 2 * MOST);
                assert!(longest <= MOST);
            }
        }
    }
}
