//! A bundle on local disk: `DIR/ID.zip` or `DIR/ID/ID.zip`. For the competition `PACK/ID`, the paths are `DIR/ID.zip` and
//! `DIR/PACK/ID/ID.zip`.
//!
//! A bundle may be deleted after preparing. The data directory records the content of its bundle, and the caller passes
//! this record to [`LocalBundle::with_content`]. Results that were computed from this content then remain valid. Only a
//! step that needs the bytes of the bundle fails.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use prep_cache::{Content, SourceRecord};
use prep_core::{
    Context, Failure, FileValue, Remedy, Source, SourceState, StepError, Value, WithRemedy, chain,
};
use prep_formats::limits::DecodingLimits;
use prep_formats::sniff::FileType;
use prep_formats::zip::{ZipDirectory, ZipError};
use thiserror::Error;

use crate::bundle::kaggle::SOURCES;
use crate::error::FetchError;

/// The provider of bundles.
const KAGGLE: &str = "Kaggle";

/// A competition's bundle, or the file of another source, at one of several possible paths.
#[derive(Debug, Clone)]
pub struct LocalBundle {
    what: FileLabel,
    /// The name under which the cache records the content.
    name: String,
    candidates: Vec<PathBuf>,
    /// The paths that an error about a missing file lists.
    looked: Vec<PathBuf>,
    /// The directories of the user that may contain the unpacked bundle.
    unpacked: Vec<PathBuf>,
    /// The published checksums.
    sums: BundleChecksums,
    /// The content of the file when it was last used. Results that were computed from it remain valid if the file no
    /// longer exists.
    last_used: Option<Content>,
}

/// The directories in which `prep` searches for the files of a competition.
#[derive(Debug, Clone, Copy)]
pub struct SearchPath<'a> {
    /// The competition.
    pub id: &'a str,
    /// Directories of the user, which are searched first, in this order.
    pub directories: &'a [&'a Path],
    /// The data directory, which also receives downloads.
    pub data: &'a Path,
}

impl<'a> SearchPath<'a> {
    pub(crate) fn all(&self) -> Vec<&'a Path> {
        [self.directories, &[self.data]].concat()
    }
}

/// Returns the file name, without `.zip`, of a competition's bundle: its id without the pack.
pub fn bundle_stem(id: &str) -> &str {
    id.rsplit_once('/').map_or(id, |(_, name)| name)
}

/// How errors describe a file.
#[derive(Debug, Clone)]
pub(crate) struct FileLabel {
    /// The kind of file, for example `bundle`.
    pub(crate) title: String,
    /// The provider of the file: Kaggle, or the host of a URL.
    pub(crate) owner: String,
    /// How the user can provide the file.
    pub(crate) remedy: Remedy,
    /// How the user can explain or accept a file with a different checksum.
    pub(crate) difference: Remedy,
}

/// Published checksums in hexadecimal. A checksum that is `None` is not verified.
#[derive(Debug, Clone, Default)]
pub struct BundleChecksums {
    /// MD5.
    pub md5: Option<String>,
    /// SHA-256.
    pub sha256: Option<String>,
}

impl BundleChecksums {
    /// Returns whether there is a checksum.
    pub fn is_some(&self) -> bool {
        self.md5.is_some() || self.sha256.is_some()
    }

    /// Returns whether these checksums of a file equal all published ones.
    pub(crate) fn fits(&self, published: &BundleChecksums) -> bool {
        let pairs = [
            (&self.md5, &published.md5),
            (&self.sha256, &published.sha256),
        ];
        pairs.iter().all(|(found, published)| {
            published.as_ref().is_none_or(|published| {
                let found = found.as_deref().unwrap_or_default();
                published.eq_ignore_ascii_case(found)
            })
        })
    }
}

/// An error of a local bundle.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum BundleError {
    #[error("no {what}: looked for {}", list(.looked))]
    Missing { what: String, looked: Vec<PathBuf> },
    #[error("no {what}: looked for {}; it cannot be downloaded", list(.looked))]
    NotFetched {
        what: String,
        looked: Vec<PathBuf>,
        #[source]
        cause: Box<FetchError>,
    },
    #[error(
        "{path} has {sum} {found}, but the published {sum} is {expected}: the file is damaged, or {owner} changed it"
    )]
    WrongChecksum {
        path: PathBuf,
        owner: String,
        sum: &'static str,
        found: String,
        expected: String,
    },
    #[error("{path}: {cause}")]
    NotAnArchive { path: PathBuf, cause: ZipError },
    #[error("{path} is {found}, but a {what} is one file")]
    NotAFile {
        path: PathBuf,
        found: String,
        what: String,
    },
}

