//! Reads zip archives in place, and writes them deterministically.
//!
//! A [`ZipEntry`] *refers* to a member in the base file: it contains the offset, the sizes and the CRC. So a member is
//! read without extracting the archive. This includes members of an archive inside the archive. If the inner archive is
//! stored, use [`ZipEntry::section`]; if it is compressed, use [`ZipEntry::indexer`].
//!
//! The central directory is authoritative, as in Python's `zipfile`. If any member is unsafe or inconsistent, the
//! entire archive is rejected, because a pipeline that silently skips members produces a wrong dataset. A local header
//! is read only when its member is opened, because reading a million of them would need a million seeks. Then the local
//! header must agree with the central directory.
//!
//! The crate `rawzip` parses the structures. This module adds the rules for names, limits, overlaps, duplicates and
//! verified contents.
//!
//! ```
//! use prep_formats::limits::DecodingLimits;
//! use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};
//! use std::io::Read;
//!
//! let mut writer = ZipWriter::new(Vec::new());
//! writer.add_file("a/b.txt", ZipMethod::Deflate, &b"content"[..])?;
//! let archive = writer.finish()?;
//!
//! let budget = DecodingLimits::default().budget(archive.len() as u64);
//! let directory = ZipDirectory::read(&archive, 0..archive.len() as u64, &budget)?;
//! let mut content = String::new();
//! let [entry] = &directory.entries()[..] else { panic!() };
//! entry.open(&archive)?.read_to_string(&mut content)?;
//! assert_eq!((entry.path.as_str(), content.as_str()), ("a/b.txt", "content"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod error;
mod list;
mod member;
mod nested;
mod read;
mod write;

pub use error::ZipError;
pub use list::{RawListing, RawMember, read_tolerant};
pub use member::{ZipDirectory, ZipEntry, ZipMember, ZipMethod, ZipRecord};
pub use read::{MemberIndexer, MemberInflater, MemberReader};
pub use write::{ZipWriteError, ZipWriter};
