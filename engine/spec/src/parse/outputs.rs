//! Parses `public`, `private`, and the outputs in archives.

use std::collections::BTreeMap;

use super::state::ParseState;
use crate::model::{Output, Spanned};
use crate::paths::split_source;
use crate::text::diagnostic::Diagnostic;
use crate::text::yaml::{Kind, MappingEntry, YamlNode};
use crate::words::Produces;
use crate::words::declaration::Declaration;

const DESCRIPTION: &str = "description.md";

impl ParseState {
    /// Parses the outputs of a directory or archive. `place` is the key that contains them.
    pub fn outputs(&mut self, node: &YamlNode, place: &str) -> Vec<Output> {
        let expected = format!("outputs by path in `{place}`");
        let entries = self.entries(node, &expected, "duplicate-output", "the output");
        let mut outputs = Vec::new();
        let entries = entries.unwrap_or_default().into_iter();
        let entries: Vec<MappingEntry> = entries.flat_map(|entry| self.copies(entry)).collect();
        for entry in &entries {
            self.check_path(&entry.key, entry.key_span);
            let path = entry.name();
            let declaration = match &entry.value.kind {
                Kind::Mapping(_) => {
                    let forms = self.vocabulary.outputs.clone();
                    self.declared(&entry.value, &forms, &path, "an output")
                }
                _ => self.by_name(&path, &entry.value),
            };
            if place == "public" && path.value.trim_end_matches('/') == DESCRIPTION {
                let message =
                    format!("`{DESCRIPTION}` is created from the pipeline's own description.md");
                let help = "give the output a different name";
                self.report(Diagnostic::error("output-conflict", path.span, message).help(help));
            }
            if ["public", "private"].contains(&place)
                && (path.value.starts_with("public/") || path.value.starts_with("private/"))
            {
                let message = format!("the path of this output is `{place}/{}`", path.value);
                let help =
                    format!("paths are relative to `{place}`; leave out the first directory");
                self.report(Diagnostic::warning("bad-path", path.span, message).help(help));
            }
            if let Some(declaration) = declaration {
                self.check_shape(&path, &declaration);
                outputs.push(Output { path, declaration });
            } else {
                self.unread_outputs
                    .insert(format!("{place}/{}", path.value));
            }
        }
        self.check_places(&outputs);
        outputs
    }

    /// Replaces `DIR/: { copy: [a/b, c/d/] }` with `DIR/b: { copy: a/b }` and `DIR/d/: { copy: c/d/ }`.
    fn copies(&mut self, entry: &MappingEntry) -> Vec<MappingEntry> {
        let Kind::Mapping(keys) = &entry.value.kind else {
            return vec![entry.clone()];
        };
        let copy = keys.iter().find(|key| key.key == "copy");
        let Some((copy, Kind::Sequence(items))) = copy.map(|copy| (copy, &copy.value.kind)) else {
            return vec![entry.clone()];
        };
        if !entry.key.ends_with('/') {
            let file = &entry.key;
            let message = format!("`{file}` is a file, but several paths are copied to it");
            let found = Diagnostic::error("folder-or-file", entry.key_span, message);
            self.report(found.help(format!("write `{}/`", entry.key)));
            return Vec::new();
        }
        if let Some(other) = keys.iter().find(|key| key.key != "copy") {
            let message = format!("a copy has no key `{}`", other.key);
            let found = Diagnostic::error("unknown-key", other.key_span, message);
            self.report(found.help("remove it"));
        }
        if items.is_empty() {
            self.error("empty-list", copy.value.span, "the list is empty");
        }
        let folder = entry.key.strip_prefix("./").unwrap_or(&entry.key);
        let mut copies = Vec::new();
        for item in items {
            let Some(path) = self.text(item, "a path") else {
                continue;
            };
            let (_, inner) = split_source(&path.value);
            let name = inner.trim_end_matches('/').rsplit('/').next();
            let end = if inner.ends_with('/') { "/" } else { "" };
            let value = YamlNode {
                span: item.span,
                kind: Kind::Mapping(vec![MappingEntry {
                    value: item.clone(),
                    ..copy.clone()
                }]),
            };
            copies.push(MappingEntry {
                key: format!("{folder}{}{end}", name.unwrap_or_default()),
                key_span: item.span,
                value,
            });
        }
        copies
    }

