//! Removes the results that only certain competitions use.

use std::collections::HashSet;

use super::stat;
use crate::layout::Bucket;
use crate::records::history::NamedHistory;
use crate::records::sealed::RecordRead;
use crate::upkeep::gc::{Collection, GcOptions, GcReport};
use crate::{Digest, Store, StoreError};

impl Store {
    /// Removes the recorded runs of these competitions. Also removes the entries that only those runs used, and the
    /// objects that only those entries name.
    ///
    /// # Errors
    /// Same as for [`gc`](Store::gc).
    pub fn forget(&self, competitions: &[&str], dry_run: bool) -> Result<GcReport, StoreError> {
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
            let keys: HashSet<Digest> = named.history.keys().collect();
            if competitions.contains(&named.competition.as_str()) {
                records.push(Bucket::History.file(self.root(), &name));
                forgotten.extend(keys);
            } else {
                used.extend(keys);
            }
        }
        let mut collection: Collection = self.survey(&options)?;
        collection.drop_entries(|key| forgotten.contains(key) && !used.contains(key));
        let mut report = collection.finish();
        report.records = records;
        if !dry_run {
            self.remove(&mut report, &lock)?;
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use std::path::Path;

    use crate::{History, HistoryScope, HistoryStep, LedgerEntry};

    use super::*;

    type Done = Result<(), Box<dyn std::error::Error>>;

    /// Records a run of a competition. `steps` are the keys and contents of its steps. Returns the objects.
    fn run(store: &Store, competition: &str, steps: &[&str]) -> Result<Vec<Digest>, StoreError> {
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
        store.set_last_run(competition, &scope(), &history)?;
        Ok(objects)
    }

    fn scope() -> HistoryScope {
        HistoryScope::new("v1", Path::new("/data"))
    }

    #[test]
    fn forget_keeps_results_of_other_competitions() -> Done {
        let directory = tempfile::tempdir()?;
        let store = Store::open(&directory.path().join("store"))?;
        let a = run(&store, "a", &["own", "shared"])?;
        run(&store, "b", &["shared", "other"])?;
        let planned = store.forget(&["a"], true)?;
        assert_eq!((planned.objects.len(), planned.entries.len()), (1, 1));
        assert!(store.len_of(&a[0]).is_some(), "a dry run removes nothing");
        let report = store.forget(&["a"], false)?;
        assert_eq!(report.objects, planned.objects);
        assert!(store.len_of(&a[0]).is_none() && store.len_of(&a[1]).is_some());
        assert!(
            store.last_run("a", &scope())?.is_none() && store.last_run("b", &scope())?.is_some()
        );
        Ok(())
    }
}