/// Returns an error if the file is not a complete zip archive, but for example a truncated download or a saved web
/// page. Returns `None` for a complete archive, and for a file that cannot be read.
fn archive_error(path: &Path) -> Option<ZipError> {
    let file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let limits = DecodingLimits::default().budget(bytes);
    let error = ZipDirectory::read(&file, 0..bytes, &limits).err()?;
    let is_damage = matches!(
        error,
        ZipError::NotAZip { .. } | ZipError::Truncated { .. } | ZipError::DamagedDirectory { .. }
    );
    is_damage.then_some(error)
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "zip")
}

/// Returns whether the directory contains files that `prep` did not write, such as those of an unpacked bundle.
fn has_own_files(directory: &Path) -> bool {
    let mut entries = directory.read_dir().into_iter().flatten().flatten();
    entries.any(|entry| {
        let name = entry.file_name();
        name != SOURCES && !name.to_string_lossy().starts_with("prepared")
    })
}

/// Returns whether two names differ only in case, or in a few characters. The ids of different competitions differ more.
fn is_similar(one: &str, other: &str) -> bool {
    let distance = strsim::osa_distance(&one.to_lowercase(), &other.to_lowercase());
    distance <= MAX_TYPING_ERRORS.min(one.len() / 4)
}

const MAX_TYPING_ERRORS: usize = 2;

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

impl LocalBundle {
    /// Creates a source that searches for the bundle of `id` in `directories`. A file with a different MD5 than `md5` is an
    /// error.
    pub fn new(id: &str, directories: &[&Path], md5: Option<&str>) -> LocalBundle {
        let name = format!("{}.zip", bundle_stem(id));
        let candidates = directories
            .iter()
            .flat_map(|directory| [directory.join(&name), directory.join(id).join(&name)])
            .collect();
        let what = FileLabel {
            title: "bundle".to_owned(),
            owner: KAGGLE.to_owned(),
            remedy: Remedy::NameSource,
            difference: Remedy::ExplainDifference { id: id.to_owned() }.or(Remedy::AcceptBundle),
        };
        let sums = BundleChecksums {
            md5: md5.map(str::to_owned),
            sha256: None,
        };
        let users = directories.split_last().map_or(&[][..], |(_, users)| users);
        LocalBundle {
            unpacked: users.iter().map(|directory| directory.join(id)).collect(),
            ..LocalBundle::of_file(what, id, candidates, sums)
        }
    }

    pub(crate) fn of_file(
        what: FileLabel,
        name: &str,
        candidates: Vec<PathBuf>,
        sums: BundleChecksums,
    ) -> LocalBundle {
        LocalBundle {
            what,
            name: name.to_owned(),
            looked: candidates.clone(),
            unpacked: Vec::new(),
            candidates,
            sums,
            last_used: None,
        }
    }

    pub(crate) fn with_looked(self, looked: Vec<PathBuf>) -> LocalBundle {
        LocalBundle { looked, ..self }
    }

    /// Sets the content that the file had when it was last used. If the file no longer exists, results that were computed
    /// from this content remain valid, unless the checksums of the content differ from the published ones.
    #[must_use]
    pub fn with_content(self, last_used: Option<Content>) -> LocalBundle {
        LocalBundle { last_used, ..self }
    }

    /// Returns the path of the file, if it exists.
    pub fn path(&self) -> Option<&Path> {
        self.candidates
            .iter()
            .find(|path| path.is_file())
            .map(PathBuf::as_path)
    }

    /// Returns the reason why the file cannot be used: it cannot be read, or it has the name of a zip archive, but is none or
    /// is truncated.
    fn obstacle_at(&self, path: &Path) -> Option<StepError> {
        let read = File::open(path).and_then(|file| file.read_at(&mut [0], 0));
        match read {
            Err(cause) => Some(FetchError::io("read", path, cause).into()),
            Ok(_) => self.damage(path),
        }
    }

    /// Returns an error if the file has the name of a zip archive, but is none or is truncated.
    fn damage(&self, path: &Path) -> Option<StepError> {
        let cause = is_archive(path).then(|| archive_error(path)).flatten()?;
        let is_page = matches!(&cause, ZipError::NotAZip { found, .. } if *found == FileType::Html);
        let remedy = match is_page && self.what.owner == KAGGLE {
            true => {
                "accept the competition's rules on Kaggle and check the credentials, then delete the file, and download it again"
            }
            false => "delete the file, and download it again",
        };
        let failure = match self.sums.is_some() {
            true => Failure::Check,
            false => Failure::Input,
        };
        let path = path.to_path_buf();
        let error = BundleError::NotAnArchive { path, cause };
        Some(StepError::new(
            failure,
            WithRemedy::new(error, remedy.into()),
        ))
    }

