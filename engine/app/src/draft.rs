//! Drafts a pipeline for a competition of the user, from its bundle or from a preview on Kaggle.

use std::path::{Path, PathBuf};

use prep_core::{Cancel, Failure};
use prep_draft::{BundleContent, DraftChoices, DraftError};
use prep_fetch::LazyNetwork;
use prep_spec::{BASE_VARIANT, CompetitionId};

use crate::bundles;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::settings::Settings;
use crate::stages::load::Loader;

/// A preview reads at most this number of bytes of each table on Kaggle, counted after decompression.
const MAX_PREVIEW_BYTES: usize = 1 << 20;

/// The draft of a pipeline for a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    /// Path of the bundle. `None` if its files were listed on Kaggle.
    pub bundle: Option<PathBuf>,
    /// Notes for the author: why the draft contains a guess, and which of its settings the author must check.
    pub notes: Vec<String>,
}

/// Reads the bundle of `id` and returns a pipeline for it. Searches for the bundle in the directory `source`, in the data
/// directory, and then on Kaggle.
///
/// # Errors
/// Returns an error if `id` cannot be a competition's name, if there is no such bundle, or if it cannot be read.
pub fn draft(
    settings: &Settings,
    source: Option<&Path>,
    network: &LazyNetwork,
    id: &str,
    choices: &DraftChoices,
) -> Result<Draft, Error> {
    if prep_draft::is_table(id) {
        let message = format!("`{id}` is a file, not the id of a competition");
        let help = "put it into an archive ID.zip, and name ID and the directory of the archive";
        return Err(Error::request(message).help(help));
    }
    if id.contains('/') || id.parse::<CompetitionId>().is_err() {
        let message = format!("`{id}` cannot be the name of a competition");
        return Err(Error::request(message).help("use letters, digits and `-`, as Kaggle does"));
    }
    bundles::require_source(source)?;
    let directories: Vec<&Path> = source.into_iter().collect();
    let local = bundles::local(settings, id, &directories);
    let temp = settings.temp_dir();
    let resources = prep_contents::Resources {
        limits: settings.inspection_limits(1),
        temp: &temp,
    };
    let content = match local.path() {
        Some(path) => {
            let (file, bytes, entries) = bundles::list(path, &resources.limits)?;
            BundleContent::read(&file, bytes, &entries, &resources)
        }
        None => {
            let near = bundles::similar(source, id);
            let network = network
                .get()
                .map_err(|cause| Error::from(local.not_fetched(cause)).suggest(near.as_deref()))?;
            let cancel = Cancel::default();
            let preview = network.preview(id, MAX_PREVIEW_BYTES, prep_draft::is_table, &cancel)?;
            let (entries, md5) = (&preview.zip.entries, preview.zip.md5.clone());
            BundleContent::of_preview(entries, &preview.fronts, md5, &resources)
        }
    };
    let draft = prep_draft::draft(id, content, choices)?;
    let file_name = format!("{id}/pipeline.yaml");
    let entry = CatalogEntry::of_text(id, &file_name, draft.text.clone());
    Loader::without_notes().load(&entry, BASE_VARIANT)?;
    Ok(Draft {
        text: draft.text,
        notes: draft.notes,
        bundle: local.path().map(Path::to_owned),
    })
}

impl From<DraftError> for Error {
    fn from(error: DraftError) -> Error {
        let new = match &error {
            DraftError::NoColumns { .. }
            | DraftError::IdIsTarget(_)
            | DraftError::Metric(_)
            | DraftError::Misfit { .. } => Error::request(error.to_string()),
            _ => Error::new(Failure::Input, error.to_string()),
        };
        Error {
            help: error.help().map(Into::into),
            ..new
        }
    }
}
