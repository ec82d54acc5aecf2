//! Directories and limits, as plain values. The program that links this library chooses them. The library does not read the
//! environment.

use std::collections::BTreeSet;
use std::path::PathBuf;

use prep_cache::Store;
use prep_core::RunLimits;
use prep_remote::Link;
use prep_spec::{BASE_VARIANT, known_variants, variant_directory, variant_of_directory};

/// Settings of all tasks of a program.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATA/ID/prepared`, `DATA/ID/ID.zip`.
    pub data_dir: PathBuf,
    /// The content-addressed store.
    pub store_dir: PathBuf,
    /// Pipelines besides the built-in ones: `DIR/ID/pipeline.yaml`.
    pub pipelines: Option<PathBuf>,
    /// Maximum steps that run in parallel, and threads of one step.
    pub jobs: usize,
    /// Maximum memory of all running steps, in bytes.
    pub memory: u64,
    /// Identifies the build of the program. Checks of pipelines by another build are not trusted.
    pub program: String,
    /// Identifies the boot of the machine. `None` if the system has no boot ids.
    pub boot: Option<String>,
    /// The remote from which results are read and to which they are sent.
    pub remote: Option<Link>,
}

impl Settings {
    /// Opens the store, with the remote as a tier if there is one.
    pub(crate) fn open_tier(&self, store: Store) -> Store {
        match &self.remote {
            Some(link) => link.attach(&store),
            None => store,
        }
    }

    /// Returns the data directory of a variant: of `v1` the data directory itself, of `fixed` `DATA/fixed`, of `fixed:30,63`
    /// `DATA/fixed-30-63`. So variants of a competition exist next to each other, and `v1` is where upstream has it.
    pub fn data_dir_of(&self, variant: &str) -> PathBuf {
        match variant {
            BASE_VARIANT => self.data_dir.clone(),
            other => self.data_dir.join(variant_directory(other)),
        }
    }

    /// Returns `v1`, `fixed`, and the other variants that have a directory in the data directory.
    pub fn variants(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.data_dir).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let found: BTreeSet<String> = names
            .filter_map(|name| variant_of_directory(&name))
            .filter(|variant| known_variants().all(|known| known != variant))
            .collect();
        known_variants().map(str::to_owned).chain(found).collect()
    }

    /// Returns settings with the data directory of a variant.
    #[must_use]
    pub fn of_variant(&self, variant: &str) -> Settings {
        Settings {
            data_dir: self.data_dir_of(variant),
            ..self.clone()
        }
    }

    /// Makes a directory for files of one call. The store removes the files of killed processes.
    pub fn temp_dir(&self) -> PathBuf {
        self.store_dir.join("tmp")
    }

    /// Returns limits for decoding untrusted content, for this number of files at a time.
    pub(crate) fn content_limits(&self, at_once: usize) -> prep_formats::limits::DecodingLimits {
        let memory = self.memory / at_once.max(1) as u64;
        // If the free space is unknown, the disk itself is the limit.
        let disk = prep_fetch::free_space(&self.store_dir).unwrap_or(u64::MAX);
        prep_formats::limits::DecodingLimits::from_budgets(memory, disk)
    }

    /// Returns limits for comparing content, with as many files at a time as jobs.
    pub(crate) fn resources<'a>(&self, temp: &'a std::path::Path) -> prep_contents::Resources<'a> {
        prep_contents::Resources {
            limits: self.content_limits(self.jobs),
            temp,
        }
    }

    /// Returns limits for running steps.
    pub fn limits(&self) -> RunLimits {
        RunLimits {
            jobs: self.jobs,
            memory: self.memory,
        }
    }
}
