//! A source of all files below a directory of the user, and the selection of a bundle's members by patterns.
//!
//! A file is read again only if its length, inode, modification time or change time changed. Symbolic links to files are
//! followed. A symbolic link to a directory is an error, because it may lead outside the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use globset::{Glob, GlobBuilder, GlobMatcher};
use prep_core::{Context, DirectoryFile, DirectoryValue, Source, SourceState, StepError, Value};
use prep_formats::zip::ZipEntry;
use thiserror::Error;

use crate::error::FetchError;

/// A source of all files below a directory.
#[derive(Debug, Clone)]
pub struct LocalDirectory {
    name: String,
    path: PathBuf,
}

/// An error of a directory source.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum DirectoryError {
    #[error(
        "the source `{name}`: the directory {path} does not exist; correct `folder` in the pipeline, or create the directory"
    )]
    Missing { name: String, path: PathBuf },
    #[error("the source `{name}`: {path} {entry}")]
    Unsupported {
        name: String,
        path: PathBuf,
        entry: UnsupportedEntry,
    },
    #[error("the source `{name}`: cannot read {path}")]
    Io {
        name: String,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// An entry of a directory that cannot be part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UnsupportedEntry {
    /// The name is not UTF-8.
    #[error("has a name that is not UTF-8; rename it")]
    Name,
    /// A pipe, a socket or a device.
    #[error("is neither a file nor a directory; remove it")]
    Special,
    /// A symbolic link to a directory. It is not followed, because it may lead to a parent directory.
    #[error("is a link to a directory; remove it, or add that directory as another source")]
    DirectoryLink,
}

impl LocalDirectory {
    /// Creates the source `name` for the directory `path`.
    pub fn new(name: &str, path: PathBuf) -> LocalDirectory {
        LocalDirectory {
            name: name.to_owned(),
            path,
        }
    }

    fn failed(&self, path: &Path, cause: io::Error) -> StepError {
        StepError::machine(DirectoryError::Io {
            name: self.name.clone(),
            path: path.to_path_buf(),
            cause,
        })
    }

    fn unsupported(&self, path: &Path, entry: UnsupportedEntry) -> StepError {
        StepError::input(DirectoryError::Unsupported {
            name: self.name.clone(),
            path: path.to_path_buf(),
            entry,
        })
    }

    /// Returns all files below the directory: relative path, path on disk, and length in bytes.
    fn files(&self) -> Result<BTreeMap<String, (PathBuf, u64)>, StepError> {
        let mut files = BTreeMap::new();
        let mut unvisited = vec![(String::new(), self.path.clone())];
        while let Some((inner, directory)) = unvisited.pop() {
            let entries =
                fs::read_dir(&directory).map_err(|cause| self.failed(&directory, cause))?;
            for entry in entries {
                let entry = entry.map_err(|cause| self.failed(&directory, cause))?;
                let path = entry.path();
                let name = entry.file_name();
                let Some(name) = name.to_str() else {
                    return Err(self.unsupported(&path, UnsupportedEntry::Name));
                };
                let failed = |cause| self.failed(&path, cause);
                let is_link = entry.file_type().map_err(failed)?.is_symlink();
                let metadata = fs::metadata(&path).map_err(failed)?;
                if metadata.is_file() {
                    files.insert(format!("{inner}{name}"), (path, metadata.len()));
                } else if !metadata.is_dir() {
                    return Err(self.unsupported(&path, UnsupportedEntry::Special));
                } else if is_link {
                    return Err(self.unsupported(&path, UnsupportedEntry::DirectoryLink));
                } else {
                    unvisited.push((format!("{inner}{name}/"), path));
                }
            }
        }
        Ok(files)
    }
}

impl Source for LocalDirectory {
    fn kind(&self) -> &'static str {
        "folder"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        if !self.path.is_dir() {
            return Ok(SourceState::Missing);
        }
        let mut value = DirectoryValue::default();
        let mut unread = 0;
        let mut is_known = true;
        for (name, (path, bytes)) in self.files()? {
            match context.store.source(&path)? {
                Some(record) => {
                    let digest = record.digest;
                    context.outside.set_path(digest, path);
                    value.files.insert(name, DirectoryFile { digest, bytes });
                }
                None => {
                    is_known = false;
                    unread += bytes;
                }
            }
        }
        Ok(match is_known {
            true => SourceState::Known {
                value: value.into_value().digest(),
            },
            false => SourceState::Unread { bytes: unread },
        })
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        if let Some(error) = self.obstacle(context) {
            return Err(error);
        }
        let files = self.files()?;
        let total = files.values().map(|(_, bytes)| bytes).sum();
        context.progress.set_total_bytes(total);
        let mut value = DirectoryValue::default();
        for (name, (path, bytes)) in files {
            context.check()?;
            let progress = |bytes| context.count_read(bytes);
            let record = match context.store.source(&path)? {
                Some(record) => record,
                None => context.store.ingest(&path, false, &progress)?,
            };
            let digest = record.digest;
            context.outside.set_path(digest, path);
            context.progress.add_file();
            value.files.insert(name, DirectoryFile { digest, bytes });
        }
        Ok(value.into_value())
    }

    fn obstacle(&self, _context: &Context) -> Option<StepError> {
        let missing = || DirectoryError::Missing {
            name: self.name.clone(),
            path: self.path.clone(),
        };
        (!self.path.is_dir()).then(|| StepError::input(missing()))
    }

    fn location(&self) -> Option<PathBuf> {
        self.path.is_dir().then(|| self.path.clone())
    }
}

/// The members that glob patterns match. `*` and `?` do not match `/`; `**` does.
#[derive(Debug, Clone)]
pub struct Members {
    patterns: Vec<String>,
    globs: Vec<Glob>,
    /// Compiled on first use, because most runs list no bundle.
    matchers: OnceLock<Vec<GlobMatcher>>,
}

impl Members {
    /// Creates a selection of the members that match at least one of the patterns.
    ///
    /// # Errors
    /// [`FetchError::Pattern`] if a pattern is not a valid glob.
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

    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns whether the entry is a selected file.
    pub fn selects(&self, entry: &ZipEntry) -> bool {
        !entry.is_directory && self.matches(&entry.path)
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        self.matchers().iter().any(|matcher| matcher.is_match(path))
    }

    /// Returns the first pattern that matches none of `paths`, which is a mistake in the pipeline.
    pub(crate) fn missing<'a>(&self, paths: impl Iterator<Item = &'a str> + Clone) -> Option<&str> {
        let matches_none =
            |matcher: &GlobMatcher| !paths.clone().any(|path| matcher.is_match(path));
        let position = self.matchers().iter().position(matches_none)?;
        self.patterns.get(position).map(String::as_str)
    }

    /// Returns the number of bytes to transfer for the selected members. The central directory is not counted.
    pub fn bytes(&self, entries: &[ZipEntry]) -> u64 {
        let selected = entries.iter().filter(|entry| self.selects(entry));
        selected
            .map(|entry| entry.limit.saturating_sub(entry.header_offset))
            .sum()
    }
}
