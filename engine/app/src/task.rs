//! Tasks: the settings, the catalog of competitions, the options of preparation, and the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_cache::LinkMode;
use prep_fetch::LazyNetwork;
use prep_spec::BASE_VARIANT;
use prep_steps::{Expand, Preview};

use crate::catalog::Catalog;
use crate::recall::Recall;
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
    /// A directory with existing bundles.
    pub source: Option<PathBuf>,
    /// Whether the latest results in the cache are used if the bundle does not exist, even if the data directory was not
    /// prepared from that bundle.
    pub from_cache: bool,
    /// Whether missing bundles are downloaded.
    pub download: bool,
    /// Whether only the members that a pipeline reads are downloaded.
    pub partial: bool,
    /// Whether bundles are compared with their published MD5.
    pub check_bundle: bool,
    /// Whether outputs are compared with their published checksums.
    pub check_outputs: bool,
    /// How archives of `public` are unpacked in the data directory. `None` if they stay packed.
    pub expand: Option<Expand>,
    /// Whether only data that match `prep.lock` are published.
    pub locked: bool,
    /// Whether files in the prepared directories that no run published are removed.
    pub remove_unpublished: bool,
    /// The cheapest way in which published files may share bytes with the cache. `None` means hard links.
    pub link_mode: Option<LinkMode>,
    /// Directory with descriptions that are published instead of the built-in ones: `DIR/ID.md` or
    /// `DIR/ID/description.md`.
    pub descriptions: Option<PathBuf>,
    /// Whether competitions with a missing bundle or source are left out. If so, nothing is downloaded.
    pub available_only: bool,
    /// Whether other competitions continue if one failed.
    pub keep_going: bool,
    /// Whether downloaded bundles are kept after their competition is prepared.
    pub keep_bundles: bool,
    /// The options that have the values of the last run in the data directory.
    pub recall: Recall,
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
            source: None,
            from_cache: false,
            download: true,
            partial: false,
            check_bundle: true,
            check_outputs: true,
            expand: None,
            locked: false,
            remove_unpublished: false,
            link_mode: None,
            descriptions: None,
            available_only: false,
            keep_going: true,
            keep_bundles: true,
            recall: Recall::default(),
            view: None,
        }
    }
}

impl PreparationOptions {
    /// Returns the directories with bundles that the user named.
    pub(crate) fn source_dirs(&self) -> Vec<&Path> {
        self.source.iter().map(PathBuf::as_path).collect()
    }

    /// Returns whether bundles and the files of further sources are compared with their published checksums.
    pub(crate) fn checks_sources(&self) -> bool {
        self.check_outputs && self.check_bundle
    }
}
