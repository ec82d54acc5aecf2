//! Which members of a bundle are meant.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};
use prep_formats::zip::{EntryKind, ZipEntry};

use crate::error::FetchError;

/// Members that glob patterns name. `*` and `?` stay within a path segment, `**` does not.
#[derive(Debug, Clone)]
pub struct Members {
    patterns: Vec<String>,
    globs: Vec<Glob>,
    /// Of the globs, once a listing is looked at: most runs look at none.
    matchers: OnceLock<Vec<GlobMatcher>>,
}

impl Members {
    /// What any of the patterns names.
    ///
    /// # Errors
    /// [`FetchError::Pattern`].
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Result<Members, FetchError> {
        let mut patterns: Vec<String> = patterns.into_iter().collect();
        patterns.sort();
        patterns.dedup();
        let glob = |pattern: &String| {
            let glob = GlobBuilder::new(pattern)
                .literal_separator(true)
                .backslash_escape(false)
                .build();
            glob.map_err(|error| FetchError::Pattern {
                pattern: pattern.clone(),
                cause: error.kind().to_string(),
            })
        };
        Ok(Members {
            globs: patterns.iter().map(glob).collect::<Result<_, _>>()?,
            patterns,
            matchers: OnceLock::new(),
        })
    }

    fn matchers(&self) -> &[GlobMatcher] {
        let compile = || self.globs.iter().map(Glob::compile_matcher).collect();
        self.matchers.get_or_init(compile)
    }

    /// The patterns, sorted, each once.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether this is one of them.
    pub fn wants(&self, entry: &ZipEntry) -> bool {
        let matches = |matcher: &GlobMatcher| matcher.is_match(&entry.path);
        entry.kind == EntryKind::File && self.matchers().iter().any(matches)
    }

    /// Whether a pattern names this file.
    pub(crate) fn names(&self, path: &str) -> bool {
        self.matchers().iter().any(|matcher| matcher.is_match(path))
    }

    /// Whether every pattern names one of these files.
    pub(crate) fn all_name_one_of(&self, paths: &[String]) -> bool {
        let names_one = |matcher: &GlobMatcher| paths.iter().any(|path| matcher.is_match(path));
        self.matchers().iter().all(names_one)
    }

    /// A pattern that names none of these entries: a mistake, not an empty wish.
    pub fn missing(&self, entries: &[ZipEntry]) -> Option<&str> {
        let names_one = |matcher: &GlobMatcher| {
            let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
            files
                .map(|entry| &entry.path)
                .any(|path| matcher.is_match(path))
        };
        let mut matchers = self.matchers().iter();
        let position = matchers.position(|matcher| !names_one(matcher))?;
        self.patterns.get(position).map(String::as_str)
    }

    /// Bytes that fetching them moves, without the listing itself.
    pub fn bytes(&self, entries: &[ZipEntry]) -> u64 {
        let wanted = entries.iter().filter(|entry| self.wants(entry));
        wanted
            .map(|entry| entry.limit.saturating_sub(entry.header_offset))
            .sum()
    }
}
