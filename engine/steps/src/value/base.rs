//! The file from which the bytes of a content are read: a local file, a bundle on another machine, or compressed data
//! inside a file.

use std::fs::File;
use std::io;
use std::sync::Arc;

use prep_core::Ranges;
use prep_formats::read_at::ReadAt;

use super::layered::LayeredFile;

/// An open file. Cheap to clone.
#[derive(Clone)]
pub(crate) enum BaseFile {
    /// A file on this machine.
    Local(Arc<File>),
    /// A file on another machine.
    Remote(Arc<dyn Ranges>),
    /// Compressed data inside another file.
    Layered(Arc<LayeredFile>),
}

impl BaseFile {
    /// Returns the file if it is on this machine.
    pub fn local_file(&self) -> Option<&Arc<File>> {
        match self {
            BaseFile::Local(file) => Some(file),
            BaseFile::Remote(_) | BaseFile::Layered(_) => None,
        }
    }
}

impl ReadAt for BaseFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            BaseFile::Local(file) => ReadAt::read_at(&**file, buf, offset),
            BaseFile::Remote(content) => content.read_at(buf, offset),
            BaseFile::Layered(content) => content.read_at(buf, offset),
        }
    }
}
