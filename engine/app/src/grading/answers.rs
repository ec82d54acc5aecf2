//! Which prepared answers may be trusted.
//!
//! A score is worth what the answers are worth, and they are read anyway: they are always held against the digest that
//! was noted when they were published, whatever times and sizes say. Answers that something else prepared (the
//! benchmark's own scripts, say) are held against the published checksum.

use std::path::{Path, PathBuf};

use prep_core::Failure;
use prep_digests::Trees;
use prep_steps::Manifest;

use super::comparable::has_published_checksum;
use crate::catalog::Entry;
use crate::error::Error;
use crate::prepared;
use crate::settings::Settings;

/// The prepared folder of a competition, and what its publication noted.
pub(crate) struct Prepared<'a> {
    settings: &'a Settings,
    id: &'a str,
    folder: PathBuf,
    manifest: Option<Manifest>,
}

impl<'a> Prepared<'a> {
    /// # Errors
    /// When what was noted cannot be read, or the folder is not complete.
    pub(crate) fn open(settings: &'a Settings, id: &'a str) -> Result<Prepared<'a>, Error> {
        let manifest = prepared::manifest(&settings.data_dir, id)?;
        let folder = settings.data_dir.join(id).join("prepared");
        if let Some(manifest) = &manifest
            && !manifest.is_intact(&folder)
        {
            let message =
                format!("the prepared data of `{id}` is not complete, or was changed since");
            return Err(
                Error::new(Failure::Input, message).help(format!("`prep run {id}` mends it"))
            );
        }
        Ok(Prepared {
            settings,
            id,
            folder,
            manifest,
        })
    }

    /// The variant that is prepared, as far as that is known.
    pub(crate) fn variant(&self) -> Option<&str> {
        let manifest = self.manifest.as_ref();
        manifest.map(|manifest| manifest.variant.as_str())
    }

    /// What its publication noted, if this program published it.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Digests of its two sections, as far as they were noted.
    pub(crate) fn trees(&self) -> Option<Trees> {
        self.manifest.as_ref()?.trees
    }

    /// Where the file `path` (`private/test.csv`) is.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The answers in `path`, which are those that were published.
    ///
    /// # Errors
    /// When they are missing, or others.
    pub(crate) fn answers(&self, entry: &Entry, path: &str) -> Result<Vec<u8>, Error> {
        let place = self.place(path);
        if self.manifest.is_none() && !place.exists() {
            return Err(prepared::not_prepared(self.id));
        }
        let bytes = std::fs::read(&place)
            .map_err(|error| Error::reading("read the answers", &place, &error))?;
        match &self.manifest {
            None if has_published_checksum(&bytes, entry, path) != Some(true) => {
                Err(prepared::not_ours(self.id, &self.folder))
            }
            Some(manifest) if !manifest.has_published(&self.settings.data_dir, path, &bytes) => {
                Err(self.changed(path, &place))
            }
            _ => Ok(bytes),
        }
    }

    /// The answers are not those that were published. What noted them is taken back, so that the next run writes them
    /// anew although their time says that nothing happened.
    fn changed(&self, path: &str, place: &Path) -> Error {
        let id = self.id;
        let message = format!(
            "the answers of `{id}` are not those that were prepared: {} was changed since",
            place.display()
        );
        let noted = prep_steps::invalidate(&self.settings.data_dir, id, path);
        Error::new(Failure::Input, message).help(match noted {
            Ok(()) => format!("`prep run {id}` writes them anew"),
            Err(_) => format!("remove that file, then `prep run {id}` writes it anew"),
        })
    }
}
