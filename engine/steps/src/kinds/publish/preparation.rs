//! How a published tree was prepared: from which contents, and with which options.
//!
//! The record is part of the tree's manifest, so it describes this tree and no other. A cache may be shared by several
//! data directories, and what it saw last may belong to a different one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prep_cache::{Content, LinkMode};
use serde::{Deserialize, Serialize};

use super::manifest::Sharing;
use crate::kinds::expand::Expand;

/// How a published tree was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationRecord {
    /// The end of the last run that changed the tree or this record, in seconds since 1970.
    pub at: u64,
    /// The time of the run that compared the tree with the published checksums, in seconds since 1970. `None` if they
    /// were not compared, or differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_at: Option<u64>,
    /// The bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<RecordedSource>,
    /// The files of further sources, by the name of the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, RecordedSource>,
    /// The options, as far as they are not the defaults.
    #[serde(default)]
    pub options: RecordedOptions,
}

/// A file from which a tree was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSource {
    /// The file's digests and length.
    #[serde(flatten)]
    pub content: Content,
    /// Whether the file has only some members of the bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// The URL of the file, for a further source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The options of a run that determine whether it succeeds, and what it publishes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedOptions {
    /// The directory in which the bundle was found, if the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// Whether only some members of the bundle were downloaded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether the bundle was not compared with its published MD5.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_bundle_verification: bool,
    /// Whether neither the bundle nor the outputs were compared with published checksums.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_verification: bool,
    /// How archives of `public` were unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expand_archives: Option<Expand>,
    /// The cheapest way in which files may share bytes with the cache, if not hard links.
    #[serde(skip_serializing_if = "Option::is_none", with = "sharing")]
    pub link_mode: Option<LinkMode>,
    /// The directory with the user's descriptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<PathBuf>,
}

/// Writes a link mode as the manifest writes it.
mod sharing {
    use super::{Deserialize, LinkMode, Serialize, Sharing};
    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(
        mode: &Option<LinkMode>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        mode.map(Sharing::from).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<LinkMode>, D::Error> {
        Ok(Option::<Sharing>::deserialize(from)?.map(LinkMode::from))
    }
}
