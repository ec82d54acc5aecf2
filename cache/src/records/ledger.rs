//! The ledger, the history of runs, and the file format of all records.
//!
//! The objects of a ledger entry are written before the entry, but an object may have been removed since then. A caller may
//! use an entry only if [`Store::missing`] returns an empty list.
//!
//! # The history
//!
//! For each competition, variant and target directory, the history contains the key records from which the target was
//! last published. If a step runs again, its new key record is compared with its key record in the history. The fields
//! that differ are the reason why it runs. A run that publishes nothing does not replace the key records in the
//! history.
//!
//! # Sealed records
//!
//! Each record is a small JSON file, and its first line is a hexadecimal BLAKE3 hash. The hash covers the name of the
//! record's directory, the record's key and the JSON. A file that was truncated, modified or copied to the path of
//! another key is treated as absent. A new version replaces the file by an atomic rename.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::digest::hex;
use crate::layout::Bucket;
use crate::store::write_all;
use crate::{Digest, Store, StoreError};

/// The store updates an entry's time of last use at most once in this period.
const USE_RESOLUTION: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Returns the entry of a step key, if the store has an intact one. Garbage collection treats this lookup as a use of
    /// the entry.
    ///
    /// # Errors
    /// If an entry exists but cannot be read.
    pub fn lookup(&self, key: &Digest) -> Result<Option<LedgerEntry>, StoreError> {
        self.entry_of(key)
    }

    /// Same as [`lookup`](Self::lookup), but does not parse the key record.
    ///
    /// # Errors
    /// If an entry exists but cannot be read.
    pub fn lookup_result(&self, key: &Digest) -> Result<Option<StepResult>, StoreError> {
        self.entry_of(key)
    }

    fn entry_of<R: DeserializeOwned>(
        &self,
        key: &Digest,
    ) -> Result<Option<LedgerEntry<R>>, StoreError> {
        match self.load::<LedgerEntry<R>>(Bucket::Ledger, key)? {
            RecordRead::Found(entry, file) => {
                if !self.is_read_only() {
                    file.note_use();
                }
                self.announce_lengths(&entry);
                Ok(Some(entry))
            }
            RecordRead::Absent | RecordRead::Garbled => Ok(None),
        }
    }

    /// Returns the entry of a step key from this store or from its tier, the cache that several machines share.
    /// `competition` is the id of the step's competition.
    ///
    /// # Errors
    /// The errors of `lookup`, and an error if an entry of the tier cannot be stored.
    pub fn find(&self, key: &Digest, competition: &str) -> Result<Option<StepResult>, StoreError> {
        match self.lookup_result(key)? {
            None => Ok(self
                .lookup_in_tier(key, competition)?
                .map(LedgerEntry::without_record)),
            found => Ok(found),
        }
    }

    /// Writes the entry of a step key. The objects of the entry must already be in the store.
    ///
    /// # Errors
    /// If the entry cannot be written. The step must then fail, because later runs would not find its outputs.
    pub fn record(&self, key: &Digest, entry: &LedgerEntry) -> Result<(), StoreError> {
        self.save(Bucket::Ledger, key, entry)
    }

    /// Returns the missing objects of an entry, including those that were only kept in memory
    /// ([`unstored`](LedgerEntry::unstored)). An object that the tier may have is not treated as missing. This function does
    /// not check the content of existing files.
    pub fn missing<R>(&self, entry: &LedgerEntry<R>) -> Vec<Digest> {
        let missing = self.absent(entry.objects().chain(&entry.unstored));
        missing
            .filter(|digest| !self.may_be_in_tier(digest))
            .collect()
    }

    /// Returns objects of an entry that are not in this store, even if the tier has them. Ignores objects that were only kept
    /// in memory.
    pub fn missing_locally<R>(&self, entry: &LedgerEntry<R>) -> Vec<Digest> {
        self.absent(entry.objects()).collect()
    }

    fn absent<'a>(
        &self,
        objects: impl Iterator<Item = &'a Digest>,
    ) -> impl Iterator<Item = Digest> {
        objects
            .filter(|digest| self.len_of(digest).is_none())
            .copied()
    }
}

