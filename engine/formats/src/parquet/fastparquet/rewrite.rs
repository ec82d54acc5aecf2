//! Changes the versions in a finished file by replacing its footer. All bytes before the footer are unchanged.

use super::thrift::push_binary;
use super::{MAGIC, WriterVersions};

/// The footer of a file that fastparquet or [`FastparquetWriter`](super::FastparquetWriter) wrote.
#[derive(Debug, Clone)]
pub struct ParquetFooter {
    /// Offset of the footer. The bytes before it do not depend on the footer.
    pub begin: u64,
    before: Vec<u8>,
    pandas: Vec<u8>,
    /// The versions in the footer.
    pub versions: WriterVersions,
}

impl ParquetFooter {
    /// Number of bytes at the end of a file that contain the footer's length and the signature.
    pub const TRAILER: u64 = 8;

    /// Returns the offset of the footer in a file of `length` bytes, given its last [`TRAILER`](Self::TRAILER) bytes.
    /// Returns `None` if the file is not a Parquet file.
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
        let tail = ParquetFooter {
            begin,
            before: before.to_vec(),
            pandas: pandas.to_vec(),
            versions: WriterVersions::new(fastparquet, version).ok()?,
        };
        // Composing the parsed footer must produce the same bytes.
        let again = with_versions(&tail, &tail.versions)?;
        let footer = again.get(..again.len().checked_sub(8)?)?;
        (footer
            == [
                before,
                &length,
                &[0],
                created_field(&tail.versions).as_slice(),
            ]
            .concat())
        .then_some(tail)
    }
}

/// Returns the footer, its length and the final signature as `versions` would write them.
///
/// Returns `None` if the footer shows that the pages would differ, too. The file must then be written again.
pub fn with_versions(tail: &ParquetFooter, versions: &WriterVersions) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&tail.pandas).ok()?;
    let old = &tail.versions;
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
    let mut footer = tail.before.clone();
    push_binary(&mut footer, replaced.as_bytes());
    footer.push(0);
    footer.extend_from_slice(&created_field(versions));
    let length = u32::try_from(footer.len()).ok()?;
    footer.extend_from_slice(&length.to_le_bytes());
    footer.extend_from_slice(MAGIC);
    Some(footer)
}

/// The field `created_by`, followed by the end of the file's structure.
fn created_field(versions: &WriterVersions) -> Vec<u8> {
    let mut field = vec![0x18];
    push_binary(&mut field, versions.created_by().as_bytes());
    field.push(0);
    field
}

fn replace_once(text: &str, from: &str, to: &str) -> Option<String> {
    let at = text.find(from)?;
    let (before, rest) = text.split_at(at);
    Some(format!("{before}{to}{}", rest.strip_prefix(from)?))
}
