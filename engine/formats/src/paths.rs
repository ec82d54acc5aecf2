//! The one place that decides whether a path found in an archive is safe.
//!
//! A member path becomes part of a path on disk, so anything that could lead
//! out of the target folder is refused rather than repaired: a repaired path
//! would silently write somewhere else than the archive says. Only spellings
//! that mean the same place are normalised (`./a`, `a//b`, a trailing `/`).

/// Longest component that common Linux file systems accept, in bytes.
pub const MAX_COMPONENT: usize = 255;
/// Longest path accepted, in bytes (`PATH_MAX` less room for the target folder).
pub const MAX_PATH: usize = 3072;

/// Why a member path is refused.
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
    /// A backslash, which is a separator on some systems and not on others.
    #[error("it has a backslash")]
    Backslash,
    /// A NUL character, at which C programs cut the name.
    #[error("it has a NUL character")]
    Nul,
    /// The bytes are not UTF-8 (in formats whose names are bytes).
    #[error("it is not UTF-8")]
    NotUtf8,
    /// Nothing is left: the name is empty, or names the root only.
    #[error("it is empty")]
    Empty,
    /// A component or the whole path is longer than file systems accept.
    #[error("it is too long ({length} bytes, at most {limit})")]
    TooLong {
        /// Length in bytes of the component or path.
        length: usize,
        /// The limit that it breaks.
        limit: usize,
    },
}

/// Checks a member path and returns it with `/` between components and none at
/// the end.
///
/// # Errors
/// [`PathError`] says which rule the path breaks. A path of no component (`""`,
/// `"./"`) is [`PathError::Empty`]; archives use it for their root folder, so
/// callers may skip a *directory* of that name.
pub fn normalize(raw: &str) -> Result<String, PathError> {
    refuse_unsafe(raw)?;
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

/// Applies the rules that refuse a path, without normalising it.
fn refuse_unsafe(raw: &str) -> Result<(), PathError> {
    let bytes = raw.as_bytes();
    match bytes {
        [] => return Err(PathError::Empty),
        [b'/', ..] => return Err(PathError::Absolute),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => return Err(PathError::DriveLetter),
        _ => {}
    }
    if bytes.len() > MAX_PATH {
        return Err(PathError::TooLong {
            length: bytes.len(),
            limit: MAX_PATH,
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
        if part.len() > MAX_COMPONENT {
            return Err(PathError::TooLong {
                length: part.len(),
                limit: MAX_COMPONENT,
            });
        }
    }
    Ok(())
}

/// Whether no component is empty or `.` (the usual case, copied in one piece).
fn is_normal(raw: &str) -> bool {
    raw.split('/').all(|part| !matches!(part, "" | "."))
}
