//! Verifies prepared answers before grading.
//!
//! Grading compares the answers with the digest that the run recorded when it wrote them. If this digest differs or does
//! not exist, the answers must have the checksum that MLE-bench publishes.
//!
//! If other prepared files changed, grading only returns warnings, because the score does not depend on them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::Stamp;
use prep_core::{Failure, Remedy};
use prep_grade::Grader;
use prep_grade::report::Digests;
use prep_spec::{BASE_VARIANT, Pipeline};
use prep_steps::{ExaminedFiles, Manifest, TreeState};

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::grading::comparable::{Answers, Comparability, has_published_checksum};
use crate::grading::rules::grader;
use crate::settings::Settings;
use crate::{digests, prepared, sealed};

pub(super) struct PreparedDirectory<'a> {
    settings: &'a Settings,
    entry: &'a CatalogEntry,
    directory: PathBuf,
    /// The record of the last publication. This publication may have been interrupted.
    manifest: Option<Manifest>,
    /// The differences between the directory and `manifest`. Empty if the last publication is not complete.
    tree: TreeState,
}

pub(super) struct VerifiedAnswers {
    pub variant: String,
    pub pipeline: Pipeline,
    pub grader: Grader,
    pub file: AnswersFile,
    /// The manifest, if the answers have the digest that it records. `None` if they only have their published checksum.
    record: Option<Manifest>,
}

pub(super) struct AnswersFile {
    /// The path in the pipeline, for example `private/test.csv`.
    name: String,
    pub place: PathBuf,
    pub bytes: Vec<u8>,
    /// Whether the bytes were decrypted, so that there is no file `place`.
    is_sealed: bool,
}

