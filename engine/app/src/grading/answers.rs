//! Verifies prepared answers before grading.
//!
//! Grading reads the answers anyway, so it always compares them with the digest that was recorded when they were published, even if times
//! and sizes are unchanged. Answers of another program, for example of upstream's scripts, are compared with the published checksum.

use std::path::{Path, PathBuf};

use prep_core::Failure;
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
    /// # Errors
    /// When the record cannot be read, or the directory is not complete.
    pub(crate) fn open(
        settings: &'a Settings,
        id: &'a str,
    ) -> Result<PreparedDirectory<'a>, Error> {
        let manifest = prepared::manifest(&settings.data_dir, id)?;
        let directory = settings.data_dir.join(id).join("prepared");
        if let Some(manifest) = &manifest
            && !manifest.is_intact(&directory)
        {
            let message =
                format!("the prepared data of `{id}` is not complete, or was changed since");
            return Err(
                Error::new(Failure::Input, message).help(format!("`prep run {id}` mends it"))
            );
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

    /// The record of its publication, if this program published it.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Recorded digests of its two sections.
    pub(crate) fn trees(&self) -> Option<Trees> {
        self.manifest.as_ref()?.trees
    }

    /// Returns the location of the file `path` (`private/test.csv`).
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// Reads the answers in `path`, if they are the published ones.
    ///
    /// # Errors
    /// When they are missing or differ.
    pub(crate) fn answers(&self, entry: &CatalogEntry, path: &str) -> Result<Vec<u8>, Error> {
        let place = self.place(path);
        if self.manifest.is_none() && !place.exists() {
            return Err(prepared::not_prepared(self.id));
        }
        let bytes = std::fs::read(&place)
            .map_err(|error| Error::reading("read the answers", &place, &error))?;
        match &self.manifest {
            None if has_published_checksum(&bytes, entry, path) != Some(true) => {
                Err(prepared::not_ours(self.id, &self.directory))
            }
            Some(manifest) if !manifest.has_published(&self.settings.data_dir, path, &bytes) => {
                Err(self.modified_answers(path, &place))
            }
            _ => Ok(bytes),
        }
    }

    /// The error for modified answers. Also removes their record, so that the next run writes them again although their time is
    /// unchanged.
    fn modified_answers(&self, path: &str, place: &Path) -> Error {
        let id = self.id;
        let message = format!(
            "the answers of `{id}` are not those that were prepared: {} was changed since",
            place.display()
        );
        let noted = prep_steps::invalidate(&self.settings.data_dir, id, path);
        Error::new(Failure::Input, message).help(match noted {
            Ok(()) => format!("`prep run {id}` writes them again"),
            Err(_) => format!("remove that file, then `prep run {id}` writes it again"),
        })
    }
}