    /// Parses an output that is only a query. The output's path determines the format.
    fn by_name(&mut self, path: &Spanned<String>, node: &YamlNode) -> Option<Declaration> {
        if let Some(form) = self.vocabulary.by_path(&path.value) {
            return self.by_query(node, form, path);
        }
        self.query(node);
        let message = format!("the name `{}` does not determine a format", path.value);
        let endings: Vec<&str> = self.vocabulary.endings().collect();
        let help = format!(
            "use a name that ends in {}, or in `/` for a directory of files; or write `{{ csv: SELECT ... }}`",
            endings.join(", ")
        );
        self.report(Diagnostic::error("unknown-format", path.span, message).help(help));
        None
    }

    /// Reports directories whose path does not end with `/`, and files whose path does.
    fn check_shape(&mut self, path: &Spanned<String>, declaration: &Declaration) {
        let folder = path.value.ends_with('/');
        let from = match declaration.form.makes {
            Produces::Like(key) => declaration.text(key),
            _ => None,
        };
        let is_directory = match declaration.form.makes {
            Produces::Folder | Produces::Empty => true,
            _ => from.is_some_and(|from| from.ends_with('/')),
        };
        if folder == is_directory {
            return;
        }
        let shown = &path.value;
        let (message, help) = match (from, folder) {
            (Some(from), true) => (
                format!("`{shown}` ends with `/`, so it names a directory, but `{from}` is a file"),
                format!("copy a directory: `{from}/`; or remove the `/` at the end of `{shown}`"),
            ),
            (Some(from), false) => (
                format!(
                    "`{shown}` does not end with `/`, so it names a file, but `{from}` is a directory"
                ),
                format!("write `{shown}/`"),
            ),
            (None, true) => (
                format!(
                    "`{shown}` ends with `/`, so it names a directory, but its content is one file"
                ),
                "remove the `/` at the end".to_owned(),
            ),
            (None, false) => (
                format!(
                    "`{shown}` does not end with `/`, so it names a file, but its content is a directory"
                ),
                format!("write `{shown}/`"),
            ),
        };
        self.report(Diagnostic::error("folder-or-file", path.span, message).help(help));
    }

    /// Reports conflicting outputs: paths below a file, and files in a directory declared as empty.
    fn check_places(&mut self, outputs: &[Output]) {
        let mut taken: BTreeMap<&str, &Output> = BTreeMap::new();
        for output in outputs {
            let name = output.path.value.trim_end_matches('/');
            if let Some(other) = taken.insert(name, output) {
                let (path, first) = (&output.path, &other.path);
                let message = format!("`{}` and `{}` have the same name", path.value, first.value);
                let found = Diagnostic::error("duplicate-output", path.span, message);
                self.report(found.label(first.span, "first here"));
            }
        }
        let at_the_top = |output: &&Output| output.path.value == "./";
        let stays_empty =
            |output: &&Output| matches!(output.declaration.form.makes, Produces::Empty);
        if let Some(top) = outputs.iter().filter(at_the_top).find(stays_empty) {
            for output in outputs.iter().filter(|output| !at_the_top(output)) {
                let path = &output.path.value;
                let message =
                    format!("`{path}` is in `./`, which is declared as an empty directory");
                let found = Diagnostic::error("output-conflict", output.path.span, message);
                self.report(found.label(top.path.span, "written here"));
            }
        }
        for output in outputs {
            let path = &output.path;
            let above = path.value.trim_end_matches('/').match_indices('/');
            for (at, _) in above {
                let folder = path.value.get(..at).unwrap_or_default();
                let Some(other) = taken.get(folder) else {
                    continue;
                };
                let what = match other.declaration.form.makes {
                    Produces::Empty => "declared as an empty directory",
                    _ if other.path.value.ends_with('/') => continue,
                    _ => "a file",
                };
                let (inner, outer) = (&path.value, &other.path.value);
                let message = format!("`{inner}` is below `{outer}`, which is {what}");
                let found = Diagnostic::error("output-conflict", path.span, message);
                self.report(found.label(other.path.span, "written here"));
            }
        }
    }
}
