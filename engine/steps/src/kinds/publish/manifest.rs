//! The manifest of a published competition: its outputs, and whether they are complete.
//!
//! ```text
//! DATA/ID/prepared.json    Manifest: key, variant, outputs, and modification times of the directories
//! DATA/ID/prepared.files   the list of files with size, time, inode, SHA-256 and origin of the content (see `listing`)
//! DATA/ID/prepared.lock    locked while a process publishes
//! DATA/ID/prepared.failed  FailedRun: exists if the last run failed or was stopped
//! ```
//!
//! A quick check needs one `stat` per directory and per single output file. Adding, removing or replacing a file changes the
//! time of its directory. If a time differs, all files are compared with the listing (see `examine`). A quick check
//! does not notice a file that was modified in place. Other commands, such as `prep audit`, always compare all files.
//!
//! The modification time of `prepared.json` is that of the last run that found the data complete. Programs such as Make
//! compare this time. After an interrupted publication, `prepared.json` has the time of the earlier manifest, or
//! 1970-01-01 if no earlier manifest existed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, LinkMode};
use prep_digests::{DataOrigin, Sha256, Trees};
use serde::{Deserialize, Serialize};

use super::Publish;
use super::home::{ManifestError, NEVER, PathSummary, lock_file, replace_with, trusted_time};
use super::listing::{LISTING_FILE, PublishedListing};
use super::preparation::PreparationRecord;

/// Name of the manifest in `DATA/ID`.
pub const MANIFEST_FILE: &str = "prepared.json";
const VERSION: u32 = 2;

/// Describes the content of a competition's `prepared` directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// Id of the competition.
    pub competition: String,
    /// Variant of the pipeline.
    pub variant: String,
    /// False while a publication runs, and after an interrupted one.
    pub complete: bool,
    /// Key of the publication. Equal keys mean equal trees.
    pub key: Digest,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Id of the system's boot during which files were last written. `None` if the files are known to be on disk, or if
    /// the system provides no id of its boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) boot: Option<String>,
    /// The machine that wrote the files, if several machines share the file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Digests of `public` and `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<Trees>,
    /// The origin of the tree. `None` until the run that published the tree has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<DataOrigin>,
    /// How the tree was prepared. `None` until the run that published the tree has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<PreparationRecord>,
    /// The published outputs.
    pub outputs: Vec<PublishedOutput>,
    /// The cheapest way in which published files may share disk space with the cache.
    #[serde(default, skip_serializing_if = "is_hard_link")]
    pub(super) link_mode: LinkMode,
    /// Files and directories of other programs in the tree.
    #[serde(default, skip_serializing_if = "PathSummary::is_empty")]
    pub unpublished: PathSummary,
    /// The directories of the tree, including `prepared` itself.
    #[serde(alias = "folders")]
    directories: Vec<PathStamp>,
    /// The outputs that are single files.
    singles: Vec<PathStamp>,
}

/// A published output of `public` or `private`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedOutput {
    /// Path with the section, for example `public/train.csv`.
    pub path: String,
    /// Number of files.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// BLAKE3 of the content, for a single file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Number of rows of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Columns of a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

/// Size and modification time of a file or directory. A directory has size 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PathStamp {
    path: String,
    bytes: u64,
    time: i64,
}

impl Manifest {
    /// Reads a manifest. `None` if it is missing, damaged, has an unknown format, or belongs to another competition.
    pub fn read(data_dir: &Path, competition: &str) -> Result<Option<Manifest>, ManifestError> {
        match Manifest::read_undamaged(data_dir, competition) {
            Err(ManifestError::Damaged { .. }) => Ok(None),
            read => read,
        }
    }

