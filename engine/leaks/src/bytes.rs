//! Reads integers in binary files.

/// Returns the unsigned integer of `length` bytes at offset `at`. `None` if the file ends before.
pub(crate) fn integer(bytes: &[u8], at: usize, length: usize, is_big: bool) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let add = |sum: usize, byte: &u8| sum << 8 | usize::from(*byte);
    Some(match is_big {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    })
}
