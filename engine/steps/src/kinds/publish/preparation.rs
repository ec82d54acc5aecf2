//! The record of how a published tree was prepared: from which files, with which options.
//!
//! Data directories may share a cache, but each may be prepared from different files. Therefore the record is in the
//! manifest of the tree, not in the cache. A run that fails or is stopped writes `DATA/ID/prepared.failed` instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use prep_cache::{Content, Digest, LinkMode};
use serde::{Deserialize, Serialize};

use super::home::{ManifestError, replace_with};
use crate::kinds::expand::Expand;

pub(super) const FAILED_FILE: &str = "prepared.failed";

/// How a published tree was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationRecord {
    /// When the last run that changed the tree or this record ended, in seconds since 1970.
    pub at: u64,
    /// When a run compared all published checksums without finding a difference, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_at: Option<u64>,
    /// The bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<RecordedSource>,
    /// The files of further sources, by source name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, RecordedSource>,
    /// The options that differ from the defaults.
    #[serde(default)]
    pub options: RememberedOptions,
    /// The pipeline of the last run. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<RecordedPipeline>,
}

/// Digests of the pipeline from which data were prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPipeline {
    /// Digest of the pipeline's file. If this digest is unchanged, `data` need not be computed again.
    pub text: Digest,
    /// Digest of the settings that define the data.
    pub data: Digest,
    /// Digest of the rules and the metric. `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grading: Option<Digest>,
}

/// The last run into a data directory, if it failed or was stopped. The next complete run removes this record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// The message of the first failed step. `None` if the run was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The files that the run read, and its options.
    pub preparation: PreparationRecord,
}

impl FailedRun {
    /// Reads the record. An unreadable record is treated as absent, because the record only explains a failure.
    pub fn read(data_dir: &Path, competition: &str) -> Option<FailedRun> {
        let bytes = fs::read(data_dir.join(competition).join(FAILED_FILE)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the record.
    pub fn write(&self, data_dir: &Path, competition: &str) -> Result<(), ManifestError> {
        let home = data_dir.join(competition);
        let failed = ManifestError::io("write", &home);
        fs::create_dir_all(&home).map_err(&failed)?;
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let text = text.map_err(failed)?;
        replace_with(&home, FAILED_FILE, None, |out| out.write_all(&text))
    }

    /// Removes the record, if any.
    pub fn remove(data_dir: &Path, competition: &str) {
        // If this fails, the directory is not writable, so no run has written the file.
        let _ = fs::remove_file(data_dir.join(competition).join(FAILED_FILE));
    }
}

impl fmt::Display for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "the last run failed: {message}"),
            None => f.write_str("the last run was stopped"),
        }
    }
}

/// A file from which a tree was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSource {
    /// Digests and length of the file.
    #[serde(flatten)]
    pub content: Content,
    /// Whether the file contains only some members of the bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// The URL, for a further source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Options that determine whether a run succeeds, and what it publishes. A later run into the same directory uses the
/// remembered value of each option that it does not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RememberedOptions {
    /// A directory with existing bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Whether only the members that a pipeline reads are downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// The files that are compared with published checksums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// How archives of `public` are unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expand_archives: Option<Expand>,
    /// The cheapest way in which published files may share bytes with the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_mode: Option<LinkMode>,
    /// A directory with descriptions that replace the built-in ones: `DIR/ID.md` or `DIR/ID/description.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<PathBuf>,
}

/// The files that a run compares with published checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Bundles and outputs.
    #[default]
    All,
    /// Outputs, but not bundles.
    Outputs,
    /// No files.
    Nothing,
}

impl RememberedOptions {
    /// For each option that is not set, takes the value from `others`.
    #[must_use]
    pub fn or(self, others: RememberedOptions) -> RememberedOptions {
        RememberedOptions {
            source: self.source.or(others.source),
            partial: self.partial.or(others.partial),
            verify: self.verify.or(others.verify),
            expand_archives: self.expand_archives.or(others.expand_archives),
            link_mode: self.link_mode.or(others.link_mode),
            descriptions: self.descriptions.or(others.descriptions),
        }
    }

    /// Removes the options that are set in `others`.
    #[must_use]
    pub fn without(self, others: &RememberedOptions) -> RememberedOptions {
        fn unless<T, U>(value: Option<T>, other: &Option<U>) -> Option<T> {
            value.filter(|_| other.is_none())
        }
        RememberedOptions {
            source: unless(self.source, &others.source),
            partial: unless(self.partial, &others.partial),
            verify: unless(self.verify, &others.verify),
            expand_archives: unless(self.expand_archives, &others.expand_archives),
            link_mode: unless(self.link_mode, &others.link_mode),
            descriptions: unless(self.descriptions, &others.descriptions),
        }
    }

    /// Removes options with their default value.
    #[must_use]
    pub fn without_defaults(self) -> RememberedOptions {
        fn unless_default<T: Default + PartialEq>(value: Option<T>) -> Option<T> {
            value.filter(|value| *value != T::default())
        }
        RememberedOptions {
            partial: unless_default(self.partial),
            verify: unless_default(self.verify),
            expand_archives: unless_default(self.expand_archives),
            link_mode: unless_default(self.link_mode),
            ..self
        }
    }
}
