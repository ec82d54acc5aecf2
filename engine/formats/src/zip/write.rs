//! Writes archives whose bytes depend only on the members.
//!
//! - Members have the order in which they are added, the time 1980-01-01 00:00, and the mode 0644 or 0755.
//! - Large sizes, offsets or counts use zip64 structures.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, DataDescriptorOutput, ZipArchiveWriter, ZipEntryWriter};

use super::member::{ZipEntry, ZipMethod};
use crate::paths::{self, PathError};
use crate::read_at::{ByteSection, ReadAt};
use prep_failure::Quoted;

/// An archive that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ZipWriteError {
    /// The path would be rejected when the archive is read.
    #[error("{path} cannot be a member of an archive", path = Quoted(.path))]
    UnsafePath {
        /// The path as given.
        path: String,
        /// The violated rule.
        #[source]
        cause: PathError,
    },
    /// Reading the content failed.
    #[error("reading the content of member {member} failed", member = Quoted(.member))]
    Read {
        /// Path of the member.
        member: String,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A member cannot be read from the archive from which it is copied.
    #[error("a member cannot be copied into the archive")]
    Source(#[from] super::ZipError),
    /// Writing the archive failed.
    #[error("writing member {member} of the archive failed", member = Quoted(.member))]
    Write {
        /// Path of the member; empty for the central directory.
        member: String,
        /// The error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Writes a deterministic archive.
#[derive(Debug)]
pub struct ZipWriter<W: Write> {
    inner: ZipArchiveWriter<W>,
    buffer: Vec<u8>,
}

impl<W: Write> ZipWriter<W> {
    /// Starts an archive at the current position of `out`.
    pub fn new(out: W) -> Self {
        Self {
            inner: ZipArchiveWriter::new(out),
            buffer: vec![0; 64 * 1024],
        }
    }

    /// Adds a directory.
    pub fn add_directory(&mut self, path: &str) -> Result<(), ZipWriteError> {
        let path = format!("{}/", safe(path)?);
        let result = self
            .inner
            .new_dir(path.as_str())
            .last_modified(epoch())
            .unix_permissions(0o755)
            .create();
        result.map(drop).map_err(|error| failed(&path, error))
    }

    /// Adds a file with the content of `reader`.
    pub fn add_file(
        &mut self,
        path: &str,
        method: ZipMethod,
        mut reader: impl Read,
    ) -> Result<(), ZipWriteError> {
        let path = safe(path)?;
        let mut member = start(&mut self.inner, &path, method)?;
        let mut sink = match method {
            ZipMethod::Stored => Sink::Stored(&mut member),
            ZipMethod::Deflate => {
                Sink::Deflate(DeflateEncoder::new(&mut member, Compression::default()))
            }
        };
        let mut crc = crc32fast::Hasher::new();
        let mut size = 0_u64;
        loop {
            let count = match reader.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => {
                    return Err(ZipWriteError::Read {
                        member: path,
                        source,
                    });
                }
            };
            let part = self.buffer.get(..count).unwrap_or_default();
            crc.update(part);
            size += count as u64;
            sink.write_all(part).map_err(|error| failed(&path, error))?;
        }
        sink.finish().map_err(|error| failed(&path, error))?;
        let descriptor = DataDescriptorOutput::new(crc.finalize(), size);
        member
            .finish(descriptor)
            .map(drop)
            .map_err(|error| failed(&path, error))
    }

    /// Copies a member of another archive to `path` without decompressing it. Does not verify the CRC.
    pub fn copy_member<R: ReadAt>(
        &mut self,
        path: &str,
        base: R,
        entry: &ZipEntry,
    ) -> Result<(), ZipWriteError> {
        let range = entry.locate(&base)?;
        self.add_compressed(path, entry, ByteSection::new(base, range))
    }

    /// Adds a member with the method, size and CRC of `entry`. `reader` returns the compressed data.
    pub fn add_compressed(
        &mut self,
        path: &str,
        entry: &ZipEntry,
        mut reader: impl Read,
    ) -> Result<(), ZipWriteError> {
        let path = safe(path)?;
        let mut member = start(&mut self.inner, &path, entry.method)?;
        let copied = io::copy(&mut reader, &mut member).map_err(|error| failed(&path, error))?;
        if copied != entry.compressed_size {
            let source = io::ErrorKind::UnexpectedEof.into();
            return Err(ZipWriteError::Read {
                member: path,
                source,
            });
        }
        let descriptor = DataDescriptorOutput::new(entry.crc32, entry.size);
        member
            .finish(descriptor)
            .map(drop)
            .map_err(|error| failed(&path, error))
    }

    /// Writes the central directory and flushes the output.
    pub fn finish(self) -> Result<W, ZipWriteError> {
        self.inner.finish().map_err(|error| failed("", error))
    }
}

/// Writes the content of a member, compressed or not.
enum Sink<W: Write> {
    Stored(W),
    Deflate(DeflateEncoder<W>),
}

impl<W: Write> Sink<W> {
    fn write_all(&mut self, part: &[u8]) -> io::Result<()> {
        match self {
            Self::Stored(out) => out.write_all(part),
            Self::Deflate(encoder) => encoder.write_all(part),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Stored(_) => Ok(()),
            Self::Deflate(encoder) => encoder.finish().map(drop),
        }
    }
}

fn safe(path: &str) -> Result<String, ZipWriteError> {
    paths::normalize(path).map_err(|cause| ZipWriteError::UnsafePath {
        path: path.to_owned(),
        cause,
    })
}

/// Writes the local header of a file.
fn start<'a, W: Write>(
    archive: &'a mut ZipArchiveWriter<W>,
    path: &str,
    method: ZipMethod,
) -> Result<ZipEntryWriter<'a, W>, ZipWriteError> {
    let method = match method {
        ZipMethod::Stored => CompressionMethod::STORE,
        ZipMethod::Deflate => CompressionMethod::DEFLATE,
    };
    let member = archive
        .new_file(path)
        .compression_method(method)
        .last_modified(epoch())
        .unix_permissions(0o644)
        .start();
    let (member, _) = member.map_err(|error| failed(path, error))?;
    Ok(member)
}

/// Returns 1980-01-01 00:00, the earliest time in the format.
fn epoch() -> UtcDateTime {
    UtcDateTime::from_unix(315_532_800)
}

fn failed(
    member: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ZipWriteError {
    ZipWriteError::Write {
        member: member.to_owned(),
        source: source.into(),
    }
}
