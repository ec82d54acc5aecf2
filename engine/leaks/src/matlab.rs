//! Names in MATLAB files of version 5: variables, and the fields of structures in them.

use std::io::Read;

use flate2::bufread::ZlibDecoder;

const HEADER: usize = 128;
const COMPRESSED: u32 = 15;
const MATRIX: u32 = 14;
const STRUCTURE: u8 = 2;

/// More than this of a variable is not looked at.
const MOST: u64 = 64 << 20;

/// Names as `Video` and `Video.Labels`. What is damaged ends them.
pub(crate) fn names(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = bytes.get(HEADER..).unwrap_or_default();
    while let Some((kind, content, behind)) = element(rest) {
        match kind {
            COMPRESSED => {
                let mut inflated = Vec::new();
                // A cut-off stream still gives its names.
                let _ = ZlibDecoder::new(content)
                    .take(MOST)
                    .read_to_end(&mut inflated);
                if let Some((MATRIX, content, _)) = element(&inflated) {
                    matrix(content, "", &mut found);
                }
            }
            MATRIX => {
                matrix(content, "", &mut found);
            }
            _ => {}
        }
        rest = behind;
    }
    found
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Type and content of the first element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let tag = number(bytes, 0)?;
    if tag >> 16 != 0 {
        // Small: length and content are in the tag.
        let content = bytes.get(4..4 + (tag >> 16) as usize)?;
        return Some((tag & 0xffff, content, bytes.get(8..)?));
    }
    let length = number(bytes, 4)? as usize;
    let end = (8 + length).min(bytes.len());
    let padded = match tag {
        COMPRESSED => end,
        _ => end.next_multiple_of(8).min(bytes.len()),
    };
    Some((tag, bytes.get(8..end)?, bytes.get(padded..)?))
}

fn matrix(content: &[u8], outer: &str, found: &mut Vec<String>) -> Option<()> {
    let (_, flags, rest) = element(content)?;
    let (_, _, rest) = element(rest)?;
    let (_, name, rest) = element(rest)?;
    let name = String::from_utf8_lossy(name);
    let path = match (outer, name.as_ref()) {
        ("", name) => name.to_owned(),
        (outer, _) => outer.to_owned(),
    };
    if outer.is_empty() {
        found.push(path.clone());
    }
    if flags.first() != Some(&STRUCTURE) {
        return Some(());
    }
    let (_, length, rest) = element(rest)?;
    let length = number(length, 0)? as usize;
    let (_, names, mut rest) = element(rest)?;
    for name in names.chunks(length.max(1)) {
        let end = name.iter().position(|byte| *byte == 0);
        let name = String::from_utf8_lossy(name.get(..end.unwrap_or(name.len()))?);
        let inner = format!("{path}.{name}");
        let (_, content, behind) = element(rest)?;
        // An empty field says nothing.
        if !content.is_empty() {
            found.push(inner.clone());
            matrix(content, &inner, found);
        }
        rest = behind;
    }
    Some(())
}