    /// If there is no file, returns the error for a directory or a link in its place.
    pub(crate) fn obstruction(&self) -> Option<StepError> {
        let mut found = self.candidates.iter();
        let path = found.find(|path| path.symlink_metadata().is_ok())?.clone();
        let found = match path.read_link() {
            Ok(target) if !path.exists() => format!("a link to the missing {}", target.display()),
            _ => "a directory".to_owned(),
        };
        let what = self.what.title.clone();
        let error = BundleError::NotAFile { path, found, what };
        let remedy = Remedy::Words("remove or rename it".to_owned()).or(self.what.remedy.clone());
        Some(StepError::input(WithRemedy::new(error, remedy)))
    }

    /// Returns the error for a file that was not found. `cause` is the reason why it cannot be downloaded.
    pub fn not_fetched(&self, cause: FetchError) -> StepError {
        self.absence(cause, None)
    }

    /// Same as [`not_fetched`](Self::not_fetched), but also suggests cached results, if the cache may contain results of
    /// a file with the published checksums.
    pub(crate) fn not_fetched_in(&self, context: &Context, cause: FetchError) -> StepError {
        let known = context.store.named_sources(&self.name).unwrap_or_default();
        let is_published = |record: &SourceRecord| {
            let path = Path::new(&self.name);
            self.check(path, &record.content()).is_ok()
        };
        let has_results = known.iter().any(is_published);
        self.absence(cause, has_results.then_some(Remedy::UseCachedResults))
    }

    /// Returns the error for a file that was not found. Suggests these remedies: to pack an unpacked bundle, to rename a
    /// file with a similar name, the remedy of `cause`, to provide the file, and `further`.
    fn absence(&self, cause: FetchError, further: Option<Remedy>) -> StepError {
        let failure = cause.failure();
        let remedies = [
            self.pack(),
            self.rename(),
            cause.remedy(),
            Some(self.what.remedy.clone()),
            further,
        ];
        let remedy = Remedy::AnyOf(remedies.into_iter().flatten().collect());
        let error = BundleError::NotFetched {
            what: self.what.title.clone(),
            looked: self.looked.clone(),
            cause: Box::new(cause),
        };
        StepError::new(failure, WithRemedy::new(error, remedy))
    }

    /// Suggests to pack the files of an unpacked bundle, if there is one.
    fn pack(&self) -> Option<Remedy> {
        let directory = self.unpacked.iter().find(|one| has_own_files(one))?;
        // For a competition of a pack, the directory is two levels below the directory of bundles.
        let up = "../".repeat(self.name.split('/').count());
        let (directory, stem) = (directory.display(), bundle_stem(&self.name));
        let pack = Remedy::Words(format!(
            "{directory} is a directory, but a bundle is one file: pack it with `cd {directory} && zip -0 -r {up}{stem}.zip .`"
        ));
        Some(match self.sums.is_some() {
            true => Remedy::InOrder(vec![pack, Remedy::AcceptBundle]),
            false => pack,
        })
    }

    /// Suggests to rename a zip archive whose name is similar to that of the bundle, if a directory of the user has one.
    fn rename(&self) -> Option<Remedy> {
        let stem = bundle_stem(&self.name);
        let is_near = |path: &PathBuf| {
            let suffix = path.extension().unwrap_or_default();
            let name = path.file_stem().and_then(OsStr::to_str);
            suffix.eq_ignore_ascii_case("zip") && name.is_some_and(|name| is_similar(stem, name))
        };
        let directories = self
            .unpacked
            .iter()
            .flat_map(|own| [own.parent(), Some(own)]);
        let entries = directories.flatten().filter_map(|one| one.read_dir().ok());
        let files = entries.flatten().flatten().map(|entry| entry.path());
        let near = files.filter(is_near).min()?;
        Some(Remedy::Words(format!(
            "if {} is the bundle, rename it to {stem}.zip",
            near.display()
        )))
    }

    /// Records in the cache that the file at `path` has the content of `record`. Returns the value of the source.
    pub(crate) fn remember(
        &self,
        context: &Context,
        path: &Path,
        record: &SourceRecord,
    ) -> Result<Value, StepError> {
        context.store.name_source(&self.name, record)?;
        context.outside.set_path(record.digest, path.to_path_buf());
        Ok(value(record))
    }

    /// Returns the state of a source whose file does not exist. The source is known if `last_used` has the published
    /// checksums, unless a step needed this content and did not find it.
    pub(crate) fn absent(&self, context: &Context) -> Result<SourceState, StepError> {
        let Some(path) = self.candidates.last() else {
            return Ok(SourceState::Missing);
        };
        let last_used = self.last_used.as_ref().filter(|last_used| {
            self.check(path, last_used).is_ok() && !context.outside.is_lost(&last_used.digest)
        });
        let Some(last_used) = last_used else {
            return Ok(SourceState::Missing);
        };
        context.outside.set_path(last_used.digest, path.clone());
        let value = FileValue::outside(last_used.digest, last_used.bytes).into_value();
        Ok(SourceState::Known {
            value: value.digest(),
        })
    }