/// The file of a record, and its time of last use.
pub(crate) struct RecordFile {
    file: File,
    pub last_use: Option<SystemTime>,
}

impl RecordFile {
    /// Sets the record's time of last use to now. Ignores errors, because only the file's owner can change the time.
    fn note_use(&self) {
        let now = SystemTime::now();
        let is_recent = self.last_use.is_some_and(|last| {
            now.duration_since(last)
                .is_ok_and(|age| age < USE_RESOLUTION)
        });
        if !is_recent {
            let _ = self.file.set_modified(now);
        }
    }
}

/// Returns the current time in seconds since 1970.
pub fn unix_seconds() -> u64 {
    seconds(SystemTime::now())
}

pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The outputs of a step, and the key record that determined them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry<R = serde_json::Value> {
    /// The key record. Its digest is the key. A [`StepResult`] does not contain it.
    pub record: R,
    /// Digests of the step's outputs, by name.
    pub outputs: BTreeMap<String, Digest>,
    /// Further objects that the outputs refer to, for example the files of a tree.
    #[serde(default)]
    pub references: Vec<Digest>,
    /// Objects that were only kept in memory. If a later step needs one, this step runs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstored: Vec<Digest>,
    /// Lengths in bytes of the [`objects`](Self::objects), as limits for fetching them. Empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<u64>,
    /// Time of the step's run, in seconds since 1970.
    pub created: u64,
    /// Duration of the step's run in milliseconds.
    pub millis: u64,
    /// Whether the step ran on another machine. If so, the objects of this entry are fetched from the tier when they are
    /// first opened.
    #[serde(
        rename = "elsewhere",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_remote: bool,
    /// Whether a garbage collection removed objects of this entry. If a later step needs one, this step runs again.
    #[serde(
        rename = "discarded",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_discarded: bool,
}

/// An entry without its key record. Most lookups need only the outputs, and the key record is the longest part of an entry.
pub type StepResult = LedgerEntry<IgnoredAny>;

impl<R> LedgerEntry<R> {
    fn without_record(self) -> StepResult {
        LedgerEntry {
            record: IgnoredAny,
            outputs: self.outputs,
            references: self.references,
            unstored: self.unstored,
            lengths: self.lengths,
            created: self.created,
            millis: self.millis,
            is_remote: self.is_remote,
            is_discarded: self.is_discarded,
        }
    }

    /// Returns whether objects of this entry may be missing from the store, although nothing is damaged.
    pub(crate) fn may_lack_objects(&self) -> bool {
        self.is_remote || self.is_discarded
    }

    /// Returns the outputs and references: the objects that the store or the tier must have for this entry.
    pub fn objects(&self) -> impl Iterator<Item = &Digest> {
        self.outputs.values().chain(&self.references)
    }
}

/// The steps of the last publication, or of the last run if nothing was published yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Time of the run in seconds since 1970. Garbage collection treats the run's ledger entries as used at this time.
    pub recorded: u64,
    /// The steps and sources, by name.
    pub steps: BTreeMap<String, HistoryStep>,
    /// Failed steps that would fail again with the same key record. A failed step remains in this map until it succeeds, even
    /// if later runs do not contain the step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, FailedStep>,
    /// Earlier publications, latest first. The key records of their steps are in the ledger until garbage collection removes
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierRun>,
    /// The last run, if it published nothing and an earlier run did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpublished: Option<EarlierRun>,
}

/// The time and the step keys of an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierRun {
    /// Time of the run in seconds since 1970.
    pub recorded: u64,
    /// The key of each step, by the step's name.
    pub steps: BTreeMap<String, Digest>,
}

/// A history contains at most this number of earlier runs. Older runs are dropped.
const MAX_EARLIER_RUNS: usize = 20;

impl History {
    /// Returns the time and keys of this run.
    pub fn as_earlier_run(&self) -> EarlierRun {
        EarlierRun::new(self.recorded, &self.steps)
    }

    /// Returns when a run was last recorded, in seconds since 1970.
    pub(crate) fn last_recorded(&self) -> u64 {
        let unpublished = self.unpublished.as_ref();
        unpublished.map_or(self.recorded, |run| run.recorded.max(self.recorded))
    }

