//! Compares a prepared directory with the record of its publication.
//!
//! A file whose size, modification time and inode equal the recorded values is treated as unchanged. If these values
//! differ, for example after a copy or `touch`, the file is compared with its recorded SHA-256. If the content is unchanged
//! and the directory is writable, the new metadata are recorded.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prep_cache::CLOCK_TICK;
use prep_core::StepError;
use prep_digests::Sha256;

use super::home::{ManifestError, PathSummary, USER_FILE, lock_file};
use super::listing::{PublishedListing, WrittenFile};
use super::manifest::Manifest;

/// Returns the SHA-256 of each file, or `None` for an unreadable file. Fails if the caller is cancelled.
pub type HashFiles<'a> = dyn Fn(&[PathBuf]) -> Result<Vec<Option<Sha256>>, StepError> + 'a;

/// The differences between a prepared directory and the record of its publication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeState {
    /// Public files that are missing or changed.
    pub public: PathSummary,
    /// Private files that are missing or changed.
    pub private: PathSummary,
    /// Whether the description is missing or changed. The field `public` omits it, because users may replace it.
    pub is_description_replaced: bool,
    /// Published directories that are missing.
    pub missing_directories: PathSummary,
    /// Files and directories that no publication wrote.
    pub unpublished: PathSummary,
    /// Whether the listing is missing or damaged, so that some files could not be compared.
    pub is_list_damaged: bool,
}

impl TreeState {
    /// Returns whether all published files except for the description have their published content.
    pub fn has_published_content(&self) -> bool {
        self.public.is_empty() && self.private.is_empty() && !self.is_list_damaged
    }

    /// Returns whether all published files have their published content, so that the recorded digests are correct.
    pub fn has_recorded_digests(&self) -> bool {
        self.has_published_content() && !self.is_description_replaced
    }

    /// Returns whether publishing the same tree again would write no file.
    pub(super) fn is_as_published(&self) -> bool {
        self.has_recorded_digests() && self.missing_directories.is_empty()
    }

    /// Describes all differences, if any.
    pub fn difference(&self) -> Option<String> {
        let changed = self.public.clone().with(&self.private);
        let changed = changed.with(&self.missing_directories);
        let mut texts = Vec::new();
        if !changed.is_empty() {
            texts.push(format!("changed or missing: {changed}"));
        }
        if self.is_list_damaged {
            texts.push("the list of published files is damaged".to_owned());
        }
        if self.is_description_replaced {
            texts.push("the description was replaced".to_owned());
        }
        if !self.unpublished.is_empty() {
            texts.push(format!("extra files: {}", self.unpublished));
        }
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// Whether recorded metadata suffice to treat a file as unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Files with the recorded metadata are treated as unchanged.
    Metadata,
    /// Every file is read, because a restart of the system may have damaged it.
    Nothing,
}

/// Compares a complete publication with its prepared directory.
pub struct TreeExamination<'a> {
    /// The data directory.
    pub data_dir: &'a Path,
    /// The record of the publication.
    pub manifest: &'a Manifest,
    /// Id of the system's current boot, if available.
    pub boot: Option<&'a str>,
    /// Reads files and returns their SHA-256.
    pub hash: &'a HashFiles<'a>,
}

/// Which metadata an examination reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExaminedFiles {
    /// Reads only the times of directories. If these equal the recorded times, the files in the directories are not
    /// examined. Therefore a file that was edited in place stays unnoticed.
    InChangedDirectories,
    /// Reads the metadata of every published file.
    All,
}

/// Whether an examination records its results, so that later examinations read fewer files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remember {
    /// Record nothing.
    No,
    /// Record the results if the directory is writable and no other process publishes into it.
    IfUnlocked,
    /// Record the results. The caller must hold the lock of the directory.
    Locked,
}

