//! Selects members of a bundle by glob patterns.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};
use prep_formats::zip::{EntryKind, ZipEntry};

use crate::error::FetchError;

/// The members that glob patterns match. `*` and `?` do not match `/`; `**` does.
#[derive(Debug, Clone)]
pub struct Members {
    patterns: Vec<String>,
    globs: Vec<Glob>,
    /// Compiled on first use, because most runs list no bundle.
    matchers: OnceLock<Vec<GlobMatcher>>,
}

impl Members {
    /// Selects the members that any of the patterns matches.
    ///
    /// # Errors
    /// [`FetchError::Pattern`] if a pattern is not valid.
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

    /// Returns the patterns, sorted and without duplicates.
    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns whether the entry is a selected file.
    pub fn selects(&self, entry: &ZipEntry) -> bool {
        entry.kind == EntryKind::File && self.matches(&entry.path)
    }

    /// Returns whether a pattern matches this path.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.matchers().iter().any(|matcher| matcher.is_match(path))
    }

    /// Returns a pattern that matches none of the paths, if there is one. Such a pattern is a mistake in the pipeline.
    pub(crate) fn missing<'a>(&self, paths: impl Iterator<Item = &'a str> + Clone) -> Option<&str> {
        let matches_none =
            |matcher: &GlobMatcher| !paths.clone().any(|path| matcher.is_match(path));
        let position = self.matchers().iter().position(matches_none)?;
        self.patterns.get(position).map(String::as_str)
    }

    /// Returns the number of bytes to transfer for the selected members, without the central directory.
    pub fn bytes(&self, entries: &[ZipEntry]) -> u64 {
        let selected = entries.iter().filter(|entry| self.selects(entry));
        selected
            .map(|entry| entry.limit.saturating_sub(entry.header_offset))
            .sum()
    }
}
