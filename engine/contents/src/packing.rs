//! Reads how archives store their members: order, methods, times and owners, from headers and directories.
//!
//! Reading the content of members does not need this information. It is what a person can see about an archive without
//! opening its members, so it can be a leak. Therefore this module does not use the reader of zip directories in
//! `prep_formats::zip`, which drops these fields and rejects archives that are unsafe to unpack.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use prep_formats::gzip::is_gzip;
use prep_formats::limits::DecodingLimits;

use crate::error::{ContentsError, Result};
use prep_failure::QuotedValue;

/// Archives with a longer directory are not examined.
const MAX_DIRECTORY_BYTES: usize = 256 << 20;

/// Length of the end record with the longest possible comment after it.
const END_BYTES: u64 = 22 + 0xffff;

/// Maximum length of an extra field that is recorded.
const MAX_EXTRA: usize = 24;

/// Longer compressed tar archives are not read again for their headers.
const MAX_PACKED_TAR_BYTES: u64 = 256 << 20;

/// Maximum length of a name that is stored in a separate header.
const MAX_NAME: usize = 1 << 16;

/// Bytes of a block of a tar archive.
const BLOCK_BYTES: usize = 512;

/// The properties of a member in the directory or header of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    pub name: String,
    /// Modification time in seconds since an epoch that is the same for all members. In zip archives without Unix
    /// times, it is computed from MS-DOS times as if every month had 31 days.
    pub time: f64,
    /// Version, flags, method, attributes, owner and extra fields, formatted as a text for comparison.
    pub form: String,
    /// Compressed size in bytes, if members are compressed separately.
    pub compressed_bytes: Option<u64>,
}

/// Returns the members of the zip archive in a range of a file, in the order of its directory. Empty if the range is
/// not a zip archive, or has more than 4 GB.
///
/// # Errors
/// If the file cannot be read.
pub fn of_zip(file: &File, range: Range<u64>) -> io::Result<Vec<Packed>> {
    let length = range.end.saturating_sub(range.start);
    let begin = length.saturating_sub(END_BYTES);
    let mut tail = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    file.read_exact_at(&mut tail, range.start + begin)?;
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
    file.read_exact_at(&mut directory, range.start + offset)?;
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
        let part = |from: usize, length: usize| {
            let begin = at + 46 + from;
            directory.get(begin..begin + length).unwrap_or_default()
        };
        let (clock, date) = (field(12, 2), field(14, 2));
        let days = (date >> 9) * 372 + (date >> 5 & 15) * 31 + (date & 31);
        let seconds = (clock >> 11) * 3600 + (clock >> 5 & 63) * 60 + (clock & 31) * 2;
        let (extras, unix_time) = extra_fields(part(name, extra));
        found.push(Packed {
            name: String::from_utf8_lossy(part(0, name)).into_owned(),
            time: unix_time.unwrap_or((days * 86_400 + seconds) as f64),
            form: format!(
                "made by {}, flags {}, method {}, attributes {:#x}, extra fields {extras}, comment {}",
                field(4, 2),
                field(8, 2),
                field(10, 2),
                field(38, 4),
                QuotedValue(&String::from_utf8_lossy(part(name + extra, comment)))
            ),
            compressed_bytes: Some(field(20, 4)),
        });
        at += 46 + name + extra + comment;
    }
    found
}

/// Returns the ids and contents of extra fields, and the Unix time. Leaves out times and lengths, because they differ
/// between members.
fn extra_fields(extra: &[u8]) -> (String, Option<f64>) {
    let (mut text, mut time, mut at) = (String::from("["), None, 0);
    while let (Some(id), Some(length)) = (number(extra, at, 2), number(extra, at + 2, 2)) {
        let length = usize::try_from(length).unwrap_or(0);
        let content = extra.get(at + 4..at + 4 + length).unwrap_or_default();
        match id {
            0x5455 => {
                time = number(content, 1, 4).map(|seconds| seconds as f64);
                text.push_str(" time");
            }
            0x000a | 0x0001 => text.push_str(&format!(" {id:#06x}")),
            _ => {
                let content = content.get(..MAX_EXTRA).unwrap_or(content);
                text.push_str(&format!(" {id:#06x} {content:?}"));
            }
        }
        at += 4 + length;
    }
    text.push_str(" ]");
    (text, time)
}

