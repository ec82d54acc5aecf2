//! Reads metadata of PNG, JPEG, WAV and NumPy files: everything except the pixels of pictures, the samples of sounds, and
//! the numbers of arrays.
//!
//! PNG, JPEG and RIFF files (such as WAV) consist of chunks with a name and a length, so one loop reads all of them.

use std::ops::Range;

use exif::Value;
use prep_formats::npy::NpyHeader;

use crate::text::integer;

/// Maximum length of a text in a chunk, in bytes. Longer texts are truncated.
const MAX_TEXT: usize = 300;

const MAX_CHUNKS: usize = 250;

/// How a format divides a file into chunks.
struct ChunkForm {
    signature: &'static [u8],
    /// Offset of the first chunk.
    begin: usize,
    /// The range of bytes in a chunk that contains the chunk's name.
    name: Range<usize>,
    /// The range of bytes in a chunk that contains the chunk's length.
    length: Range<usize>,
    /// The offset of the content in a chunk.
    content: usize,
    is_big: bool,
    /// Number of bytes that the length counts in addition to the content.
    counted: usize,
    /// Length of the checksum after the content. The next chunk begins at a multiple of `align`.
    checksum: usize,
    align: usize,
    last: &'static [u8],
}

const FORMS: [ChunkForm; 3] = [
    ChunkForm {
        signature: b"\x89PNG\r\n\x1a\n",
        begin: 8,
        name: 4..8,
        length: 0..4,
        content: 8,
        is_big: true,
        counted: 0,
        checksum: 4,
        align: 1,
        last: b"IEND",
    },
    ChunkForm {
        signature: b"RIFF",
        begin: 12,
        name: 0..4,
        length: 4..8,
        content: 8,
        is_big: false,
        counted: 0,
        checksum: 0,
        align: 2,
        last: b"",
    },
    ChunkForm {
        signature: b"\xff\xd8",
        begin: 2,
        name: 0..2,
        length: 2..4,
        content: 4,
        is_big: true,
        counted: 2,
        checksum: 0,
        align: 1,
        last: b"\xff\xda",
    },
];

/// Chunks whose content is not a text: the name of the chunk, the name of the fact, and the bytes that are the fact's
/// value. If the fact has no name, the chunk is skipped, because its content depends on pixels or samples.
const KNOWN: [(&[u8], &str, Range<usize>); 12] = [
    (b"IHDR", "the colour type and bit depth", 8..13),
    (b"IDAT", "the compression settings", 0..2),
    (b"IEND", "", 0..0),
    (b"fmt ", "the format", 0..64),
    (b"data", "", 0..0),
    (b"\xff\xe0", "the JFIF header", 0..14),
    (b"\xff\xdb", "the compression settings", 0..4096),
    (b"\xff\xc0", "the colour components", 5..64),
    (b"\xff\xc1", "the colour components", 5..64),
    (b"\xff\xc2", "the colour components", 5..64),
    (b"\xff\xc4", "", 0..0),
    (b"\xff\xda", "", 0..0),
];

/// Returns the names and values of all metadata. Files in other formats have no metadata.
pub(crate) fn read(file: &[u8]) -> Vec<(String, String)> {
    let mut forms = FORMS.iter();
    if let Some(form) = forms.find(|form| file.starts_with(form.signature)) {
        return of_chunks(file, form);
    }
    let Some(header) = NpyHeader::read(file).ok() else {
        return Vec::new();
    };
    vec![
        ("the type of numbers".to_owned(), header.descr),
        (
            "the order of storage".to_owned(),
            header.fortran_order.to_string(),
        ),
    ]
}

fn of_chunks(file: &[u8], form: &ChunkForm) -> Vec<(String, String)> {
    let (mut at, mut kinds, mut found) = (form.begin, Vec::<String>::new(), Vec::new());
    // A RIFF file declares its length. Files of the other formats end with a particular chunk.
    let declared = integer(file, 4, 4, false).unwrap_or(0).saturating_add(8);
    let (file, rest) = match form.last {
        b"" => file.split_at(declared.min(file.len())),
        _ => (file, &[][..]),
    };
    while kinds.len() < MAX_CHUNKS
        && let Some(head) = file.get(at..at.saturating_add(form.content))
        && let Some(name) = head.get(form.name.clone())
        && let Some(length) = integer(head, form.length.start, form.length.len(), form.is_big)
        && let Some(length) = length.checked_sub(form.counted)
    {
        let begin = at + form.content;
        let end = begin.saturating_add(length).min(file.len());
        add_chunk(name, file.get(begin..end).unwrap_or_default(), &mut found);
        let kind = kind(name);
        if name != b"IDAT" || kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
        at = (end + form.checksum).next_multiple_of(form.align);
        if name == form.last {
            break;
        }
    }
    found.push(("the chunks".to_owned(), kinds.join(" ")));
    let after = match form.last {
        b"" => rest.len(),
        // In a JPEG file, the pixels follow the last chunk, and end with the marker FFD9.
        b"\xff\xda" => {
            let end = file.windows(2).rposition(|two| two == [0xff, 0xd9]);
            end.map_or(0, |end| file.len() - end - 2)
        }
        _ => file.len().saturating_sub(at),
    };
    let what = "the number of bytes after the end".to_owned();
    found.push((what, after.to_string()));
    found
}

