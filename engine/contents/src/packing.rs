//! How a zip archive stores its members: their order, methods and times, as the central directory has them.
//!
//! Readers of content need none of this. It is what somebody sees who looks at an archive without opening its members.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{ContentsError, Result};

/// Archives with longer directories are not looked at.
const MAX_DIRECTORY_BYTES: usize = 256 << 20;

/// The end record and the longest comment behind it.
const END_BYTES: u64 = 22 + 0xffff;

/// A member as the directory describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub name: String,
    /// Seconds in MS-DOS's calendar, in which every month has 31 days.
    pub time: u64,
    /// Version, flags, method, attributes and extra fields, as a text to compare.
    pub form: String,
    pub compressed_bytes: u64,
}

/// The members of a zip archive, in the order of its directory. Empty if this is not a zip archive, or if it has more than
/// 4 GB.
///
/// # Errors
/// When the file cannot be read.
pub fn of_zip(path: &Path) -> Result<Vec<Packed>> {
    let file = File::open(path).map_err(ContentsError::system_error(path))?;
    let length = file
        .metadata()
        .map_err(ContentsError::system_error(path))?
        .len();
    let begin = length.saturating_sub(END_BYTES);
    let mut tail = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    file.read_exact_at(&mut tail, begin)
        .map_err(ContentsError::system_error(path))?;
    let Some(end) = tail.windows(4).rposition(|four| four == b"PK\x05\x06") else {
        return Ok(Vec::new());
    };
    let (Some(size), Some(offset)) = (number(&tail, end + 12, 4), number(&tail, end + 16, 4))
    else {
        return Ok(Vec::new());
    };
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > MAX_DIRECTORY_BYTES || offset.saturating_add(size as u64) > length {
        return Ok(Vec::new());
    }
    let mut directory = vec![0; size];
    file.read_exact_at(&mut directory, offset)
        .map_err(ContentsError::system_error(path))?;
    Ok(members(&directory))
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + width)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    )
}

fn members(directory: &[u8]) -> Vec<Packed> {
    let mut found = Vec::new();
    let mut at = 0;
    while directory.get(at..at + 4) == Some(b"PK\x01\x02") {
        let field = |offset, width| number(directory, at + offset, width).unwrap_or(0);
        let length = |offset| usize::try_from(field(offset, 2)).unwrap_or(0);
        let (name, extra, comment) = (length(28), length(30), length(32));
        let text = directory.get(at + 46..at + 46 + name).unwrap_or_default();
        let comment_text = directory.get(at + 46 + name + extra..at + 46 + name + extra + comment);
        let (clock, date) = (field(12, 2), field(14, 2));
        let days = (date >> 9) * 372 + (date >> 5 & 15) * 31 + (date & 31);
        found.push(Packed {
            name: String::from_utf8_lossy(text).into_owned(),
            time: days * 86_400 + (clock >> 11) * 3600 + (clock >> 5 & 63) * 60 + (clock & 31) * 2,
            form: format!(
                "made by {}, flags {}, method {}, attributes {:#x}, {} bytes of extra fields, comment {:?}",
                field(4, 2),
                field(8, 2),
                field(10, 2),
                field(38, 4),
                extra,
                String::from_utf8_lossy(comment_text.unwrap_or_default())
            ),
            compressed_bytes: field(20, 4),
        });
        at += 46 + name + extra + comment;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_formats::zip::{ZipMethod, ZipWriter};

    #[test]
    fn members_come_in_the_order_of_the_directory_with_their_methods() {
        let mut writer = ZipWriter::new(Vec::new());
        writer.add_file("b", ZipMethod::Stored, &b"xx"[..]).unwrap();
        writer
            .add_file("a", ZipMethod::Deflate, &b"xxxxxxxx"[..])
            .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), writer.finish().unwrap()).unwrap();
        let found = of_zip(file.path()).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_ne!(found[0].form, found[1].form);
        std::fs::write(file.path(), "no archive").unwrap();
        assert!(of_zip(file.path()).unwrap().is_empty());
    }
}
