//! Lists the variables and structure fields in MATLAB 5 files, and removes some of them.
//!
//! - A file consists of a header of 128 bytes and elements. An element consists of a tag (type and length) and its content.
//! - A variable is a `MATRIX` element, or a `COMPRESSED` element that contains a `MATRIX` element. A structure contains one
//!   matrix per field.
//! - Removing a variable copies all other bytes unchanged. The crate `matfile` would discard some of these bytes.
//! - Files of version 7.3 are HDF5 files, which are not supported.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

const HEADER_BYTES: usize = 128;
/// Element type of a compressed variable.
const COMPRESSED: u32 = 15;
/// Element type of a matrix: a variable, or the value of a field.
const MATRIX: u32 = 14;
/// Class of a matrix that is a structure. The class is the first byte of the matrix's flags.
const STRUCTURE: u8 = 2;

/// A compressed variable is decompressed and searched for names only up to this number of uncompressed bytes.
const MAX_SEARCHED_BYTES: u64 = 64 << 20;

/// Structures that are nested more deeply than this number of levels are not searched for names.
const MAX_NESTING: usize = 32;

/// If the name of a variable or field has more bytes, the file is treated as damaged. MATLAB's limit is 63.
const MAX_NAME_BYTES: usize = 255;

/// The search ends when all paths together exceed this size in bytes. Paths repeat the names of outer structures, so
/// their total size could be quadratic in the size of the file.
const MAX_PATHS_BYTES: usize = 16 << 20;

/// Variables are not removed from a file that is larger than this number of bytes, or that contains a larger
/// uncompressed variable. Both the file and the variable are in memory.
pub const MAX_VARIABLE_BYTES: u64 = 128 << 20;

