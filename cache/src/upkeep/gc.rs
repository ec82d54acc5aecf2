//! Garbage collection, and the removal of all results of given competitions.
//!
//! An object is kept while a ledger entry names it. The last use of an entry is the latest of three times: its last lookup
//! (accurate to a day), its last write, and the last recorded run that used its key.
//!
//! A collection has these steps:
//!
//! 1. It removes unreadable records, and entries that name missing objects. It keeps entries from a tier, such as a
//!    remote, because the tier may still have their objects.
//! 2. It removes ledger entries, records of runs, and lists of the members of bundles, if they were unused for more than
//!    `keep_days` days.
//! 3. It removes objects that no entry names, if they are at least a day old. It also removes damaged objects that have
//!    been in quarantine for a day.
//! 4. If the objects need more than `max_size` bytes, it first removes the remaining objects that no entry names. If this
//!    is not enough, it removes the least recently used entries with the objects that only they name.
//!
//! Step 4 keeps an entry that the last run into a data directory used, and removes only its objects. Because the
//! entries remain, that data directory stays up to date, even if its bundle no longer exists and no step can run again.
//!
//! A collection needs exclusive access to the store ([`Store::in_use`]), but objects that were opened earlier remain
//! readable.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::stat;
use super::stat::{MIN_GARBAGE_AGE, age};
use crate::layout::Bucket;
use crate::locks::file::describe_holder;
use crate::records::ledger::{HistoryScope, NamedHistory, RecordRead, seconds};
use crate::upkeep::stat::Amount;
use crate::{Digest, LedgerEntry, LockGuard, SourceRecord, StepResult, Store, StoreError};

/// Limits of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcOptions {
    /// Maximum total size of the objects in bytes after the collection. `None` means unlimited.
    pub max_size: Option<u64>,
    /// Days without use after which a ledger entry is removed. `None` means never.
    pub keep_days: Option<u32>,
    /// Whether the collection only reports the files that it would remove.
    pub dry_run: bool,
}

/// The files that a collection removed (in a dry run: would remove), and the number of remaining objects.
#[derive(Debug, Default)]
pub struct GcReport {
    /// Removed objects and their lengths, sorted.
    pub objects: Vec<(Digest, u64)>,
    /// Removed files of damaged objects in quarantine.
    pub quarantined: Vec<PathBuf>,
    /// Total length of the removed objects, including those in quarantine.
    pub removed_bytes: u64,
    /// Bytes of disk space actually freed. A removed object with a hard link outside the store still occupies space.
    pub freed_bytes: u64,
    /// Keys of removed ledger entries, sorted.
    pub entries: Vec<Digest>,
    /// Keys of ledger entries that stay, although their objects were removed. Sorted.
    pub discarded: Vec<Digest>,
    /// Other removed records: unreadable records, old records of runs, old member lists of bundles, and digests of
    /// outside files if the file no longer exists.
    pub records: Vec<PathBuf>,
    /// Number of temporary files of killed processes that were removed.
    pub leftovers: usize,
    /// Number of objects that [`Store::forget`] keeps, because a remaining history also uses their entries.
    pub shared: usize,
    /// The objects that remain.
    pub kept: Amount,
    /// Errors from removing objects and records.
    pub failed: Vec<StoreError>,
}

impl GcReport {
    /// Returns the number of removed objects, including those in quarantine.
    #[must_use]
    pub fn removed_objects(&self) -> usize {
        self.objects.len() + self.quarantined.len()
    }
}

#[derive(Clone, Copy)]
struct ObjectInfo {
    len: u64,
    modified: SystemTime,
    /// Number of hard links of the object's file.
    links: u64,
    /// Number of entries that name the object.
    named: usize,
}

struct Entry {
    key: Digest,
    last_use: u64,
    /// Whether the last run into a data directory used the entry.
    is_recorded: bool,
    objects: Vec<Digest>,
}

/// The state of a collection: the objects and entries that stay, and the report of those that are removed. To *drop* an
/// object or entry means to move it to the report. [`Store::remove`] then removes the files.
pub(crate) struct Collection {
    now: SystemTime,
    objects: BTreeMap<Digest, ObjectInfo>,
    entries: Vec<Entry>,
    report: GcReport,
}

