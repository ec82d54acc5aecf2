//! Verifies prepared answers before grading.
//!
//! Grading reads the answers anyway. Therefore it always compares them with the digest that was recorded when they were
//! published, even if their time and size are unchanged. Answers that another program prepared, for example upstream's
//! scripts, are compared with the published checksum.

use std::path::{Path, PathBuf};

use prep_core::{Failure, Remedy};
use prep_digests::Trees;
use prep_steps::Manifest;

use super::comparable::has_published_checksum;
use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::prepared;
use crate::settings::Settings;

/// The prepared directory of a competition, and the record of its publication.
pub(crate) struct PreparedDirectory<'a> {
    settings: &'a Settings,
    id: &'a str,
    directory: PathBuf,
    manifest: Option<Manifest>,
}

impl<'a> PreparedDirectory<'a> {
    /// Opens the prepared directory of a competition.
    ///
    /// # Errors
    /// Returns an error if the record of its publication cannot be read, or if the directory is incomplete.
    pub(crate) fn open(
        settings: &'a Settings,
        id: &'a str,
    ) -> Result<PreparedDirectory<'a>, Error> {
        let manifest = prepared::manifest(&settings.data_dir, id)?;
        let directory = settings.prepared_dir(id);
        if let Some(manifest) = &manifest
            && !manifest.is_intact(&directory)
        {
            return Err(prepared::not_intact(id));
        }
        Ok(PreparedDirectory {
            settings,
            id,
            directory,
            manifest,
        })
    }

    /// The prepared variant, if it is known.
    pub(crate) fn variant(&self) -> Option<&str> {
        let manifest = self.manifest.as_ref();
        manifest.map(|manifest| manifest.variant.as_str())
    }

    /// The record of the publication. `None` if another program prepared the data.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The recorded digests of the sections `public` and `private`.
    pub(crate) fn trees(&self) -> Option<Trees> {
        self.manifest.as_ref()?.trees
    }

    /// Returns the full path of a prepared file, for example of `private/test.csv`.
    pub(crate) fn path_of(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// Reads the answers in `path`, if they are the published ones.
    ///
    /// # Errors
    /// Returns an error if the answers are missing, or if they differ from the published ones.
    pub(crate) fn answers(&self, entry: &CatalogEntry, path: &str) -> Result<Vec<u8>, Error> {
        let place = self.path_of(path);
        if self.manifest.is_none() && !place.exists() {
            return Err(prepared::not_prepared(self.id));
        }
        let bytes = std::fs::read(&place)
            .map_err(|error| Error::reading("read the answers", &place, &error))?;
        match &self.manifest {
            None if has_published_checksum(&bytes, entry, path) != Some(true) => {
                Err(prepared::unverified_foreign_data(self.id, &self.directory))
            }
            Some(manifest) if !manifest.has_published(&self.settings.data_dir, path, &bytes) => {
                Err(self.modified_answers(path, &place))
            }
            _ => Ok(bytes),
        }
    }

    /// Returns the error for modified answers. Also removes the record of the file. Otherwise the next run would not
    /// write it again if its time and size are unchanged.
    fn modified_answers(&self, path: &str, place: &Path) -> Error {
        let id = self.id;
        let message = format!(
            "the answers of `{id}` changed after they were prepared: {} was modified",
            place.display()
        );
        let noted = prep_steps::invalidate(&self.settings.data_dir, id, path);
        let prepare = Remedy::Prepare { id: id.to_owned() };
        Error::new(Failure::Input, message).help(match noted {
            Ok(()) => prepare,
            Err(_) => Remedy::InOrder(vec!["remove that file".into(), prepare]),
        })
    }
}
