//! The versions of fastparquet and pandas in a footer, and the bytes of a file that depend on these versions.

use thiserror::Error;

use super::MAGIC;
use super::chunk::push_binary;

/// The versions in the footer, which also determine some bytes of the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterVersions {
    fastparquet: String,
    pandas: String,
}

/// A string that is not a version.
#[derive(Debug, Error)]
#[error("`{0}` is not a version: expected numbers separated by dots, such as 2024.5.0")]
pub struct VersionError(String);

impl WriterVersions {
    /// Creates the pair of a fastparquet version and a pandas version.
    ///
    /// # Errors
    /// [`VersionError`] if a version contains anything but numbers and dots.
    pub fn new(fastparquet: &str, pandas: &str) -> Result<Self, VersionError> {
        for version in [fastparquet, pandas] {
            if numbers(version).is_none() {
                return Err(VersionError(version.to_owned()));
            }
        }
        Ok(Self {
            fastparquet: fastparquet.to_owned(),
            pandas: pandas.to_owned(),
        })
    }

    /// Returns the version of fastparquet.
    pub fn fastparquet(&self) -> &str {
        &self.fastparquet
    }

    /// Returns the version of pandas.
    pub fn pandas(&self) -> &str {
        &self.pandas
    }

    /// Returns the number of bytes for `bits` packed bits. fastparquet before 2026.9 adds a byte if the last byte is full.
    pub(super) fn packed(&self, bits: u64) -> u64 {
        let pads_full_bytes =
            numbers(&self.fastparquet).is_some_and(|version| version < vec![2026, 9]);
        if pads_full_bytes {
            bits / 8 + 1
        } else {
            bits.div_ceil(8)
        }
    }

    /// Returns NumPy's name for the type of the column labels. Since version 3.0, pandas stores labels as `str`.
    pub(super) fn labels(&self) -> &'static str {
        let text = numbers(&self.pandas).is_some_and(|version| version >= vec![3]);
        if text { "str" } else { "object" }
    }

    /// Returns pandas' name for the type of a column of strings with missing values.
    pub(super) fn texts_with_gaps(&self) -> &'static str {
        if self.labels() == "str" {
            "unicode"
        } else {
            "mixed"
        }
    }

    pub(super) fn created_by(&self) -> String {
        format!("fastparquet-python version {} (build 0)", self.fastparquet)
    }
}

impl std::fmt::Display for WriterVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "fastparquet {}, pandas {}",
            self.fastparquet, self.pandas
        )
    }
}

/// Parses the parts of a version. Returns `None` if a part is not a number.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

/// The footer of a file that fastparquet or [`FastparquetWriter`](super::FastparquetWriter) wrote.
#[derive(Debug, Clone)]
pub struct ParquetFooter {
    /// Offset of the footer. The bytes before it do not depend on the footer.
    pub begin: u64,
    /// The bytes of the footer before the length of the `pandas` entry's value.
    before: Vec<u8>,
    /// The value of the `pandas` entry.
    pandas: Vec<u8>,
    /// The versions in the footer.
    pub versions: WriterVersions,
}

impl ParquetFooter {
    /// Number of bytes at the end of a file that contain the footer's length and the signature.
    pub const TRAILER: u64 = 8;

    /// Returns the offset of the footer in a file of `length` bytes, or `None` if this is not a Parquet file.
    ///
    /// `trailer` must contain the last [`TRAILER`](Self::TRAILER) bytes of the file.
    pub fn begin(length: u64, trailer: &[u8]) -> Option<u64> {
        let (size, magic) = trailer.split_first_chunk::<4>()?;
        let size = u64::from(u32::from_le_bytes(*size));
        let total = size + Self::TRAILER;
        (magic == MAGIC && total + MAGIC.len() as u64 <= length).then(|| length - total)
    }