impl Store {
    /// Collects garbage: removes old entries, and objects that no entry names.
    ///
    /// # Errors
    /// - [`StoreError::InUse`] if a run uses the store, except in a dry run
    /// - [`StoreError::LockLost`] if a run started while this process was suspended
    /// - errors of listing directories or removing entries
    pub fn gc(&self, options: &GcOptions) -> Result<GcReport, StoreError> {
        let lock = self.lock_for_gc(options)?;
        let mut collection = self.survey(options)?;
        let now = collection.now;
        collection.drop_entries(|entry| is_unused(now, entry.last_use, options.keep_days));
        collection.drop_unnamed(MIN_GARBAGE_AGE);
        if let Some(max_size) = options.max_size {
            collection.shrink(max_size);
        }
        self.survey_quarantine(now, &mut collection.report)?;
        let mut report = collection.finish();
        report.leftovers = stat::sweep(self.root(), options.dry_run)?;
        if !options.dry_run {
            self.remove(&mut report, &lock)?;
            stat::sweep_locks(self.root())?;
        }
        Ok(report)
    }

    /// Takes the exclusive lock. A dry run takes a shared lock, which only prevents other collections.
    pub(crate) fn lock_for_gc(&self, options: &GcOptions) -> Result<LockGuard, StoreError> {
        if options.dry_run {
            return self.in_use();
        }
        self.must_be_writable()?;
        self.try_exclusive()?.ok_or_else(|| StoreError::InUse {
            root: self.root().to_path_buf(),
            holder: describe_holder(&self.use_lock()),
        })
    }

    /// Lists the content of the store, and does step 1 of the collection.
    pub(crate) fn survey(&self, options: &GcOptions) -> Result<Collection, StoreError> {
        let mut collection = Collection {
            now: SystemTime::now(),
            objects: BTreeMap::new(),
            entries: Vec::new(),
            report: GcReport::default(),
        };
        for digest in stat::list(self.root(), Bucket::Objects)?.digests {
            let path = self.object_path(&digest);
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            let found = ObjectInfo {
                len: metadata.len(),
                modified: metadata.modified().unwrap_or(UNIX_EPOCH),
                links: metadata.nlink(),
                named: 0,
            };
            collection.objects.insert(digest, found);
        }
        let uses = self.survey_history(options, &mut collection)?;
        self.survey_sources(&mut collection.report)?;
        self.survey_bundles(options, &mut collection)?;
        for key in stat::list(self.root(), Bucket::Ledger)?.digests {
            let (entry, file) = match self.load::<StepResult>(Bucket::Ledger, &key) {
                Ok(RecordRead::Found(entry, file)) => (entry, file),
                Ok(RecordRead::Absent) => continue,
                Ok(RecordRead::Garbled) => {
                    let path = Bucket::Ledger.file(self.root(), &key);
                    collection.report.records.push(path);
                    continue;
                }
                // Stop: the objects of an unreadable entry are unknown, so the collection might remove them.
                Err(error) => return Err(error),
            };
            let last_use = seconds(file.last_use.unwrap_or(UNIX_EPOCH))
                .max(entry.created)
                .max(uses.get(&key).copied().unwrap_or(0));
            collection.add(key, last_use, uses.contains_key(&key), &entry);
        }
        Ok(collection)
    }

    /// Drops unreadable and unused histories. For each step key of the other histories, returns the time of the last run
    /// that used it, in seconds since 1970.
    fn survey_history(
        &self,
        options: &GcOptions,
        collection: &mut Collection,
    ) -> Result<HashMap<Digest, u64>, StoreError> {
        let mut uses: HashMap<Digest, u64> = HashMap::new();
        for name in stat::list(self.root(), Bucket::History)?.digests {
            match self.load::<NamedHistory>(Bucket::History, &name)? {
                RecordRead::Found(NamedHistory { history, .. }, _)
                    if !is_unused(collection.now, history.last_recorded(), options.keep_days) =>
                {
                    for step in history.steps.values() {
                        let last = uses.entry(step.key).or_default();
                        *last = history.recorded.max(*last);
                    }
                }
                RecordRead::Found(..) | RecordRead::Garbled => {
                    let path = Bucket::History.file(self.root(), &name);
                    collection.report.records.push(path);
                }
                RecordRead::Absent => {}
            }
        }
        Ok(uses)
    }

