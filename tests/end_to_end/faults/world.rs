//! A competition from a directory in `kinds`, and its preparation in this process or in a process with injected faults.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_app::{Catalog, PreparationOptions, RememberedOptions, Run, Settings, Task, Verify};
use prep_core::{Cancel, Failure, NullReporter, Reporter};
use prep_fetch::{FetchError, LazyNetwork};
use serde::{Deserialize, Serialize};

use super::trouble::{LoggedAccess, Target};
use super::worker;
use crate::kinds;
use crate::support::{Archive, Sandbox, Snapshot, names_in};

pub const ENOUGH_MEMORY_BYTES: u64 = 512 << 20;

pub struct World {
    pub id: String,
    pub sandbox: Sandbox,
    bundle: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Done,
    Failed(Vec<(Failure, String)>),
    Stopped,
}

impl World {
    pub fn new(directory: &Path) -> World {
        let sandbox = Sandbox::new();
        let (id, bundle) = kinds::install(&sandbox, directory);
        World {
            id,
            sandbox,
            bundle,
        }
    }

    /// Calls `act` with a different bundle in place, and restores the bundle.
    pub fn with_bundle<T>(&self, archive: &Archive, act: impl FnOnce() -> T) -> T {
        self.sandbox.bundle(&self.id, &archive.bytes());
        let result = act();
        self.sandbox.bundle(&self.id, &self.bundle);
        result
    }

    /// Removes the data directory and the cache, and restores the bundle.
    pub fn clear(&self) {
        for directory in [self.sandbox.data(), self.sandbox.store()] {
            if directory.exists() {
                std::fs::remove_dir_all(directory).expect("removed");
            }
        }
        self.sandbox.bundle(&self.id, &self.bundle);
    }

    pub fn prepare(&self, memory: u64) -> Ending {
        let (root, quiet) = (self.root(), Arc::new(NullReporter));
        prepare_in(&root, &self.id, quiet, &Cancel::default(), memory)
    }

    pub fn prepare_with(&self, target: &Target) -> worker::Run {
        worker::prepare(&self.root(), &self.id, Some(target))
    }

    /// Prepares the competition without a fault, and returns the file accesses of this run.
    pub fn logged_accesses(&self) -> Vec<LoggedAccess> {
        let run = worker::prepare(&self.root(), &self.id, None);
        assert_eq!(run.ending, Ending::Done, "{}", self.id);
        run.accesses
    }

    fn root(&self) -> PathBuf {
        let source = self.sandbox.source();
        source.parent().expect("a directory").to_owned()
    }

    /// Prepares the competition without a fault, and returns the tree. Asserts that no temporary files are left.
    #[track_caller]
    pub fn prepare_well(&self, note: &dyn std::fmt::Display) -> Snapshot {
        self.sandbox.bundle(&self.id, &self.bundle);
        let ending = self.prepare(ENOUGH_MEMORY_BYTES);
        assert_eq!(ending, Ending::Done, "{note}: the next run");
        let names = self.sandbox.names_in_home(&self.id);
        let expected = ["prepared", "prepared.files", "prepared.json"];
        assert_eq!(names, expected, "{note}");
        let left = names_in(&self.sandbox.store().join("tmp"));
        assert!(left.is_empty(), "{note}: left in the store: {left:?}");
        self.sandbox.tree(&self.id)
    }

    /// Returns whether the manifest marks the tree as complete and all files are unchanged.
    pub fn is_complete(&self) -> bool {
        let manifest = prep_app::manifest(&self.sandbox.data(), &self.id).expect("manifest");
        let prepared = self.sandbox.prepared(&self.id);
        manifest.is_some_and(|manifest| manifest.is_intact(&prepared))
    }
}

pub fn prepare_in(
    root: &Path,
    id: &str,
    reporter: Arc<dyn Reporter>,
    cancel: &Cancel,
    memory: u64,
) -> Ending {
    let settings = Settings {
        data_dir: root.join("data"),
        store_dir: root.join("store"),
        pipelines: Some(root.join("pipelines")),
        packs: None,
        // Runs one step at a time, so that each access belongs to a known step.
        jobs: 1,
        memory,
        program: "test".to_owned(),
        boot: None,
        remote: None,
        identity: None,
    };
    let options = PreparationOptions {
        remembered: RememberedOptions {
            source: Some(root.join("source")),
            verify: Some(Verify::Nothing),
            ..RememberedOptions::default()
        },
        download: false,
        ..PreparationOptions::default()
    };
    let catalog = Catalog::open(&settings).expect("pipelines");
    let task = Task {
        settings,
        catalog,
        options,
        network: LazyNetwork::new(|| Err(FetchError::NotAllowed)),
    };
    let run = Run::begin(&task, &[id.to_owned()], cancel, &|_| {});
    let preparation = match run.and_then(|run| run.execute(reporter)) {
        Ok(preparation) => preparation,
        Err(error) if error.failure == Failure::Cancelled => return Ending::Stopped,
        Err(error) => return Ending::Failed(vec![(error.failure, error.to_string())]),
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