fn add_chunk(name: &[u8], data: &[u8], found: &mut Vec<(String, String)>) {
    let known = KNOWN.iter().find(|(own, ..)| *own == name);
    if let Some((_, what, range)) = known {
        let value = data.get(range.start..range.end.min(data.len()));
        if !what.is_empty() {
            found.push(((*what).to_owned(), value_of(value.unwrap_or_default())));
        }
        return;
    }
    if name == b"eXIf" || data.starts_with(b"Exif\0\0") {
        let tiff = data.strip_prefix(b"Exif\0\0").unwrap_or(data);
        return found.extend(exif(tiff));
    }
    let kind = kind(name);
    let texts: [&[u8]; 3] = [b"tEXt", b"iTXt", b"zTXt"];
    match data.iter().position(|byte| *byte == 0) {
        Some(end) if texts.contains(&name) => {
            let (key, value) = data.split_at(end);
            found.push((format!("the text `{}`", text(key)), value_of(value)));
        }
        _ => {
            found.push((format!("the chunk `{kind}`"), value_of(data)));
        }
    }
}

/// Returns the name of a chunk. A segment of a JPEG file is called `APP1` or similar, or else by its hexadecimal marker.
fn kind(name: &[u8]) -> String {
    match name {
        [0xff, marker] if matches!(marker, 0xe0..=0xef) => format!("APP{}", marker - 0xe0),
        [0xff, marker] => format!("{marker:02X}"),
        name => text(name),
    }
}

fn text(bytes: &[u8]) -> String {
    let bytes = bytes.get(..MAX_TEXT).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    text.trim_matches('\0').trim().to_owned()
}

/// Formats the value of a chunk. More than four printable bytes are written as text, all other values as hex digits. Of
/// more than 32 bytes in hex digits, only the first 32 and a checksum are written.
fn value_of(data: &[u8]) -> String {
    let is_text = |byte: &u8| *byte == 0 || byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match data.get(..32).filter(|_| data.len() > 32) {
        _ if data.len() > 4 && data.iter().all(is_text) => text(data),
        Some(head) => format!("{} {:08x}", hex(head), crc32fast::hash(data)),
        None => hex(data),
    }
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

/// Only this number of bytes of EXIF data is read. Values may overlap, so the total length of all values could be
/// quadratic in the length of the data.
const MAX_EXIF: usize = 1 << 14;

/// Returns the tags of EXIF data. If the data are damaged, returns the tags before the damage.
fn exif(data: &[u8]) -> Vec<(String, String)> {
    let data = data.get(..MAX_EXIF).unwrap_or(data);
    let read = exif::Reader::new()
        .continue_on_error(true)
        .read_raw(data.to_vec());
    let read = read.or_else(|error| error.distill_partial_result(|_| ()));
    let Ok(tags) = read else { return Vec::new() };
    let tags = tags.fields().map(|field| {
        let value = match &field.value {
            Value::Ascii(lines) => text(&lines.concat()),
            Value::Rational(parts) => {
                let numbers = parts.iter().map(|part| part.to_f64().to_string());
                numbers.collect::<Vec<_>>().join(" ")
            }
            _ => field.display_value().to_string(),
        };
        (format!("EXIF `{}`", field.tag), value)
    });
    tags.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with many tiny chunks must not need much memory.
    #[test]
    fn the_number_of_entries_does_not_grow_with_the_number_of_chunks() {
        let chunk = [&[0, 0, 0, 1], b"tEXt".as_slice(), b"a", &[0; 4]].concat();
        let segment = [0xff, 0xe2, 0, 2];
        let riff = b"abcd\0\0\0\0".repeat(10_000);
        let files = [
            [b"\x89PNG\r\n\x1a\n".as_slice(), &chunk.repeat(10_000)].concat(),
            [b"\xff\xd8".as_slice(), &segment.repeat(10_000)].concat(),
            [b"RIFF\xff\xff\0\0WAVE".as_slice(), &riff].concat(),
        ];
        for file in files {
            let found = read(&file);
            assert!((250..510).contains(&found.len()), "{}", found.len());
            let bytes = found.iter().map(|(name, value)| name.len() + value.len());
            assert!(bytes.sum::<usize>() < 100_000);
        }
    }

    #[test]
    fn chunks_are_read_up_to_the_end_of_the_data() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0etEXtSoftware\0tool1crc!\0\0\0\0IENDcrc!xyz";
        let wav = b"RIFF\x1a\0\0\0WAVELIST\x05\0\0\0oak07\0data\0\0\0\0more";
        for (file, expected) in [
            (
                png.as_slice(),
                [
                    "the text `Software`=tool1",
                    "the chunks=tEXt IEND",
                    "the number of bytes after the end=3",
                ]
                .as_slice(),
            ),
            (wav, &["the chunk `LIST`=oak07", "the chunks=LIST data"]),
        ] {
            let found = read(file);
            let lines: Vec<String> = found.iter().map(|(a, b)| format!("{a}={b}")).collect();
            for line in expected {
                assert!(lines.iter().any(|one| one == line), "{line}: {lines:?}");
            }
        }
    }
}