    /// Drops unreadable records of sources, and unnamed records if their file no longer exists.
    fn survey_sources(&self, report: &mut GcReport) -> Result<(), StoreError> {
        for key in stat::list(self.root(), Bucket::Sources)?.digests {
            let is_garbage = match self.load::<SourceRecord>(Bucket::Sources, &key) {
                Ok(RecordRead::Found(source, _)) => {
                    !source.is_named() && is_gone(Path::new(&source.path))
                }
                Ok(RecordRead::Garbled) => true,
                Ok(RecordRead::Absent) => false,
                Err(error) => {
                    report.failed.push(error);
                    false
                }
            };
            if is_garbage {
                let path = Bucket::Sources.file(self.root(), &key);
                report.records.push(path);
            }
        }
        Ok(())
    }

    /// Drops unused member lists of bundles, and temporary files that killed processes left in the directory of these lists.
    fn survey_bundles(
        &self,
        options: &GcOptions,
        collection: &mut Collection,
    ) -> Result<(), StoreError> {
        let mut lists = stat::entries(&Bucket::Bundles.dir(self.root()))?;
        lists.sort_unstable();
        for (name, path) in lists {
            let Ok(modified) = path.symlink_metadata().and_then(|found| found.modified()) else {
                continue;
            };
            let is_leftover =
                !name.ends_with(".gz") && age(collection.now, modified) >= MIN_GARBAGE_AGE;
            if is_leftover || is_unused(collection.now, seconds(modified), options.keep_days) {
                collection.report.records.push(path);
            }
        }
        Ok(())
    }

    /// Drops damaged objects that have been in quarantine for a day.
    fn survey_quarantine(&self, now: SystemTime, report: &mut GcReport) -> Result<(), StoreError> {
        for (name, path) in stat::entries(&Bucket::Quarantine.dir(self.root()))? {
            // The name ends with the time at which the object was moved.
            let nanos = name.rsplit_once('-').map(|(_, nanos)| nanos.parse());
            if let (Some(Ok(nanos)), Ok(file)) = (nanos, path.symlink_metadata())
                && age(now, UNIX_EPOCH + Duration::from_nanos(nanos)) >= MIN_GARBAGE_AGE
            {
                report.removed_bytes += file.len();
                report.freed_bytes += file.len() * u64::from(file.nlink() == 1);
                report.quarantined.push(path);
            }
        }
        Ok(())
    }

    /// Removes entries, records and objects, in this order. If an entry or record cannot be removed, removes no object.
    /// Finally marks the entries that stay without their objects, because on a full disk, this needs the freed space.
    pub(crate) fn remove(&self, report: &mut GcReport, lock: &LockGuard) -> Result<(), StoreError> {
        let entries = report.entries.iter();
        let entries = entries.map(|key| Bucket::Ledger.file(self.root(), key));
        let records = report.records.iter().chain(&report.quarantined);
        for path in entries.chain(records.cloned()) {
            lock.check()?;
            remove_file(&path)?;
        }
        for (digest, _) in &report.objects {
            lock.check()?;
            self.forget_verified(digest);
            if let Err(error) = remove_file(&self.object_path(digest)) {
                report.failed.push(error);
            }
        }
        for key in &report.discarded {
            lock.check()?;
            if let RecordRead::Found(entry, _) = self.load::<LedgerEntry>(Bucket::Ledger, key)? {
                let is_discarded = true;
                let entry = LedgerEntry {
                    is_discarded,
                    ..entry
                };
                report.failed.extend(self.record(key, &entry).err());
            }
        }
        Ok(())
    }
}

fn is_unused(now: SystemTime, last_use: u64, keep_days: Option<u32>) -> bool {
    let Some(days) = keep_days else { return false };
    let last_use = UNIX_EPOCH.checked_add(Duration::from_secs(last_use));
    let limit = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    last_use.is_some_and(|last_use| age(now, last_use) > limit)
}

impl Collection {
    /// Adds a ledger entry, or drops it if its objects are missing for an unknown reason.
    fn add(&mut self, key: Digest, last_use: u64, is_recorded: bool, entry: &StepResult) {
        let mut objects: Vec<_> = entry.objects().copied().collect();
        objects.sort_unstable();
        objects.dedup();
        let count_before = objects.len();
        objects.retain(|digest| self.objects.contains_key(digest));
        if objects.len() < count_before && !entry.may_lack_objects() {
            self.report.entries.push(key);
            return;
        }
        for digest in &objects {
            if let Some(found) = self.objects.get_mut(digest) {
                found.named += 1;
            }
        }
        self.entries.push(Entry {
            key,
            last_use,
            is_recorded,
            objects,
        });
    }