impl<'a> PreparedDirectory<'a> {
    /// Opens the prepared directory of a competition, and compares it with the record of its publication.
    pub(super) fn open(
        settings: &'a Settings,
        entry: &'a CatalogEntry,
    ) -> Result<PreparedDirectory<'a>, Error> {
        let manifest = prepared::manifest(&settings.data_dir, &entry.id)?;
        let tree = match &manifest {
            Some(manifest) if manifest.complete => {
                let files = ExaminedFiles::InChangedDirectories;
                prepared::examine(manifest, &settings.data_dir, settings, files)?
            }
            _ => TreeState::default(),
        };
        Ok(PreparedDirectory {
            settings,
            entry,
            directory: settings.prepared_dir(&entry.id),
            manifest,
            tree,
        })
    }

    /// Reads the answers, and verifies their digest or their published checksum. Adds the paths that it reads to `files`.
    ///
    /// If a run published in the meantime, opens the directory again, because these answers belong to the new manifest.
    pub(super) fn answers(&mut self, files: &mut ReadFiles) -> Result<VerifiedAnswers, Error> {
        let recorded = match &self.manifest {
            Some(manifest) if manifest.complete => {
                let read = self.read(&manifest.variant, files)?;
                let data_dir = &self.settings.data_dir;
                let is_published = match &read.file {
                    Ok(file) => manifest.has_published(data_dir, &file.name, &file.bytes),
                    Err(_) => Ok(false),
                };
                let is_published =
                    is_published.map_err(|error| prepared::unreadable(&self.entry.id, &error))?;
                if is_published {
                    return read.verified(Some(manifest.clone()));
                }
                Some(read)
            }
            _ => None,
        };
        let read = self.read(BASE_VARIANT, files)?;
        let has_checksum = |file: &AnswersFile| {
            has_published_checksum(&file.bytes, self.entry, &file.name) == Some(true)
        };
        if read.file.as_ref().is_ok_and(has_checksum) {
            return read.verified(None);
        }
        let now = PreparedDirectory::open(self.settings, self.entry)?;
        if now.manifest != self.manifest {
            *self = now;
            return self.answers(files);
        }
        Err(self.rejected(recorded, read))
    }

    /// Returns the error for answers that were not verified.
    ///
    /// `recorded` is the result of reading the answers with the pipeline of the manifest's variant. `None` if there is
    /// no manifest of a complete publication. `read` is the result of reading the answers with the pipeline of `v1`.
    fn rejected(&self, recorded: Option<ReadAnswers>, read: ReadAnswers) -> Error {
        let id = &self.entry.id;
        match (&self.manifest, recorded.map(|recorded| recorded.file)) {
            (Some(_), Some(Ok(file))) if file.is_sealed => {
                sealed::outdated(&self.settings.data_dir, id)
            }
            (Some(_), Some(Ok(file))) => self.modified_answers(&file),
            (Some(_), Some(Err(error))) if error.help.is_some() => error,
            // A run cannot change permissions or repair a disk.
            (Some(_), Some(Err(error))) if error.failure == Failure::Machine => error,
            (Some(_), Some(Err(error))) => error.help(Remedy::Prepare { id: id.clone() }),
            (Some(_), None) => prepared::incomplete(id),
            (None, _) if !read.place.exists() && read.file.is_err() => match read.file {
                Err(error) if sealed::is_sealed(&self.settings.data_dir, id) => error,
                _ => prepared::not_prepared(id),
            },
            (None, _) => match read.file {
                Ok(file) => prepared::without_record(id, &self.directory, &file.place),
                Err(error) => error,
            },
        }
    }

    fn read(&self, variant: &str, files: &mut ReadFiles) -> Result<ReadAnswers, Error> {
        let pipeline = self.entry.load(variant)?;
        let (grader, name) = grader(self.entry, &pipeline)?;
        let place = self.directory.join(&name);
        files.record(&place);
        let (data_dir, id) = (&self.settings.data_dir, &self.entry.id);
        let is_sealed = sealed::is_sealed(data_dir, id);
        let bytes = match is_sealed {
            true => {
                files.record(&sealed::path(data_dir, id));
                sealed::read(self.settings, id, &name)
            }
            false => std::fs::read(&place)
                .map_err(|error| Error::reading("read the answers", &place, &error)),
        };
        let file = bytes.map(|bytes| AnswersFile {
            name,
            place: place.clone(),
            bytes,
            is_sealed,
        });
        Ok(ReadAnswers {
            variant: variant.to_owned(),
            pipeline,
            grader,
            place,
            file,
        })
    }

    pub(super) fn comparability(&self, answers: &VerifiedAnswers) -> Result<Comparability, Error> {
        let bytes = &answers.file.bytes;
        let data = match &answers.record {
            Some(manifest) => Answers::Prepared(manifest, bytes),
            None => Answers::Foreign(bytes),
        };
        let mut found = Comparability::of_grading(self.entry, &answers.file.name, &data)?;
        if self.has_changed_public_files() {
            found.add_changed_public_files(self.tree.public.to_string());
        }
        Ok(found)
    }

    /// Returns the digests for a report. Omits the digests of `public` or `private` if files in that directory changed.
    pub(super) fn digests(&self, answers: &VerifiedAnswers) -> Digests {
        let trees = answers.record.as_ref().and_then(|record| record.trees);
        let description = digests::description(&self.settings.data_dir, &self.entry.id);
        let (pipeline, variant) = (&answers.pipeline, &answers.variant);
        let found = digests::report_digests(self.entry, pipeline, variant, trees, description);
        let has_public = !self.has_changed_public_files() && !self.tree.is_description_replaced;
        let has_private = self.tree.private.is_empty();
        Digests {
            all: found.all.filter(|_| has_public && has_private),
            public: found.public.filter(|_| has_public),
            answers: found.answers.filter(|_| has_private),
            ..found
        }
    }

    /// Returns whether public files changed. If the directory `public` is missing, returns `false`, because a user may have
    /// copied only the private files to this machine.
    fn has_changed_public_files(&self) -> bool {
        !self.tree.public.is_empty() && self.directory.join("public").exists()
    }

    /// Returns warnings about prepared files that grading does not read.
    pub(super) fn warnings(&self) -> Vec<String> {
        let id = &self.entry.id;
        let manifest = self.manifest.iter().filter(|one| one.complete);
        let changes = manifest.filter_map(|one| prepared::pipeline_change(self.entry, one));
        let mut warnings: Vec<String> = changes.map(|text| format!("{id}: {text}")).collect();
        if self.has_changed_public_files() {
            let paths = &self.tree.public;
            warnings.push(format!(
                "{id}: public files were changed or removed after they were prepared: {paths}"
            ));
        }
        if !self.tree.private.is_empty() {
            let paths = &self.tree.private;
            warnings.push(format!(
                "{id}: private files were changed or removed after they were prepared: {paths}"
            ));
        }
        if !self.tree.unpublished.is_empty() {
            let paths = &self.tree.unpublished;
            warnings.push(format!(
                "{id}: the prepared directory contains files that `prep` did not publish: {paths}"
            ));
        }
        warnings
    }

    /// Returns the error for modified answers, and marks the file of the answers as changed in the manifest.
    ///
    /// Without this mark, the next run would not restore a modified file that has its previous time and size.
    fn modified_answers(&self, file: &AnswersFile) -> Error {
        let id = &self.entry.id;
        let message = format!(
            "the answers of `{id}` changed after they were prepared: {} was modified",
            file.place.display()
        );
        let noted = prep_steps::invalidate(
            &self.settings.data_dir,
            id,
            std::slice::from_ref(&file.name),
        );
        let prepare = Remedy::Prepare { id: id.to_owned() };
        Error::new(Failure::Input, message).help(match noted {
            Ok(()) => prepare,
            Err(_) => Remedy::InOrder(vec!["remove that file".into(), prepare]),
        })
    }
}

struct ReadAnswers {
    variant: String,
    pipeline: Pipeline,
    grader: Grader,
    place: PathBuf,
    file: Result<AnswersFile, Error>,
}

impl ReadAnswers {
    fn verified(self, record: Option<Manifest>) -> Result<VerifiedAnswers, Error> {
        Ok(VerifiedAnswers {
            variant: self.variant,
            pipeline: self.pipeline,
            grader: self.grader,
            file: self.file?,
            record,
        })
    }
}

/// Paths of files, each with its metadata when it was read.
#[derive(Debug, Default)]
pub(super) struct ReadFiles {
    files: Vec<(PathBuf, Option<Stamp>)>,
    /// Whether a file was modified so recently that another modification may leave its metadata unchanged.
    is_unsettled: bool,
}

impl ReadFiles {
    /// Records the metadata of a file, if it exists. Call it before reading the file.
    pub(super) fn record(&mut self, path: &Path) {
        let (now, stamp) = (SystemTime::now(), stamp_of(path));
        let settled = stamp.is_none_or(|stamp| stamp.time_until_settled(now).is_zero());
        self.is_unsettled |= !settled;
        self.files.push((path.to_owned(), stamp));
    }

    /// Returns whether all files are certainly unchanged.
    pub(super) fn are_unchanged(&self) -> bool {
        let mut files = self.files.iter();
        !self.is_unsettled && files.all(|(path, stamp)| stamp_of(path) == *stamp)
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp::of_outside(&metadata))
}
