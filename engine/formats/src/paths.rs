//! Decides whether a path in an archive is safe. All archive readers use this module.
//!
//! A path that could lead out of the target directory is rejected, because a repaired path would point to another
//! location. Paths are changed only if the location stays the same: `./a`, `a//b` and a trailing `/` are normalized.

/// Maximum length of a path component that common Linux file systems accept, in bytes.
pub const MAX_COMPONENT_BYTES: usize = 255;
/// Maximum length of a path, in bytes: `PATH_MAX`, minus space for the target directory.
pub const MAX_PATH_BYTES: usize = 3072;

/// A rule that a member path violates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path starts with `/`.
    #[error("it is absolute")]
    Absolute,
    /// A component is `..`.
    #[error("it has the component `..`")]
    ParentComponent,
    /// The path starts with a drive letter such as `C:`.
    #[error("it starts with a drive letter")]
    DriveLetter,
    /// The path contains a backslash, which only some systems treat as a separator.
    #[error("it has a backslash")]
    Backslash,
    /// The path contains a NUL character, at which C programs truncate it.
    #[error("it has a NUL character")]
    Nul,
    /// The path is not UTF-8, in formats that store paths as bytes.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The path is empty or names only the root.
    #[error("it is empty")]
    Empty,
    /// A component or the path is longer than file systems accept.
    #[error("it is too long ({length} bytes, at most {limit})")]
    TooLong {
        /// Length of the component or path in bytes.
        length: usize,
        /// The maximum length.
        limit: usize,
    },
}

/// Validates the path of a member. Returns the path with single `/` between components and without a trailing `/`.
///
/// # Errors
/// [`PathError`]. The error is [`PathError::Empty`] for `""` and `"./"`, the paths that archives use for their root
/// directory.
pub fn normalize(raw: &str) -> Result<String, PathError> {
    reject_unsafe(raw)?;
    if is_normal(raw) {
        return Ok(raw.to_owned());
    }
    let mut path = String::with_capacity(raw.len());
    for part in raw.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(part);
    }
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    Ok(path)
}

/// Rejects a path that violates a rule of [`PathError`].
fn reject_unsafe(raw: &str) -> Result<(), PathError> {
    let bytes = raw.as_bytes();
    match bytes {
        [] => return Err(PathError::Empty),
        [b'/', ..] => return Err(PathError::Absolute),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => return Err(PathError::DriveLetter),
        _ => {}
    }
    if bytes.len() > MAX_PATH_BYTES {
        return Err(PathError::TooLong {
            length: bytes.len(),
            limit: MAX_PATH_BYTES,
        });
    }
    if memchr::memchr(b'\\', bytes).is_some() {
        return Err(PathError::Backslash);
    }
    if memchr::memchr(0, bytes).is_some() {
        return Err(PathError::Nul);
    }
    for part in raw.split('/') {
        if part == ".." {
            return Err(PathError::ParentComponent);
        }
        if part.len() > MAX_COMPONENT_BYTES {
            return Err(PathError::TooLong {
                length: part.len(),
                limit: MAX_COMPONENT_BYTES,
            });
        }
    }
    Ok(())
}

/// Returns whether no component is empty or `.`. Most paths are normal and are copied unchanged.
fn is_normal(raw: &str) -> bool {
    raw.split('/').all(|part| !matches!(part, "" | "."))
}