    /// Returns whether the file exists and is known to have a different checksum than the published one.
    pub(crate) fn is_wrong(&self, context: &Context) -> Result<bool, StepError> {
        let Some(path) = self.path() else {
            return Ok(false);
        };
        let record = context.store.source(path)?;
        let needed =
            |sum: &Option<String>, found: &Option<String>| sum.is_none() || found.is_some();
        Ok(record.is_some_and(|record| {
            needed(&self.sums.md5, &record.md5)
                && needed(&self.sums.sha256, &record.sha256)
                && self.check(path, &record.content()).is_err()
        }))
    }

    /// Compares the checksums of `content`, the content of the file at `path`, with the published ones.
    fn check(&self, path: &Path, content: &Content) -> Result<(), StepError> {
        let sums = [
            ("MD5", &self.sums.md5, &content.md5),
            ("SHA-256", &self.sums.sha256, &content.sha256),
        ];
        for (sum, expected, found) in sums {
            let found = found.as_deref().unwrap_or_default();
            if let Some(expected) = expected
                && !expected.eq_ignore_ascii_case(found)
            {
                if let Some(error) = self.damage(path) {
                    return Err(error);
                }
                let error = BundleError::WrongChecksum {
                    path: path.to_path_buf(),
                    owner: self.what.owner.clone(),
                    sum,
                    found: found.to_owned(),
                    expected: expected.clone(),
                };
                let error = WithRemedy::new(error, self.what.difference.clone());
                return Err(StepError::new(Failure::Check, error));
            }
        }
        Ok(())
    }
}

fn value(record: &SourceRecord) -> Value {
    FileValue::outside(record.digest, record.len()).into_value()
}

impl Source for LocalBundle {
    fn kind(&self) -> &'static str {
        "bundle"
    }

    fn state(&self, context: &Context) -> Result<SourceState, StepError> {
        let rejected = |error: StepError| SourceState::Rejected {
            message: chain(&error),
            failure: error.failure(),
        };
        let Some(path) = self.path() else {
            return Ok(match (self.absent(context)?, self.obstruction()) {
                (SourceState::Missing, Some(error)) => rejected(error),
                (state, _) => state,
            });
        };
        let bytes = path.metadata().map(|metadata| metadata.len()).unwrap_or(0);
        let Some(record) = context.store.source(path)? else {
            return Ok(self
                .obstacle_at(path)
                .map_or(SourceState::Unread { bytes }, rejected));
        };
        match self.check(path, &record.content()) {
            Ok(()) => {
                context.outside.set_path(record.digest, path.to_path_buf());
                Ok(SourceState::Known {
                    value: value(&record).digest(),
                })
            }
            Err(error) if self.is_wrong(context)? => Ok(rejected(error)),
            Err(_) => Ok(SourceState::Unread { bytes }),
        }
    }

    fn run(&self, context: &Context) -> Result<Value, StepError> {
        let Some(path) = self.path() else {
            if let Some(error) = self.obstruction() {
                return Err(error);
            }
            let error = BundleError::Missing {
                what: self.what.title.clone(),
                looked: self.looked.clone(),
            };
            let download = format!("download it from {}", self.what.owner);
            let remedy = Remedy::Words(download).or(self.what.remedy.clone());
            return Err(StepError::input(WithRemedy::new(error, remedy)));
        };
        let store = &context.store;
        // Without a checksum, the record of a damaged bundle would not show the damage.
        if !self.sums.is_some()
            && store.source(path)?.is_none()
            && let Some(error) = self.obstacle_at(path)
        {
            return Err(error);
        }
        let bytes = path.metadata().map(|metadata| metadata.len()).unwrap_or(0);
        context.progress.set_total_bytes(bytes);
        let progress = |bytes| context.count_read(bytes);
        let mut record = match store.source(path)? {
            // The download has already recorded the digests.
            Some(record) if self.sums.md5.is_none() || record.md5.is_some() => record,
            _ => store.ingest(path, self.sums.md5.is_some(), &progress)?,
        };
        if self.sums.sha256.is_some() && record.sha256.is_none() {
            record = store.add_sha256(path, record, &progress)?;
        }
        self.check(path, &record.content())?;
        self.remember(context, path, &record)
    }

    fn location(&self) -> Option<PathBuf> {
        self.path().map(Path::to_path_buf)
    }
}