    /// Same as [`read`](Self::read), but a damaged manifest is an error.
    ///
    /// # Errors
    /// If the file exists but cannot be read, or is damaged, for example truncated.
    pub fn read_undamaged(
        data_dir: &Path,
        competition: &str,
    ) -> Result<Option<Manifest>, ManifestError> {
        #[derive(Deserialize)]
        struct Format {
            version: u32,
        }
        let path = data_dir.join(competition).join(MANIFEST_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(None),
                _ => return Err(ManifestError::io("read", &path)(error)),
            },
        };
        match serde_json::from_slice::<Manifest>(&bytes) {
            Ok(manifest) => Ok(Some(manifest).filter(|manifest| {
                manifest.version == VERSION && manifest.competition == competition
            })),
            Err(_) => match serde_json::from_slice::<Format>(&bytes) {
                Ok(format) if format.version != VERSION => Ok(None),
                _ => Err(ManifestError::Damaged { path }),
            },
        }
    }

    /// Returns whether the tree at `prepared` is complete, and its directories and single output files have the
    /// recorded times and sizes.
    pub fn is_intact(&self, prepared: &Path) -> bool {
        let same = |stamp: &PathStamp, is_directory: bool| {
            let now = PathStamp::of(prepared, &stamp.path, is_directory);
            stamp.time != NEVER && now.as_ref() == Some(stamp)
        };
        self.complete
            && self.directories.iter().all(|stamp| same(stamp, true))
            && self.singles.iter().all(|stamp| same(stamp, false))
    }

    /// Returns whether the published files can be treated as written to disk.
    ///
    /// Returns `false` if this machine has restarted since it wrote the files, because some bytes may be lost. If
    /// another machine wrote the files, or if an id of a boot is missing, a restart cannot be detected, and the result
    /// is `true`. `boot` is the id of the current boot, if available.
    pub fn is_durable(&self, boot: Option<&str>) -> bool {
        let is_from_other_host = self.host.is_some() && self.host != prep_cache::host();
        match (&self.boot, boot) {
            (Some(written), Some(now)) => written == now || is_from_other_host,
            _ => true,
        }
    }

    pub(super) fn directories(&self) -> BTreeSet<&str> {
        let directories = self.directories.iter().map(|stamp| stamp.path.as_str());
        directories.collect()
    }

    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.directories.iter().any(|stamp| stamp.path == path)
    }

    /// Records that the files of the tree are known to be on disk.
    pub(super) fn into_durable(self) -> Manifest {
        Manifest {
            boot: None,
            host: None,
            ..self
        }
    }

    /// Records during which boot of the machine the files were written. On a shared file system, also records which host
    /// wrote the files. `boot` is `None` if unknown.
    pub(super) fn written_in(self, boot: Option<&str>, home: &Path) -> Manifest {
        let boot = boot.map(str::to_owned);
        Manifest {
            host: recorded_host(home, boot.as_ref()),
            boot,
            ..self
        }
    }

    /// Records the current times of directories and single files. For `began`, see [`trusted_time`].
    pub(super) fn stamped(mut self, prepared: &Path, began: SystemTime) -> Manifest {
        let stamps = self.directories.iter_mut().map(|stamp| (stamp, true));
        for (stamp, is_directory) in
            stamps.chain(self.singles.iter_mut().map(|stamp| (stamp, false)))
        {
            let now = PathStamp::of(prepared, &stamp.path, is_directory);
            stamp.time = now.map_or(NEVER, |now| trusted_time(now.time, began));
        }
        self
    }

    /// Drops the recorded times, so that the next check compares all files with the listing.
    pub(super) fn distrusted(mut self) -> Manifest {
        for stamp in self.directories.iter_mut().chain(&mut self.singles) {
            stamp.time = NEVER;
        }
        self
    }

    /// Returns name and content of the manifest and of the listing, for a copy of the tree on another machine. Omits
    /// facts about this machine, such as paths, times and inodes. Therefore equal trees have equal records.
    pub fn for_copy(&self, data_dir: &Path) -> io::Result<[(&'static str, Vec<u8>); 2]> {
        let manifest = Manifest {
            preparation: None,
            unpublished: PathSummary::default(),
            ..self.clone().into_durable().distrusted()
        };
        let listing = PublishedListing::read(&data_dir.join(&self.competition));
        let listing = listing.map_err(io::Error::other)?;
        Ok([
            (MANIFEST_FILE, serde_json::to_vec_pretty(&manifest)?),
            (LISTING_FILE, listing.without_metadata()?),
        ])
    }

    /// Returns whether `content` was published at `path` (`private/test.csv`).
    ///
    /// # Errors
    /// Returns an error if the system cannot read the list of published files.
    pub fn has_published(
        &self,
        data_dir: &Path,
        path: &str,
        content: &[u8],
    ) -> Result<bool, ManifestError> {
        let published = self.outputs.iter().find(|output| output.path == path);
        if let Some(digest) = published.and_then(|output| output.digest) {
            return Ok(digest == Digest::of_bytes(content));
        }
        let listing = PublishedListing::read(&data_dir.join(&self.competition))?;
        let listed = listing.find(path).and_then(|file| file.written.sha256());
        Ok(listed == Some(Sha256::of_bytes(content)))
    }

    /// Returns the manifest of a complete publication, with the current times of its directories and files.
    ///
    /// # Errors
    /// Returns an error if an output is missing.
    pub(super) fn complete(
        publish: &Publish,
        key: Digest,
        tree: PublishedTree<'_>,
    ) -> Result<Manifest, ManifestError> {
        let (prepared, began) = (tree.prepared, tree.began);
        let singles = tree.outputs.iter();
        let singles = singles.filter(|output| !output.path.ends_with('/'));
        let singles = singles.map(|output| {
            let (path, missing) = (prepared.join(&output.path), io::ErrorKind::NotFound);
            let stamp = PathStamp::of(prepared, &output.path, false);
            stamp.ok_or_else(|| ManifestError::io("find", &path)(missing.into()))
        });
        let singles = singles.collect::<Result<_, _>>()?;
        let manifest = Manifest {
            complete: true,
            files: tree.outputs.iter().map(|output| output.files).sum(),
            bytes: tree.outputs.iter().map(|output| output.bytes).sum(),
            host: recorded_host(prepared, tree.boot.as_ref()),
            directories: PathStamp::without_times(&tree.directories),
            singles,
            boot: tree.boot,
            trees: tree.trees,
            origin: tree.origin,
            preparation: tree.preparation,
            outputs: tree.outputs,
            link_mode: tree.link_mode,
            unpublished: tree.unpublished,
            ..Manifest::empty(publish, key)
        };
        Ok(manifest.stamped(prepared, began))
    }

    fn empty(publish: &Publish, key: Digest) -> Manifest {
        Manifest {
            version: VERSION,
            competition: publish.competition.clone(),
            variant: publish.variant.clone(),
            complete: false,
            key,
            files: 0,
            bytes: 0,
            boot: None,
            host: None,
            trees: None,
            origin: None,
            preparation: None,
            outputs: Vec::new(),
            link_mode: publish.link_mode,
            unpublished: PathSummary::default(),
            directories: Vec::new(),
            singles: Vec::new(),
        }
    }

    /// Writes a manifest that marks the tree as incomplete. Call this before any file is written. The manifest lists
    /// the new `directories`. If the publication is interrupted, the next publication then recognises them as
    /// published. All other values come from `before`, the earlier manifest.
    pub(super) fn begin(
        publish: &Publish,
        key: Digest,
        before: Option<&Manifest>,
        directories: &BTreeSet<String>,
    ) -> Result<(), ManifestError> {
        let home = publish.home();
        let manifest = match before {
            Some(before) => before.clone(),
            None => Manifest::empty(publish, key),
        };
        let earlier = manifest.directories().into_iter().map(str::to_owned);
        let manifest = Manifest {
            complete: false,
            directories: PathStamp::without_times(
                &earlier.chain(directories.iter().cloned()).collect(),
            ),
            ..manifest
        };
        let manifest = manifest.written_in(publish.boot.as_deref(), &home);
        manifest.write_with_old_time(&home)
    }

    pub(super) fn write(&self, home: &Path) -> Result<(), ManifestError> {
        self.write_with_time(home, SystemTime::now())
    }

    /// Writes the manifest, and keeps the modification time of its file, because the published data are not more
    /// recent.
    pub(super) fn write_with_old_time(&self, home: &Path) -> Result<(), ManifestError> {
        let before = fs::metadata(home.join(MANIFEST_FILE)).and_then(|found| found.modified());
        self.write_with_time(home, before.unwrap_or(UNIX_EPOCH))
    }

    fn write_with_time(&self, home: &Path, time: SystemTime) -> Result<(), ManifestError> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let text = text.map_err(ManifestError::io("write", &home.join(MANIFEST_FILE)))?;
        replace_with(home, MANIFEST_FILE, Some(time), |out| out.write_all(&text))
    }
}

