//! Seals the private files of prepared competitions: encrypts them to `DATA/ID/private.age`, and removes
//! `DATA/ID/prepared/private` unless the caller keeps the plain files.
//!
//! After sealing, agents may run on the machine with the data directory, because they cannot read the answers.
//!
//! The manifest stays unencrypted. With its digests, a grader verifies decrypted answers in the same way as plain answers.
//! A run writes the plain files again only if the caller requests it.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prep_core::{Failure, Remedy, chain};
use prep_digests::Trees;
use prep_steps::{ExaminedFiles, Manifest, PublishedPaths};
use prep_trust::{Recipient, SealError, SealNote};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::export::files_below;
use crate::grading::{answers_path, require_answers};
use crate::prepared;
use crate::settings::Settings;
use crate::task::Task;

/// The name of the encrypted file in the directory of a competition.
pub(crate) const SEALED_FILE: &str = "private.age";

/// Returns the path of the encrypted file.
pub(crate) fn path(data_dir: &Path, id: &str) -> PathBuf {
    data_dir.join(id).join(SEALED_FILE)
}

/// Returns whether the private files exist only in encrypted form.
pub(crate) fn is_sealed(data_dir: &Path, id: &str) -> bool {
    AnswersState::of(data_dir, id) == AnswersState::Sealed
}

/// Returns an error if the private files of a competition exist only in encrypted form.
pub(crate) fn require_plain(settings: &Settings, id: &str) -> Result<(), Error> {
    match is_sealed(&settings.data_dir, id) {
        true => Err(Error::new(
            Failure::Input,
            format!("the private files of `{id}` are sealed"),
        )
        .help(Remedy::Unseal { id: id.to_owned() })),
        false => Ok(()),
    }
}

/// Divides `ids` into competitions that a run must not prepare and competitions that it may prepare.
///
/// A run must not prepare a competition with sealed answers, because it would write the plain answers again. Returns the
/// ids of these competitions, each with an error, and then the other ids. If the caller allows plain answers (`unseal`) or
/// the run publishes nothing, the run may prepare all competitions.
pub(crate) fn kept_sealed(task: &Task, ids: &[String]) -> (Vec<(String, Error)>, Vec<String>) {
    let options = &task.options;
    let data_dir = task.settings.data_dir_of(&options.variant);
    let publishes = options.view.is_none() && options.scratch.is_none();
    let is_kept = |id: &String| publishes && !options.unseal && is_sealed(&data_dir, id);
    let (kept, others): (Vec<String>, _) = ids.iter().cloned().partition(is_kept);
    let kept = kept.into_iter().map(|id| {
        let message =
            format!("{id}: its answers are sealed, and a run would also write them as plain files");
        let error = Error::new(Failure::Input, message);
        (id.clone(), error.help(Remedy::Unseal { id }))
    });
    (kept.collect(), others)
}

/// Whether the answers of a prepared competition are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum AnswersState {
    #[serde(rename = "plain")]
    Plain,
    #[serde(rename = "sealed")]
    Sealed,
    /// There are plain files next to the encrypted ones.
    #[serde(rename = "plain and sealed")]
    Both,
    /// There are plain files, and the encrypted files are not those of the last publication.
    #[serde(rename = "plain and outdated sealed")]
    Outdated,
}

impl AnswersState {
    /// Examines the directory of a competition.
    pub fn of(data_dir: &Path, id: &str) -> AnswersState {
        match (
            path(data_dir, id).is_file(),
            plain_dir(data_dir, id).exists(),
        ) {
            (false, _) => AnswersState::Plain,
            (true, false) => AnswersState::Sealed,
            (true, true) => match Manifest::read(data_dir, id) {
                Ok(Some(manifest)) if !is_current(data_dir, &manifest) => AnswersState::Outdated,
                _ => AnswersState::Both,
            },
        }
    }

    /// Returns the mark that listings show. `None` if nothing is encrypted.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            AnswersState::Plain => None,
            AnswersState::Sealed => Some("sealed"),
            AnswersState::Both => Some("plain and sealed"),
            AnswersState::Outdated => Some("plain and outdated sealed"),
        }
    }
}

/// Returns whether the encrypted file contains the private files of the last publication, according to its length and to the
/// digest in its header. Files of earlier versions have no such digest, so only their length is checked.
pub(crate) fn is_current(data_dir: &Path, manifest: &Manifest) -> bool {
    let Some(Trees { private, .. }) = manifest.trees else {
        return true;
    };
    File::open(path(data_dir, &manifest.competition)).is_ok_and(|file| {
        // In the tar archive, each file has a block of 512 bytes for its name. The note and the end need four blocks.
        let min_bytes = private.bytes + 512 * (private.files + 4);
        let is_long_enough = |found: fs::Metadata| found.len() > min_bytes;
        file.metadata().is_ok_and(is_long_enough)
            && prep_trust::stated_digest(BufReader::new(file))
                .is_none_or(|stated| stated == private.sha256.to_string())
    })
}

