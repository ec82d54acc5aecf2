//! The manifest of a published competition, which lists its outputs and records whether they are complete.
//!
//! ```text
//! DATA/ID/prepared.json    Manifest: key, variant, outputs, and modification times of the directories
//! DATA/ID/prepared.files   the list of files with size, time, inode, SHA-256 and origin of the content (see `listing`)
//! DATA/ID/prepared.lock    locked while a process publishes
//! DATA/ID/prepared.failed  FailedRun: exists if the last run failed or was stopped
//! ```
//!
//! A quick check of the manifest needs one `stat` per directory and per output that is a single file, regardless of the
//! number of files in directories. Adding, removing or replacing a file changes the time of its directory. If a time
//! differs, all files are compared with the listing (see `examine`). If a file in an output directory is modified in place,
//! the quick check does not notice this. An audit, which compares digests, does.
//!
//! The modification time of `prepared.json` is the time of the last run that found the data complete and up to date.
//! Programs such as Make use it. Only a run renews this time. If a publication is interrupted, its manifest keeps the time
//! of the earlier manifest, or has the time 1970-01-01 if there was no earlier manifest.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use prep_cache::{Digest, LinkMode};
use prep_digests::{DataOrigin, Sha256, Trees};
use serde::{Deserialize, Serialize};

use super::Publish;
use super::home::{ManifestError, NEVER, PathSummary, replace_with, trusted_time};
use super::listing::PublishedListing;
use super::preparation::PreparationRecord;

/// Name of the manifest in the data directory of a competition.
pub const MANIFEST_FILE: &str = "prepared.json";
const VERSION: u32 = 2;

/// The content of a competition's `prepared` directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// Id of the competition.
    pub competition: String,
    /// Variant of the pipeline.
    pub variant: String,
    /// False during a publication, and after an interrupted one.
    pub complete: bool,
    /// Key of the publication. Equal keys mean equal trees.
    pub key: Digest,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Identifier of the boot during which files of the tree were last written. `None` if the files are known to be on
    /// disk, or if boots cannot be identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) boot: Option<String>,
    /// The machine that wrote the files, if several machines share the file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// Digests of `public` and `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trees: Option<Trees>,
    /// The origin of the tree. `None` until the run that published it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<DataOrigin>,
    /// How the tree was prepared. `None` until the run that published it has recorded it.
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
    /// Path, including the section, for example `public/train.csv`.
    pub path: String,
    /// Number of files.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// BLAKE3 of the content, if the output is a single file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Number of rows of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Columns of a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

/// Size and modification time of a file or directory. The size of a directory is recorded as 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PathStamp {
    path: String,
    bytes: u64,
    time: i64,
}

impl Manifest {
    /// Reads the manifest of a competition. Returns `None` if it does not exist, has an unknown format, or was copied from a
    /// different competition. Also returns `None` if it is damaged, because the next publication replaces it.
    ///
    /// # Errors
    /// If the file exists but cannot be read.
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

    /// Returns whether the tree at `prepared` is complete and has the recorded times and sizes. Even if they differ, the
    /// files may still have their published content.
    pub fn is_intact(&self, prepared: &Path) -> bool {
        let same = |stamp: &PathStamp, is_directory: bool| {
            let now = PathStamp::of(prepared, &stamp.path, is_directory);
            stamp.time != NEVER && now.as_ref() == Some(stamp)
        };
        self.complete
            && self.directories.iter().all(|stamp| same(stamp, true))
            && self.singles.iter().all(|stamp| same(stamp, false))
    }

    /// Returns whether the published files can be treated as written to disk. `boot` is the id of the current boot, or
    /// `None` if the system has no boot ids. Returns false if this machine has restarted since it wrote the files, because
    /// some of their bytes may not have reached the disk before the restart. Returns true if another machine wrote the
    /// files, because only that machine can check whether it has restarted, and true if boots cannot be identified.
    pub fn is_durable(&self, boot: Option<&str>) -> bool {
        let other = self.host.is_some() && self.host != prep_cache::host();
        match (&self.boot, boot) {
            (Some(written), Some(now)) => written == now || other,
            _ => true,
        }
    }

    /// Returns the paths of the publication's directories, below `prepared`.
    pub(super) fn directories(&self) -> BTreeSet<&str> {
        let directories = self.directories.iter().map(|stamp| stamp.path.as_str());
        directories.collect()
    }

    /// Returns the manifest of a tree that is known to be on disk.
    pub(super) fn into_durable(self) -> Manifest {
        Manifest {
            boot: None,
            host: None,
            ..self
        }
    }

