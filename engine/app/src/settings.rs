//! Directories and limits. The calling program sets them, because this library does not read the environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prep_cache::Store;
use prep_core::RunLimits;
use prep_remote::Link;
use prep_spec::{BASE_VARIANT, known_variants, variant_directory, variant_of_directory};
use prep_trust::Identity;

/// Number of bytes to which an inspected archive may unpack, however short the archive is. Longer archives may unpack to
/// more bytes.
const MIN_INSPECTED_BYTES: u64 = 128 << 20;

/// Settings that all tasks of a program share.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The data directory. It contains `DATA/ID/prepared` and `DATA/ID/ID.zip`.
    pub data_dir: PathBuf,
    /// The directory of the cache.
    pub store_dir: PathBuf,
    /// A directory with the user's pipelines, `DIR/ID/pipeline.yaml`, in addition to the built-in ones.
    pub pipelines: Option<PathBuf>,
    /// The directory of packs, `DIR/PACK/pack.yaml`. `None` if there are no packs.
    pub packs: Option<PathBuf>,
    /// Maximum number of steps that run in parallel, and of threads in one step.
    pub jobs: usize,
    /// Maximum memory of all running steps together, in bytes.
    pub memory: u64,
    /// Identifies the build of the program. A pipeline that another build checked is checked again.
    pub program: String,
    /// Identifies the current boot of the system. `None` if the system has no boot ids.
    pub boot: Option<String>,
    /// The remote from which results are read and to which they are sent.
    pub remote: Option<Link>,
    /// The secret keys that open sealed answers.
    pub identity: Option<Identity>,
}

/// Returns the directory with the prepared data of a competition in a data directory.
pub fn prepared_dir(data_dir: &Path, id: &str) -> PathBuf {
    data_dir.join(id).join("prepared")
}

impl Settings {
    pub(crate) fn with_remote_tier(&self, store: Store) -> Store {
        match &self.remote {
            Some(link) => link.attach(&store),
            None => store,
        }
    }

    /// Returns the data directory of a variant, for example `DATA` for `v1` and `DATA/fixed-30-63` for `fixed:30,63`.
    pub fn data_dir_of(&self, variant: &str) -> PathBuf {
        match variant {
            BASE_VARIANT => self.data_dir.clone(),
            other => self.data_dir.join(variant_directory(other)),
        }
    }

    pub fn prepared_dir(&self, id: &str) -> PathBuf {
        prepared_dir(&self.data_dir, id)
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

    /// Returns a copy of the settings with the data directory of a variant.
    #[must_use]
    pub fn of_variant(&self, variant: &str) -> Settings {
        Settings {
            data_dir: self.data_dir_of(variant),
            ..self.clone()
        }
    }

    /// Returns the directory for temporary files. The cache removes the temporary files of killed processes.
    pub fn temp_dir(&self) -> PathBuf {
        self.store_dir.join("tmp")
    }

    /// Returns limits for decoding untrusted content, if `at_once` files are decoded at the same time.
    pub(crate) fn content_limits(&self, at_once: usize) -> prep_formats::limits::DecodingLimits {
        let memory = self.memory / at_once.max(1) as u64;
        // If the free space is unknown, there is no limit besides the disk itself.
        let disk = prep_fetch::free_space(&self.store_dir).unwrap_or(u64::MAX);
        prep_formats::limits::DecodingLimits::from_budgets(memory, disk)
    }

    /// Returns limits for inspecting content, if `at_once` files are decoded at the same time.
    ///
    /// An inspection hashes and compares rows, so it takes longer per byte than a preparation. Therefore an inspection has a
    /// lower limit for the unpacked size of an archive.
    pub(crate) fn inspection_limits(&self, at_once: usize) -> prep_formats::limits::DecodingLimits {
        prep_formats::limits::DecodingLimits {
            unpacked: MIN_INSPECTED_BYTES,
            ..self.content_limits(at_once)
        }
    }

    /// Returns limits for comparing content, if each job compares one file at a time.
    pub(crate) fn resources<'a>(&self, temp: &'a Path) -> prep_contents::Resources<'a> {
        prep_contents::Resources {
            limits: self.inspection_limits(self.jobs),
            temp,
        }
    }

    pub fn limits(&self) -> RunLimits {
        RunLimits {
            jobs: self.jobs,
            memory: self.memory,
        }
    }
}