/// Returns the header of a gzip file as the description of its only member. `None` if the file is not a gzip file.
///
/// # Errors
/// If the file cannot be read.
pub fn of_gzip(place: &Path) -> Result<Option<Packed>> {
    let file = File::open(place).map_err(ContentsError::system_error(place))?;
    let length = file
        .metadata()
        .map_err(ContentsError::system_error(place))?
        .len();
    let mut head = Vec::new();
    let read = file.take(4096).read_to_end(&mut head);
    read.map_err(ContentsError::system_error(place))?;
    if !is_gzip(&head) || head.len() < 10 {
        return Ok(None);
    }
    let byte = |at: usize| head.get(at).copied().unwrap_or(0);
    let text = |from: usize| {
        let bytes = head.get(from..).unwrap_or_default();
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    let flags = byte(3);
    let extra = match flags & 4 {
        0 => 0,
        _ => 2 + usize::try_from(number(&head, 10, 2).unwrap_or(0)).unwrap_or(0),
    };
    let name = (flags & 8 != 0).then(|| text(10 + extra));
    Ok(Some(Packed {
        time: number(&head, 4, 4).unwrap_or(0) as f64,
        form: format!("flags {flags}, level {}, system {}", byte(8), byte(9)),
        name: name.unwrap_or_default(),
        compressed_bytes: Some(length),
    }))
}

/// Returns the members of a tar archive, uncompressed or gzipped, in order. The list ends at the first damage, and where
/// the archive unpacks to more bytes than `limits` allow. Empty for compressed archives of more than 256 MB.
///
/// # Errors
/// If the file cannot be read.
pub fn of_tar(place: &Path, limits: &DecodingLimits) -> Result<Vec<Packed>> {
    let at = ContentsError::system_error(place);
    let file = File::open(place).map_err(&at)?;
    let length = file.metadata().map_err(&at)?.len();
    let mut head = [0; 2];
    let is_packed = length > 2 && {
        file.read_exact_at(&mut head, 0).map_err(&at)?;
        is_gzip(&head)
    };
    let mut found = Vec::new();
    if !is_packed {
        let mut at = 0;
        let mut read = |header: &mut [u8], skip: u64| {
            at += skip;
            let read = file.read_exact_at(header, at);
            at += header.len() as u64;
            read.is_ok()
        };
        headers(&mut read, &mut found);
    } else if length <= MAX_PACKED_TAR_BYTES {
        let unpacked = limits
            .unpacked
            .saturating_add(limits.ratio.saturating_mul(length));
        let mut input = MultiGzDecoder::new(BufReader::new(file)).take(unpacked);
        let mut read = |header: &mut [u8], skip: u64| {
            let skipped = io::copy(&mut Read::by_ref(&mut input).take(skip), &mut io::sink());
            skipped.is_ok() && input.read_exact(header).is_ok()
        };
        headers(&mut read, &mut found);
    }
    Ok(found)
}

/// Reads the headers of a tar archive. `read` skips bytes and then fills a block. It returns false at the end.
fn headers(read: &mut dyn FnMut(&mut [u8], u64) -> bool, found: &mut Vec<Packed>) {
    let mut header = [0_u8; BLOCK_BYTES];
    let (mut skip, mut long_name) = (0, None);
    while read(&mut header, skip) {
        let field = |from: usize, length: usize| {
            let bytes = header.get(from..from + length).unwrap_or_default();
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).trim().to_owned()
        };
        let octal = |from, length| u64::from_str_radix(&field(from, length), 8).unwrap_or(0);
        if header.iter().all(|byte| *byte == 0) {
            return;
        }
        let size = octal(124, 12);
        let kind = header.get(156).copied().unwrap_or(0);
        skip = size.next_multiple_of(BLOCK_BYTES as u64);
        match kind {
            b'L' | b'x' => {
                let mut text = vec![0; usize::try_from(skip).unwrap_or(usize::MAX).min(MAX_NAME)];
                if !read(&mut text, 0) {
                    return;
                }
                skip -= text.len() as u64;
                text.truncate(usize::try_from(size).unwrap_or(0));
                let text = String::from_utf8_lossy(&text).into_owned();
                long_name = match kind {
                    b'L' => Some(text.trim_matches('\0').to_owned()),
                    _ => pax_path(&text).or(long_name),
                };
            }
            b'0' | 0 | b'7' => {
                let prefix = match field(257, 5).as_str() {
                    "ustar" => field(345, 155),
                    _ => String::new(),
                };
                let short = match prefix.as_str() {
                    "" => field(0, 100),
                    prefix => format!("{prefix}/{}", field(0, 100)),
                };
                let name = long_name.take().unwrap_or(short);
                found.push(Packed {
                    name: name.trim_start_matches("./").to_owned(),
                    time: octal(136, 12) as f64,
                    form: format!(
                        "mode {}, owner {} {} {:?} {:?}",
                        field(100, 8),
                        field(108, 8),
                        field(116, 8),
                        field(265, 32),
                        field(297, 32)
                    ),
                    compressed_bytes: None,
                });
            }
            _ => {}
        }
    }
}

