//! Tasks: the settings, the catalog of competitions, the options of preparation, and the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_fetch::LazyNetwork;
use prep_spec::BASE_VARIANT;
use prep_spec::model::Bundle;
use prep_steps::{Expand, Preview, RememberedOptions, Verify};

use crate::catalog::Catalog;
use crate::settings::Settings;

/// All inputs of planning, preparing and moving competitions.
#[derive(Clone)]
pub struct Task {
    pub settings: Settings,
    pub catalog: Catalog,
    pub options: PreparationOptions,
    pub network: LazyNetwork,
}

impl Task {
    /// Returns the data directory of the task's variant.
    pub fn data_dir(&self) -> PathBuf {
        self.settings.data_dir_of(&self.options.variant)
    }
}

/// Options of a preparation.
#[derive(Debug, Clone)]
pub struct PreparationOptions {
    /// The variant: `v1` is byte-identical to the benchmark, `fixed` corrects its known mistakes.
    pub variant: String,
    /// Whether the latest results in the cache are used if the bundle does not exist, even if the data directory was not
    /// prepared from that bundle.
    pub from_cache: bool,
    /// Whether missing bundles are downloaded.
    pub download: bool,
    /// Whether only data that match `prep.lock` are published.
    pub locked: bool,
    /// Whether files in the prepared directories that no run published are removed.
    pub remove_unpublished: bool,
    /// Whether competitions with a missing bundle or source are left out. If so, nothing is downloaded.
    pub available_only: bool,
    /// Whether other competitions continue if one failed.
    pub keep_going: bool,
    /// Whether downloaded bundles are kept after their competition is prepared.
    pub keep_bundles: bool,
    /// The options that a later run uses, too.
    pub remembered: RememberedOptions,
    /// Whether options that are not set have the values of the last run in the data directory.
    pub recalls: bool,
    /// A query to run instead of preparing the outputs.
    pub view: Option<ViewOptions>,
}

/// A query that replaces the outputs of a pipeline.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// The query.
    pub(crate) query: String,
    /// Maximum number of rows that are kept.
    pub(crate) limit: usize,
    /// The result, after the run.
    pub(crate) result: Arc<Mutex<Option<Preview>>>,
}

impl Default for PreparationOptions {
    /// Enables all checks, and downloads and keeps complete bundles. Uses no options of earlier runs.
    fn default() -> PreparationOptions {
        PreparationOptions {
            variant: BASE_VARIANT.to_owned(),
            from_cache: false,
            download: true,
            locked: false,
            remove_unpublished: false,
            available_only: false,
            keep_going: true,
            keep_bundles: true,
            remembered: RememberedOptions::default(),
            recalls: false,
            view: None,
        }
    }
}

impl PreparationOptions {
    /// Returns the directories with bundles that the user named.
    pub(crate) fn source_dirs(&self) -> Vec<&Path> {
        self.remembered
            .source
            .iter()
            .map(PathBuf::as_path)
            .collect()
    }

    /// Returns whether bundles and the files of further sources are compared with their published checksums.
    pub(crate) fn checks_sources(&self) -> bool {
        self.verify() == Verify::All
    }

    /// Returns the MD5 that a bundle must have, if it is published and compared.
    pub(crate) fn expected_md5<'b>(&self, bundle: &'b Bundle) -> Option<&'b str> {
        bundle.md5.as_deref().filter(|_| self.checks_sources())
    }

    /// Returns the files that are compared with published checksums.
    pub fn verify(&self) -> Verify {
        self.remembered.verify.unwrap_or_default()
    }

    /// Returns whether only the members that a pipeline reads are downloaded.
    pub fn is_partial(&self) -> bool {
        self.remembered.partial.unwrap_or_default()
    }

    pub(crate) fn expand_archives(&self) -> Expand {
        self.remembered.expand_archives.unwrap_or_default()
    }
}