impl TreeExamination<'_> {
    /// Compares the directory with the record. An unreadable file is treated as changed. Fails after a cancellation.
    ///
    /// If `remember` is true and the directory is writable, updates the listing: records the new metadata of unchanged
    /// files, and marks all other files as changed.
    pub fn state(&self, files: ExaminedFiles, remember: bool) -> Result<TreeState, StepError> {
        let is_quick = files == ExaminedFiles::InChangedDirectories;
        if is_quick && self.manifest.is_intact(&self.prepared()) {
            return Ok(TreeState {
                unpublished: self.manifest.unpublished.clone(),
                ..TreeState::default()
            });
        }
        match remember {
            true => self.compare(Remember::IfUnlocked),
            false => self.compare(Remember::No),
        }
    }

    pub(super) fn compare(&self, remember: Remember) -> Result<TreeState, StepError> {
        let (began, prepared) = (SystemTime::now(), self.prepared());
        let trust = match self.manifest.is_durable(self.boot) {
            true => Trust::Metadata,
            false => Trust::Nothing,
        };
        // The times of directories are read before the files. Therefore the next quick check notices files that are
        // replaced between the two reads.
        let stamped = self.manifest.clone().stamped(&prepared, began);
        let listing = PublishedListing::read(&self.home()).map_err(StepError::machine)?;
        let verified = verified(&listing, &prepared, trust, self.hash)?;
        let mut state = TreeState {
            is_list_damaged: !listing.is_complete(),
            ..TreeState::default()
        };
        for index in 0..verified.len() {
            let Some((path, file)) = verified.get(index) else {
                continue;
            };
            match path.starts_with("private/") {
                _ if file.is_trusted() => {}
                _ if path == USER_FILE => state.is_description_replaced = true,
                true => state.private.add(Path::new(path), false),
                false => state.public.add(Path::new(path), false),
            }
        }
        let directories = self.manifest.directories();
        for path in &directories {
            if !path.is_empty() && !prepared.join(path).is_dir() {
                state.missing_directories.add(Path::new(path), true);
            }
        }
        let search = UnpublishedSearch {
            prepared: &prepared,
            listing: &listing,
            directories: &directories,
        };
        search.add(Path::new(""), &mut state.unpublished);
        let mut manifest = match verified == listing {
            // All files have the metadata and the content from before the restart, so they are known to be on disk.
            true if trust == Trust::Nothing => stamped.into_durable(),
            true => stamped,
            false => stamped.written_in(self.boot, &self.home()),
        };
        manifest.unpublished = state.unpublished.clone();
        let manifest = match state.is_as_published() {
            true => Some(manifest).filter(|manifest| manifest != self.manifest),
            // The times of the directories do not show this difference, so the next check must compare all files.
            false if self.manifest.is_intact(&prepared) => Some(self.manifest.clone().distrusted()),
            false => None,
        };
        let record = Examined {
            manifest,
            listing: (verified != listing).then_some(&verified),
            began,
        };
        self.remember(&record, remember);
        Ok(state)
    }

    /// Records the results of the examination. Ignores errors, because the records only save time.
    fn remember(&self, record: &Examined<'_>, remember: Remember) {
        if record.manifest.is_none() && record.listing.is_none() {
            return;
        }
        let home = self.home();
        let _lock = match remember {
            Remember::No => return,
            Remember::Locked => None,
            Remember::IfUnlocked => match prep_cache::try_lock_at(&lock_file(&home)) {
                Ok(Some(lock)) => Some(lock),
                _ => return,
            },
        };
        let current = Manifest::read(self.data_dir, &self.manifest.competition);
        // Another process may have published since `self.manifest` was read. Then keep the newer records of that
        // process.
        if matches!(current, Ok(Some(current)) if current == *self.manifest) {
            let _ = record.write(&home);
        }
    }

    fn home(&self) -> PathBuf {
        self.data_dir.join(&self.manifest.competition)
    }

    fn prepared(&self) -> PathBuf {
        self.home().join("prepared")
    }
}

/// The records to write after an examination. `None` for a record that did not change.
struct Examined<'a> {
    manifest: Option<Manifest>,
    listing: Option<&'a PublishedListing>,
    began: SystemTime,
}

impl Examined<'_> {
    fn write(&self, home: &Path) -> Result<(), ManifestError> {
        // A file that is modified after this pause has another modification time than the recorded one.
        std::thread::sleep(CLOCK_TICK);
        if let Some(listing) = self.listing {
            listing.write(home, self.began)?;
        }
        match &self.manifest {
            Some(manifest) => manifest.write_with_old_time(home),
            None => Ok(()),
        }
    }
}

