//! Paths in a pipeline: relative, with `/` between segments, never out of their folder.

use crate::context::Context;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::Spanned;
use crate::yaml::Node;

/// What is wrong with a path, and a way out.
type Fault = (&'static str, &'static str);

/// Checks a path; one `/` at its end (a folder) and the path `./` are fine.
fn fault(path: &str) -> Option<Fault> {
    if path == "./" {
        return None;
    }
    if path.is_empty() {
        return Some(("is empty", "name a file, or `./` for the folder itself"));
    }
    if path.contains('\0') {
        return Some(("contains a NUL character", "remove it"));
    }
    if path.contains('\\') {
        return Some(("contains a backslash", "separate folders with `/`"));
    }
    if path.starts_with('/') {
        return Some(("is absolute", "write it relative to its folder"));
    }
    if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
        return Some((
            "begins with a drive letter",
            "write it relative to its folder",
        ));
    }
    for segment in path.strip_suffix('/').unwrap_or(path).split('/') {
        match segment {
            ".." => return Some(("leaves its folder by `..`", "remove `..`")),
            "." => return Some(("contains a segment `.`", "remove it")),
            "" => return Some(("contains an empty segment", "write one `/` between folders")),
            _ => {}
        }
    }
    None
}

impl Context {
    /// A path, checked.
    pub fn path(&mut self, node: &Node) -> Option<Spanned<String>> {
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

    /// A path with wildcards, checked.
    pub fn glob(&mut self, node: &Node) -> Option<Spanned<String>> {
        let glob = self.path(node)?;
        let built = globset::GlobBuilder::new(&glob.value)
            .literal_separator(true)
            .build();
        if let Err(error) = built {
            let message = format!("`{}` is no valid pattern: {}", glob.value, error.kind());
            let help = "`*`, `?`, `[...]` and `{a,b}` are wildcards; write `[*]` for a plain `*`";
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        } else if glob.value.ends_with('/') {
            let help = format!("write `{}*` for the files in it", glob.value);
            let message = format!("`{}` names a folder, not files", glob.value);
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        }
        Some(glob)
    }
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn accepts_what_stays_inside() {
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
            // The last one would be a drive letter.
            assert_eq!(fault(path).is_none(), path != "a:b", "{path}");
        }
    }

    #[test]
    fn refuses_what_leaves() {
        for path in [
            "", "/", "/a", "..", "../a", "a/..", "a/../b", "a//b", "a/./b", "./a", "a\\b", "C:/a",
            "a\0", "a//", "..",
        ] {
            assert!(fault(path).is_some(), "{path}");
        }
    }
}
