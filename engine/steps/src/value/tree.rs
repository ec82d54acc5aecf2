//! A set of files: path to content.
//!
//! A tree's listing is an object of the store: one line per file, sorted by path in code-point order. Fields are separated
//! by tabs; in paths, tab, line feed and backslash are escaped. Folders that hold nothing are listed, too.
//!
//! ```text
//! object  PATH  BYTES  DIGEST
//! slice   PATH  BYTES  BASE  OFFSET
//! member  PATH  BYTES  BASE  METHOD  HEADER  LIMIT  COMPRESSED  CRC  NAME
//! folder  PATH
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::{Context, StepError, Value};
use prep_formats::zip::{EntryKind, Method, ZipEntry};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Content;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: String,
    /// None: an empty folder.
    pub content: Option<Content>,
}

/// Files sorted by path, every path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    entries: Vec<TreeEntry>,
}

#[derive(Debug, Error)]
pub enum TreeError {
    #[error("two files would be called `{0}`")]
    Duplicate(String),
    #[error("line {line} of a stored listing is damaged")]
    Damaged { line: usize },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "value", rename = "tree")]
struct Body {
    listing: Digest,
    files: u64,
    bytes: u64,
}

impl Tree {
    /// A tree of these files; two of one path are refused.
    pub fn new(mut entries: Vec<TreeEntry>) -> Result<Tree, TreeError> {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].path == pair[1].path) {
            return Err(TreeError::Duplicate(pair[0].path.clone()));
        }
        Ok(Tree { entries })
    }

    /// A tree of files that are sorted by path, every path once.
    pub(crate) fn of_sorted(entries: Vec<TreeEntry>) -> Tree {
        Tree { entries }
    }

    pub fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    /// The file at `path`.
    pub fn get(&self, path: &str) -> Option<&Content> {
        let index = self
            .entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .ok()?;
        self.entries[index].content.as_ref()
    }

    pub fn load(context: &Context, value: &Value) -> Result<Arc<Tree>, StepError> {
        let body: Body = super::decode(value)?;
        Tree::load_listing(context, &body.listing)
    }

    pub(crate) fn load_listing(
        context: &Context,
        listing: &Digest,
    ) -> Result<Arc<Tree>, StepError> {
        let listing = context.store.read(listing)?;
        let text = std::str::from_utf8(&listing)
            .map_err(|error| StepError::internal(error.to_string()))?;
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let entry = parse(line).ok_or(TreeError::Damaged { line: index + 1 });
            entries.push(entry.map_err(StepError::internal)?);
        }
        Ok(Arc::new(Tree { entries }))
    }

    pub fn save(&self, context: &Context) -> Result<Value, StepError> {
        let contents = self
            .entries
            .iter()
            .filter_map(|entry| entry.content.as_ref());
        let (files, bytes) = contents.fold((0, 0), |(files, bytes), content| {
            (files + 1, bytes + content.bytes())
        });
        let (listing, mut objects) = self.save_listing(context)?;
        objects.push(listing);
        Ok(Value::new(
            serde_json::json!(Body {
                listing,
                files,
                bytes
            }),
            objects,
        ))
    }

    /// Stores the listing; returns it and the objects of the store that it refers to.
    pub(crate) fn save_listing(
        &self,
        context: &Context,
    ) -> Result<(Digest, Vec<Digest>), StepError> {
        let mut listing = String::new();
        let mut objects = Vec::new();
        for entry in &self.entries {
            print(entry, &mut listing);
            if let Some(content) = &entry.content
                && context.location(content.base()).is_none()
                && objects.last() != Some(content.base())
            {
                objects.push(*content.base());
            }
        }
        objects.sort();
        objects.dedup();
        Ok((context.store.put(listing.as_bytes())?, objects))
    }
}

fn print(entry: &TreeEntry, out: &mut String) {
    let path = escape(&entry.path);
    // Writing to a String cannot fail.
    let _ = match &entry.content {
        None => writeln!(out, "folder\t{path}"),
        Some(Content::Object { digest, bytes }) => {
            writeln!(out, "object\t{path}\t{bytes}\t{digest}")
        }
        Some(Content::Slice {
            base,
            offset,
            bytes,
        }) => writeln!(out, "slice\t{path}\t{bytes}\t{base}\t{offset}"),
        Some(Content::Member { base, entry }) => {
            let method = match entry.method {
                Method::Stored => "stored",
                Method::Deflate => "deflate",
            };
            let ZipEntry {
                size,
                header_offset,
                limit,
                compressed_size,
                crc32,
                path: name,
                ..
            } = entry;
            let name = escape(name);
            writeln!(
                out,
                "member\t{path}\t{size}\t{base}\t{method}\t{header_offset}\t{limit}\t{compressed_size}\t{crc32}\t{name}"
            )
        }
    };
}

fn parse(line: &str) -> Option<TreeEntry> {
    let mut fields = line.split('\t');
    let kind = fields.next()?;
    let path = unescape(fields.next()?);
    if kind == "folder" {
        return Some(TreeEntry {
            path,
            content: None,
        });
    }
    let bytes: u64 = fields.next()?.parse().ok()?;
    let base: Digest = fields.next()?.parse().ok()?;
    let content = match kind {
        "object" => Content::Object {
            digest: base,
            bytes,
        },
        "slice" => Content::Slice {
            base,
            offset: fields.next()?.parse().ok()?,
            bytes,
        },
        "member" => {
            let method = match fields.next()? {
                "stored" => Method::Stored,
                "deflate" => Method::Deflate,
                _ => return None,
            };
            let mut number = || fields.next()?.parse::<u64>().ok();
            let (header_offset, limit, compressed_size) = (number()?, number()?, number()?);
            let crc32 = u32::try_from(number()?).ok()?;
            let entry = ZipEntry {
                path: unescape(fields.next()?),
                kind: EntryKind::File,
                method,
                header_offset,
                limit,
                compressed_size,
                size: bytes,
                crc32,
            };
            Content::Member { base, entry }
        }
        _ => return None,
    };
    Some(TreeEntry {
        path,
        content: Some(content),
    })
}

fn escape(path: &str) -> String {
    path.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_listing_line_reads_back(path in any::<String>(), name in any::<String>(), numbers in any::<[u64; 4]>(), crc32: u32) {
            let base = Digest::of(path.as_bytes());
            let [size, header_offset, limit, compressed_size] = numbers;
            let entry = ZipEntry {
                path: name, kind: EntryKind::File, method: Method::Deflate, header_offset, limit, compressed_size, size, crc32,
            };
            let contents = [
                None,
                Some(Content::Object { digest: base, bytes: size }),
                Some(Content::Slice { base, offset: limit, bytes: size }),
                Some(Content::Member { base, entry }),
            ];
            for content in contents {
                let entry = TreeEntry { path: path.clone(), content };
                let mut text = String::new();
                print(&entry, &mut text);
                prop_assert_eq!(text.matches('\n').count(), 1);
                prop_assert_eq!(parse(text.trim_end_matches('\n')), Some(entry));
            }
        }
    }

    #[test]
    fn a_path_occurs_once() {
        let entry = |path: &str| TreeEntry {
            path: path.to_owned(),
            content: None,
        };
        assert!(
            matches!(Tree::new(vec![entry("b"), entry("a"), entry("b")]), Err(TreeError::Duplicate(path)) if path == "b")
        );
    }
}
