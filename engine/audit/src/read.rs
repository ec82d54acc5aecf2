//! Computes MD5 checksums of files and readers.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use md5::{Digest as _, Md5};
use prep_contents::read::each_chunk;

/// Returns the MD5 of a file, in hexadecimal.
pub fn md5(path: &Path) -> io::Result<String> {
    Ok(hex(hasher(&mut File::open(path)?)?))
}

/// Hashes all bytes of a reader. Returns the hasher, so that callers can add more bytes.
pub(crate) fn hasher(input: &mut impl Read) -> io::Result<Md5> {
    let mut hasher = Md5::new();
    each_chunk(input, |bytes| hasher.update(bytes))?;
    Ok(hasher)
}

pub(crate) fn hex(hasher: Md5) -> String {
    prep_formats::hex::encode(&hasher.finalize())
}
