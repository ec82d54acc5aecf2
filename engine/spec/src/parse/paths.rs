//! Parses paths and file patterns.

use super::state::ParseState;
use crate::paths::{FilePattern, fault, path_glob, split_source};
use crate::text::diagnostic::{Diagnostic, Span, Spanned};
use crate::text::yaml::YamlNode;

impl ParseState {
    fn source_path(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let path = self.text(node, "a path")?;
        let (source, inner) = split_source(&path.value);
        self.check_path(inner, node.span);
        if let Some(source) = source {
            self.sources.used.insert(source.to_owned());
            if !self.sources.places.contains_key(source) {
                let message = format!("there is no source `{source}`");
                let found = Diagnostic::error("unknown-source", node.span, message);
                let near = self.near(source, self.sources.places.keys().map(String::as_str));
                let found = found.suggest_or(near, "define it in `sources`");
                self.report(found);
            }
        } else {
            self.sources.in_bundle.get_or_insert(node.span);
        }
        Some(path)
    }

    /// If the source of `path` is a single file, reports a path that does not begin with the name of this file.
    fn check_file(&mut self, path: &Spanned<String>) {
        let (Some(source), inner) = split_source(&path.value) else {
            return;
        };
        let Some(file) = self.sources.files.get(source) else {
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

    /// Parses a path without wildcards, in the bundle or in another source.
    pub fn plain_source_path(&mut self, node: &YamlNode) -> Option<Spanned<String>> {
        let path = self.source_path(node)?;
        self.check_file(&path);
        Some(path)
    }

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
        if let Err(error) = path_glob(&pattern.glob) {
            let message = format!("`{}` is not a valid pattern: {}", glob.value, error.kind());
            let help = "`*`, `?`, `[...]` and `{a,b}` are wildcards, and `{name}` creates a column; write `[*]` for the character `*`";
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        } else if glob.value.ends_with('/') {
            let help = format!("write `{}*` for the files in it", glob.value);
            let message = format!("`{}` names a directory, not files", glob.value);
            self.report(Diagnostic::error("bad-glob", node.span, message).help(help));
        }
        Some(glob)
    }
}
