//! Stores the member lists of verified bundles. A later audit compares other bundles with them.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use prep_contents::{ContentsError, DecodingLimits};
use prep_formats::zip::RawMember;

use super::members;
use crate::error::AuditError;

/// Returns the path of the member list in `directory` of the bundle with this MD5.
fn list_path(directory: &Path, md5: &str) -> PathBuf {
    directory.join(format!("{md5}.gz"))
}

/// Writes the list of the bundle's members into `directory`, unless the list exists already. `path` is the bundle, and `md5`
/// is its MD5.
///
/// # Errors
/// Returns an error if the bundle cannot be read, or the list cannot be written.
pub fn remember(directory: &Path, md5: &str, path: &Path) -> Result<(), ContentsError> {
    let list_path = list_path(directory, md5);
    if list_path.exists() {
        return Ok(());
    }
    let list = members(path, &DecodingLimits::default())?;
    std::fs::create_dir_all(directory)?;
    let part = directory.join(format!("{md5}.{}.part", std::process::id()));
    let written = write_list(&part, &list).and_then(|()| std::fs::rename(&part, list_path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    Ok(written?)
}

fn write_list(path: &Path, list: &[RawMember]) -> io::Result<()> {
    let mut out = GzEncoder::new(File::create(path)?, Compression::fast());
    for member in list {
        // A name can contain a line break, which JSON escapes.
        let name = serde_json::Value::from(member.name.as_str());
        writeln!(out, "{:08x} {} {name}", member.crc, member.size)?;
    }
    out.finish()?;
    Ok(())
}

/// Returns the members of the bundle whose MD5 is `md5`, from the list in `directory`. `None` if there is no list of this
/// bundle.
///
/// # Errors
/// Returns an error if the list cannot be read, or is damaged.
pub fn recall(directory: &Path, md5: &str) -> Result<Option<Vec<RawMember>>, AuditError> {
    let path = list_path(directory, md5);
    let read = || {
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // The new modification time protects the list from garbage collection. Setting it fails in a read-only cache, but a
        // read-only cache is never collected.
        let _ = file.set_modified(std::time::SystemTime::now());
        let lines = BufReader::new(GzDecoder::new(file)).lines();
        let members = lines.map(|line| {
            parse_member(&line?).ok_or_else(|| {
                let reason = "the list of members is damaged; delete the file";
                io::Error::new(io::ErrorKind::InvalidData, reason)
            })
        });
        members.collect::<io::Result<_>>().map(Some)
    };
    read().map_err(AuditError::reading(&path))
}

/// Parses a line of the list: CRC-32, size and name of a member.
fn parse_member(line: &str) -> Option<RawMember> {
    let (crc, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    Some(RawMember {
        name: serde_json::from_str(name).ok()?,
        size: size.parse().ok()?,
        crc: u32::from_str_radix(crc, 16).ok()?,
        compressed: 0,
        offset: 0,
        method: 0,
    })
}
