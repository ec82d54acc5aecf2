//! A task contains the inputs of a command: the settings, the catalog of competitions, the options of preparation, and the
//! network.
//!
//! A data directory records the options with which it was prepared. A later run uses the recorded options unless the caller
//! sets others. Therefore a competition stays up to date even if the user does not repeat the options.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use prep_fetch::LazyNetwork;
use prep_spec::BASE_VARIANT;
use prep_spec::model::Bundle;
use prep_steps::{Expand, PreparationRecord, Preview, RememberedOptions, Verify};

use crate::bundles;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::settings::Settings;

/// All inputs of a command that plans, prepares, pushes or downloads competitions.
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
    /// Whether a run uses the latest results in the cache if the bundle is missing. The run uses these results even if
    /// the data directory was never prepared from their bundle.
    pub from_cache: bool,
    /// Whether missing bundles are downloaded.
    pub download: bool,
    /// Whether only data that match `prep.lock` are published.
    pub locked: bool,
    /// Whether files in the prepared directories that no run published are removed.
    pub remove_unpublished: bool,
    /// Whether a run prepares sealed competitions, whose answers are encrypted. Such a run also writes the answers as
    /// plain files.
    pub unseal: bool,
    /// Whether competitions with a missing bundle or source are left out. If so, nothing is downloaded.
    pub available_only: bool,
    /// Whether other competitions continue if one failed.
    pub keep_going: bool,
    /// Whether a run begins although bundles are missing and there are no credentials to download them. Then competitions
    /// without a bundle fail, and the others are prepared. If false, the run ends with an error before any step.
    pub starts_without_credentials: bool,
    /// Whether downloaded bundles are kept after their competition is prepared.
    pub keep_bundles: bool,
    /// The options that are recorded, and that later runs use, too.
    pub remembered: RememberedOptions,
    /// Whether options that are not set have the values of the last run in the data directory.
    pub recalls: bool,
    /// A query to run instead of preparing the outputs.
    pub view: Option<ViewOptions>,
    /// For a run into a temporary data directory: the record that the run uses as the record of the last preparation.
    /// Such a run has no history. `None` for a run into the user's data directory.
    pub scratch: Option<PreparationRecord>,
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
            unseal: false,
            available_only: false,
            keep_going: true,
            starts_without_credentials: false,
            keep_bundles: true,
            remembered: RememberedOptions::default(),
            recalls: false,
            view: None,
            scratch: None,
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

    /// Returns an error if the user named a directory with bundles that does not exist.
    pub(crate) fn require_source(&self) -> Result<(), Error> {
        bundles::require_source(self.remembered.source.as_deref())
    }

    /// Returns whether bundles and the files of further sources are compared with their published checksums.
    pub(crate) fn checks_sources(&self) -> bool {
        self.verify() == Verify::All
    }

    /// Returns the MD5 that a bundle must have, if it is published and compared.
    pub(crate) fn expected_md5<'b>(&self, bundle: Option<&'b Bundle>) -> Option<&'b str> {
        bundle?.md5.as_deref().filter(|_| self.checks_sources())
    }

    /// Returns which files are compared with published checksums.
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

/// An option that has the value of the last run, because the caller did not set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledOption {
    /// The option's name in JSON.
    pub name: &'static str,
    /// The value. `None` if the option has no value and is just turned on.
    pub value: Option<String>,
}

/// Describes the options that are set.
pub(crate) fn describe(options: &RememberedOptions) -> Vec<RecalledOption> {
    let path = |path: &Path| Some(path.display().to_string());
    let source = options.source.as_deref().map(|dir| ("source", path(dir)));
    let partial = options.partial.map(|_| ("partial", None));
    let verify = options.verify.map(|verify| match verify {
        Verify::All => ("skip_verification", Some("no".to_owned())),
        Verify::Outputs => ("skip_bundle_verification", None),
        Verify::Nothing => ("skip_verification", None),
    });
    let expand = options.expand_archives.map(|expand| match expand {
        Expand::No => ("expand_archives", Some("no".to_owned())),
        Expand::Beside => ("expand_archives", None),
        Expand::Instead => ("expand_archives", Some("instead".to_owned())),
    });
    let link_mode = options
        .link_mode
        .map(|mode| ("link_mode", Some(mode.to_string())));
    let descriptions = options.descriptions.as_deref();
    let descriptions = descriptions.map(|dir| ("descriptions", path(dir)));
    [source, partial, verify, expand, link_mode, descriptions]
        .into_iter()
        .flatten()
        .map(|(name, value)| RecalledOption { name, value })
        .collect()
}