    /// Returns the step keys of all recorded runs.
    pub fn keys(&self) -> impl Iterator<Item = Digest> {
        let last = self.steps.values().map(|step| step.key);
        let others = self.earlier.iter().chain(&self.unpublished);
        last.chain(others.flat_map(|run| run.steps.values().copied()))
    }

    /// Returns the history after a new run at the time `recorded` with `steps` and `failed`. The last publication of `self`
    /// becomes an earlier one, unless the new run has the same step keys.
    #[must_use]
    pub fn followed_by(
        self,
        recorded: u64,
        steps: BTreeMap<String, HistoryStep>,
        failed: BTreeMap<String, FailedStep>,
    ) -> History {
        let before = self.as_earlier_run();
        let mut earlier = self.earlier;
        if !before.steps.is_empty() && before.steps != EarlierRun::new(recorded, &steps).steps {
            earlier.insert(0, before);
            earlier.truncate(MAX_EARLIER_RUNS);
        }
        History {
            recorded,
            steps,
            failed,
            earlier,
            unpublished: None,
        }
    }

    /// Returns the history after a new run that published nothing, although an earlier run did.
    #[must_use]
    pub fn followed_by_unpublished(
        self,
        recorded: u64,
        steps: &BTreeMap<String, HistoryStep>,
        failed: BTreeMap<String, FailedStep>,
    ) -> History {
        History {
            failed,
            unpublished: Some(EarlierRun::new(recorded, steps)),
            ..self
        }
    }
}

impl EarlierRun {
    fn new(recorded: u64, steps: &BTreeMap<String, HistoryStep>) -> EarlierRun {
        let steps = steps.iter();
        EarlierRun {
            recorded,
            steps: steps.map(|(name, step)| (name.clone(), step.key)).collect(),
        }
    }
}

/// The key of a step in a run, and the key record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// The step's key: the digest of `record`. For a source, the digest of its value.
    pub key: Digest,
    /// Everything that determined the step's outputs.
    pub record: serde_json::Value,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    /// Everything that determined the failure.
    pub record: serde_json::Value,
    /// The error message.
    pub message: String,
}

/// The runs that a history describes: runs of one variant into one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryScope {
    variant: String,
    directory: PathBuf,
}

impl HistoryScope {
    /// Returns the scope of runs of `variant` into `directory`. Two paths of one directory give the same scope.
    pub fn new(variant: &str, directory: &Path) -> HistoryScope {
        HistoryScope {
            variant: variant.to_owned(),
            directory: resolved(directory),
        }
    }

    pub(crate) fn name_of(&self, competition: &str) -> Digest {
        // The lengths distinguish ("a", "bc") from ("ab", "c").
        let (lengths, variant) = ((competition.len(), self.variant.len()), &self.variant);
        let name = format!("{} {} {competition} {variant} ", lengths.0, lengths.1);
        let mut name = name.into_bytes();
        name.extend_from_slice(self.directory.as_os_str().as_encoded_bytes());
        Digest::of_bytes(&name)
    }
}

/// Returns the absolute path. Resolves symbolic links in the part of the path that exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for existing in absolute.ancestors() {
        let (Ok(real), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing))
        else {
            continue;
        };
        return match rest.as_os_str().is_empty() {
            true => real,
            false => real.join(rest),
        };
    }
    absolute
}

/// A stored history. The directory is only for people who read the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedHistory {
    pub(crate) competition: String,
    pub(crate) variant: String,
    #[serde(default)]
    directory: String,
    pub(crate) history: History,
}

impl Store {
    /// Returns the history of a competition for a variant and target directory (`scope`), if the store has an intact one.
    ///
    /// # Errors
    /// If the record exists but cannot be read.
    pub fn last_run(
        &self,
        competition: &str,
        scope: &HistoryScope,
    ) -> Result<Option<History>, StoreError> {
        match self.load(Bucket::History, &scope.name_of(competition))? {
            RecordRead::Found(NamedHistory { history, .. }, _) => Ok(Some(history)),
            RecordRead::Absent | RecordRead::Garbled => Ok(None),
        }
    }

