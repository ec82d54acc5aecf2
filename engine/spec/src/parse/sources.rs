//! Parses `sources`, the inputs in addition to the bundle.

use std::collections::BTreeMap;

use super::state::ParseState;
use crate::model::{RemoteFile, SourceLocation, SourceSpec};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::yaml::{MappingEntry, YamlNode};
use crate::words;

impl ParseState {
    pub(super) fn sources(&mut self, node: &YamlNode) -> Vec<SourceSpec> {
        let entries = self.entries(node, "sources by name", "duplicate-source", "the source");
        let mut sources = Vec::new();
        // Downloaded files are stored in a single directory, so their names must differ.
        let mut files: BTreeMap<String, Span> = BTreeMap::new();
        for entry in entries.unwrap_or_default() {
            let name = self.name(&entry.key, entry.key_span, "the name of a source");
            if name.value.len() == 1 {
                let message = format!("`{}` cannot be the name of a source", name.value);
                let found = Diagnostic::error("bad-name", name.span, message);
                let help = "use at least two letters, because `c:path` looks like a drive";
                self.report(found.help(help));
            }
            self.sources
                .places
                .insert(entry.key.clone(), entry.key_span);
            let Some(place) = self.place(entry) else {
                continue;
            };
            if let SourceLocation::Url(remote) = &place {
                let file = &remote.file;
                self.sources.files.insert(entry.key.clone(), file.clone());
                if let Some(first) = files.insert(file.clone(), entry.key_span) {
                    let message = format!("two sources have the file name `{file}`");
                    let found = Diagnostic::error("duplicate-source", entry.key_span, message);
                    let found = found.label(first, "first here");
                    self.report(found.help("give one of them a different name: `file: NAME`"));
                }
            }
            sources.push(SourceSpec { name, place });
        }
        sources
    }

    fn place(&mut self, entry: &MappingEntry) -> Option<SourceLocation> {
        let fields = self.fields(&entry.value, &words::SOURCE)?;
        let Some(folder) = fields.get("folder") else {
            let Some(url) = fields.get("url") else {
                let message = format!("the source `{}` needs `url` or `folder`", entry.key);
                let example = "for example `url: https://example.org/labels.zip`";
                let found = Diagnostic::error("missing-key", entry.key_span, message);
                self.report(found.help(example));
                return None;
            };
            let file = fields.get("file");
            let (is_named, file) = (file.is_some(), file.and_then(|node| self.file_name(node)));
            let (url, last) = self.url(url, is_named)?;
            let md5 = fields.get("md5").and_then(|node| self.md5(node));
            let sha256 = fields.get("sha256").and_then(|node| self.sha256(node));
            let size = fields.get("size").and_then(|node| self.natural(node));
            let member = fields.get("member");
            let member = member.and_then(|node| self.text(node, "the path of a member"));
            return Some(SourceLocation::Url(RemoteFile {
                url,
                file: file.unwrap_or(last),
                md5,
                sha256,
                size: size.map(|size| size as u64),
                member: member.map(|member| member.value),
            }));
        };
        for key in ["url", "file", "md5", "sha256", "size", "member"] {
            if let Some(node) = fields.get(key) {
                let message = format!("a source cannot have both `folder` and `{key}`");
                let found = Diagnostic::error("conflicting-keys", node.span, message);
                self.report(found.help("a source with `folder` cannot have other keys"));
            }
        }
        let folder = self.text(folder, "a directory")?;
        Some(SourceLocation::Folder(folder.value))
    }

    /// Returns a URL and its file name. If `named` is true, the key `file` states another file name, so the end of the URL
    /// may be invalid as a file name.
    fn url(&mut self, node: &YamlNode, named: bool) -> Option<(String, String)> {
        let url = self.text(node, "a URL")?.value;
        match parts(&url) {
            Ok(name) if named || is_file_name(&name) => Some((url, name)),
            Ok(_) => {
                let message = format!("`{url}` does not end in a file name");
                let found = Diagnostic::error("bad-url", node.span, message);
                self.report(found.help("set the name: `file: NAME`"));
                None
            }
            Err((what, help)) => {
                let message = format!("the URL {what}");
                self.report(Diagnostic::error("bad-url", node.span, message).help(help));
                None
            }
        }
    }

    fn file_name(&mut self, node: &YamlNode) -> Option<String> {
        let name = self.text(node, "the name of a file")?.value;
        if is_file_name(&name) {
            return Some(name);
        }
        let message = format!("`{}` is not a file name", name.escape_debug());
        self.error("bad-path", node.span, message);
        None
    }

    fn sha256(&mut self, node: &YamlNode) -> Option<String> {
        self.hex_digits(node, "a SHA-256", 64, "bad-sha256")
    }
}

/// Returns the last part of a URL's path. For an invalid URL, returns an error and its help.
fn parts(url: &str) -> Result<String, (&'static str, &'static str)> {
    let rest = url.strip_prefix("https://");
    let Some(rest) = rest.or_else(|| url.strip_prefix("http://")) else {
        return Err(("is not an http or https URL", "write `https://...`"));
    };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    if host.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err((
            "has no host, or contains a space",
            "write `https://HOST/PATH`",
        ));
    }
    if host.contains('@') {
        return Err((
            "contains a user or a password",
            "remove it: a pipeline must not contain secrets",
        ));
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    Ok(unescaped(last).unwrap_or_else(|| last.to_owned()))
}

/// Decodes percent encoding. Returns `None` if the bytes are not UTF-8.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let hex = |byte: &u8| char::from(*byte).to_digit(16);
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let (high, low) = (hex(high)?, hex(low)?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns whether a name denotes a file directly in a directory.
fn is_file_name(name: &str) -> bool {
    let plain = |c: char| !matches!(c, '/' | '\\' | ':') && !c.is_control();
    !matches!(name, "" | "." | "..") && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_url_is_the_file_name() {
        for (url, name) in [
            ("https://a.org/x/y.zip?download=1", Some("y.zip")),
            ("http://a.org:80/y%20z.csv#there", Some("y z.csv")),
            ("https://a.org/100%", Some("100%")),
            ("https://a.org/%2e%2e", Some("..")),
            ("https://a.org/x/", Some("")),
            ("https://a.org", Some("")),
            ("ftp://a.org/x", None),
            ("https://user:key@a.org/x", None),
            ("https:///x", None),
            ("https://a b/x", None),
        ] {
            assert_eq!(parts(url).ok().as_deref(), name, "{url}");
        }
        for name in ["", ".", "..", "a/b", "a\\b", "c:", "a\n"] {
            assert!(!is_file_name(name), "{name:?}");
        }
        assert!(is_file_name("a b.tar.gz"));
    }
}
