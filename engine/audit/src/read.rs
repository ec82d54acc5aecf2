//! MD5 sums.

use std::fs::File;
use std::io;
use std::path::Path;

use md5::{Digest as _, Md5};
use prep_contents::read::fill;

const BUFFER: usize = 1 << 18;

/// The MD5 of a file, as hex digits.
pub(crate) fn md5(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Md5::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match fill(&mut file, &mut buffer)? {
            0 => return Ok(hex(hasher)),
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

pub(crate) fn hex(hasher: Md5) -> String {
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
