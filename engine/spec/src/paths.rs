//! Checks paths in a pipeline: they must be relative, separated by `/`, and inside their directory.

use crate::diagnostic::{Diagnostic, Span};
use crate::model::Spanned;
use crate::pattern::FilePattern;
use crate::state::ParseState;
use crate::suggest::nearest;
use crate::yaml::YamlNode;

/// An error about a path, and its help.
type Fault = (&'static str, &'static str);

/// Checks a path. It may end with one `/`, which denotes a directory, and it may be `./`.
fn fault(path: &str) -> Option<Fault> {
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
        return Some(("is absolute", "write it relative to its directory"));
    }
    if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
        return Some((
            "begins with a drive letter",
            "write it relative to its directory",
        ));
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

/// Splits `NAME:path` into the name of a source and the path in it. A path in the bundle has no source name.
///
/// The name of a source must be valid as the name of a table, and have at least two characters.
pub fn split_source(path: &str) -> (Option<&str>, &str) {
    let Some((name, inner)) = path.split_once(':') else {
        return (None, path);
    };
    match name.len() > 1 && is_name(name) {
        true => (Some(name), inner),
        false => (None, path),
    }
}

/// Returns whether a text is valid as the name of a table, a list, a source or a column of a pattern. It consists of
/// lower-case letters, digits and `_`, and does not begin with a digit.
pub fn is_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
    !text.is_empty() && !begins_with_digit && text.chars().all(is_allowed)
}

impl ParseState {
    /// Parses and checks a path in the bundle or in another source.
    fn source_path(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let path = self.text(node, "a path")?;
        let (source, inner) = split_source(&path.value);
        self.check_path(inner, node.span);
        if let Some(source) = source {
            self.used_sources.insert(source.to_owned());
            if !self.source_places.contains_key(source) {
                let message = format!("there is no source `{source}`");
                let found = Diagnostic::error("unknown-source", node.span, message);
                let near = nearest(source, self.source_places.keys().map(String::as_str));
                let found = found.suggest_or(near, "define it in `sources`");
                self.report(found);
            }
        }
        Some(path)
    }

    /// Reports a path in a single-file source that does not begin with that file.
    fn check_file(&mut self, path: &Spanned<String>) {
        let (Some(source), inner) = split_source(&path.value) else {
            return;
        };
        let Some(file) = self.source_files.get(source) else {
            return;
        };
        if inner.split('/').next() == Some(file) {
            return;
        }
        let message =
            format!("the source `{source}` has no `{inner}`; it only has the file `{file}`");
        let help = format!("write `{source}:{file}`, or `{source}:{file}/...` for a member of it");
        self.report(Diagnostic::error("bad-path", path.span, message).help(help));
    }

    /// Parses a path without wildcards in the bundle or in another source.
    pub fn plain_source_path(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let path = self.source_path(node)?;
        self.check_file(&path);
        Some(path)
    }

    /// Parses and checks a path.
    pub fn path(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let path = self.text(node, "a path")?;
        self.check_path(&path.value, node.span);
        Some(path)
    }

    pub fn check_path(&mut self, path: &str, span: Span) {
        if let Some((what, help)) = fault(path) {
            let shown = path.escape_debug();
            let message = format!("the path `{shown}` {what}");
            self.report(Diagnostic::error("bad-path", span, message).help(help));
        }
    }

    /// Parses and checks a path with wildcards.
    pub fn glob(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let glob = self.source_path(node)?;
        let pattern = match FilePattern::parse(&glob.value) {
            Ok(pattern) => pattern,
            Err((what, help)) => {
                let message = format!("`{}` is not a valid pattern: {what}", glob.value);
                self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
                return None;
            }
        };
        let built = globset::GlobBuilder::new(&pattern.glob)
            .literal_separator(true)
            .build();
        if let Err(error) = built {
            let message = format!("`{}` is not a valid pattern: {}", glob.value, error.kind());
            let help = "`*`, `?`, `[...]` and `{a,b}` are wildcards, and `{name}` is a column; write `[*]` for a plain `*`";
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        } else if glob.value.ends_with('/') {
            let help = format!("write `{}*` for the files in it", glob.value);
            let message = format!("`{}` names a directory, not files", glob.value);
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        }
        Some(glob)
    }
}

#[cfg(test)]
mod tests {
    use super::{fault, split_source};

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
            // In the last path, `a:` is treated as a drive letter.
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
}