    /// Stores the history of a competition for a variant and target directory (`scope`). Replaces the earlier history.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn set_last_run(
        &self,
        competition: &str,
        scope: &HistoryScope,
        history: &History,
    ) -> Result<(), StoreError> {
        let named = NamedHistory {
            competition: competition.to_owned(),
            variant: scope.variant.clone(),
            directory: scope.directory.display().to_string(),
            history: history.clone(),
        };
        self.save(Bucket::History, &scope.name_of(competition), &named)
    }
}

/// Length of the hexadecimal hash in the first line of a record.
const SEAL_LEN: usize = 2 * Digest::LEN;

/// A longer file is treated as garbled without reading it, because no record is this long.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// The result of reading a record.
pub(crate) enum RecordRead<T> {
    Absent,
    /// The file was truncated, modified, or copied from another path.
    Garbled,
    /// The record, and the open file that contains it.
    Found(T, RecordFile),
}

impl Store {
    pub(crate) fn load<T: DeserializeOwned>(
        &self,
        bucket: Bucket,
        key: &Digest,
    ) -> Result<RecordRead<T>, StoreError> {
        let path = bucket.file(self.root(), key);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(RecordRead::Absent),
            Err(error) => return Err(StoreError::io("open", &path, error)),
        };
        let error = |source| StoreError::io("read", &path, source);
        let metadata = file.metadata().map_err(error)?;
        let bytes = match metadata.len() > MAX_RECORD_BYTES || metadata.is_dir() {
            true => None,
            false => read_record(&file, metadata.len()).map_err(error)?,
        };
        let record = bytes.and_then(|bytes| unseal(bucket, key, &bytes));
        let last_use = metadata.modified().ok();
        Ok(match record {
            Some(record) => RecordRead::Found(record, RecordFile { file, last_use }),
            None => RecordRead::Garbled,
        })
    }

    pub(crate) fn save<T: Serialize>(
        &self,
        bucket: Bucket,
        key: &Digest,
        record: &T,
    ) -> Result<(), StoreError> {
        let path = bucket.file(self.root(), key);
        let bytes = sealed(bucket, key, record)
            .map_err(|error| StoreError::io("write as JSON", &path, error.into()))?;
        let temp = self.temp_file()?;
        write_all(temp.as_file(), temp.path(), &bytes)?;
        self.rename_into(temp, &path)
    }
}

/// Returns `None` if the file is shorter than `len` bytes.
fn read_record(file: &File, len: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Some(bytes)),
        Err(source) if source.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(source),
    }
}

fn sealed<T: Serialize>(
    bucket: Bucket,
    key: &Digest,
    record: &T,
) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(record)?;
    let mut bytes = seal(bucket, key, &json).into_bytes();
    bytes.push(b'\n');
    bytes.extend(json);
    Ok(bytes)
}

fn unseal<T: DeserializeOwned>(bucket: Bucket, key: &Digest, bytes: &[u8]) -> Option<T> {
    let (found, rest) = bytes.split_at_checked(SEAL_LEN)?;
    let json = rest.strip_prefix(b"\n")?;
    if found != seal(bucket, key, json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn seal(bucket: Bucket, key: &Digest, json: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bucket.name().as_bytes());
    hasher.update(key.as_bytes());
    hasher.update(json);
    hex(hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_paths_of_one_directory_give_the_same_scope() -> Result<(), Box<dyn std::error::Error>> {
        let temp = tempfile::tempdir()?;
        let (one, other) = (temp.path().join("one"), temp.path().join("other"));
        let before = HistoryScope::new("v1", &one.join("inner"));
        std::fs::create_dir_all(one.join("inner"))?;
        std::os::unix::fs::symlink(&one, &other)?;
        let name = |variant: &str, path: &Path| HistoryScope::new(variant, path).name_of("a");
        assert_eq!(before.name_of("a"), name("v1", &one.join("inner")));
        assert_eq!(before.name_of("a"), name("v1", &other.join("inner")));
        assert_ne!(before.name_of("a"), name("v1", &one));
        assert_ne!(before.name_of("a"), name("fixed", &one.join("inner")));
        assert_ne!(before.name_of("a"), before.name_of("b"));
        Ok(())
    }
}
