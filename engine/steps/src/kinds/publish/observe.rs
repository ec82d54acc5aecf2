//! First stage of a publication: reads the records of the earlier publication, and finds its unchanged files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use prep_core::{Context, Remedy, StepError, WithRemedy};

use super::examine::Trust;
use super::listing::PublishedListing;
use super::manifest::Manifest;
use super::{Publish, PublishError, examine, verify};

pub(super) struct Observed {
    /// When the observation began. Published files get this modification time.
    pub began: SystemTime,
    pub prepared: PathBuf,
    /// Whether `prepared` does not exist yet.
    pub is_fresh: bool,
    pub manifest: Option<Manifest>,
    /// The files of the earlier publication. Files that must be written again are marked as changed.
    pub listing: PublishedListing,
    /// Whether the earlier publication shares more with the cache than this publication may.
    pub is_too_shared: bool,
    /// Whether the files of the earlier publication are known to be on disk, or were written in this boot.
    pub is_durable: bool,
}

impl Observed {
    pub(super) fn new(context: &Context, publish: &Publish) -> Result<Observed, StepError> {
        let (began, home) = (SystemTime::now(), publish.home());
        let prepared = home.join("prepared");
        let manifest = Manifest::read(&publish.data_dir, &publish.competition);
        let manifest = manifest.map_err(StepError::machine)?;
        let boot = publish.boot.as_deref();
        let is_durable = manifest.as_ref().is_some_and(|one| one.is_durable(boot));
        let is_too_shared = manifest
            .as_ref()
            .is_some_and(|one| publish.is_too_shared(one));
        let is_fresh = is_missing(&prepared)?;
        let listing = match is_fresh {
            true => PublishedListing::default(),
            false => {
                let trust = if is_durable {
                    Trust::Metadata
                } else {
                    Trust::Nothing
                };
                let hash = |paths: &[PathBuf]| verify::hash_files(context, paths);
                // Files that no listing names are treated as files of other programs.
                let listing = PublishedListing::read(&home).map_err(StepError::machine)?;
                examine::verified(&listing, &prepared, trust, &hash)?
            }
        };
        if !is_fresh && !is_durable && listing.len() > 0 {
            // If the manifest contains the id of the current boot, publications trust the metadata in the stored
            // listing. Store the verified listing first, because this publication may be interrupted after it writes the
            // manifest.
            listing.write(&home, began).map_err(StepError::machine)?;
        }
        Ok(Observed {
            began,
            prepared,
            is_fresh,
            manifest,
            listing: match is_too_shared {
                true => listing.without_objects(),
                false => listing,
            },
            is_too_shared,
            is_durable,
        })
    }
}

/// Returns whether `prepared` does not exist. Fails if it is not a directory, for example a dangling symbolic link.
fn is_missing(prepared: &Path) -> Result<bool, StepError> {
    match fs::symlink_metadata(prepared) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(PublishError::io("inspect", prepared)(error)),
        Ok(_) if prepared.is_dir() => Ok(false),
        Ok(_) => {
            let error = PublishError::NotADirectory(prepared.to_owned());
            let help = Remedy::Words("move this file away".to_owned());
            Err(StepError::machine(WithRemedy::new(error, help)))
        }
    }
}