    /// Returns the manifest with `boot` as the boot during which the files were written, and with this host if several
    /// machines share the file system. `boot` is `None` if boots cannot be identified.
    pub(super) fn written_in(self, boot: Option<&str>, home: &Path) -> Manifest {
        let boot = boot.map(str::to_owned);
        Manifest {
            host: writer(home, boot.as_ref()),
            boot,
            ..self
        }
    }

    /// Returns the manifest with the current times of its directories and single files. For `began`, see [`trusted_time`].
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

    /// Returns the manifest without the times of directories. Then [`is_intact`](Self::is_intact) returns false, so the next
    /// check compares all files with the listing.
    pub(super) fn distrusted(mut self) -> Manifest {
        for stamp in &mut self.directories {
            stamp.time = NEVER;
        }
        self
    }

    /// Returns whether `content` is the content that was published at `path` (`private/test.csv`).
    pub fn has_published(&self, data_dir: &Path, path: &str, content: &[u8]) -> bool {
        let noted = self.outputs.iter().find(|output| output.path == path);
        if let Some(digest) = noted.and_then(|output| output.digest) {
            return digest == Digest::of_bytes(content);
        }
        let listing = PublishedListing::read(&data_dir.join(&self.competition));
        let listed = listing.find(path).and_then(|file| file.written.sha256());
        listed == Some(Sha256::of_bytes(content))
    }

    /// Creates the manifest of a complete tree.
    pub(super) fn complete(publish: &Publish, key: Digest, tree: PublishedTree<'_>) -> Manifest {
        let (prepared, began) = (tree.prepared, tree.began);
        let singles = tree.outputs.iter();
        let singles = singles.filter(|output| !output.path.ends_with('/'));
        let singles = singles.filter_map(|output| PathStamp::of(prepared, &output.path, false));
        let singles = singles.collect();
        let manifest = Manifest {
            complete: true,
            files: tree.outputs.iter().map(|output| output.files).sum(),
            bytes: tree.outputs.iter().map(|output| output.bytes).sum(),
            host: writer(prepared, tree.boot.as_ref()),
            directories: PathStamp::unknown(&tree.directories),
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
        manifest.stamped(prepared, began)
    }

    /// Creates the manifest of a publication that has written nothing yet.
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

    /// Writes a manifest that marks the tree as incomplete. It also contains `directories`, so that the next publication
    /// recognises them if this one is interrupted, and the current boot, because files are written from now on. All other
    /// values come from `before`, the manifest of the earlier publication, if there is one.
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
            directories: PathStamp::unknown(&earlier.chain(directories.iter().cloned()).collect()),
            ..manifest
        };
        let manifest = manifest.written_in(publish.boot.as_deref(), &home);
        manifest.write_with_old_time(&home)
    }

    pub(super) fn write(&self, home: &Path) -> Result<(), ManifestError> {
        self.write_with_time(home, SystemTime::now())
    }

    /// Replaces the manifest. The file keeps its modification time, because a change of the manifest alone does not make the
    /// data more recent.
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

/// Renews the modification time of a competition's manifest, because a run found its data complete and up to date. Does
/// nothing if the manifest does not exist or is not writable.
pub fn renew_record(data_dir: &Path, competition: &str) {
    let path = data_dir.join(competition).join(MANIFEST_FILE);
    let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

impl PathStamp {
    /// Returns the stamp of the file or directory `path` below `prepared`. Returns `None` if `path` does not exist, or if
    /// it is not a directory although `is_directory` is true, or vice versa. Follows symbolic links, because tools for
    /// content-addressed storage, such as git-annex, replace files by links.
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

    /// Returns stamps without times for `prepared` itself and for directories in it.
    fn unknown(directories: &BTreeSet<String>) -> Vec<PathStamp> {
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

/// Returns the host name to record together with `boot`. Returns `None` if no other machine can write to the file system of
/// `directory`, or if `boot` is `None`.
fn writer(directory: &Path, boot: Option<&String>) -> Option<String> {
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

/// A complete publication in a prepared directory, and the files of other programs there.
pub(super) struct PublishedTree<'a> {
    /// The prepared directory.
    pub prepared: &'a Path,
    pub outputs: Vec<PublishedOutput>,
    /// Paths of the directories below `prepared`.
    pub directories: BTreeSet<String>,
    pub unpublished: PathSummary,
    /// See [`Manifest::boot`].
    pub boot: Option<String>,
    pub trees: Option<Trees>,
    pub origin: Option<DataOrigin>,
    pub preparation: Option<PreparationRecord>,
    pub link_mode: LinkMode,
    /// The time at which the publication began. All metadata were read later.
    pub began: SystemTime,
}