/// Returns the error for an encrypted file that does not contain the published private files.
pub(crate) fn outdated(data_dir: &Path, id: &str) -> Error {
    let path = path(data_dir, id);
    let message = format!(
        "{} does not contain the private files of `{id}` that were published last",
        path.display()
    );
    let copy = Remedy::from("copy the sealed file of the same publication to this path");
    Error::new(Failure::Input, message).help(copy.or(Remedy::Unseal { id: id.to_owned() }))
}

fn plain_dir(data_dir: &Path, id: &str) -> PathBuf {
    data_dir.join(id).join("prepared/private")
}

/// Decrypts a private file, for example `private/test.csv`, into memory.
///
/// # Errors
/// Returns an error if the settings contain no identity, or if the identity cannot decrypt the file.
pub(crate) fn read(settings: &Settings, id: &str, name: &str) -> Result<Vec<u8>, Error> {
    let path = path(&settings.data_dir, id);
    let identity = settings.identity.as_ref().ok_or_else(|| {
        let message = format!("the answers of `{id}` are sealed");
        Error::new(Failure::Input, message).help(Remedy::NameIdentity)
    })?;
    let file = File::open(&path).map_err(|error| Error::reading("open", &path, &error))?;
    let limits = settings.content_limits(1);
    let opened = prep_trust::unseal(BufReader::new(file), identity, name, &limits);
    let (note, bytes) = opened.map_err(|error| {
        let help = match error {
            SealError::OtherIdentity => {
                "use the identity that belongs to the public key for which the file was sealed"
            }
            _ => "copy the sealed file to this machine again, or prepare the competition and seal it again",
        };
        let message = format!("cannot open {}: {}", path.display(), chain(&error));
        Error::new(Failure::Input, message).help(help)
    })?;
    if note.competition != id {
        let message = format!(
            "{} contains the answers of `{}`",
            path.display(),
            note.competition
        );
        return Err(Error::new(Failure::Input, message)
            .help("replace the file with the sealed file of the requested competition"));
    }
    Ok(bytes)
}

/// The private files of a competition that were sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SealedAnswers {
    pub id: String,
    pub variant: String,
    /// The encrypted file.
    pub path: PathBuf,
    /// Number of private files.
    pub files: u64,
    pub bytes: u64,
    /// Whether the plain files were kept.
    pub plain: bool,
    /// Other places of this machine that contain answers: plain private files of other variants, bundles, and the cache.
    pub left: Vec<PathBuf>,
    /// The other variants that have plain private files.
    #[serde(skip)]
    pub plain_variants: Vec<String>,
}

/// Verifies and seals the private files of a competition's variant, and removes the plain files unless `keeps_plain` is
/// set. Each recipient can decrypt the sealed file with the identity of that recipient.
///
/// The private files of other variants stay as they are. They may contain the same answers, so the result lists them.
///
/// # Errors
/// Returns an error if:
/// - the competition is not prepared or already sealed, or its private files changed;
/// - another process publishes the competition;
/// - a file cannot be written or removed.
pub fn seal(
    catalog: &Catalog,
    all: &Settings,
    (id, variant): (&str, &str),
    recipients: &[Recipient],
    keeps_plain: bool,
) -> Result<SealedAnswers, Error> {
    catalog.get(id)?;
    let settings = &all.of_variant(variant);
    let (data_dir, target) = (&settings.data_dir, path(&settings.data_dir, id));
    let manifest =
        prepared::complete_manifest(data_dir, id)?.ok_or_else(|| prepared::not_prepared(id))?;
    if is_sealed(data_dir, id) {
        let message = format!("the private files of `{id}` are already sealed");
        return Err(Error::new(Failure::Input, message).help(Remedy::Unseal { id: id.to_owned() }));
    }
    let lock = prep_cache::try_lock_at(&data_dir.join(id).join("prepared.lock"))?;
    let Some(_lock) = lock else {
        let message = format!("cannot seal `{id}`: a run is publishing it");
        return Err(Error::new(Failure::Machine, message).help("try again when the run has ended"));
    };
    let (variant, files) = seal_into(catalog, settings, id, recipients, &target)?;
    let bytes = files.iter().filter_map(|(_, path)| path.metadata().ok());
    let plain_variants = all.variants().into_iter().filter(|other| {
        let other = all.data_dir_of(other);
        other != *data_dir && plain_dir(&other, id).exists()
    });
    let plain_variants: Vec<String> = plain_variants.collect();
    let sealed = SealedAnswers {
        id: id.to_owned(),
        variant,
        path: target,
        files: files.len() as u64,
        bytes: bytes.map(|metadata| metadata.len()).sum(),
        plain: keeps_plain,
        left: paths_with_answers(all, id, &manifest, &plain_variants),
        plain_variants,
    };
    if !keeps_plain {
        let private = plain_dir(data_dir, id);
        fs::remove_dir_all(&private).map_err(|error| Error::writing("remove", &private, &error))?;
    }
    Ok(sealed)
}

