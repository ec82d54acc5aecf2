//! Bytes in memory that are written once, piece by piece.

use std::fmt;
use std::io;

use memmap2::{Mmap, MmapMut};

/// Room for up to so many bytes, in pages of its own: only what is written
/// takes memory.
///
/// A page costs more when it is first touched than to fill it. Large pages,
/// where the system has them, make that a fifth; and bytes that lie anywhere
/// are found in them with fewer looks at tables of pages.
pub struct Buffer {
    pages: MmapMut,
    len: usize,
}

impl Buffer {
    /// An empty one.
    ///
    /// # Errors
    /// The system has no such room.
    pub fn with_capacity(bytes: usize) -> io::Result<Buffer> {
        let pages = MmapMut::map_anon(bytes.max(1))?;
        // Advice is optional.
        #[cfg(target_os = "linux")]
        drop(pages.advise(memmap2::Advice::HugePage));
        Ok(Buffer { pages, len: 0 })
    }

    /// Appends a piece. `false`: there is no room for it, and nothing of it
    /// was appended.
    pub(crate) fn push(&mut self, piece: &[u8]) -> bool {
        let end = self.len.saturating_add(piece.len());
        let Some(room) = self.pages.get_mut(self.len..end) else {
            return false;
        };
        room.copy_from_slice(piece);
        self.len = end;
        true
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        self.pages.get(..self.len).unwrap_or_default()
    }

    /// The pages, for nobody to write to any more, and how many bytes of them
    /// were written.
    ///
    /// # Errors
    /// The system refuses.
    pub fn into_pages(self) -> io::Result<(Mmap, usize)> {
        Ok((self.pages.make_read_only()?, self.len))
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} of {} bytes)", self.len, self.pages.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_taken_as_a_whole_or_not_at_all() -> io::Result<()> {
        let mut buffer = Buffer::with_capacity(5)?;
        assert_eq!(buffer.bytes(), b"");
        assert!(buffer.push(b"abc") && buffer.push(b""));
        assert!(!buffer.push(b"def"));
        assert!(buffer.push(b"de") && !buffer.push(b"f"));
        assert_eq!(buffer.bytes(), b"abcde");
        let (pages, len) = buffer.into_pages()?;
        assert_eq!(pages.get(..len), Some(b"abcde".as_slice()));
        assert!(!Buffer::with_capacity(0)?.push(b"ab"));
        Ok(())
    }
}
