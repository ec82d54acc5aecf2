//! Stores the member lists of verified bundles. Later audits compare other bundles with these lists.

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

fn list_path(directory: &Path, md5: &str) -> PathBuf {
    directory.join(format!("{md5}.gz"))
}

/// Writes the member list of the bundle at `path` into `directory`, unless the list is already there. `md5` is the
/// bundle's MD5.
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
        let name = serde_json::Value::from(member.name.as_str());
        writeln!(out, "{:08x} {} {name}", member.crc, member.size)?;
    }
    out.finish()?;
    Ok(())
}

/// Returns the members of the bundle with this MD5 from its list in `directory`, if there is one.
pub fn recall(directory: &Path, md5: &str) -> Result<Option<Vec<RawMember>>, AuditError> {
    let path = list_path(directory, md5);
    let read = || {
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // Garbage collection keeps recently modified lists. If the cache is read-only, this call fails. The error is
        // ignored, because garbage is never collected in a read-only cache.
        let _ = file.set_modified(std::time::SystemTime::now());
        let lines = BufReader::new(GzDecoder::new(file)).lines();
        let members = lines.map(|line| {
            parse_member(&line?).ok_or_else(|| {
                let reason = "the list of members in this file is damaged; delete the file";
                io::Error::new(io::ErrorKind::InvalidData, reason)
            })
        });
        members.collect::<io::Result<_>>().map(Some)
    };
    read().map_err(AuditError::reading(&path))
}

/// Parses a line: CRC-32, size and name of a member.
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
