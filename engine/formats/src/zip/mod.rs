//! Reads zip archives in place, and writes them deterministically.
//!
//! A [`ZipEntry`] contains a member's offset, sizes and CRC, so the member is read without extracting the archive.
//!
//! - Members of an inner archive can be read in place, too. Use [`ZipEntry::section`] if the inner archive is stored, and
//!   [`ZipEntry::indexer`] if it is compressed.
//! - The central directory is authoritative, as in Python's `zipfile`. When a member is opened, its local header must agree
//!   with the directory.
//! - One unsafe or inconsistent member makes the archive invalid, because skipping the member would produce a wrong dataset.
//! - The crate `rawzip` parses the structures. This module adds limits and the checks of names, overlaps and contents.
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
