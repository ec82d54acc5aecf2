//! Finds the bundle of a competition on this machine, and defines the notes that a run shows to the user.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use prep_audit::bundle::known;
use prep_cache::{Content, Digest, Store};
use prep_core::{Failure, chain, units};
use prep_fetch::LocalBundle;
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipEntry};
use prep_spec::{joined, nearest};
use serde::Serialize;

use crate::error::Error;
use crate::run_log::local_time;
use crate::settings::Settings;

/// Finds the bundle of `id` in one of `dirs`, otherwise in the data directory.
pub(crate) fn local(settings: &Settings, id: &str, dirs: &[&Path]) -> LocalBundle {
    let dirs = [dirs, &[settings.data_dir.as_path()]].concat();
    LocalBundle::new(id, &dirs, None)
}

pub(crate) fn path(settings: &Settings, id: &str, dirs: &[&Path]) -> Option<PathBuf> {
    local(settings, id, dirs).path().map(Path::to_owned)
}

/// Returns an error if `source`, the user's directory with bundles, is not a directory.
pub(crate) fn require_source(source: Option<&Path>) -> Result<(), Error> {
    let Some(source) = source.filter(|source| !source.is_dir()) else {
        return Ok(());
    };
    let message = format!("the source `{}` is not a directory", source.display());
    let error = Error::new(Failure::Input, message);
    Err(error.help("name the directory that contains ID.zip or ID/ID.zip"))
}

/// Returns the name of a bundle in the directory `source` that is similar to `id`, without its suffix.
pub(crate) fn similar(source: Option<&Path>, id: &str) -> Option<String> {
    let files = source?.read_dir().ok()?.flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".zip")?.to_owned()))
        .collect();
    names.sort_unstable();
    nearest(id, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns all bundles of a competition: at most one in each of `dirs` and in the data directory.
pub(crate) fn all(settings: &Settings, id: &str, dirs: &[&Path]) -> Vec<PathBuf> {
    let dirs = dirs.iter().copied().chain([settings.data_dir.as_path()]);
    let bundles = dirs.map(|dir| LocalBundle::new(id, &[dir], None));
    let paths = bundles.filter_map(|bundle| bundle.path().map(Path::to_owned));
    paths.collect()
}

/// Opens a bundle. Returns its file, its length in bytes, and its members.
pub(crate) fn list(
    path: &Path,
    limits: &DecodingLimits,
) -> Result<(File, u64, Vec<ZipEntry>), Error> {
    let failed = |error| Error::reading("read the bundle", path, &error);
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let listing = ZipDirectory::read(&file, 0..bytes, &limits.budget(bytes)).map_err(|error| {
        let message = format!("the bundle {}: {}", path.display(), chain(&error));
        Error::new(Failure::Input, message)
    })?;
    Ok((file, bytes, listing.entries()))
}

pub(crate) fn member_lists(settings: &Settings) -> PathBuf {
    Store::bundle_lists(&settings.store_dir)
}

/// Records which files the bundle of the competition `id` contains. Later audits read this record.
///
/// Call this function only if the bundle has its published MD5, and pass this MD5 as `md5`. `dirs` are directories that
/// may contain the bundle.
///
/// Ignores errors, because an audit without this record only has fewer findings.
pub(crate) fn remember(settings: &Settings, id: &str, dirs: &[&Path], md5: &str) {
    if let Some(path) = path(settings, id, dirs) {
        let _ = known::remember(&member_lists(settings), md5, &path);
    }
}

/// A bundle from which results were computed, but which is neither on this machine nor recorded in the data directory.
///
/// A run takes these results from the cache or from the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BorrowedBundle {
    pub blake3: Digest,
    pub md5: Option<String>,
    pub bytes: u64,
    #[serde(flatten)]
    pub lender: Lender,
}

/// Where the results of a [`BorrowedBundle`] are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Lender {
    Cache {
        /// When the results were computed, in seconds since 1970.
        at: Option<u64>,
        /// The path of the bundle at that time.
        path: Option<String>,
    },
    Remote {
        remote: String,
    },
}

