//! Guesses a file's type from its first bytes, for messages such as "got HTML, 2.40 kB, expected a zip archive".

use std::fmt;

/// Number of leading bytes that [`FileType::detect`] needs.
pub const SNIFF_BYTES: usize = 512;

/// The type of a file, as its first bytes indicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// The file is empty.
    Empty,
    /// A web page, typically a login or error page that was saved in place of the file.
    Html,
    /// XML that is not HTML.
    Xml,
    /// JSON, typically a server's error message.
    Json,
    /// Other printable UTF-8 text.
    Text,
    /// A zip archive, judged by its first record.
    Zip,
    /// gzip.
    Gzip,
    /// 7z.
    SevenZ,
    /// tar.
    Tar,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
    /// RAR.
    Rar,
    /// Parquet.
    Parquet,
    /// PDF.
    Pdf,
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// NumPy's array file.
    Npy,
    /// HDF5.
    Hdf5,
    /// Only zero bytes, typically an unfinished download.
    Zeros,
    /// Any other content.
    Binary,
}

/// The bytes with which files of a type begin.
const MAGIC: [(&[u8], FileType); 14] = [
    (b"PK\x03\x04", FileType::Zip),
    (b"PK\x05\x06", FileType::Zip),
    (b"\x1f\x8b", FileType::Gzip),
    (b"7z\xbc\xaf\x27\x1c", FileType::SevenZ),
    (b"BZh", FileType::Bzip2),
    (b"\xfd7zXZ\x00", FileType::Xz),
    (b"\x28\xb5\x2f\xfd", FileType::Zstd),
    (b"Rar!\x1a\x07", FileType::Rar),
    (b"PAR1", FileType::Parquet),
    (b"%PDF-", FileType::Pdf),
    (b"\x89PNG\r\n\x1a\n", FileType::Png),
    (b"\xff\xd8\xff", FileType::Jpeg),
    (b"\x93NUMPY", FileType::Npy),
    (b"\x89HDF\r\n\x1a\n", FileType::Hdf5),
];

impl FileType {
    /// Determines the type from the first [`SNIFF_BYTES`] bytes of a file.
    pub fn detect(head: &[u8]) -> Self {
        if head.is_empty() {
            return Self::Empty;
        }
        if let Some((_, file_type)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
            return *file_type;
        }
        // A tar archive begins with a header, which contains the signature at this offset.
        if head.get(257..262) == Some(b"ustar") {
            return Self::Tar;
        }
        if head.iter().all(|byte| *byte == 0) {
            return Self::Zeros;
        }
        Self::detect_text(head)
    }

    fn detect_text(head: &[u8]) -> Self {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = head.trim_ascii_start().get(..).unwrap_or_default();
        let lower = text.to_ascii_lowercase();
        if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
            return Self::Html;
        }
        if !is_printable(head) {
            return Self::Binary;
        }
        match text.first() {
            Some(b'<') if lower.windows(5).any(|word| word == b"<html") => Self::Html,
            Some(b'<') if lower.starts_with(b"<?xml") => Self::Xml,
            Some(b'{' | b'[') => Self::Json,
            _ => Self::Text,
        }
    }
}

/// Returns whether the bytes are UTF-8 without control characters. The last character may be truncated.
fn is_printable(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid
        && !head
            .iter()
            .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

impl fmt::Display for FileType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "an empty file",
            Self::Html => "HTML",
            Self::Xml => "XML",
            Self::Json => "JSON",
            Self::Text => "text",
            Self::Zip => "a zip archive",
            Self::Gzip => "gzip",
            Self::SevenZ => "a 7z archive",
            Self::Tar => "a tar archive",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "Zstandard",
            Self::Rar => "a RAR archive",
            Self::Parquet => "Parquet",
            Self::Pdf => "PDF",
            Self::Png => "a PNG image",
            Self::Jpeg => "a JPEG image",
            Self::Npy => "a NumPy array",
            Self::Hdf5 => "HDF5",
            Self::Zeros => "zero bytes only",
            Self::Binary => "unknown binary data",
        })
    }
}