    fn drop_entries(&mut self, unwanted: impl Fn(&Entry) -> bool) {
        for entry in std::mem::take(&mut self.entries) {
            match unwanted(&entry) {
                true => drop(self.drop_entry(&entry)),
                false => self.entries.push(entry),
            }
        }
    }

    /// Step 3 of a collection: drops objects that no entry names and whose age is at least `older_than`.
    fn drop_unnamed(&mut self, older_than: Duration) {
        let now = self.now;
        let unnamed = self
            .objects
            .iter()
            .filter(|(_, found)| found.named == 0 && age(now, found.modified) >= older_than);
        let unnamed: Vec<_> = unnamed.map(|(digest, _)| *digest).collect();
        for digest in unnamed {
            self.drop_object(&digest);
        }
    }

    /// Step 4 of a collection: until the objects need at most `max_size` bytes, drops objects that no entry names, and then
    /// entries with their objects.
    fn shrink(&mut self, max_size: u64) {
        let mut size: u64 = self.objects.values().map(|found| found.len).sum();
        let mut unnamed: Vec<_> = self
            .objects
            .iter()
            .filter(|(_, found)| found.named == 0)
            .map(|(digest, found)| (found.modified, *digest))
            .collect();
        unnamed.sort_unstable();
        for (_, digest) in unnamed {
            if size <= max_size {
                return;
            }
            size -= self.drop_object(&digest);
        }
        // The least recently used entry comes last, for `pop`.
        self.entries
            .sort_unstable_by_key(|entry| Reverse((entry.last_use, entry.key)));
        while size > max_size
            && let Some(entry) = self.entries.pop()
        {
            size -= match entry.is_recorded {
                true => self.discard(&entry),
                false => self.drop_entry(&entry),
            };
        }
    }

    /// Drops the entry and the objects that only it names. Returns the total length of these objects.
    fn drop_entry(&mut self, entry: &Entry) -> u64 {
        self.report.entries.push(entry.key);
        self.drop_objects_of(entry)
    }

    /// Drops the objects that only this entry names, and keeps the entry. Returns the total length of these objects.
    fn discard(&mut self, entry: &Entry) -> u64 {
        if !entry.objects.is_empty() {
            self.report.discarded.push(entry.key);
        }
        self.drop_objects_of(entry)
    }

    fn drop_objects_of(&mut self, entry: &Entry) -> u64 {
        let mut bytes = 0;
        for digest in &entry.objects {
            let Some(found) = self.objects.get_mut(digest) else {
                continue;
            };
            found.named -= 1;
            if found.named == 0 {
                bytes += self.drop_object(digest);
            }
        }
        bytes
    }

    fn drop_object(&mut self, digest: &Digest) -> u64 {
        let Some(found) = self.objects.remove(digest) else {
            return 0;
        };
        self.report.objects.push((*digest, found.len));
        self.report.removed_bytes += found.len;
        if found.links <= 1 {
            self.report.freed_bytes += found.len;
        }
        found.len
    }

    pub(crate) fn finish(mut self) -> GcReport {
        for found in self.objects.values() {
            self.report.kept.add(found.len);
        }
        self.report.objects.sort_unstable();
        self.report.entries.sort_unstable();
        self.report.discarded.sort_unstable();
        self.report
    }
}