impl BorrowedBundle {
    pub fn is_remote(&self) -> bool {
        matches!(self.lender, Lender::Remote { .. })
    }
}

impl fmt::Display for BorrowedBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&digest(self.md5.as_deref(), &self.blake3))?;
        write!(f, ", {}", units::bytes(self.bytes))?;
        match &self.lender {
            Lender::Cache { at, path } => {
                f.write_str(", in the cache")?;
                if let Some(at) = at {
                    write!(f, " since {}", local_time(*at))?;
                }
                match path {
                    Some(path) => write!(f, ", from {path}"),
                    None => Ok(()),
                }
            }
            Lender::Remote { remote } => write!(f, ", in the remote {remote}"),
        }
    }
}

fn digest(md5: Option<&str>, blake3: &Digest) -> String {
    match md5 {
        Some(md5) => format!("MD5 {md5}"),
        None => format!("BLAKE3 {blake3}"),
    }
}

/// A message to the user about a run. A note is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// The system was restarted after the competition `id` was published. The run reads the published files once, because a
    /// loss of power may have damaged them. `bytes` is the total size of these files.
    ReadsAgain { id: &'a str, bytes: u64 },
    /// `files` published files are damaged, so the run writes them again.
    Damaged { id: &'a str, files: u64 },
    /// The published files differ from the results of the steps, so the run writes these files again.
    Restores { id: &'a str, difference: &'a str },
    /// The competitions with these ids are left out, because their bundle or a source is missing.
    NotAvailable(&'a [String]),
    /// The run uses results that were computed from a [`BorrowedBundle`].
    Borrowed {
        id: &'a str,
        bundle: &'a BorrowedBundle,
    },
    /// The caller requested cached results in place of a missing bundle, but the cache lacks some of them.
    NothingCached { id: &'a str },
    /// The private files of this competition are sealed, and the run publishes them as plain files.
    Unseals { id: &'a str },
    /// The bundle at `path` is not the bundle from which the data were prepared. `before` is the content of that earlier
    /// bundle.
    OtherBundle {
        id: &'a str,
        path: &'a Path,
        before: &'a Content,
    },
    /// The free disk space is probably too small.
    LittleDisk(&'a str),
}

impl Note<'_> {
    /// Returns whether the note is a warning.
    pub fn is_warning(&self) -> bool {
        !matches!(
            self,
            Note::ReadsAgain { .. }
                | Note::Restores { .. }
                | Note::NotAvailable(_)
                | Note::Borrowed { .. }
                | Note::OtherBundle { .. }
        )
    }
}

/// Maximum number of ids in a note.
const MAX_IDS: usize = 5;

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::ReadsAgain { id, bytes } => write!(
                f,
                "{id}: the system was restarted; reading {} once to check for damaged files",
                units::bytes(*bytes)
            ),
            Note::Damaged { id, files: 1 } => {
                write!(
                    f,
                    "{id}: 1 published file is damaged; it will be written again"
                )
            }
            Note::Damaged { id, files } => write!(
                f,
                "{id}: {files} published files are damaged; they will be written again"
            ),
            Note::Restores { id, difference } => {
                write!(f, "{id}: restoring the published data: {difference}")
            }
            Note::NotAvailable(ids) => write!(
                f,
                "{} left out because a bundle or source is missing: {}",
                units::count(ids.len() as u64, "competition"),
                joined(ids.iter().cloned(), MAX_IDS)
            ),
            Note::Borrowed { id, bundle } => {
                write!(
                    f,
                    "{id}: there is no bundle on this machine; using results that were computed from the bundle {bundle}"
                )
            }
            Note::NothingCached { id } => write!(
                f,
                "{id}: the cache does not have the results that would replace the missing bundle"
            ),
            Note::Unseals { id } => write!(
                f,
                "{id}: its answers are sealed; this run also writes them as plain files"
            ),
            Note::OtherBundle { id, path, before } => write!(
                f,
                "{id}: {} is not the bundle from which the data were prepared (that bundle has {})",
                path.display(),
                digest(before.md5.as_deref(), &before.digest)
            ),
            Note::LittleDisk(text) => f.write_str(text),
        }
    }
}