/// Renews the modification time of a writable manifest, because a run found the data complete and up to date. Also
/// removes a lock file that a killed process left. Other users cannot read the lock file, so they could not copy its
/// directory.
pub fn renew_record(data_dir: &Path, competition: &str) {
    let home = data_dir.join(competition);
    let manifest = fs::File::open(home.join(MANIFEST_FILE));
    let _ = manifest.and_then(|file| file.set_modified(SystemTime::now()));
    let lock_file = lock_file(&home);
    if lock_file.exists() {
        // Releasing the lock removes its file.
        drop(prep_cache::try_lock_at(&lock_file));
    }
}

impl PathStamp {
    /// Returns the stamp of `path` below `prepared`. `is_directory` states whether the path must be a directory or a file.
    /// Returns `None` if the path does not exist, or is of the other kind.
    ///
    /// Follows symbolic links: tools such as git-annex replace files by links.
    fn of(prepared: &Path, path: &str, is_directory: bool) -> Option<PathStamp> {
        let metadata = fs::metadata(prepared.join(path)).ok()?;
        let bytes = if is_directory { 0 } else { metadata.len() };
        let is_kind = metadata.is_dir() == is_directory;
        is_kind.then(|| PathStamp {
            path: path.to_owned(),
            bytes,
            time: prep_cache::modification_time(&metadata),
        })
    }

