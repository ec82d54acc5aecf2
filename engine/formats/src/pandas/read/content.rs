//! Provides repeated access to the bytes of a file in memory or on disk.

use std::fs::File;
use std::io::{self, Read};

use crate::read_at::{ByteSection, ReadAt};

/// Initial and maximum size of the read buffer in bytes. For a small file, clearing 256 KiB would take longer than reading.
const INITIAL_BUFFER_BYTES: usize = 1 << 13;
const MAX_BUFFER_BYTES: usize = 1 << 18;

/// The bytes of a file.
#[derive(Debug, Clone, Copy)]
pub enum FileContent<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file, read from its beginning regardless of its cursor.
    File(&'a File),
}

impl FileContent<'_> {
    /// Returns the number of bytes.
    pub fn size(self) -> io::Result<u64> {
        match self {
            FileContent::Bytes(bytes) => Ok(bytes.len() as u64),
            FileContent::File(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Returns a reader that begins at the first byte.
    #[must_use]
    pub fn reader(self) -> ByteSection<Self> {
        ByteSection::new(self, 0..u64::MAX)
    }

    /// Calls `take` with all bytes, chunk by chunk.
    pub fn for_each_chunk<E: From<io::Error>>(
        self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let FileContent::Bytes(bytes) = self {
            return bytes.chunks(MAX_BUFFER_BYTES).try_for_each(take);
        }
        let (mut reader, mut chunks) = (self.reader(), Chunks::default());
        while let Some(chunk) = chunks.next(&mut reader)? {
            take(chunk)?;
        }
        Ok(())
    }
}

impl ReadAt for FileContent<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            FileContent::Bytes(bytes) => bytes.read_at(buffer, offset),
            FileContent::File(file) => ReadAt::read_at(*file, buffer, offset),
        }
    }
}

/// Reads an input in chunks. The buffer grows up to [`MAX_BUFFER_BYTES`].
#[derive(Debug)]
pub(crate) struct Chunks(Vec<u8>);

impl Default for Chunks {
    fn default() -> Self {
        Chunks(vec![0; INITIAL_BUFFER_BYTES])
    }
}

impl Chunks {
    /// Returns the next chunk, or `None` at the end of the input.
    pub fn next(&mut self, input: &mut impl Read) -> io::Result<Option<&[u8]>> {
        loop {
            match input.read(&mut self.0) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    if count == self.0.len() && count < MAX_BUFFER_BYTES {
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn chunks_grow_and_contain_all_bytes() {
        for size in [
            0,
            1,
            INITIAL_BUFFER_BYTES - 1,
            INITIAL_BUFFER_BYTES,
            INITIAL_BUFFER_BYTES + 1,
            5 * MAX_BUFFER_BYTES + 7,
        ] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            for content in [FileContent::Bytes(&bytes), FileContent::File(&file)] {
                let (mut found, mut longest) = (Vec::new(), 0);
                let taken = content.for_each_chunk(|chunk| {
                    longest = longest.max(chunk.len());
                    found.extend_from_slice(chunk);
                    Ok::<_, io::Error>(())
                });
                taken.unwrap();
                assert_eq!(found, bytes);
                assert_eq!(longest == MAX_BUFFER_BYTES, size > 2 * MAX_BUFFER_BYTES);
                assert!(longest <= MAX_BUFFER_BYTES);
            }
        }
    }
}