    /// Parses the footer at the offset `begin`. Returns `None` if the footer does not have the expected format.
    pub fn parse(begin: u64, footer: &[u8]) -> Option<ParquetFooter> {
        let marker = b"{\"column_indexes\"";
        let entry = memchr::memmem::rfind(footer, marker)?;
        let tail = footer.get(entry..)?;
        // A zero ends the structure of the entry. The field `created_by` follows.
        let end = memchr::memmem::rfind(tail, b"fastparquet-python version ")?;
        let created = tail.get(end..)?.strip_suffix(&[0])?;
        let json_end = memchr::memrchr(b'}', tail.get(..end)?)? + 1;
        let pandas = tail.get(..json_end)?;
        let created = std::str::from_utf8(created).ok()?;
        let created = created.strip_prefix("fastparquet-python version ")?;
        let fastparquet = created.strip_suffix(" (build 0)")?;
        let text = std::str::from_utf8(pandas).ok()?;
        let (_, rest) = text.rsplit_once("\"pandas_version\": \"")?;
        let (version, _) = rest.split_once('"')?;
        let mut length = Vec::new();
        push_binary(&mut length, pandas);
        let before = footer.get(..entry + pandas.len())?;
        let before = before.strip_suffix(length.as_slice())?;
        let parsed = ParquetFooter {
            begin,
            before: before.to_vec(),
            pandas: pandas.to_vec(),
            versions: WriterVersions::new(fastparquet, version).ok()?,
        };
        // Composing the parsed footer must produce the same bytes.
        let again = with_versions(&parsed, &parsed.versions)?;
        let footer = again.get(..again.len().checked_sub(8)?)?;
        (footer
            == [
                before,
                &length,
                &[0],
                created_field(&parsed.versions).as_slice(),
            ]
            .concat())
        .then_some(parsed)
    }
}

/// Replaces the versions in a footer. Returns the new footer, followed by its length and the final signature.
///
/// Only the two versions and the type of the column labels change. Returns `None` if the footer lacks any of the three.
pub fn with_versions(parsed: &ParquetFooter, versions: &WriterVersions) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&parsed.pandas).ok()?;
    let old = &parsed.versions;
    let replaced = replace_once(
        text,
        &format!(
            "\"library\": \"fastparquet\", \"version\": \"{}\"",
            old.fastparquet()
        ),
        &format!(
            "\"library\": \"fastparquet\", \"version\": \"{}\"",
            versions.fastparquet()
        ),
    )?;
    let replaced = replace_once(
        &replaced,
        &format!("\"pandas_version\": \"{}\"", old.pandas()),
        &format!("\"pandas_version\": \"{}\"", versions.pandas()),
    )?;
    let labels = |versions: &WriterVersions| {
        format!(
            "\"name\": null, \"numpy_type\": \"{}\", \"pandas_type\": \"mixed-integer\"",
            versions.labels()
        )
    };
    let replaced = replace_once(&replaced, &labels(old), &labels(versions))?;
    let mut footer = parsed.before.clone();
    push_binary(&mut footer, replaced.as_bytes());
    footer.push(0);
    footer.extend_from_slice(&created_field(versions));
    let length = u32::try_from(footer.len()).ok()?;
    footer.extend_from_slice(&length.to_le_bytes());
    footer.extend_from_slice(MAGIC);
    Some(footer)
}

/// Returns the field `created_by`, which is the last one, and the zero byte that ends the footer.
fn created_field(versions: &WriterVersions) -> Vec<u8> {
    let mut field = vec![0x18];
    push_binary(&mut field, versions.created_by().as_bytes());
    field.push(0);
    field
}

/// Replaces the first occurrence of `from`. Returns `None` if `text` does not contain `from`.
fn replace_once(text: &str, from: &str, to: &str) -> Option<String> {
    let at = text.find(from)?;
    let (before, rest) = text.split_at(at);
    Some(format!("{before}{to}{}", rest.strip_prefix(from)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_versions_determine_padding_and_label_type() {
        let of = |fastparquet, pandas| WriterVersions::new(fastparquet, pandas).unwrap();
        assert_eq!(of("2026.5.0", "2.2.3").packed(16), 3);
        assert_eq!(of("2026.9.0", "2.2.3").packed(16), 2);
        assert_eq!(of("2026.5.0", "2.2.3").packed(17), 3);
        assert_eq!(of("2024.5.0", "2.3.3").labels(), "object");
        assert_eq!(of("2026.9.0", "3.0.0").labels(), "str");
        assert!(WriterVersions::new("2024.x", "2.2.3").is_err());
    }
}
