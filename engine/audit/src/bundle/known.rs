//! The member list of a good bundle, kept so that it can be said later which members another one changed.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use prep_contents::{ContentsError, Limits};

use super::members::{self, Member};

/// Where the list of a bundle lies in `folder`: by its MD5.
fn place(folder: &Path, md5: &str) -> PathBuf {
    folder.join(format!("{md5}.gz"))
}

/// Notes the members of the bundle at `path`, whose MD5 is `md5`. Nothing is done if they are known.
///
/// # Errors
/// When the bundle cannot be read, or the list not be written.
pub fn remember(folder: &Path, md5: &str, path: &Path) -> Result<(), ContentsError> {
    let place = place(folder, md5);
    if place.exists() {
        return Ok(());
    }
    let list = members::of_file(path, &Limits::default())?;
    std::fs::create_dir_all(folder)?;
    let part = folder.join(format!("{md5}.{}.part", std::process::id()));
    let mut out = GzEncoder::new(std::fs::File::create(&part)?, Compression::fast());
    for member in &list {
        // A name could hold a line end; JSON says it without one.
        let name = serde_json::Value::from(member.name.as_str());
        writeln!(out, "{:08x} {} {name}", member.crc, member.size)?;
    }
    out.finish()?;
    Ok(std::fs::rename(part, place)?)
}

/// The members of the bundle with this MD5, if they are known.
pub fn recall(folder: &Path, md5: &str) -> Option<Vec<Member>> {
    let file = std::fs::File::open(place(folder, md5)).ok()?;
    // A list in use is not collected. Of a store that cannot be written, nothing is.
    let _ = file.set_modified(std::time::SystemTime::now());
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let member = |line: io::Result<String>| {
        let line = line.ok()?;
        let (crc, rest) = line.split_once(' ')?;
        let (size, name) = rest.split_once(' ')?;
        Some(Member {
            name: serde_json::from_str(name).ok()?,
            size: size.parse().ok()?,
            crc: u32::from_str_radix(crc, 16).ok()?,
            compressed: 0,
            offset: 0,
            method: 0,
        })
    };
    lines.map(member).collect()
}
