//! Paths and file patterns. A path is relative, uses `/`, and does not leave its directory.

mod pattern;

pub use pattern::{FILE_COLUMNS, FilePattern, path_glob};

/// The words after `the path` in a message, for example `is absolute`, and the help.
pub type PathFault = (&'static str, &'static str);

/// Returns the fault of an invalid path. A valid path may end with one `/`, which denotes a directory, and may be `./`.
pub fn fault(path: &str) -> Option<PathFault> {
    if path == "./" {
        return None;
    }
    if path.is_empty() {
        return Some(("is empty", "name a file, or `./` for the directory itself"));
    }
    if path.contains('\0') {
        return Some(("contains a NUL character", "remove it"));
    }
    if path.contains('\\') {
        return Some(("contains a backslash", "separate directories with `/`"));
    }
    if path.starts_with('/') {
        return Some(("is absolute", "write a relative path"));
    }
    if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
        return Some(("begins with a drive letter", "write a relative path"));
    }
    for segment in path.strip_suffix('/').unwrap_or(path).split('/') {
        match segment {
            ".." => return Some(("leaves its directory through `..`", "remove `..`")),
            "." => return Some(("contains a segment `.`", "remove it")),
            "" => {
                return Some((
                    "contains an empty segment",
                    "write one `/` between directories",
                ));
            }
            _ => {}
        }
    }
    None
}

/// Splits `NAME:path` into the name of a source and a path. The source is `None` for a path in the bundle.
///
/// The name of a source has at least two characters.
pub fn split_source(path: &str) -> (Option<&str>, &str) {
    let Some((name, inner)) = path.split_once(':') else {
        return (None, path);
    };
    match name.len() > 1 && is_name(name) {
        true => (Some(name), inner),
        false => (None, path),
    }
}

/// Returns the part of a path that is the cell of the column `column` in a table of files: `dir`, `folder`, `name`, `stem` or
/// `ext`. For other columns, returns the path.
pub fn path_part<'a>(path: &'a str, column: &str) -> &'a str {
    let (dir, name) = path
        .rsplit_once('/')
        .unwrap_or_else(|| ("", split_source(path).1));
    // As in Python's pathlib, neither a leading nor a trailing dot starts an extension.
    let (stem, ext) = match name.rfind('.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() => (&name[..dot], &name[dot + 1..]),
        _ => (name, ""),
    };
    match column {
        "dir" => dir,
        "folder" => dir
            .rsplit('/')
            .next()
            .map_or(dir, |last| split_source(last).1),
        "name" => name,
        "stem" => stem,
        "ext" => ext,
        _ => path,
    }
}

/// Returns a path without the extension of its last part and the dot before it.
pub fn without_extension(path: &str) -> &str {
    let removed = path_part(path, "name").len() - path_part(path, "stem").len();
    &path[..path.len() - removed]
}

/// Returns whether a name consists of lower-case letters, digits and `_`, and does not begin with a digit.
pub fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    !text.is_empty() && !begins_with_digit && text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::{fault, path_part, split_source, without_extension};

    #[test]
    fn paths_inside_their_directory_are_accepted() {
        for path in [
            "a",
            "a/b.csv",
            "a/",
            "./",
            "a/..b/c..",
            "ü/x y.csv",
            "...",
            "a:b",
        ] {
            // `a:` is treated as a drive letter.
            assert_eq!(fault(path).is_none(), path != "a:b", "{path}");
        }
    }

    #[test]
    fn paths_outside_their_directory_are_rejected() {
        for path in [
            "", "/", "/a", "..", "../a", "a/..", "a/../b", "a//b", "a/./b", "./a", "a\\b", "C:/a",
            "a\0", "a//", "..",
        ] {
            assert!(fault(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_name_before_a_colon_is_a_source() {
        for (path, source, inner) in [
            ("labels:a/b.csv", Some("labels"), "a/b.csv"),
            ("l_2:x:y", Some("l_2"), "x:y"),
            ("a/b:c.csv", None, "a/b:c.csv"),
            ("c:/x", None, "c:/x"),
            ("Labels:x", None, "Labels:x"),
            ("2a:x", None, "2a:x"),
            (":x", None, ":x"),
        ] {
            assert_eq!(split_source(path), (source, inner));
        }
    }

    #[test]
    fn path_parts_match_pathlib() {
        for (path, expected) in [
            ("a/b/c.tar.gz", ["a/b", "b", "c.tar.gz", "c.tar", "gz"]),
            ("a.b/c", ["a.b", "a.b", "c", "c", ""]),
            ("c", ["", "", "c", "c", ""]),
            ("more:c.d", ["", "", "c.d", "c", "d"]),
            ("more:a/c", ["more:a", "a", "c", "c", ""]),
            ("a/.hidden", ["a", "a", ".hidden", ".hidden", ""]),
            ("a/x.", ["a", "a", "x.", "x.", ""]),
        ] {
            let columns = ["dir", "folder", "name", "stem", "ext"];
            assert_eq!(columns.map(|column| path_part(path, column)), expected);
        }
    }

    #[test]
    fn only_the_extension_of_the_name_is_removed() {
        for (path, expected) in [
            ("a/b.jpg", "a/b"),
            ("a.b/c", "a.b/c"),
            ("more:c.d", "more:c"),
            (".hidden", ".hidden"),
            ("a/x.tar.gz", "a/x.tar"),
        ] {
            assert_eq!(without_extension(path), expected);
        }
    }
}