/// Writes the sealed private files of a competition to `target`, completely or not at all. Keeps the plain files. Returns
/// the variant of the competition, and the name and the path of each plain file.
///
/// # Errors
/// Same as [`seal`].
pub(crate) fn seal_into(
    catalog: &Catalog,
    settings: &Settings,
    id: &str,
    recipients: &[Recipient],
    target: &Path,
) -> Result<(String, Vec<(String, PathBuf)>), Error> {
    let manifest = require_answers(catalog, settings, id)?;
    let files = private_files(settings, catalog, id, &manifest)?;
    let note = SealNote {
        competition: id.to_owned(),
        variant: manifest.variant.clone(),
        private: manifest
            .trees
            .map_or_else(String::new, |trees| trees.private.sha256.to_string()),
    };
    let write = || {
        let file = tempfile::Builder::new()
            .prefix(prep_steps::TEMP_PREFIX)
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(target.parent().unwrap_or(Path::new(".")))
            .map_err(SealError::Write)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        let out = prep_trust::seal(out, recipients, &note, &files)?;
        let file = out.into_inner();
        let file = file.map_err(|error| SealError::Write(error.into_error()))?;
        file.as_file().sync_all().map_err(SealError::Write)?;
        let written = file.persist(target);
        written.map_err(|error| SealError::Write(error.error))
    };
    write().map_err(|error| {
        let message = format!("cannot write {}: {}", target.display(), chain(&error));
        Error::new(Failure::Machine, message)
    })?;
    Ok((manifest.variant, files))
}

/// Returns the private files with their names, the answers first.
fn private_files(
    settings: &Settings,
    catalog: &Catalog,
    id: &str,
    manifest: &Manifest,
) -> Result<Vec<(String, PathBuf)>, Error> {
    let tree = prepared::examine(manifest, &settings.data_dir, settings, ExaminedFiles::All)?;
    let published = PublishedPaths::new(&settings.data_dir, manifest.clone());
    let published = published.map_err(|error| prepared::unreadable(id, &error))?;
    let root = settings.prepared_dir(id);
    let names = files_below(&root, "private");
    let names = names.map_err(|error| Error::reading("read", &root, &error))?;
    let (names, foreign): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| published.has_file(name));
    if !tree.private.is_empty() || tree.is_list_damaged || !foreign.is_empty() {
        let mut found = [tree.private.to_string(), foreign.join(", ")].to_vec();
        found.retain(|paths| !paths.is_empty());
        let message = format!(
            "some private files of `{id}` were changed or removed, or were not published by a run: {}",
            found.join(", ")
        );
        let prepare = Remedy::Prepare { id: id.to_owned() };
        let help = Remedy::InOrder(vec![
            "move your own files to another directory".into(),
            prepare,
        ]);
        return Err(Error::new(Failure::Input, message).help(help));
    }
    let mut files: Vec<(String, PathBuf)> = names
        .into_iter()
        .map(|name| (name.clone(), root.join(name)))
        .collect();
    let answers = answers_path(catalog, id, &manifest.variant)?;
    files.sort_by_key(|(name, _)| (*name != answers, name.clone()));
    Ok(files)
}

/// Returns the paths that still contain answers after sealing: the plain private files of other variants, the bundles of
/// the competition, and the cache. Searches for bundles in the data directory, and in the directory of bundles that the
/// last run used.
fn paths_with_answers(
    all: &Settings,
    id: &str,
    manifest: &Manifest,
    plain_variants: &[String],
) -> Vec<PathBuf> {
    let preparation = manifest.preparation.as_ref();
    let source = preparation.and_then(|record| record.options.source.as_deref());
    let directories = source.into_iter().chain([&*all.data_dir]);
    let name = format!("{}.zip", prep_fetch::bundle_stem(id));
    let bundles = directories.flat_map(|directory| {
        let below = prep_fetch::bundle_files(directory, id).unwrap_or_default();
        below.into_iter().chain([directory.join(&name)])
    });
    let variants = plain_variants.iter();
    let variants = variants.map(|variant| plain_dir(&all.data_dir_of(variant), id));
    let paths = variants.chain(bundles).chain([all.store_dir.clone()]);
    paths.filter(|path| path.exists()).collect()
}