/// Returns whether the file `path` was removed. If its directory is missing too, returns `false`, because the disk may not
/// be mounted.
fn is_gone(path: &Path) -> bool {
    path.parent().is_some_and(Path::is_dir)
        && matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

impl Store {
    /// Removes the recorded runs of `competitions` into a data directory, the ledger entries that only these runs used, and
    /// the objects that only these entries name. `directory_of` returns the directory of a variant in the data directory. If
    /// `dry_run` is true, reports the results without removing anything.
    ///
    /// # Errors
    /// Same as for [`gc`](Store::gc).
    pub fn forget(
        &self,
        competitions: &[&str],
        directory_of: impl Fn(&str) -> PathBuf,
        dry_run: bool,
    ) -> Result<GcReport, StoreError> {
        let options = GcOptions {
            dry_run,
            ..GcOptions::default()
        };
        let lock = self.lock_for_gc(&options)?;
        let (mut forgotten, mut used, mut records) = (HashSet::new(), HashSet::new(), Vec::new());
        for name in stat::list(self.root(), Bucket::History)?.digests {
            let RecordRead::Found(named, _) = self.load::<NamedHistory>(Bucket::History, &name)?
            else {
                continue;
            };
            let scope = HistoryScope::new(&named.variant, &directory_of(&named.variant));
            let keys = named.history.keys();
            if competitions.contains(&named.competition.as_str())
                && scope.name_of(&named.competition) == name
            {
                records.push(Bucket::History.file(self.root(), &name));
                forgotten.extend(keys);
            } else {
                used.extend(keys);
            }
        }
        let mut collection: Collection = self.survey(&options)?;
        let entries = collection.entries.iter();
        let shared = entries.filter(|one| forgotten.contains(&one.key) && used.contains(&one.key));
        let shared: HashSet<Digest> = shared.flat_map(|one| one.objects.iter().copied()).collect();
        collection
            .drop_entries(|entry| forgotten.contains(&entry.key) && !used.contains(&entry.key));
        let mut report = collection.finish();
        report.records = records;
        report.shared = shared.len();
        if !dry_run {
            self.remove(&mut report, &lock)?;
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collection_without_its_lock_removes_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let store = Store::open(&directory.path().join("store"))?;
        let digest = store.put(b"used by a new run")?;
        let mut report = GcReport {
            objects: vec![(digest, 20)],
            ..GcReport::default()
        };
        let lost = LockGuard::lost(&store.root().join("locks/use"))?;
        let refused = store.remove(&mut report, &lost);
        assert!(matches!(refused, Err(StoreError::LockLost { .. })));
        assert!(store.len_of(&digest).is_some());
        let lock = store.try_exclusive()?.ok_or("in use")?;
        store.remove(&mut report, &lock)?;
        assert!(store.len_of(&digest).is_none());
        Ok(())
    }
}

#[cfg(test)]
mod forget_tests {
    use std::collections::BTreeMap;

    use std::path::Path;

    use crate::{History, HistoryScope, HistoryStep, LedgerEntry};

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    /// Records a run of `competition` with one step for each of `steps`. Each string is the name of the step and the
    /// content of the step's only output. Returns the objects.
    fn run(
        store: &Store,
        competition: &str,
        directory: &str,
        steps: &[&str],
    ) -> Result<Vec<Digest>, StoreError> {
        let mut history = History::default();
        let mut objects = Vec::new();
        for step in steps {
            let object = store.put(step.as_bytes())?;
            let key = Digest::of_bytes(format!("key of {step}").as_bytes());
            let record = serde_json::Value::Null;
            let entry = LedgerEntry {
                record: record.clone(),
                outputs: BTreeMap::from([("out".to_owned(), object)]),
                created: 1,
                millis: 1,
                ..LedgerEntry::default()
            };
            store.record(&key, &entry)?;
            history
                .steps
                .insert((*step).to_owned(), HistoryStep { key, record });
            objects.push(object);
        }
        store.set_last_run(competition, &scope(directory), &history)?;
        Ok(objects)
    }

    fn scope(directory: &str) -> HistoryScope {
        HistoryScope::new("v1", Path::new(directory))
    }

    #[test]
    fn forget_keeps_results_of_other_competitions_and_directories() -> Done {
        let directory = tempfile::tempdir()?;
        let store = Store::open(&directory.path().join("store"))?;
        let a = run(&store, "a", "/data", &["own", "shared", "elsewhere"])?;
        run(&store, "b", "/data", &["shared", "other"])?;
        run(&store, "a", "/other", &["elsewhere"])?;
        let directory_of = |_: &str| PathBuf::from("/data");
        let planned = store.forget(&["a"], directory_of, true)?;
        assert_eq!((planned.objects.len(), planned.entries.len()), (1, 1));
        assert!(store.len_of(&a[0]).is_some(), "a dry run removes nothing");
        let report = store.forget(&["a"], directory_of, false)?;
        assert_eq!((&report.objects, report.shared), (&planned.objects, 2));
        let is_kept: Vec<bool> = a.iter().map(|one| store.len_of(one).is_some()).collect();
        assert_eq!(is_kept, [false, true, true]);
        let runs = [("a", "/data"), ("b", "/data"), ("a", "/other")].map(|(id, directory)| {
            let run = store.last_run(id, &scope(directory));
            run.map(|run| run.is_some())
        });
        assert!(matches!(runs, [Ok(false), Ok(true), Ok(true)]), "{runs:?}");
        Ok(())
    }
}
