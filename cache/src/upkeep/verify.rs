//! Checks all files of the store.
//!
//! The check continues after a problem, and the report contains all problems. A repair moves damaged objects to quarantine.
//! It removes unreadable records, and entries that name damaged or missing objects. The next run then produces the missing
//! outputs again.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde::de::DeserializeOwned;

use super::stat;
use crate::layout::Bucket;
use crate::records::ledger::NamedHistory;
use crate::records::ledger::RecordRead;
use crate::upkeep::stat::Amount;
use crate::{Digest, LedgerEntry, SourceRecord, Store, StoreError};

/// Two threads keep a disk busy and leave other processors free.
const HASH_THREADS: usize = 2;

/// Result of [`Store::verify`]. Lists are sorted.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Objects that were hashed.
    pub checked: Amount,
    /// Number of ledger entries that were read.
    pub entries: u64,
    /// Objects whose bytes do not match their digest.
    pub damaged: Vec<Digest>,
    /// Objects that a ledger entry names but that do not exist.
    pub missing: Vec<Digest>,
    /// Keys of ledger entries that name damaged or missing objects.
    pub dangling: Vec<Digest>,
    /// Records (ledger, history, sources) that are truncated or modified.
    pub garbled: Vec<PathBuf>,
    /// Files that the store did not create, in its directories of objects and records. A repair leaves them unchanged.
    pub foreign: Vec<PathBuf>,
    /// Errors when reading or repairing files.
    pub failed: Vec<StoreError>,
    /// Whether repairs were requested.
    pub repaired: bool,
}

impl VerifyReport {
    /// Returns whether no problem was found. A foreign file is not a problem.
    pub fn is_clean(&self) -> bool {
        self.damaged.is_empty()
            && self.missing.is_empty()
            && self.dangling.is_empty()
            && self.garbled.is_empty()
            && self.failed.is_empty()
    }
}

impl Store {
    /// Hashes every object and reads every record. Runs may use the store at the same time. If `repair` is true, repairs
    /// the store as the module describes. Calls `progress` from several threads with the number of bytes of each read.
    ///
    /// # Errors
    /// If the cache cannot be locked or listed. Other errors are part of the report, for example about a directory of
    /// another user.
    pub fn verify(
        &self,
        repair: bool,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<VerifyReport, StoreError> {
        if repair {
            self.must_be_writable()?;
        }
        let _no_collection = self.in_use()?;
        let mut report = VerifyReport {
            repaired: repair,
            ..VerifyReport::default()
        };
        let objects = stat::list_readable(self.root(), Bucket::Objects)?;
        report.foreign.extend(objects.foreign);
        self.verify_objects(&objects.digests, repair, progress, &mut report);
        let (unreadable, errors): (BTreeSet<_>, Vec<_>) = objects.unreadable.into_iter().unzip();
        report.failed.extend(errors);
        self.verify_ledger(repair, &unreadable, &mut report)?;
        self.verify_records::<NamedHistory>(Bucket::History, repair, &mut report)?;
        self.verify_records::<SourceRecord>(Bucket::Sources, repair, &mut report)?;
        report.damaged.sort_unstable();
        Ok(report)
    }

    fn verify_objects(
        &self,
        digests: &[Digest],
        repair: bool,
        progress: &(dyn Fn(u64) + Sync),
        report: &mut VerifyReport,
    ) {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut part = VerifyReport::default();
            while let Some(digest) = digests.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.verify_object(digest, repair, progress) {
                    Ok(Some(len)) => part.checked.add(len),
                    Ok(None) => {}
                    Err(error) => {
                        if let StoreError::Damaged {
                            len, quarantined, ..
                        } = &error
                        {
                            part.checked.add(*len);
                            part.damaged.push(*digest);
                            if quarantined.is_some() || !repair {
                                continue;
                            }
                        }
                        part.failed.push(error);
                    }
                }
            }
            part
        };
        let parts: Vec<_> = thread::scope(|scope| {
            let helper = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (1..HASH_THREADS).map_while(helper).collect();
            let result = work();
            let parts = helpers.into_iter().map(|helper| helper.join());
            parts.chain([Ok(result)]).collect()
        });
        for part in parts {
            let part = part.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            report.checked.files += part.checked.files;
            report.checked.bytes += part.checked.bytes;
            report.damaged.extend(part.damaged);
            report.failed.extend(part.failed);
        }
    }

    /// Checks the entries of the ledger. Objects in `unreadable` directories are not treated as missing.
    fn verify_ledger(
        &self,
        repair: bool,
        unreadable: &BTreeSet<PathBuf>,
        report: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        let is_known = |digest: &Digest| {
            let path = Bucket::Objects.file(self.root(), digest);
            path.parent()
                .is_none_or(|directory| !unreadable.contains(directory))
        };
        let damaged: BTreeSet<_> = report.damaged.iter().copied().collect();
        let mut missing = BTreeSet::new();
        for (key, entry) in self.readable::<LedgerEntry>(Bucket::Ledger, repair, report)? {
            report.entries += 1;
            let absent: Vec<_> = self
                .missing_locally(&entry)
                .into_iter()
                .filter(|digest| !entry.may_lack_objects() && !damaged.contains(digest))
                .filter(is_known)
                .collect();
            if absent.is_empty() && !entry.objects().any(|digest| damaged.contains(digest)) {
                continue;
            }
            missing.extend(absent);
            report.dangling.push(key);
            if repair {
                remove(&Bucket::Ledger.file(self.root(), &key), report);
            }
        }
        report.missing.extend(missing);
        Ok(())
    }

    fn verify_records<T: DeserializeOwned>(
        &self,
        bucket: Bucket,
        repair: bool,
        report: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        self.readable::<T>(bucket, repair, report).map(drop)
    }

    /// Returns the intact records of a bucket, and reports the damaged records. Removes the damaged records if `repair` is
    /// true.
    fn readable<T: DeserializeOwned>(
        &self,
        bucket: Bucket,
        repair: bool,
        report: &mut VerifyReport,
    ) -> Result<Vec<(Digest, T)>, StoreError> {
        let listing = stat::list_readable(self.root(), bucket)?;
        report.foreign.extend(listing.foreign);
        let errors = listing.unreadable.into_iter().map(|(_, error)| error);
        report.failed.extend(errors);
        let mut records = Vec::with_capacity(listing.digests.len());
        for key in listing.digests {
            match self.load(bucket, &key) {
                Ok(RecordRead::Found(record, _)) => records.push((key, record)),
                Ok(RecordRead::Absent) => {}
                Ok(RecordRead::Garbled) => {
                    let path = bucket.file(self.root(), &key);
                    if repair {
                        remove(&path, report);
                    }
                    report.garbled.push(path);
                }
                Err(error) => report.failed.push(error),
            }
        }
        Ok(records)
    }
}

fn remove(path: &Path, report: &mut VerifyReport) {
    let removed = match path.is_dir() {
        // `remove_dir` fails if the directory contains foreign files, so these are kept.
        true => fs::remove_dir(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            report.failed.push(StoreError::io("remove", path, error));
        }
        _ => {}
    }
}
