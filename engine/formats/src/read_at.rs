//! Random access to bytes by offset, without a cursor that threads would have to share.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are read by offset.
pub trait ReadAt {
    /// Reads up to `buf.len()` bytes at `offset`. Returns the number of bytes read, which is 0 at the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the source ends before `buf` is full.
    fn read_exact_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buf.is_empty() {
            match self.read_at(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buf = buf.get_mut(count..).unwrap_or_default();
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl ReadAt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buf, offset)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or_default();
        let count = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.as_slice().read_at(buf, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buf, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buf, offset)
    }
}

/// A range of `base` that can be read by offset or sequentially. Offsets are counted from the start of the range.
#[derive(Debug, Clone)]
pub struct ByteSection<R> {
    base: R,
    range: Range<u64>,
    position: u64,
}

impl<R: ReadAt> ByteSection<R> {
    /// Creates a reader of the bytes `range` of `base`. Sequential reading begins at the start of the range.
    pub fn new(base: R, range: Range<u64>) -> Self {
        Self {
            base,
            range,
            position: 0,
        }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Returns whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of the next sequential read, in bytes from the start of the range.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl<R: ReadAt> ReadAt for ByteSection<R> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.len().saturating_sub(offset);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        match buf.get_mut(..count) {
            Some(part) if !part.is_empty() => self.base.read_at(part, self.range.start + offset),
            _ => Ok(0),
        }
    }
}

impl<R: ReadAt> io::Read for ByteSection<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(buf, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: ReadAt> io::Seek for ByteSection<R> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let target = match to {
            io::SeekFrom::Start(offset) => Some(offset),
            io::SeekFrom::End(delta) => self.len().checked_add_signed(delta),
            io::SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