    /// Returns stamps without times for `prepared` and for directories in it.
    fn without_times(directories: &BTreeSet<String>) -> Vec<PathStamp> {
        let paths = std::iter::once("").chain(directories.iter().map(String::as_str));
        let mut stamps: Vec<PathStamp> = paths
            .map(|path| PathStamp {
                path: path.to_owned(),
                bytes: 0,
                time: NEVER,
            })
            .collect();
        stamps.dedup_by(|a, b| a.path == b.path);
        stamps
    }
}

/// Returns the host to record together with `boot`. Returns `None` if `boot` is `None`, or if no other machine shares
/// the file system.
fn recorded_host(directory: &Path, boot: Option<&String>) -> Option<String> {
    (boot.is_some() && prep_cache::is_shared(directory))
        .then(prep_cache::host)
        .flatten()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_hard_link(mode: &LinkMode) -> bool {
    *mode == LinkMode::HardLink
}

/// The facts about a complete publication that its manifest records.
pub(super) struct PublishedTree<'a> {
    pub prepared: &'a Path,
    pub outputs: Vec<PublishedOutput>,
    pub directories: BTreeSet<String>,
    pub unpublished: PathSummary,
    pub boot: Option<String>,
    pub trees: Option<Trees>,
    pub origin: Option<DataOrigin>,
    pub preparation: Option<PreparationRecord>,
    pub link_mode: LinkMode,
    /// When the publication began. All metadata were read later.
    pub began: SystemTime,
}