impl PreparationOptions {
    /// Returns a copy of the options in which values of the last run replace unset values. Also returns these values of the
    /// last run.
    pub(crate) fn recalling(
        &self,
        last: &RememberedOptions,
    ) -> (PreparationOptions, RememberedOptions) {
        let mut last = match self.recalls {
            true => last.clone().without(&self.remembered),
            false => RememberedOptions::default(),
        };
        // A directory that no longer exists contains no bundle.
        last.source = last.source.filter(|dir| dir.is_dir());
        let options = PreparationOptions {
            remembered: self.remembered.clone().or(last.clone()),
            ..self.clone()
        };
        (options, last)
    }

    /// Returns the options to record. `source` is the user's directory of bundles, if sources were found in it. A recorded
    /// directory that does not exist is recorded again, because its disk may be mounted again.
    pub(crate) fn to_record(
        &self,
        source: Option<&Path>,
        before: Option<&RememberedOptions>,
    ) -> RememberedOptions {
        let unmounted = before.and_then(|before| before.source.as_deref());
        let unmounted = unmounted
            .filter(|dir| self.recalls && self.remembered.source.is_none() && !dir.exists());
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
            // Symbolic links are kept, because the user may later change the target of a link. Only a path with `..` is
            // resolved, because `..` after a symbolic link means the parent of the link's target.
            let has_parents = path.components().any(|part| part == Component::ParentDir);
            let real = has_parents.then(|| path.canonicalize().ok()).flatten();
            real.unwrap_or(path)
        };
        RememberedOptions {
            source: source.or(unmounted).map(absolute),
            descriptions: self.remembered.descriptions.as_deref().map(absolute),
            ..self.remembered.clone().without_defaults()
        }
    }
}

#[cfg(test)]
mod tests {
    use prep_cache::LinkMode;

    use super::*;

    fn options(remembered: RememberedOptions, recalls: bool) -> PreparationOptions {
        PreparationOptions {
            remembered,
            recalls,
            ..PreparationOptions::default()
        }
    }

    #[test]
    fn recorded_options_are_recalled_unless_they_are_set() {
        let dir = tempfile::tempdir().unwrap();
        let all = RememberedOptions {
            source: Some(dir.path().to_owned()),
            partial: Some(true),
            verify: Some(Verify::Nothing),
            expand_archives: Some(Expand::Instead),
            link_mode: Some(LinkMode::Copy),
            descriptions: Some("/texts".into()),
        };
        let record = options(all.clone(), true).to_record(all.source.as_deref(), None);
        assert_eq!(record, all);
        let json = serde_json::to_value(&record).unwrap();
        let read: RememberedOptions = serde_json::from_value(json).unwrap();
        assert_eq!(read, record);
        let (with, recalled) = options(RememberedOptions::default(), true).recalling(&record);
        assert_eq!((&with.remembered, &recalled), (&all, &all));
        assert_eq!(describe(&recalled).len(), 6);
        // Options of the caller have precedence, even if they have the default value.
        let usual = RememberedOptions {
            partial: Some(false),
            verify: Some(Verify::All),
            expand_archives: Some(Expand::No),
            link_mode: Some(LinkMode::HardLink),
            ..all.clone()
        };
        let (with, recalled) = options(usual.clone(), true).recalling(&record);
        assert_eq!(
            (&with.remembered, recalled),
            (&usual, RememberedOptions::default())
        );
        // Defaults are not recorded.
        let record = with.to_record(None, None);
        let texts = RememberedOptions {
            descriptions: all.descriptions.clone(),
            ..RememberedOptions::default()
        };
        assert_eq!(record, texts);
        let (with, recalled) = options(RememberedOptions::default(), false).recalling(&all);
        assert_eq!((with.remembered, recalled), Default::default());
    }

    #[test]
    fn recorded_directories_have_no_parent_components() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink(real.join("a/b"), real.join("link")).unwrap();
        let recorded = |path: &str| {
            let record = options(RememberedOptions::default(), true);
            record.to_record(Some(&real.join(path)), None).source
        };
        assert_eq!(recorded("a/b/.."), Some(real.join("a")));
        // The parent of the link is not the parent of the directory to which it leads.
        assert_eq!(recorded("link/.."), Some(real.join("a")));
        assert_eq!(recorded("link"), Some(real.join("link")));
        assert_eq!(recorded("none/../x"), Some(real.join("none/../x")));
    }

    #[test]
    fn a_source_that_no_longer_exists_is_not_recalled() {
        let record = RememberedOptions {
            source: Some("/nowhere/at/all".into()),
            ..RememberedOptions::default()
        };
        let (with, recalled) = options(RememberedOptions::default(), true).recalling(&record);
        assert_eq!(recalled, RememberedOptions::default());
        // A later run may find it again, so the record keeps it.
        assert_eq!(with.to_record(None, Some(&record)), record);
        let other = Path::new("/elsewhere");
        let new = with.to_record(Some(other), Some(&record));
        assert_eq!(new.source.as_deref(), Some(other));
        let forgetting = options(RememberedOptions::default(), false);
        assert_eq!(forgetting.to_record(None, Some(&record)).source, None);
    }
}
