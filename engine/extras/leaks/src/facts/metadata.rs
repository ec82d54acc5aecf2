//! Reads metadata of PNG, JPEG, WAV and NumPy files: everything except pixels, samples and numbers.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::number::integer;

/// Maximum length of a text in a chunk, in bytes. Longer texts are truncated.
const MAX_TEXT: usize = 300;

/// Maximum number of entries, and of chunks that are read. A chunk takes a few bytes in its file.
const MAX_ENTRIES: usize = 500;

/// Returns whether more chunks are read after these entries and chunks.
fn is_short(found: &[(String, String)], kinds: &[String]) -> bool {
    found.len().max(kinds.len()) < MAX_ENTRIES
}

/// Returns the names and values of all metadata. Files in other formats have no metadata.
pub(crate) fn read(file: &[u8]) -> Vec<(String, String)> {
    match file {
        file if file.starts_with(b"\x89PNG\r\n\x1a\n") => png(file),
        file if file.starts_with(b"\xff\xd8") => jpeg(file),
        file if file.starts_with(b"RIFF") => riff(file),
        file if file.starts_with(b"\x93NUMPY") => numpy(file),
        _ => Vec::new(),
    }
}

fn text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..MAX_TEXT).unwrap_or(bytes);
    String::from_utf8_lossy(bytes)
        .trim_matches('\0')
        .trim()
        .to_owned()
}

fn png(file: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut at, mut pieces, mut kinds) = (8, 0_usize, Vec::new());
    while is_short(&found, &kinds)
        && let (Some(length), Some(kind)) = (integer(file, at, 4, true), file.get(at + 4..at + 8))
    {
        let Some(data) = file.get(at + 8..at + 8 + length) else {
            break;
        };
        let kind = String::from_utf8_lossy(kind).into_owned();
        match kind.as_str() {
            "IHDR" => {
                let form = data.get(8..13).unwrap_or_default();
                found.push(("the colour type and bit depth".to_owned(), hex(form)));
            }
            "IDAT" => {
                pieces += 1;
                if pieces == 1 {
                    let level = data.get(..2).unwrap_or_default();
                    found.push(("the compression settings".to_owned(), hex(level)));
                }
            }
            "tEXt" | "zTXt" | "iTXt" => {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                let rest = data.get(name.len() + 1..).unwrap_or_default();
                let value = match kind.as_str() {
                    "tEXt" => text(rest),
                    "zTXt" => inflated(rest.get(1..).unwrap_or_default()),
                    // The value follows two bytes about compression, the language, and the translated name.
                    _ => {
                        let packed = rest.first() == Some(&1);
                        let rest = rest.get(2..).unwrap_or_default();
                        let mut parts = rest.splitn(3, |byte| *byte == 0);
                        let value = parts.nth(2).unwrap_or_default();
                        if packed { inflated(value) } else { text(value) }
                    }
                };
                found.push((format!("the text `{}`", text(name)), value));
            }
            "eXIf" => found.extend(exif(data)),
            "IEND" => {
                let rest = file.len().saturating_sub(at + 12 + length);
                found.push(bytes_after_the_end(rest));
                break;
            }
            _ => {
                found.push((format!("the chunk `{kind}`"), shortened(data)));
                let what = format!("the length of the chunk `{kind}`");
                found.push((what, data.len().to_string()));
            }
        }
        if kind != "IDAT" || kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
        at += 12 + length;
    }
    found.push(("the chunks".to_owned(), kinds.join(" ")));
    found
}

fn bytes_after_the_end(bytes: usize) -> (String, String) {
    let what = "the number of bytes after the end".to_owned();
    (what, bytes.to_string())
}

/// Returns the bytes of a chunk as hex digits. For a long chunk, returns its first bytes and a checksum of all bytes.
fn shortened(data: &[u8]) -> String {
    match data.get(..32).filter(|_| data.len() > 32) {
        Some(head) => format!("{} {:08x}", hex(head), crc32fast::hash(data)),
        None => hex(data),
    }
}

/// Formats bytes as hex digits: `08 02 00`.
fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn inflated(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    let _ = ZlibDecoder::new(bytes).take(4096).read_to_end(&mut out);
    text(&out)
}

fn jpeg(file: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut at, mut kinds, mut tables) = (2, Vec::new(), crc32fast::Hasher::new());
    while is_short(&found, &kinds)
        && let (Some([0xff, marker]), Some(length)) =
            (file.get(at..at + 2), integer(file, at + 2, 2, true))
    {
        let Some(data) = file.get(at + 4..at + 2 + length) else {
            break;
        };
        kinds.push(format!("{marker:02X}"));
        match marker {
            0xe0 => {
                let header = data.get(..14).unwrap_or(data);
                found.push(("the JFIF header".to_owned(), hex(header)));
            }
            0xe1 if data.starts_with(b"Exif\0\0") => {
                found.extend(exif(data.get(6..).unwrap_or_default()))
            }
            0xe1..=0xef => found.push((format!("the segment APP{}", marker - 0xe0), text(data))),
            0xfe => found.push(("the comment".to_owned(), text(data))),
            0xdb => tables.update(data),
            0xc0..=0xc2 => {
                let form = data.get(5..).unwrap_or_default();
                found.push(("the colour components".to_owned(), hex(form)));
            }
            _ => {}
        }
        at += 2 + length;
        if *marker == 0xda {
            break;
        }
    }
    let tables = format!("{:08x}", tables.finalize());
    found.push(("the compression settings".to_owned(), tables));
    found.push(("the segments".to_owned(), kinds.join(" ")));
    let end = file.windows(2).rposition(|two| two == [0xff, 0xd9]);
    let rest = end.map_or(0, |end| file.len() - end - 2);
    found.push(bytes_after_the_end(rest));
    found
}

