//! A competition of one of the folders in `kinds`, prepared in this process.

use std::path::Path;
use std::sync::Arc;

use prep_app::{Accesses, Catalog, Options, Run, Settings, Task, WatchAccesses};
use prep_core::{Cancel, Failure, Reporter};
use prep_fetch::{FetchError, LazyNetwork};

use super::trouble::Trouble;
use crate::kinds;
use crate::support::{Archive, Sandbox, Snapshot, names_in};

/// Memory that is enough for every pipeline here.
pub const ENOUGH: u64 = 512 << 20;

pub struct World {
    pub id: String,
    pub sandbox: Sandbox,
    bundle: Vec<u8>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Done,
    Failed(Vec<(Failure, String)>),
    Stopped,
}

impl World {
    pub fn new(folder: &Path) -> World {
        let sandbox = Sandbox::new();
        let (id, bundle) = kinds::install(&sandbox, folder);
        World {
            id,
            sandbox,
            bundle,
        }
    }

    /// Another bundle, for one run.
    pub fn with_bundle<T>(&self, archive: &Archive, act: impl FnOnce() -> T) -> T {
        self.sandbox.bundle(&self.id, &archive.bytes());
        let result = act();
        self.sandbox.bundle(&self.id, &self.bundle);
        result
    }

    /// Nothing was prepared yet.
    pub fn clear(&self) {
        for folder in [self.sandbox.data(), self.sandbox.store()] {
            if folder.exists() {
                std::fs::remove_dir_all(folder).expect("removed");
            }
        }
        self.sandbox.bundle(&self.id, &self.bundle);
    }

    pub fn prepare(&self, trouble: &Arc<Trouble>, memory: u64) -> Ending {
        self.prepare_until(trouble.clone(), &trouble.cancel, memory)
    }

    /// Prepares, and tells the watcher of accesses and steps.
    pub fn prepare_watched<W>(&self, watcher: Arc<W>, memory: u64) -> Ending
    where
        W: WatchAccesses + Reporter + 'static,
    {
        self.prepare_until(watcher, &Cancel::default(), memory)
    }

    fn prepare_until<W>(&self, watcher: Arc<W>, cancel: &Cancel, memory: u64) -> Ending
    where
        W: WatchAccesses + Reporter + 'static,
    {
        let settings = Settings {
            data_dir: self.sandbox.data(),
            store_dir: self.sandbox.store(),
            pipelines: Some(self.sandbox.path("pipelines")),
            // One step at a time, so that it is known whose every access is.
            jobs: 1,
            memory,
            program: "test".to_owned(),
            boot: None,
            accesses: Accesses::watched_by(watcher.clone()),
            remote: None,
        };
        let options = Options {
            source: Some(self.sandbox.source()),
            download: false,
            check_outputs: false,
            ..Options::default()
        };
        let catalog = Catalog::of(&settings).expect("pipelines");
        let network = LazyNetwork::new(|| Err(FetchError::NotAllowed));
        let task = Task {
            settings: &settings,
            catalog: &catalog,
            options: &options,
            network: &network,
        };
        let ids = [self.id.clone()];
        let run = Run::begin(&task, &ids, cancel, &|_| {});
        let preparation = match run.and_then(|run| run.execute(watcher)) {
            Ok(preparation) => preparation,
            Err(error) if error.failure() == Failure::Cancelled => return Ending::Stopped,
            Err(error) => return Ending::Failed(vec![(error.failure(), error.to_string())]),
        };
        let failures = preparation.summaries.iter().flat_map(|one| &one.failures);
        let failures: Vec<(Failure, String)> = failures
            .map(|failed| (failed.failure, failed.message.clone()))
            .collect();
        match failures.is_empty() {
            _ if preparation.interrupted => Ending::Stopped,
            true => Ending::Done,
            false => Ending::Failed(failures),
        }
    }

    /// A run in which nothing goes wrong.
    #[track_caller]
    pub fn prepare_well(&self, note: &dyn std::fmt::Display) -> Snapshot {
        self.sandbox.bundle(&self.id, &self.bundle);
        let ending = self.prepare(&Arc::new(Trouble::new(None)), ENOUGH);
        assert_eq!(ending, Ending::Done, "{note}: the next run");
        let names = self.sandbox.names_in_home(&self.id);
        let expected = [
            "prepared",
            "prepared.files",
            "prepared.json",
            "prepared.lock",
        ];
        assert_eq!(names, expected, "{note}");
        let left = names_in(&self.sandbox.store().join("tmp"));
        assert!(left.is_empty(), "{note}: left in the store: {left:?}");
        self.sandbox.tree(&self.id)
    }

    /// Whether the manifest calls what is prepared complete, and nothing was changed since.
    pub fn is_complete(&self) -> bool {
        let manifest = prep_app::manifest(&self.sandbox.data(), &self.id).expect("manifest");
        let prepared = self.sandbox.prepared(&self.id);
        manifest.is_some_and(|manifest| manifest.is_intact(&prepared))
    }
}