/// Returns the path in the records of a pax header: `LENGTH path=PATH`.
fn pax_path(records: &str) -> Option<String> {
    let record = records.lines().find_map(|line| line.split_once(" path="));
    record.map(|(_, path)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prep_formats::zip::{ZipMethod, ZipWriter};

    #[test]
    fn zip_members_have_directory_order_and_methods() {
        let mut writer = ZipWriter::new(Vec::new());
        writer.add_file("b", ZipMethod::Stored, &b"xx"[..]).unwrap();
        writer
            .add_file("a", ZipMethod::Deflate, &b"xxxxxxxx"[..])
            .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let archive = [b"front".to_vec(), writer.finish().unwrap()].concat();
        std::fs::write(file.path(), &archive).unwrap();
        let opened = File::open(file.path()).unwrap();
        let found = of_zip(&opened, 5..archive.len() as u64).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_ne!(found[0].form, found[1].form);
        std::fs::write(file.path(), "no archive").unwrap();
        let opened = File::open(file.path()).unwrap();
        assert!(of_zip(&opened, 0..10).unwrap().is_empty());
    }

    #[test]
    fn extra_fields_contain_content_and_time() {
        let extra = [
            b"\x55\x54\x05\x00\x01\x00\x00\x00\x60".as_slice(),
            b"ux\x02\x00\x01\x07",
        ]
        .concat();
        let (text, time) = extra_fields(&extra);
        assert_eq!(
            (text.as_str(), time),
            ("[ time 0x7875 [1, 7] ]", Some(1_610_612_736.0))
        );
    }

    /// Returns the header and the data blocks of a file.
    fn tar_member(name: &str, kind: u8, owner: &str, content: &[u8]) -> Vec<u8> {
        let mut out = vec![0; BLOCK_BYTES];
        for (at, text) in [
            (0, name),
            (108, owner),
            (124, &format!("{:o}", content.len())),
            (136, "1750"),
        ] {
            out[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        out[156] = kind;
        out.extend(content);
        out.resize(out.len().next_multiple_of(BLOCK_BYTES), 0);
        out
    }

    #[test]
    fn tar_headers_are_read_plain_and_compressed() {
        use std::io::Write;
        let long = "d/".repeat(90) + "b";
        let archive = [
            tar_member("a", b'0', "0001750", &[b'x'; 700]),
            tar_member("././@LongLink", b'L', "0", long.as_bytes()),
            tar_member("d/d/d", b'0', "0001751", b"y"),
            vec![0; 1024],
        ]
        .concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &archive).unwrap();
        let tar = |path: &Path| of_tar(path, &DecodingLimits::default()).unwrap();
        let plain = tar(file.path());
        let names: Vec<&str> = plain.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", long.as_str()]);
        assert_eq!(plain[0].time, 1000.0);
        assert_ne!(plain[0].form, plain[1].form);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&archive).unwrap();
        std::fs::write(file.path(), encoder.finish().unwrap()).unwrap();
        assert_eq!(tar(file.path()), plain);
        let strict = DecodingLimits {
            unpacked: 1000,
            ratio: 0,
            ..DecodingLimits::default()
        };
        assert_eq!(of_tar(file.path(), &strict).unwrap(), plain[..1]);
        assert!(of_gzip(file.path()).unwrap().is_some());
        std::fs::write(file.path(), "x").unwrap();
        assert!(tar(file.path()).is_empty());
        assert_eq!(of_gzip(file.path()).unwrap(), None);
    }
}
