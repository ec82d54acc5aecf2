//! What of prepared data gives the answers away.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prep_core::Failure;
use prep_leaks::{LeaksError, Place, Report};

use crate::catalog::Catalog;
use crate::error::Error;
use crate::prepared;
use crate::settings::Settings;

/// Looks at what is prepared of a competition in the settings' data folder, and at its bundle if that is in `folders` or in the
/// data folder.
///
/// # Errors
/// When it is not prepared, has no grading, or something cannot be read.
pub fn leaks(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    folders: &[&Path],
) -> Result<Report, Error> {
    let entry = catalog.get(id)?;
    let manifest = prepared::manifest(&settings.data_dir, id)?;
    let variant = manifest.map_or_else(|| prep_spec::BASE_VARIANT.to_owned(), |one| one.variant);
    let pipeline = entry.load(&variant)?;
    let folder = settings.data_dir.join(id).join("prepared");
    if !folder.is_dir() {
        return Err(prepared::not_prepared(id));
    }
    let no_grading = || {
        let message = format!("the pipeline of `{id}` has no section `grade`");
        Error::new(Failure::Pipeline, message)
    };
    let grade = &pipeline.grade.as_ref().ok_or_else(no_grading)?.value;
    let place = Place {
        public: folder.join("public"),
        answers: folder.join(&grade.answers.value),
        sample: folder.join(&grade.sample.value),
        bundle: bundle(settings, id, folders),
        temp: settings.temp_dir(),
        limits: settings.content_limits(1),
    };
    let accepted = pipeline.accepted.iter();
    let accepted: BTreeMap<String, String> = accepted
        .map(|(name, why)| (name.value.clone(), why.clone()))
        .collect();
    prep_leaks::find(&place, &accepted).map_err(|error| {
        let failure = match &error {
            LeaksError::Read { cause, .. } => crate::error::failure_of(cause),
            LeaksError::NoIds(_) => Failure::Input,
        };
        Error::new(failure, error.to_string())
    })
}

fn bundle(settings: &Settings, id: &str, folders: &[&Path]) -> Option<PathBuf> {
    let name = format!("{id}.zip");
    let folders = folders.iter().copied();
    folders
        .chain([settings.data_dir.as_path()])
        .flat_map(|folder| [folder.join(&name), folder.join(id).join(&name)])
        .find(|path| path.is_file())
}
