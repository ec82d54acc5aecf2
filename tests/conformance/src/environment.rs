//! Contexts with empty caches for tests of implementations.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use prep_cache::{Digest, Store};
use prep_core::{Cancel, Context, RunLimits};
use tempfile::TempDir;

use crate::Violation;
use crate::violation::OrViolation;

const SETUP: &str = "the test can create a cache in the directory for temporary files";

pub(crate) const LIMITS: [RunLimits; 3] = [
    RunLimits {
        jobs: 1,
        memory: 8 << 20,
    },
    RunLimits {
        jobs: 2,
        memory: 1 << 30,
    },
    RunLimits {
        jobs: 16,
        memory: 64 << 20,
    },
];

pub(crate) struct Environment {
    directory: TempDir,
    pub context: Context,
}

impl Environment {
    pub fn new(limits: RunLimits) -> Result<Environment, Violation> {
        let directory = tempfile::tempdir().or_violation(SETUP)?;
        let store = Store::open(&directory.path().join("store")).or_violation(SETUP)?;
        let context = Context::new(store, limits, Cancel::default());
        Ok(Environment { directory, context })
    }

    /// Returns the context of another run with the same cache.
    pub fn new_run(&self) -> Context {
        let context = &self.context;
        Context::new(context.store.clone(), context.limits, Cancel::default())
    }

    /// Returns the context of a cancelled run with the same cache.
    pub fn cancelled_run(&self) -> Context {
        let context = self.new_run();
        context.cancel.cancel();
        context
    }

    pub fn files(&self) -> Result<BTreeMap<String, Digest>, Violation> {
        files(self.directory.path()).or_violation(SETUP)
    }

    pub fn leftovers(&self) -> Result<Vec<String>, Violation> {
        let temporary = files(&self.context.temp_dir()).or_violation(SETUP)?;
        Ok(temporary.into_keys().collect())
    }
}

pub(crate) fn files(root: &Path) -> io::Result<BTreeMap<String, Digest>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let inner = path.strip_prefix(root).unwrap_or(&path);
            found.insert(
                inner.display().to_string(),
                Digest::of_bytes(&fs::read(&path)?),
            );
        }
    }
    Ok(found)
}