/// Returns the tags of EXIF data, from the main directory and the directory with the camera's settings.
fn exif(data: &[u8]) -> Vec<(String, String)> {
    let is_big = data.starts_with(b"MM");
    let two = |at| integer(data, at, 2, is_big);
    let four = |at| integer(data, at, 4, is_big);
    let mut found = Vec::new();
    let mut left: Vec<usize> = four(4).into_iter().collect();
    let mut directories = 0;
    while let Some(directory) = left.pop().filter(|_| directories < 8) {
        directories += 1;
        let count = two(directory).unwrap_or(0).min(200);
        for entry in 0..count {
            let at = directory + 2 + 12 * entry;
            let (Some(tag), Some(kind), Some(count)) = (two(at), two(at + 2), four(at + 4)) else {
                break;
            };
            if matches!(tag, 0x8769 | 0x8825) {
                left.extend(four(at + 8));
                continue;
            }
            let sizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];
            let size = sizes.get(kind).copied().unwrap_or(1);
            let length = count.saturating_mul(size).min(4096);
            let place = match length <= 4 {
                true => at + 8,
                false => four(at + 8).unwrap_or(usize::MAX),
            };
            let Some(bytes) = data.get(place..place.saturating_add(length)) else {
                continue;
            };
            let value = match kind {
                2 => text(bytes),
                3 => two(place).unwrap_or(0).to_string(),
                4 => four(place).unwrap_or(0).to_string(),
                5 | 10 => {
                    let (above, below) = (four(place).unwrap_or(0), four(place + 4).unwrap_or(1));
                    (above as f64 / below.max(1) as f64).to_string()
                }
                _ => hex(bytes.get(..32).unwrap_or(bytes)),
            };
            found.push((format!("EXIF {}", tag_name(tag)), value));
        }
    }
    found
}

/// Returns the name of an EXIF tag, or its number.
fn tag_name(tag: usize) -> String {
    let names = [
        (0x010e, "ImageDescription"),
        (0x010f, "Make"),
        (0x0110, "Model"),
        (0x0112, "Orientation"),
        (0x0131, "Software"),
        (0x0132, "DateTime"),
        (0x013b, "Artist"),
        (0x8298, "Copyright"),
        (0x829a, "ExposureTime"),
        (0x829d, "FNumber"),
        (0x8827, "ISOSpeedRatings"),
        (0x9003, "DateTimeOriginal"),
        (0x9286, "UserComment"),
        (0xa431, "BodySerialNumber"),
    ];
    let known = names.iter().find(|(number, _)| *number == tag);
    known.map_or(format!("tag {tag:#06x}"), |(_, name)| format!("`{name}`"))
}

/// Returns the version of a NumPy file, the type of its numbers, and their storage order.
fn numpy(file: &[u8]) -> Vec<(String, String)> {
    let head = text(file.get(10..).unwrap_or_default());
    let value = |key: &str| {
        let rest = head.split_once(key)?.1.trim_start_matches([':', ' ']);
        Some(rest.split(',').next()?.to_owned())
    };
    let names = [
        ("the type of numbers", "'descr'"),
        ("the order of storage", "'fortran_order'"),
    ];
    let mut found: Vec<(String, String)> = names
        .iter()
        .filter_map(|(name, key)| Some(((*name).to_owned(), value(key)?)))
        .collect();
    let version = file.get(6..8).unwrap_or_default();
    found.push(("the version".to_owned(), format!("{version:?}")));
    found
}

fn riff(file: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut at, mut kinds) = (12, Vec::new());
    let declared = integer(file, 4, 4, false).unwrap_or(0) + 8;
    while is_short(&found, &kinds)
        && let (Some(kind), Some(length)) = (file.get(at..at + 4), integer(file, at + 4, 4, false))
    {
        let kind = text(kind);
        let end = (at + 8).saturating_add(length).min(file.len());
        let data = file.get(at + 8..end).unwrap_or_default();
        match kind.as_str() {
            "data" => {}
            "fmt" => found.push(("the format".to_owned(), hex(data))),
            _ => found.push((format!("the chunk `{kind}`"), text(data))),
        }
        kinds.push(kind);
        at = (at + 8).saturating_add(length.next_multiple_of(2));
    }
    found.push(("the chunks".to_owned(), kinds.join(" ")));
    found.push(bytes_after_the_end(file.len().saturating_sub(declared)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_entries_does_not_grow_with_the_number_of_chunks() {
        let chunk = [&[0, 0, 0, 1], b"tEXt".as_slice(), b"a", &[0; 4]].concat();
        let segment = [0xff, 0xe2, 0, 2];
        let files = [
            [b"\x89PNG\r\n\x1a\n".as_slice(), &chunk.repeat(10_000)].concat(),
            [b"\xff\xd8".as_slice(), &segment.repeat(10_000)].concat(),
            [
                b"RIFF\0\0\0\0WAVE".as_slice(),
                &b"abcd\0\0\0\0".repeat(10_000),
            ]
            .concat(),
        ];
        for file in files {
            let found = read(&file);
            assert!((500..510).contains(&found.len()), "{}", found.len());
            let bytes = found.iter().map(|(name, value)| name.len() + value.len());
            assert!(bytes.sum::<usize>() < 100_000);
        }
    }
}