/// Bit of a mode: the owner may read. Published files have this bit.
const OWNER_MAY_READ: u32 = 0o400;

/// Returns the listing with the current metadata of unchanged files. All other files are marked as changed.
pub(super) fn verified(
    listing: &PublishedListing,
    prepared: &Path,
    trust: Trust,
    hash: &HashFiles<'_>,
) -> Result<PublishedListing, StepError> {
    let mut current: Vec<Option<WrittenFile>> = vec![None; listing.len()];
    let (mut unread, mut paths) = (Vec::new(), Vec::new());
    for (index, current) in current.iter_mut().enumerate() {
        let Some((path, listed)) = listing.get(index) else {
            continue;
        };
        let path = prepared.join(path);
        // Follow symbolic links: tools such as git-annex replace files by links.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        let is_readable = metadata.mode() & OWNER_MAY_READ != 0;
        if !metadata.is_file() || !is_readable || metadata.len() != listed.bytes {
            continue;
        }
        let sha256 = listed.written.sha256();
        let now = WrittenFile::new(&metadata, sha256);
        if trust == Trust::Metadata && now == listed.written {
            *current = Some(now);
        } else if sha256.is_some() {
            unread.push((index, now));
            paths.push(path);
        }
    }
    for ((index, now), sha256) in unread.into_iter().zip(hash(&paths)?) {
        if sha256.is_some()
            && sha256 == now.sha256()
            && let Some(current) = current.get_mut(index)
        {
            *current = Some(now);
        }
    }
    Ok(listing.with_metadata(|index| current.get(index).copied().flatten()))
}

struct UnpublishedSearch<'a> {
    prepared: &'a Path,
    listing: &'a PublishedListing,
    directories: &'a BTreeSet<&'a str>,
}

impl UnpublishedSearch<'_> {
    /// Adds the unpublished files and directories below `inner` to `found`. Ignores unreadable directories, because their
    /// published files are already reported as changed.
    fn add(&self, inner: &Path, found: &mut PathSummary) {
        let entries = fs::read_dir(self.prepared.join(inner));
        for entry in entries.into_iter().flatten().flatten() {
            let inner = inner.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_published = inner.to_str().is_some_and(|path| {
                self.listing.find(path).is_some()
                    || self.directories.contains(path)
                    || self.listing.has_below(path)
            });
            match is_published {
                true if is_directory => self.add(&inner, found),
                true => {}
                false => found.add(&inner, is_directory),
            }
        }
    }
}

/// The paths that a publication wrote.
pub struct PublishedPaths {
    pub(super) listing: PublishedListing,
    /// `None` if the manifest is missing or damaged.
    pub(super) manifest: Option<Manifest>,
}

impl PublishedPaths {
    /// Reads the listing of a publication.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the listing.
    pub fn new(data_dir: &Path, manifest: Manifest) -> Result<PublishedPaths, ManifestError> {
        Ok(PublishedPaths {
            listing: PublishedListing::read(&data_dir.join(&manifest.competition))?,
            manifest: Some(manifest),
        })
    }

    /// Returns whether no run has published other files in the meantime.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the manifest or the listing.
    pub fn is_current(&self, data_dir: &Path) -> Result<bool, ManifestError> {
        let Some(earlier) = &self.manifest else {
            return Ok(false);
        };
        let now = Manifest::read(data_dir, &earlier.competition)?;
        let now =
            now.filter(|now| now.complete && now.key == earlier.key && now.trees == earlier.trees);
        let listing = PublishedListing::read(&data_dir.join(&earlier.competition))?;
        Ok(now.is_some() && listing == self.listing)
    }

    /// Returns whether a publication wrote the file `path` (`public/train.csv`).
    pub fn has_file(&self, path: &str) -> bool {
        self.listing.find(path).is_some()
    }

    /// Returns whether a publication created the directory `path` (`public/images`).
    pub fn has_directory(&self, path: &str) -> bool {
        let manifest = self.manifest.as_ref();
        manifest.is_some_and(|one| one.has_directory(path)) || self.listing.has_below(path)
    }
}
