//! Tasks: the settings, the catalog of competitions, the options of preparation, and the network.

use std::path::{Path, PathBuf};

use prep_cache::LinkMode;
use prep_fetch::LazyNetwork;
use prep_spec::BASE_VARIANT;
use prep_steps::Expand;

use crate::catalog::Catalog;
use crate::inspect::ViewOptions;
use crate::settings::Settings;

/// Everything that planning, preparing and moving competitions depend on.
#[derive(Clone)]
pub struct Task {
    pub settings: Settings,
    pub catalog: Catalog,
    pub options: PreparationOptions,
    pub network: LazyNetwork,
}

impl Task {
    /// The data directory of the task's variant.
    pub fn data_dir(&self) -> PathBuf {
        self.settings.data_dir_of(&self.options.variant)
    }
}

/// Options of a preparation.
#[derive(Debug, Clone)]
pub struct PreparationOptions {
    /// `v1`: byte-identical to the benchmark; `fixed`: with its known mistakes corrected.
    pub variant: String,
    /// A directory with existing bundles.
    pub source: Option<PathBuf>,
    /// Whether missing bundles are downloaded.
    pub download: bool,
    /// Only the members that a pipeline reads.
    pub partial: bool,
    /// Whether bundles are compared with their published MD5.
    pub check_bundle: bool,
    /// Outputs are compared with their published checksums.
    pub check_outputs: bool,
    /// How archives of `public` are unpacked in the data directory, if they are.
    pub expand: Option<Expand>,
    /// Only data that match `prep.lock` are published.
    pub locked: bool,
    /// Whether files in the prepared directories that no run published are removed.
    pub remove_unpublished: bool,
    /// The cheapest way in which files may share bytes with the cache. `None`: hard links.
    pub link_mode: Option<LinkMode>,
    /// Directory with descriptions that are published instead of the built-in ones: `DIR/ID.md` or
    /// `DIR/ID/description.md`.
    pub descriptions: Option<PathBuf>,
    /// Competitions with a missing bundle or source are left out, and nothing is downloaded.
    pub available_only: bool,
    /// Whether other competitions continue if one failed.
    pub keep_going: bool,
    /// Downloaded bundles are kept after their competition is prepared.
    pub keep_bundles: bool,
    /// A query that is run in place of the outputs.
    pub view: Option<ViewOptions>,
}

impl Default for PreparationOptions {
    /// All checks, and complete bundles, which are kept.
    fn default() -> PreparationOptions {
        PreparationOptions {
            variant: BASE_VARIANT.to_owned(),
            source: None,
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
            view: None,
        }
    }
}

impl PreparationOptions {
    /// The directories with bundles that the user named.
    pub(crate) fn source_dirs(&self) -> Vec<&Path> {
        self.source.iter().map(PathBuf::as_path).collect()
    }

    /// Whether bundles, and files of further sources, are compared with their published checksums.
    pub(crate) fn checks_sources(&self) -> bool {
        self.check_outputs && self.check_bundle
    }
}