/// An error when variables are removed from a file.
#[derive(Debug, thiserror::Error)]
pub enum MatlabError {
    /// The file is HDF5 (version 7.3), big-endian, or not a MATLAB file.
    #[error("the file is not a little-endian MATLAB 5 file")]
    OtherVersion,
    /// A declared length exceeds the file.
    #[error("the MATLAB file is damaged or truncated; fetch it again")]
    Damaged,
    /// A compressed variable cannot be decompressed.
    #[error("a compressed variable of the MATLAB file is damaged; fetch it again")]
    Inflate(#[from] io::Error),
    /// The file or a variable is larger than [`MAX_VARIABLE_BYTES`].
    #[error("the file or one of its variables is larger than {} MB, which is not supported", MAX_VARIABLE_BYTES >> 20)]
    TooLong,
}

/// Lists the paths of all variables and fields, for example `Video` and `Video.Labels`.
///
/// If the file is damaged, only the paths before the damage are listed. Paths beyond the limits of this module are not
/// listed.
pub fn variable_paths(bytes: &[u8]) -> Vec<String> {
    let mut found = PathList::default();
    let mut rest = bytes.get(HEADER_BYTES..).unwrap_or_default();
    while let Some((kind, content, after)) = element(rest) {
        match kind {
            COMPRESSED => {
                let mut inflated = Vec::new();
                // A truncated stream still contains names in its beginning.
                let _ = ZlibDecoder::new(content)
                    .take(MAX_SEARCHED_BYTES)
                    .read_to_end(&mut inflated);
                if let Some((MATRIX, content, _)) = element(&inflated) {
                    collect_paths(content, &mut Vec::new(), &mut found);
                }
            }
            MATRIX => {
                collect_paths(content, &mut Vec::new(), &mut found);
            }
            _ => {}
        }
        rest = after;
    }
    found.paths
}

/// The paths found so far.
#[derive(Default)]
struct PathList {
    paths: Vec<String>,
    /// Size of all paths in bytes.
    bytes: usize,
}

impl PathList {
    /// Adds a path. Returns `None` if all paths together would exceed [`MAX_PATHS_BYTES`].
    fn push(&mut self, path: &[u8]) -> Option<()> {
        self.bytes += size_of::<String>() + path.len();
        let path = String::from_utf8_lossy(path).into_owned();
        (self.bytes <= MAX_PATHS_BYTES).then(|| self.paths.push(path))
    }
}

/// Returns the file without the variables and fields at the paths `unwanted`, or `None` if the file contains none of them.
///
/// A field is replaced by an empty field, because all elements of a structure array must have the same fields.
///
/// # Errors
/// [`MatlabError`] if the file cannot be parsed, because an unparsed file might still contain the variables.
pub fn remove_variables(bytes: &[u8], unwanted: &[String]) -> Result<Option<Vec<u8>>, MatlabError> {
    let (Some(header), Some(mut rest)) = (bytes.get(..HEADER_BYTES), bytes.get(HEADER_BYTES..))
    else {
        return Err(MatlabError::OtherVersion);
    };
    if header.get(124..) != Some(b"\x00\x01IM") {
        return Err(MatlabError::OtherVersion);
    }
    let mut out = header.to_vec();
    let mut changed = false;
    while !rest.is_empty() {
        let (kind, content, after) = complete_element(rest)?;
        let raw = rest.get(..rest.len() - after.len()).unwrap_or_default();
        let mut inflated = Vec::new();
        let (inner_kind, matrix) = if kind == COMPRESSED {
            ZlibDecoder::new(content)
                .take(MAX_VARIABLE_BYTES + 1)
                .read_to_end(&mut inflated)?;
            if inflated.len() as u64 > MAX_VARIABLE_BYTES {
                return Err(MatlabError::TooLong);
            }
            let (kind, content, _) = complete_element(&inflated)?;
            (kind, content)
        } else {
            (kind, content)
        };
        let stripped = match inner_kind {
            MATRIX => strip_fields(matrix, "", unwanted)?,
            _ => StrippedMatrix::Unchanged,
        };
        changed |= !matches!(stripped, StrippedMatrix::Unchanged);
        match stripped {
            StrippedMatrix::Unchanged => out.extend_from_slice(raw),
            StrippedMatrix::Removed => {}
            StrippedMatrix::Changed(matrix) if kind == COMPRESSED => {
                let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
                let mut plain = Vec::new();
                push_matrix(&matrix, &mut plain);
                packed.write_all(&plain)?;
                let packed = packed.finish()?;
                push_tag(COMPRESSED, packed.len(), &mut out);
                out.extend_from_slice(&packed);
            }
            StrippedMatrix::Changed(matrix) => push_matrix(&matrix, &mut out),
        }
        rest = after;
    }
    Ok(changed.then_some(out))
}

/// The result of removing fields from a matrix.
enum StrippedMatrix {
    Unchanged,
    /// The matrix itself must be removed.
    Removed,
    /// The new content of the matrix.
    Changed(Vec<u8>),
}

/// Removes the fields at the paths `unwanted` from a matrix. `outer` is the path of the field whose value is the matrix, or
/// empty for a variable.
fn strip_fields(
    content: &[u8],
    outer: &str,
    unwanted: &[String],
) -> Result<StrippedMatrix, MatlabError> {
    if content.is_empty() {
        return Ok(StrippedMatrix::Unchanged);
    }
    let (_, flags, rest) = complete_element(content)?;
    let (_, _, rest) = complete_element(rest)?;
    let (_, name, rest) = complete_element(rest)?;
    let path = match outer {
        "" => String::from_utf8_lossy(name).into_owned(),
        outer => outer.to_owned(),
    };
    if unwanted.contains(&path) {
        return Ok(StrippedMatrix::Removed);
    }
    let inside = format!("{path}.");
    if flags.first() != Some(&STRUCTURE) || !unwanted.iter().any(|one| one.starts_with(&inside)) {
        return Ok(StrippedMatrix::Unchanged);
    }
    let (_, length, rest) = complete_element(rest)?;
    let length = number(length, 0).ok_or(MatlabError::Damaged)? as usize;
    let (_, names, mut rest) = complete_element(rest)?;
    let head = content.len() - rest.len();
    let mut out = content.get(..head).unwrap_or_default().to_vec();
    let mut changed = false;
    // In an array of structures, the fields of the first element precede those of the second.
    let mut fields = names.chunks(length.max(1)).cycle();
    while !rest.is_empty() {
        let (_, matrix, after) = complete_element(rest)?;
        let field = fields
            .next()
            .and_then(name_of)
            .ok_or(MatlabError::Damaged)?;
        let field = format!("{inside}{}", String::from_utf8_lossy(field));
        match strip_fields(matrix, &field, unwanted)? {
            StrippedMatrix::Unchanged => {
                let raw = rest.get(..rest.len() - after.len()).unwrap_or_default();
                out.extend_from_slice(raw);
            }
            StrippedMatrix::Removed => {
                push_tag(MATRIX, 0, &mut out);
                changed = true;
            }
            StrippedMatrix::Changed(matrix) => {
                push_matrix(&matrix, &mut out);
                changed = true;
            }
        }
        rest = after;
    }
    Ok(match changed {
        true => StrippedMatrix::Changed(out),
        false => StrippedMatrix::Unchanged,
    })
}

/// Appends the tag of an element of the type `kind` whose content has `length` bytes.
fn push_tag(kind: u32, length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

/// Appends a matrix, padded to a multiple of eight bytes.
fn push_matrix(content: &[u8], out: &mut Vec<u8>) {
    push_tag(MATRIX, content.len(), out);
    out.extend_from_slice(content);
    let padded = content.len().next_multiple_of(8) - content.len();
    out.extend(std::iter::repeat_n(0, padded));
}

/// Parses the element at the beginning of `bytes`. Returns its type, its content, and the bytes after it.
///
/// # Errors
/// [`MatlabError::Damaged`] if `bytes` ends inside the element.
pub fn complete_element(bytes: &[u8]) -> Result<(u32, &[u8], &[u8]), MatlabError> {
    let found = element(bytes).ok_or(MatlabError::Damaged)?;
    let tag = number(bytes, 0).unwrap_or_default();
    let declared = number(bytes, 4).unwrap_or_default() as usize;
    if tag >> 16 == 0 && found.1.len() != declared {
        return Err(MatlabError::Damaged);
    }
    Ok(found)
}

/// Returns the little-endian integer at offset `at`.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Like [`complete_element`], but returns a shorter content if `bytes` ends inside the content.
fn element(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let tag = number(bytes, 0)?;
    if tag >> 16 != 0 {
        // A small element contains its length and up to 4 bytes of content in the tag.
        let length = (tag >> 16) as usize;
        let content = bytes.get(4..4 + length).filter(|_| length <= 4)?;
        return Some((tag & 0xffff, content, bytes.get(8..)?));
    }
    let length = number(bytes, 4)? as usize;
    let end = length.saturating_add(8).min(bytes.len());
    let padded = match tag {
        COMPRESSED => end,
        _ => end.next_multiple_of(8).min(bytes.len()),
    };
    Some((tag, bytes.get(8..end)?, bytes.get(padded..)?))
}

/// Adds the paths of the fields in a matrix to `found`. `path` is the path of the field whose value is the matrix. If the
/// matrix is a variable, `path` must be empty, and the path of the variable is added, too.
///
/// Returns `None` if the matrix is damaged or a limit is exceeded.
fn collect_paths(content: &[u8], path: &mut Vec<u8>, found: &mut PathList) -> Option<()> {
    let (_, flags, rest) = element(content)?;
    let (_, _, rest) = element(rest)?;
    let (_, name, rest) = element(rest)?;
    let is_variable = path.is_empty();
    if is_variable {
        path.extend_from_slice(name_of(name)?);
        found.push(path)?;
    }
    let nesting = path.iter().filter(|byte| **byte == b'.').count();
    if flags.first() != Some(&STRUCTURE) || nesting >= MAX_NESTING {
        return Some(());
    }
    let (_, length, rest) = element(rest)?;
    let length = number(length, 0)? as usize;
    let (_, names, mut rest) = element(rest)?;
    let outer = path.len();
    for name in names.chunks(length.max(1)) {
        let (_, content, after) = element(rest)?;
        if !content.is_empty() {
            path.push(b'.');
            path.extend_from_slice(name_of(name)?);
            found.push(path)?;
            collect_paths(content, path, found);
            path.truncate(outer);
        }
        rest = after;
    }
    Some(())
}

/// Returns the name up to its terminating zero, or `None` if it exceeds [`MAX_NAME_BYTES`].
fn name_of(name: &[u8]) -> Option<&[u8]> {
    let name = name.split(|byte| *byte == 0).next()?;
    (name.len() <= MAX_NAME_BYTES).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an element. The types used here are 1 (names), 5 (dimensions), 6 (flags) and 9 (doubles).
    fn element_bytes(kind: u32, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_tag(kind, content.len(), &mut out);
        out.extend_from_slice(content);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }

    /// Returns a matrix of the class `class`: 2 is a structure, 6 an array of doubles.
    fn matrix(class: u8, name: &str, rest: &[u8]) -> Vec<u8> {
        let head = [
            element_bytes(6, &[class, 0, 0, 0, 0, 0, 0, 0]),
            element_bytes(5, &[1, 0, 0, 0, 1, 0, 0, 0]),
            element_bytes(1, name.as_bytes()),
        ];
        let mut out = Vec::new();
        push_matrix(&[head.concat(), rest.to_vec()].concat(), &mut out);
        out
    }

    fn structure(name: &str, fields: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut names = Vec::new();
        for (field, _) in fields {
            let mut text = field.as_bytes().to_vec();
            text.resize(8, 0);
            names.extend(text);
        }
        let mut rest = [
            element_bytes(5, &8_u32.to_le_bytes()),
            element_bytes(1, &names),
        ]
        .concat();
        fields.iter().for_each(|(_, value)| rest.extend(value));
        matrix(STRUCTURE, name, &rest)
    }

    fn file(variables: &[Vec<u8>]) -> Vec<u8> {
        let mut out = vec![b' '; 124];
        out.extend(b"\x00\x01IM");
        variables.iter().for_each(|variable| out.extend(variable));
        out
    }

    #[test]
    fn removing_variables_and_fields_keeps_all_other_bytes() {
        let value = |bytes: &[u8]| matrix(6, "", &element_bytes(9, bytes));
        let video = |labels: Vec<u8>| {
            structure(
                "Video",
                &[("Frames", value(b"12345678")), ("Labels", labels)],
            )
        };
        let other = matrix(6, "other", &element_bytes(9, b"87654321"));
        let full = file(&[video(value(b"secret!!")), other.clone()]);
        assert_eq!(
            variable_paths(&full),
            ["Video", "Video.Frames", "Video.Labels", "other"]
        );
        let unwanted = ["Video.Labels".to_owned()];
        let found = remove_variables(&full, &unwanted).unwrap().unwrap();
        assert_eq!(variable_paths(&found), ["Video", "Video.Frames", "other"]);
        assert!(memchr::memmem::find(&found, b"secret").is_none());
        let empty = element_bytes(MATRIX, b"");
        assert_eq!(found, file(&[video(empty), other.clone()]));
        assert!(remove_variables(&found, &unwanted).unwrap().is_none());
        let without_video = remove_variables(&full, &["Video".to_owned()])
            .unwrap()
            .unwrap();
        assert_eq!(without_video, file(std::slice::from_ref(&other)));
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&video(value(b"secret!!"))).unwrap();
        let packed = packed.finish().unwrap();
        let mut variable = Vec::new();
        push_tag(COMPRESSED, packed.len(), &mut variable);
        variable.extend(packed);
        let found = remove_variables(&file(&[variable, other]), &unwanted).unwrap();
        assert_eq!(
            variable_paths(&found.unwrap()),
            ["Video", "Video.Frames", "other"]
        );
    }

    #[test]
    fn variable_paths_limits_depth_total_size_and_name_length() {
        // 1,000 nested structures. Each path is longer than the previous one by `.f`.
        let deep = (0..1000).fold(matrix(6, "", &[]), |inner, _| {
            structure("s", &[("f", inner)])
        });
        let found = variable_paths(&file(&[deep]));
        assert_eq!(found.len(), 1 + MAX_NESTING);
        assert_eq!(found.last().unwrap().len(), 1 + 2 * MAX_NESTING);
        // 20,000 fields in a structure with a long path: the complete list of their paths would take 160 MB.
        let fields = vec![("f", matrix(6, "", &[])); 20_000];
        let wide = structure("s", &fields);
        let long = "n".repeat(MAX_NAME_BYTES);
        let outer = (0..31).fold(wide, |inner, _| long_field(&long, &inner));
        let bytes: usize = variable_paths(&file(&[outer]))
            .iter()
            .map(String::len)
            .sum();
        assert!(
            (MAX_PATHS_BYTES / 2..=MAX_PATHS_BYTES).contains(&bytes),
            "{bytes}"
        );
        let huge = long_field(&"n".repeat(2 << 20), &matrix(6, "", &[]));
        assert_eq!(variable_paths(&file(&[huge])), ["s"]);
    }

    fn long_field(name: &str, value: &[u8]) -> Vec<u8> {
        let length = (name.len() as u32 + 1).to_le_bytes();
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let rest = [
            element_bytes(5, &length),
            element_bytes(1, &text),
            value.to_vec(),
        ];
        matrix(STRUCTURE, "s", &rest.concat())
    }

    #[test]
    fn removal_from_an_unreadable_file_is_an_error() {
        let full = file(&[matrix(6, "other", &element_bytes(9, b"87654321"))]);
        let unwanted = ["other".to_owned()];
        for length in HEADER_BYTES + 1..full.len() {
            assert!(
                remove_variables(&full[..length], &unwanted).is_err(),
                "{length}"
            );
        }
        assert!(remove_variables(b"\x89HDF\r\n", &unwanted).is_err());
        let mut state = 1_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut bytes = full.clone();
            let at = (state >> 8) as usize % bytes.len();
            bytes[at] = state as u8;
            let _ = (variable_paths(&bytes), remove_variables(&bytes, &unwanted));
        }
    }
}
